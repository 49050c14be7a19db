// All device code: the units of units.h as types that product.cuh runs. No host headers: NVRTC takes it.
#pragma once
#include "product.cuh"
#include "units.h"
#ifdef __HIP__
#include "mfma.cuh"
#else
#include "mma.cuh"
#include "wgmma.cuh"
#include "cores.cuh"
#include "tcgen05.cuh"

/// kind::f8f6f4 wants E2M1 in bits 2 to 5 of its byte (PTX ISA, "Packing format used in MMA").
BOTH constexpr int shift_of(FormatName name) { return name == E2M1 ? 2 : 0; }

#define MMA_TYPE(NAME, A, B, ACC, LAYOUT_, REGISTER, REGISTERS, GUARD, PTX)                   \
    struct NAME {                                                                             \
        typedef LAYOUT_ Layout;                                                               \
        typedef REGISTER Register;                                                            \
        typedef MmaStep<NAME> Step;                                                           \
        static const int A_SHIFT = shift_of(A), B_SHIFT = shift_of(B);                        \
        __device__ static bool issue(const Register* a, const Register* b, Register* d) {     \
            ON_##GUARD(REGISTERS(PTX));                                                            \
        }                                                                                     \
    };
// kind::mxf4 and kind::mxf4nvf4 pack E2M1 as it is, two to a byte.
#define SCALED_TYPE(NAME, A, B, SCALE, BLOCK_, LAYOUT_, GUARD, PTX)                           \
    struct NAME {                                                                             \
        typedef LAYOUT_ Layout;                                                               \
        typedef u32 Register;                                                                 \
        typedef ScaledStep<NAME> Step;                                                        \
        static const int BLOCK = BLOCK_, PACKED = Layout::PER == 8;                           \
        static const int A_SHIFT = PACKED ? 0 : shift_of(A), B_SHIFT = PACKED ? 0 : shift_of(B); \
        __device__ static bool issue(const u32* a, const u32* b, u32 scale_a, u32 scale_b, u32* d) { \
            ON_##GUARD(MMA_4_2_4_SCALED(PTX));                                                \
        }                                                                                     \
    };
#define WGMMA_TYPE(NAME, A, B, ACC, LAYOUT_, REGISTERS, GUARD, PTX, REST)                     \
    struct NAME {                                                                             \
        typedef LAYOUT_ Layout;                                                               \
        typedef u32 Register;                                                                 \
        typedef WgmmaStep<NAME> Step;                                                         \
        __device__ static bool issue(u64 a, u64 b, u32* d) { ON_##GUARD(REGISTERS(PTX, REST)); }   \
    };
#define CORE_TYPE(NAME, A, B, ACC, GUARD, TEXT)                                               \
    struct NAME {                                                                             \
        typedef Cores Layout;                                                                 \
        typedef u32 Register;                                                                 \
        typedef CoreStep<A, B> Step;                                                          \
    };
#define TENSOR_STRUCT(NAME, A, B, ACC, SATURATES, SCALE, BLOCK_, K, CODE)                     \
    struct NAME {                                                                             \
        typedef TensorMemory<K> Layout;                                                       \
        typedef u32 Register;                                                                 \
        typedef TensorStep<NAME> Step;                                                        \
        static const int A_BITS = stored_bits(A), B_BITS = stored_bits(B), BLOCK = BLOCK_;    \
        static const u32 DESCRIPTOR = instruction_descriptor(A, B, ACC, SATURATES, SCALE, K == 64); \
        __device__ static bool issue(u32 d, u64 a, u64 b, u32 scale_a, u32 scale_b) { CODE; } \
    };
#define TENSOR_TYPE(NAME, A, B, ACC, K, SATURATES, GUARD, KIND) \
    TENSOR_STRUCT(NAME, A, B, ACC, SATURATES, FORMATS, 0, K, ON_##GUARD(TENSOR_MMA(KIND)))
#define TENSOR_SCALED_TYPE(NAME, A, B, SCALE, BLOCK, K, GUARD, KIND) \
    TENSOR_STRUCT(NAME, A, B, FP32, false, SCALE, BLOCK, K, ON_##GUARD(TENSOR_MMA_SCALED(KIND)))

MMA_UNITS(MMA_TYPE)
SCALED_UNITS(SCALED_TYPE)
CORE_UNITS(CORE_TYPE)
WGMMA_UNITS(WGMMA_TYPE)
TENSOR_UNITS(TENSOR_TYPE)
TENSOR_SCALED_UNITS(TENSOR_SCALED_TYPE)
#endif
