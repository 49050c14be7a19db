// D = A*B + C as chains of one instruction: k ascends, one accumulator, C first, nothing is split.
#pragma once
#include "generate.cuh"

/// Codes in C order, one element after the other; B is KxN. `batch` products of one size.
struct Operands {
    const u8 *a, *b, *c;  // c may be null: +0
    u8* d;
    u64 batch, m, n, k;
    int a_bytes, b_bytes, d_bytes;

    BOTH static u64 load(const u8* base, u64 index, int bytes) {
        const u8* at = base + index * bytes;
        // Wide loads where elements have them; arrays begin aligned.
        switch (bytes) {
            case 1: return *at;
            case 2: return *(const u16*)at;
            case 4: return *(const u32*)at;
            default: return *(const u64*)at;
        }
    }
    // Outside the matrices everything is zero.
    BOTH u64 a_code(u64 row, u64 at) const { return row < m && at < k ? load(a, row * k + at, a_bytes) : 0; }
    BOTH u64 b_code(u64 at, u64 column) const {
        return at < k && column < n ? load(b, at * n + column, b_bytes) : 0;
    }
    BOTH u64 c_code(u64 row, u64 column) const {
        return c && row < m && column < n ? load(c, row * n + column, d_bytes) : 0;
    }
    BOTH Operands product(u64 index) const {
        Operands one = *this;
        one.a += index * m * k * a_bytes;
        one.b += index * k * n * b_bytes;
        if (c) one.c += index * m * n * d_bytes;
        one.d += index * m * n * d_bytes;
        return one;
    }
};

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
/// One block a tile. `left_out` becomes 1 where this target was compiled without the instruction.
template <class U>
__global__ void product(Operands all, int* left_out) {
    typedef typename U::Layout L;
    typedef typename U::Register Register;
    const int bits = 8 * sizeof(Register) / L::D_PER;
    u64 columns = (all.n + L::COLUMNS - 1) / L::COLUMNS, rows = (all.m + L::ROWS - 1) / L::ROWS;
    u64 tile = blockIdx.x;
    u64 column = tile % columns * L::COLUMNS, row = tile / columns % rows * L::ROWS;
    Operands operands = all.product(tile / columns / rows);
    int lane = threadIdx.x;

    Register d[L::D_ELEMENTS / L::D_PER] = {};
    for (int e = 0; e < L::D_ELEMENTS; e++) {
        Place at = L::d(lane, e);
        Register code = (Register)operands.c_code(row + at.row, column + at.column);
        d[e / L::D_PER] |= code << e % L::D_PER * bits;
    }
    for (u64 k = 0; k < all.k; k += L::K) {
        if (!U::Step::run(operands, lane, row, column, k, d)) {
            *left_out = 1;
            return;
        }
    }
    for (int e = 0; e < L::D_ELEMENTS; e++) {
        Place at = L::d(lane, e);
        if (row + at.row >= all.m || column + at.column >= all.n) continue;
        u64 code = d[e / L::D_PER] >> e % L::D_PER * bits;
        put(operands.d + ((row + at.row) * all.n + column + at.column) * all.d_bytes, code, all.d_bytes);
    }
}
#endif
