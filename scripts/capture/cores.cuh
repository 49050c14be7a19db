// The fused multiply-add of CUDA cores, one product a step: d = fma(a, b, d) in FP32, operands converted exactly.
#pragma once
#include "fragments.h"
#include "guards.h"

/// D as in a tile of 16x8 of tensor cores.
struct Cores : Rows<16, 8, 32, 32> {
    static const int K = 1;
};

#ifdef DEVICE_CODE
/// The bits of a number as FP32.
template <FormatName NAME>
__device__ u32 as_fp32(u64 code) {
    if (NAME == FP32) return u32(code);
    if (NAME == BF16) return u32(code) << 16;
    u32 bits;
    asm("{cvt.f32.f16 %0, %1;}" : "=r"(bits) : "h"((unsigned short)code));
    return bits;
}

template <FormatName A, FormatName B>
struct CoreStep {
    __device__ static bool run(const Operands& operands, int lane, u64 row, u64 column, u64 k, u32* d) {
        for (int e = 0; e < Cores::D_ELEMENTS; e++) {
            Place at = Cores::d(lane, e);
            u32 a = as_fp32<A>(operands.a_code(row + at.row, k)), b = as_fp32<B>(operands.b_code(k, column + at.column));
            // Without .ftz, whatever the compiler was told.
            asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+r"(d[e]) : "r"(a), "r"(b));
        }
        return true;
    }
};
#endif
