// AMD's matrix instructions (v_mfma_*) by the compiler's built-ins.
#pragma once
#include "mma.cuh"

#ifdef DEVICE_CODE
typedef _Float16 Halves4 __attribute__((ext_vector_type(4)));
typedef short Shorts2 __attribute__((ext_vector_type(2)));
typedef short Shorts4 __attribute__((ext_vector_type(4)));
typedef float Floats2 __attribute__((ext_vector_type(2)));
typedef int Ints4 __attribute__((ext_vector_type(4)));
typedef float Floats4 __attribute__((ext_vector_type(4)));
typedef double Doubles4 __attribute__((ext_vector_type(4)));

/// Registers as what a built-in takes.
template <class T, class R>
__device__ T as(const R* registers) {
    T all;
    __builtin_memcpy(&all, registers, sizeof all);
    return all;
}

#define MFMA_CODE(A_OF, B_OF, D_OF, BUILT_IN)                                              \
    D_OF sums = BUILT_IN(as<A_OF>(a), as<B_OF>(b), as<D_OF>(d), 0, 0, 0);                  \
    __builtin_memcpy(d, &sums, sizeof sums)
#define MFMA_TYPE(NAME, INSTRUCTION, A, B, ACC, LAYOUT_, REGISTER, A_OF, B_OF, D_OF, GUARD, BUILT_IN) \
    struct NAME {                                                                          \
        typedef LAYOUT_ Layout;                                                            \
        typedef REGISTER Register;                                                         \
        typedef MmaStep<NAME> Step;                                                        \
        static const int A_SHIFT = 0, B_SHIFT = 0;                                         \
        __device__ static bool issue(const Register* a, const Register* b, Register* d) {  \
            ON_##GUARD(MFMA_CODE(A_OF, B_OF, D_OF, BUILT_IN));                             \
        }                                                                                  \
    };
MFMA_UNITS(MFMA_TYPE)
#endif
