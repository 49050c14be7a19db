// D = A*B + C as chains of one instruction: k ascends, one accumulator, C first, nothing is split.
#pragma once
#include "generate.cuh"

/// Codes in C order, one element after the other; B is KxN. `batch` products of one size.
struct Operands {
    const u8 *a, *b, *c;  // c may be null: +0
    u8* d;
    u64 batch, m, n, k;
    int a_bytes, b_bytes, d_bytes;
    /// One byte for every `block` k of a row of A, and of a column of B; null where there are no scales.
    const u8 *scale_a = nullptr, *scale_b = nullptr;
    int block = 1;

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
    BOTH u64 blocks() const { return (k + block - 1) / block; }
    BOTH u32 scale_a_code(u64 row, u64 at) const { return row < m && at < blocks() ? scale_a[row * blocks() + at] : 0; }
    BOTH u32 scale_b_code(u64 at, u64 column) const {
        return at < blocks() && column < n ? scale_b[at * n + column] : 0;
    }
    BOTH Operands product(u64 index) const {
        Operands one = *this;
        one.a += index * m * k * a_bytes;
        one.b += index * k * n * b_bytes;
        if (c) one.c += index * m * n * d_bytes;
        one.d += index * m * n * d_bytes;
        if (scale_a) one.scale_a += index * m * blocks(), one.scale_b += index * blocks() * n;
        return one;
    }
};

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
/// One tile of D by one block. `false` where this target was compiled without the instruction.
template <class U>
__device__ bool tile_of(const Operands& operands, u64 row, u64 column) {
    typedef typename U::Layout L;
    typedef typename U::Register Register;
    const int bits = 8 * sizeof(Register) / L::D_PER;
    int lane = threadIdx.x;
    Register d[L::D_ELEMENTS / L::D_PER] = {};
    for (int e = 0; e < L::D_ELEMENTS; e++) {
        Place at = L::d(lane, e);
        Register code = (Register)operands.c_code(row + at.row, column + at.column);
        d[e / L::D_PER] |= code << e % L::D_PER * bits;
    }
    for (u64 k = 0; k < operands.k; k += L::K)
        if (!U::Step::run(operands, lane, row, column, k, d)) return false;
    for (int e = 0; e < L::D_ELEMENTS; e++) {
        Place at = L::d(lane, e);
        if (row + at.row >= operands.m || column + at.column >= operands.n) continue;
        u64 code = d[e / L::D_PER] >> e % L::D_PER * bits;
        put(operands.d + ((row + at.row) * operands.n + column + at.column) * operands.d_bytes, code,
            operands.d_bytes);
    }
    return true;
}

/// One block a tile. `left_out` becomes 1 where this target was compiled without the instruction.
template <class U>
__global__ void product(Operands all, int* left_out) {
    typedef typename U::Layout L;
    u64 columns = (all.n + L::COLUMNS - 1) / L::COLUMNS, rows = (all.m + L::ROWS - 1) / L::ROWS;
    u64 tile = blockIdx.x;
    u64 column = tile % columns * L::COLUMNS, row = tile / columns % rows * L::ROWS;
    if (!tile_of<U>(all.product(tile / columns / rows), row, column)) *left_out = 1;
}

/// The whole product by every block, each into a D of its own, with the number of the SM that ran it.
template <class U>
__global__ void everywhere(Operands one, u32* sms, int* left_out) {
    typedef typename U::Layout L;
    one.d += (u64)blockIdx.x * one.m * one.n * one.d_bytes;
    if (threadIdx.x == 0) {
        u32 sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        sms[blockIdx.x] = sm;
    }
    for (u64 row = 0; row < one.m; row += L::ROWS)
        for (u64 column = 0; column < one.n; column += L::COLUMNS)
            if (!tile_of<U>(one, row, column)) {
                *left_out = 1;
                return;
            }
}
#endif
