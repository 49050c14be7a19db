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
    /// What a tile has beyond the matrices is zero; or they repeat there, and every repetition has a D of its own, one
    /// after the other.
    bool repeats = false;

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
    // Matrices that repeat are smaller than a tile: 32 bits are plenty, and divide in fewer instructions.
    BOTH u64 row_of(u64 row) const { return repeats ? u32(row) % u32(m) : row; }
    BOTH u64 column_of(u64 column) const { return repeats ? u32(column) % u32(n) : column; }
    BOTH u64 a_code(u64 row, u64 at) const {
        row = row_of(row);
        return row < m && at < k ? load(a, row * k + at, a_bytes) : 0;
    }
    BOTH u64 b_code(u64 at, u64 column) const {
        column = column_of(column);
        return at < k && column < n ? load(b, at * n + column, b_bytes) : 0;
    }
    BOTH u64 c_code(u64 row, u64 column) const {
        row = row_of(row), column = column_of(column);
        return c && row < m && column < n ? load(c, row * n + column, d_bytes) : 0;
    }
    BOTH u64 blocks() const { return (k + block - 1) / block; }
    BOTH u32 scale_a_code(u64 row, u64 at) const {
        row = row_of(row);
        return row < m && at < blocks() ? scale_a[row * blocks() + at] : 0;
    }
    BOTH u32 scale_b_code(u64 at, u64 column) const {
        column = column_of(column);
        return at < blocks() && column < n ? scale_b[at * n + column] : 0;
    }
    /// How many times the matrices fit a tile, both ways; 1 if they do not fill it.
    BOTH u64 copies(u64 rows, u64 columns) const {
        return rows % m == 0 && columns % n == 0 ? rows / m * (columns / n) : 1;
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

#ifdef DEVICE_CODE
/// One tile of D by one block. `false` where this target was compiled without the instruction.
template <class U>
__device__ bool tile_of(const Operands& operands, u64 row, u64 column) {
    typedef typename U::Layout L;
    typedef typename U::Register Register;
    const int bits = 8 * sizeof(Register) / L::D_PER;
    int lane = threadIdx.x;
    typename U::Step step;
    Register d[L::D_ELEMENTS / L::D_PER] = {};
    for (int e = 0; e < L::D_ELEMENTS; e++) {
        Place at = L::d(lane, e);
        Register code = (Register)operands.c_code(row + at.row, column + at.column);
        d[e / L::D_PER] |= code << e % L::D_PER * bits;
    }
    for (u64 k = 0; k < operands.k; k += L::K)
        if (!step.run(operands, lane, row, column, k, d)) return false;
    for (int e = 0; e < L::D_ELEMENTS; e++) {
        Place at = L::d(lane, e);
        u64 r = operands.row_of(row + at.row), c = operands.column_of(column + at.column), copy = 0;
        if (r >= operands.m || c >= operands.n) continue;
        if (operands.repeats) copy = u32(at.row) / u32(operands.m) * (L::COLUMNS / u32(operands.n)) + u32(at.column) / u32(operands.n);
        u64 code = d[e / L::D_PER] >> e % L::D_PER * bits;
        put(operands.d + ((copy * operands.m + r) * operands.n + c) * operands.d_bytes, code, operands.d_bytes);
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

/// Which SM runs this block; of AMD, which CU of which shader engine of which die.
__device__ inline u32 number_of_sm() {
#if defined(__HIP_DEVICE_COMPILE__)
    // HW_REG_HW_ID is 4, HW_REG_XCC_ID 20; offset from bit 6 on, size less one from bit 11 on.
    const u32 cu = __builtin_amdgcn_s_getreg(4 | 8 << 6 | 3 << 11);
#ifdef __gfx942__
    const u32 engine = __builtin_amdgcn_s_getreg(4 | 13 << 6 | 1 << 11);
    return __builtin_amdgcn_s_getreg(20 | 0 << 6 | 3 << 11) << 6 | engine << 4 | cu;
#else
    return __builtin_amdgcn_s_getreg(4 | 13 << 6 | 2 << 11) << 4 | cu;
#endif
#elif defined(__CUDA_ARCH__)
    u32 sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
#else
    return 0;
#endif
}

/// The whole product by every block, as often as it fits a tile, each into a D of its own, with the number of the SM that
/// ran it.
template <class U>
__global__ void everywhere(Operands one, u32* sms, int* left_out) {
    typedef typename U::Layout L;
    const u64 copies = one.copies(L::ROWS, L::COLUMNS);
    one.repeats = copies > 1;
    one.d += blockIdx.x * copies * one.m * one.n * one.d_bytes;
    if (threadIdx.x == 0) sms[blockIdx.x] = number_of_sm();
    for (u64 row = 0; row < one.m; row += L::ROWS)
        for (u64 column = 0; column < one.n; column += L::COLUMNS)
            if (!tile_of<U>(one, row, column)) {
                *left_out = 1;
                return;
            }
}
#endif
