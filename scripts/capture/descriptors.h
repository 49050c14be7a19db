// What tcgen05.mma is told of its operands, and how they lie in shared memory.
#pragma once
#include "formats.h"

/// How a format is named in an instruction descriptor; `packed` is kind::mxf4 and kind::mxf4nvf4.
BOTH constexpr u32 descriptor_word(FormatName name, bool packed) {
    switch (name) {
        case BF16:
        case E5M2:
        case INT8: return 1;
        case TF32: return 2;
        case E2M3: return 3;
        case E3M2: return 4;
        case E2M1: return packed ? 1 : 5;
        default: return 0;  // FP16, E4M3, UINT8
    }
}

/// "Instruction descriptor" of the PTX ISA: dense, 128 x 16, both operands K-major; `scale` FORMATS is none.
BOTH constexpr u32 instruction_descriptor(FormatName a, FormatName b, FormatName accumulator, bool saturates,
                                          FormatName scale, bool packed) {
    u32 all = descriptor_word(a, packed) << 7 | descriptor_word(b, packed) << 10 | (16u >> 3) << 17 | (128u >> 4) << 24;
    if (scale != FORMATS) return all | u32(scale == UE8M0) << 23;
    return all | (accumulator == FP16 ? 0u : accumulator == INT32 ? 2u : 1u) << 4 | u32(saturates) << 3;
}

/// Bits that an element of a format takes in shared memory.
BOTH constexpr int stored_bits(FormatName name) {
    switch (name) {
        case TF32: return 32;
        case FP16:
        case BF16: return 16;
        case E3M2:
        case E2M3: return 6;
        case E2M1: return 4;
        default: return 8;
    }
}

/// 16 bytes of a row in shared memory: elements without gaps from the lowest bit on, then zeros (PTX ISA, "Packing
/// formats": FP6 and FP4 of kind::f8f6f4 and kind::mxf8f6f4 are padded to 16 bytes for every 16 elements).
struct Chunk {
    u64 low = 0, high = 0;

    BOTH void put(int index, int bits, u64 code) {
        int at = index * bits;
        code &= ~0ull >> (64 - bits);
        if (at < 64) low |= code << at;
        else high |= code << (at - 64);
        if (at < 64 && at + bits > 64) high |= code >> (64 - at);
    }
};
