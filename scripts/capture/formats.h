// Number formats as data: the table of docs/steps.md, as docs/generator.md needs it.
#pragma once
#include "portable.h"

enum Specials { IEEE, NAN_ONLY, NO_SPECIALS, FNUZ, SCALE, SIGNED, UNSIGNED };

enum FormatName {
    FP16, BF16, TF32, XF32, FP32, FP64, E5M2, E4M3, E4M3FNUZ, E5M2FNUZ, E3M2, E2M3, E2M1, UE8M0, UE4M3,
    INT8, UINT8, INT4, UINT4, INT32, FORMATS
};

struct Format {
    int exponent_bits;
    int fraction_bits;  // of an integer: all its bits
    int bias;
    int ignored_bits;  // low bits of the stored code that are no part of the number
    int bytes;         // as stored
    Specials specials;

    BOTH bool integer() const { return specials == SIGNED || specials == UNSIGNED; }
    BOTH bool infinite() const { return specials == IEEE; }
    /// Bits of a number, with its sign and without ignored ones.
    BOTH int width() const {
        bool sign = !integer() && specials != SCALE;
        return sign + exponent_bits + fraction_bits;
    }
    BOTH u64 sign_mask() const {
        if (specials == UNSIGNED || specials == SCALE) return 0;
        return 1ull << (width() + ignored_bits - 1);
    }
};

BOTH Format format_of(FormatName name) {
    switch (name) {
        case FP16: return {5, 10, 15, 0, 2, IEEE};
        case BF16: return {8, 7, 127, 0, 2, IEEE};
        case TF32:
        case XF32: return {8, 10, 127, 13, 4, IEEE};
        case FP32: return {8, 23, 127, 0, 4, IEEE};
        case FP64: return {11, 52, 1023, 0, 8, IEEE};
        case E5M2: return {5, 2, 15, 0, 1, IEEE};
        case E4M3: return {4, 3, 7, 0, 1, NAN_ONLY};
        case E4M3FNUZ: return {4, 3, 8, 0, 1, FNUZ};
        case E5M2FNUZ: return {5, 2, 16, 0, 1, FNUZ};
        case E3M2: return {3, 2, 3, 0, 1, NO_SPECIALS};
        case E2M3: return {2, 3, 1, 0, 1, NO_SPECIALS};
        case E2M1: return {2, 1, 1, 0, 1, NO_SPECIALS};
        case UE8M0: return {8, 0, 127, 0, 1, SCALE};
        case UE4M3: return {4, 3, 7, 0, 1, SCALE};
        case INT8: return {0, 8, 0, 0, 1, SIGNED};
        case UINT8: return {0, 8, 0, 0, 1, UNSIGNED};
        case INT4: return {0, 4, 0, 0, 1, SIGNED};
        case UINT4: return {0, 4, 0, 0, 1, UNSIGNED};
        default: return {0, 32, 0, 0, 4, SIGNED};
    }
}
