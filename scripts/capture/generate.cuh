// The counter-based generator of docs/generator.md, for device and host: the third implementation beside
// src/io/generate/mod.rs and tcgenerate.py, and bit for bit the same.
#pragma once
#include "formats.h"

enum Class { NORMAL, WIDE, SUBNORMAL, SPECIAL, CANCEL, TOGGLE, CARRY, ALIGN, ALTERNATE, STAGGER, CLASSES };
enum Role { ROLE_A, ROLE_B, ROLE_C, ROLE_SCALE_A, ROLE_SCALE_B, ROLES };

/// SplitMix64's output function (Steele, Lea, Flood 2014).
BOTH u64 mix(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

BOTH u64 word_of(u64 seed, Role role, u64 index) {
    const u64 golden = 0x9e3779b97f4a7c15ull;
    u64 stream = mix(seed + golden * ((u64)role + 1));
    return mix(stream + golden * (index + 1));
}

/// A code that is no NaN.
BOTH u64 finite(const Format& f, u64 code) {
    u64 magnitude = (1ull << (f.width() - 1)) - 1;
    if (f.specials == NAN_ONLY && (code & magnitude) == magnitude) return code & ~1ull;
    if (f.specials == FNUZ && code == magnitude + 1) return 0;
    return code;
}

/// The lowest bits of a float; of an integer all of them.
BOTH u64 fraction_of(const Format& f, Class kind, u64 word) {
    u64 ones = (1ull << f.fraction_bits) - 1, which = word >> 48 & 0xff, inverted = word >> 62 & 1 ? ones : 0;
    switch (kind) {
        case TOGGLE: return (1ull << which % (f.fraction_bits + !f.integer()) & ones) ^ inverted;
        case CARRY: {
            u64 extreme = ones;
            if (f.integer()) extreme ^= f.sign_mask() ^ (f.sign_mask() && word >> 62 == 3 ? ones : 0);
            return extreme ^ (which % 4 == 0);
        }
        case ALTERNATE: return 0x5555555555555555ull << (word >> 62 & 1) & ones;
        default: return word & ones;
    }
}

/// A number of a class (not of those with pairs) from a random word.
BOTH u64 number(const Format& f, Class kind, u64 word) {
    u64 fraction = word & ((1ull << f.fraction_bits) - 1);
    if (f.integer()) return fraction_of(f, kind, word);
    u64 fields = 1ull << f.exponent_bits;
    u64 random = word >> 32 & 0xffff;
    if (f.specials == SCALE) {
        u64 field = f.bias + random % 8;
        field = field < 4 ? 0 : field - 4;
        if (field > fields - 2) field = fields - 2;
        return field << f.fraction_bits | fraction;
    }
    u64 sign = (kind == CARRY ? word >> 62 == 3 : word >> 63) ? f.sign_mask() : 0;
    fraction = fraction_of(f, kind, word);
    u64 ones = (1ull << (f.width() - 1)) - 1;
    u64 top = (fields - 1) << f.fraction_bits;
    if (kind == SPECIAL) switch (random % 16) {
        case 0: return f.specials == FNUZ ? 0 : sign;
        case 1:
            if (f.infinite()) return sign | top << f.ignored_bits;
            return sign | (ones - (f.specials == NAN_ONLY));
        case 2:
            if (f.infinite()) return sign | (top | fraction | 1ull << (f.fraction_bits - 1)) << f.ignored_bits;
            return ones * 2 + 1;
    }
    u64 field;
    if (kind == SUBNORMAL) {
        field = 0;
    } else if (kind == CARRY) {
        field = f.bias - random % 2;
    } else if (kind == ALIGN) {
        field = f.bias - random % (f.bias < 31 ? f.bias + 1 : 32);
    } else if (kind == ALTERNATE) {
        field = f.bias + random % 2;
    } else if ((kind == NORMAL || kind == TOGGLE) && f.exponent_bits > 3) {
        u64 down = random % 8;
        field = down > (u64)f.bias ? 0 : f.bias - down;
    } else {
        field = random % (fields - f.infinite());
    }
    return finite(f, sign | (field << f.fraction_bits | fraction) << f.ignored_bits);
}

/// The code of an element; `row` counts through the batch.
BOTH u64 generated(const Format& f, u64 seed, Class kind, Role role, u64 row, u64 column, u64 columns) {
    u64 index = row * columns + column;
    u64 word = word_of(seed, role, index);
    if (kind != CANCEL && kind != STAGGER) return number(f, kind, word);
    if (role != ROLE_A && role != ROLE_B) return number(f, NORMAL, word);
    // k runs along the rows of A and down the columns of B.
    u64 k = role == ROLE_A ? column : row, first = kind == STAGGER;
    if (role == ROLE_A && k < first) return 0;
    bool second = k > first && (k - first) % 2 == 1;
    u64 partner = second ? index - (role == ROLE_A ? 1 : columns) : index;
    u64 code = number(f, NORMAL, word_of(seed, role, partner));
    if (second && role == ROLE_A) {
        u64 last = (word >> 32 & 15) == 0;
        code ^= f.sign_mask() ^ last << f.ignored_bits;
    }
    return finite(f, code);
}

/// Stores a code in `bytes` bytes, little-endian.
BOTH void put(u8* out, u64 code, int bytes) {
    for (int i = 0; i < bytes; i++) out[i] = (u8)(code >> 8 * i);
}

#ifdef DEVICE_CODE
__global__ void fill(Format f, u64 seed, Class kind, Role role, u64 elements, u64 columns, u8* out) {
    u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= elements) return;
    u64 code = generated(f, seed, kind, role, index / columns, index % columns, columns);
    put(out + index * f.bytes, code, f.bytes);
}
#endif
