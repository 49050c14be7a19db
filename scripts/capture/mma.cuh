// mma.sync: fragments from memory, and the instruction by its numbers of registers.
#pragma once
#include "fragments.h"
#include "guards.h"

// The instruction's text, with operands that are registers of A, B, and of C and D, which are the same.
// PTX takes untyped registers for every element type.
#define MMA_1_1_2(PTX) \
    asm volatile(PTX " {%0,%1}, {%2}, {%3}, {%0,%1};" : "+r"(d[0]), "+r"(d[1]) : "r"(a[0]), "r"(b[0]))
#define MMA_1_1_2_WIDE(PTX) \
    asm volatile(PTX " {%0,%1}, {%2}, {%3}, {%0,%1};" : "+l"(d[0]), "+l"(d[1]) : "l"(a[0]), "l"(b[0]))
#define MMA_2_1_2(PTX)                                               \
    asm volatile(PTX " {%0,%1}, {%2,%3}, {%4}, {%0,%1};"             \
                 : "+r"(d[0]), "+r"(d[1])                            \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define MMA_2_1_4(PTX)                                               \
    asm volatile(PTX " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])    \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define MMA_4_2_2(PTX)                                               \
    asm volatile(PTX " {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"    \
                 : "+r"(d[0]), "+r"(d[1])                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA_4_2_4(PTX)                                                           \
    asm volatile(PTX " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"    \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA_2_2_4(PTX)                                                           \
    asm volatile(PTX " {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3};"          \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]))
#define MMA_2_2_8(PTX)                                                                                    \
    asm volatile(PTX " {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"         \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),    \
                   "+r"(d[7])                                                                             \
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]))

// The same with scales of A and of B, in one register each, their selectors 0.
#define MMA_4_2_4_SCALED(PTX)                                                                              \
    asm volatile(PTX " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, {%10}, {%12,%12}, {%11}, {%12,%12};" \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                          \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scale_a),         \
                   "r"(scale_b), "h"((unsigned short)0))

#ifdef DEVICE_CODE
/// A and B of one instruction, gathered from memory.
template <class U>
struct Fragments {
    typedef typename U::Layout L;
    typedef typename U::Register Register;
    Register a[L::A_ELEMENTS / L::PER] = {}, b[L::B_ELEMENTS / L::PER] = {};

    __device__ Fragments(const Operands& operands, int lane, u64 row, u64 column, u64 k) {
        const int bits = 8 * sizeof(Register) / L::PER;
        // An INT4 -1 may come as ff.
        const Register mask = ~(Register)0 >> (8 * sizeof(Register) - bits);
        for (int e = 0; e < L::A_ELEMENTS; e++) {
            Place at = L::a(lane, e);
            Register code = (Register)operands.a_code(row + at.row, k + at.column) << U::A_SHIFT;
            a[e / L::PER] |= (code & mask) << e % L::PER * bits;
        }
        for (int e = 0; e < L::B_ELEMENTS; e++) {
            Place at = L::b(lane, e);
            Register code = (Register)operands.b_code(k + at.row, column + at.column) << U::B_SHIFT;
            b[e / L::PER] |= (code & mask) << e % L::PER * bits;
        }
    }
};

/// One step of a chain.
template <class U>
struct MmaStep {
    __device__ static bool run(const Operands& operands, int lane, u64 row, u64 column, u64 k,
                               typename U::Register* d) {
        Fragments<U> of(operands, lane, row, column, k);
        return U::issue(of.a, of.b, d);
    }
};

/// One step of a chain of block-scaled instructions.
template <class U>
struct ScaledStep {
    __device__ static bool run(const Operands& operands, int lane, u64 row, u64 column, u64 k, u32* d) {
        Fragments<U> of(operands, lane, row, column, k);
        u32 scale_a = 0, scale_b = 0;
        for (int i = 0; i < U::Layout::K / U::BLOCK; i++) {
            u64 at = k / U::BLOCK + i;
            scale_a |= operands.scale_a_code(row + ScaleLanes::a_row(lane), at) << 8 * i;
            scale_b |= operands.scale_b_code(at, column + ScaleLanes::b_column(lane)) << 8 * i;
        }
        return U::issue(of.a, of.b, scale_a, scale_b, d);
    }
};
#endif
