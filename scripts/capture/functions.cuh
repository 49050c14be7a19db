// Functions of one FP32 number: the special function unit as PTX has it, and libdevice. Names and variants are those of
// `tcverify ops`, also of functions that it has no model for. No host headers: NVRTC takes it.
#pragma once
#include "portable.h"

// Type, operation, variant, lowest sm, PTX, and a pattern with the only result that no error bound leaves open.
#define PTX_FUNCTIONS(X)                                                                     \
    X(Rcp, "rcp_approx", "ptx", 70, "rcp.approx.f32", 0x40000000, 0x3f000000)                \
    X(RcpFtz, "rcp_approx", "ptx-ftz", 70, "rcp.approx.ftz.f32", 0x40000000, 0x3f000000)     \
    X(Rsqrt, "rsqrt_approx", "ptx", 70, "rsqrt.approx.f32", 0x40800000, 0x3f000000)          \
    X(RsqrtFtz, "rsqrt_approx", "ptx-ftz", 70, "rsqrt.approx.ftz.f32", 0x40800000, 0x3f000000) \
    X(Ex2, "ex2_approx", "ptx", 70, "ex2.approx.f32", 0x00000000, 0x3f800000)                \
    X(Ex2Ftz, "ex2_approx", "ptx-ftz", 70, "ex2.approx.ftz.f32", 0x00000000, 0x3f800000)     \
    X(Lg2, "lg2_approx", "ptx", 70, "lg2.approx.f32", 0x3f800000, 0x00000000)                \
    X(Lg2Ftz, "lg2_approx", "ptx-ftz", 70, "lg2.approx.ftz.f32", 0x3f800000, 0x00000000)     \
    X(Sin, "sin_approx", "ptx", 70, "sin.approx.f32", 0x00000000, 0x00000000)                \
    X(SinFtz, "sin_approx", "ptx-ftz", 70, "sin.approx.ftz.f32", 0x00000000, 0x00000000)     \
    X(Cos, "cos_approx", "ptx", 70, "cos.approx.f32", 0x00000000, 0x3f800000)                \
    X(CosFtz, "cos_approx", "ptx-ftz", 70, "cos.approx.ftz.f32", 0x00000000, 0x3f800000)     \
    X(SqrtApprox, "sqrt_approx", "ptx", 70, "sqrt.approx.f32", 0x00000000, 0x00000000)       \
    X(SqrtApproxFtz, "sqrt_approx", "ptx-ftz", 70, "sqrt.approx.ftz.f32", 0x00000000, 0x00000000) \
    X(TanhApprox, "tanh_approx", "ptx", 75, "tanh.approx.f32", 0x00000000, 0x00000000)       \
    X(Sqrt, "sqrt", "ieee", 70, "sqrt.rn.f32", 0x40800000, 0x40000000)

// Compiled without fast math, as nvcc does by default.
#define LIBDEVICE_FUNCTIONS(X)                                                               \
    X(Expf, "expf", "libdevice", 70, expf, 0x00000000, 0x3f800000)                           \
    X(Exp2f, "exp2f", "libdevice", 70, exp2f, 0x00000000, 0x3f800000)                        \
    X(Tanhf, "tanhf", "libdevice", 70, tanhf, 0x00000000, 0x00000000)                        \
    X(Erff, "erff", "libdevice", 70, erff, 0x00000000, 0x00000000)                           \
    X(Logf, "logf", "libdevice", 70, logf, 0x3f800000, 0x00000000)                           \
    X(Log2f, "log2f", "libdevice", 70, log2f, 0x3f800000, 0x00000000)                        \
    X(Sinf, "sinf", "libdevice", 70, sinf, 0x00000000, 0x00000000)                           \
    X(Cosf, "cosf", "libdevice", 70, cosf, 0x00000000, 0x3f800000)

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#define PTX_TYPE(NAME, OPERATION, VARIANT, NEEDS, PTX, IN, OUT)              \
    struct NAME {                                                            \
        __device__ static u32 of(u32 x) {                                    \
            u32 y = 0;                                                       \
            ON_##NEEDS(asm volatile(PTX " %0, %1;" : "=r"(y) : "r"(x)));     \
            return y;                                                        \
        }                                                                    \
    };
#define LIBDEVICE_TYPE(NAME, OPERATION, VARIANT, NEEDS, FUNCTION, IN, OUT)   \
    struct NAME {                                                            \
        __device__ static u32 of(u32 x) { return __float_as_uint(FUNCTION(__uint_as_float(x))); } \
    };
#define ON_70(CODE) CODE
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 750
#define ON_75(CODE) CODE
#else
#define ON_75(CODE)
#endif

PTX_FUNCTIONS(PTX_TYPE)
LIBDEVICE_FUNCTIONS(LIBDEVICE_TYPE)

/// Results for the patterns from `first` on.
template <class F>
__global__ void results(u32 first, u32 count, u32* out) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = F::of(first + i);
}
#endif
