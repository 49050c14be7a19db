"""Operands from a counter, as docs/generator.md specifies them ("generate:SEED:CLASS:SHAPE").

A second implementation of src/io/generate.rs, in NumPy: codes as unsigned integers. Run as a program it
writes one operand: tcgenerate.py SEED CLASS SHAPE ROLE FORMAT OUT.npy
"""

import sys
from typing import NamedTuple

try:
    import numpy as np
except ImportError as missing:
    print(f"error: {missing}; this script needs NumPy", file=sys.stderr)
    sys.exit(2)

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
ROLES = ["a", "b", "c", "scale-a", "scale-b"]


class Format(NamedTuple):
    exponent_bits: int
    fraction_bits: int
    bias: int
    ignored_bits: int
    dtype: str
    specials: str  # ieee, nan_only, none, fnuz, scale or integer


FORMATS = {
    "fp16": Format(5, 10, 15, 0, "<u2", "ieee"),
    "bf16": Format(8, 7, 127, 0, "<u2", "ieee"),
    "tf32": Format(8, 10, 127, 13, "<u4", "ieee"),
    "xf32": Format(8, 10, 127, 13, "<u4", "ieee"),
    "fp32": Format(8, 23, 127, 0, "<u4", "ieee"),
    "fp64": Format(11, 52, 1023, 0, "<u8", "ieee"),
    "e5m2": Format(5, 2, 15, 0, "|u1", "ieee"),
    "e4m3": Format(4, 3, 7, 0, "|u1", "nan_only"),
    "e4m3fnuz": Format(4, 3, 8, 0, "|u1", "fnuz"),
    "e5m2fnuz": Format(5, 2, 16, 0, "|u1", "fnuz"),
    "e3m2": Format(3, 2, 3, 0, "|u1", "none"),
    "e2m3": Format(2, 3, 1, 0, "|u1", "none"),
    "e2m1": Format(2, 1, 1, 0, "|u1", "none"),
    "ue8m0": Format(8, 0, 127, 0, "|u1", "scale"),
    "ue4m3": Format(4, 3, 7, 0, "|u1", "scale"),
    # Integers: bits in place of fraction bits.
    "int8": Format(0, 8, 0, 0, "|u1", "integer"),
    "uint8": Format(0, 8, 0, 0, "|u1", "integer"),
    "int4": Format(0, 4, 0, 0, "|u1", "integer"),
    "uint4": Format(0, 4, 0, 0, "|u1", "integer"),
    "int32": Format(0, 32, 0, 0, "<u4", "integer"),
}


def mix(state: np.ndarray) -> np.ndarray:
    """SplitMix64's output function (Steele, Lea, Flood 2014)."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def words(seed: int, role: int, index: np.ndarray) -> np.ndarray:
    stream = int(mix(np.array([(seed + GOLDEN * (role + 1)) & MASK], np.uint64))[0])
    with np.errstate(over="ignore"):
        return mix(np.uint64(stream) + np.uint64(GOLDEN) * (index + np.uint64(1)))


def finite(f: Format, code: np.ndarray) -> np.ndarray:
    """What would be a NaN gets its last bit cleared; FNUZ's only NaN becomes 0."""
    width = 1 + f.exponent_bits + f.fraction_bits
    magnitude = (code >> np.uint64(f.ignored_bits)) & np.uint64((1 << (width - 1)) - 1)
    if f.specials == "nan_only":
        nan = magnitude == np.uint64((1 << (width - 1)) - 1)
        return np.where(nan, code & ~np.uint64(1), code)
    if f.specials == "fnuz":
        return np.where(code == np.uint64(1 << (width - 1)), np.uint64(0), code)
    return code


def fraction_of(f: Format, kind: str, word: np.ndarray, signed: bool) -> np.ndarray:
    """The lowest bits of a float; of an integer all of them."""
    integer = f.specials == "integer"
    ones, one = np.uint64((1 << f.fraction_bits) - 1), np.uint64(1)
    which = (word >> np.uint64(48)) & np.uint64(0xFF)
    inverted = np.where((word >> np.uint64(62)) & one == one, ones, np.uint64(0))
    if kind == "toggle":
        return (one << which % np.uint64(f.fraction_bits + (not integer)) & ones) ^ inverted
    if kind == "carry":
        extreme = np.full_like(word, ones)
        if integer and signed:
            smallest = np.where(word >> np.uint64(62) == np.uint64(3), ones, np.uint64(0))
            extreme = extreme ^ np.uint64(1 << (f.fraction_bits - 1)) ^ smallest
        return extreme ^ (which % np.uint64(4) == 0).astype(np.uint64)
    if kind == "alternate":
        return np.uint64(0x5555555555555555) << ((word >> np.uint64(62)) & one) & ones
    return word & ones


def number(f: Format, kind: str, word: np.ndarray, signed: bool = True) -> np.ndarray:
    fraction = word & np.uint64((1 << f.fraction_bits) - 1)
    if f.specials == "integer":
        return fraction_of(f, kind, word, signed)
    fields = 1 << f.exponent_bits
    random = (word >> np.uint64(32)) & np.uint64(0xFFFF)
    if f.specials == "scale":
        field = np.maximum(np.uint64(f.bias) + random % np.uint64(8), np.uint64(4)) - np.uint64(4)
        field = np.minimum(field, np.uint64(fields - 2))
        return field << np.uint64(f.fraction_bits) | fraction

    width = 1 + f.exponent_bits + f.fraction_bits
    if kind == "carry":
        sign = (word >> np.uint64(62) == np.uint64(3)).astype(np.uint64) << np.uint64(width - 1)
    else:
        sign = (word >> np.uint64(63)) << np.uint64(width - 1)
    fraction = fraction_of(f, kind, word, signed)
    infinite = f.specials == "ieee"
    largest = fields - 1 - infinite
    if kind == "subnormal":
        field = np.zeros_like(random)
    elif kind == "carry":
        field = np.uint64(f.bias) - random % np.uint64(2)
    elif kind == "align":
        field = np.uint64(f.bias) - random % np.uint64(min(f.bias + 1, 32))
    elif kind == "alternate":
        field = np.uint64(f.bias) + random % np.uint64(2)
    elif kind in ("normal", "toggle") and f.exponent_bits > 3:
        low = random % np.uint64(8)
        field = np.where(low > np.uint64(f.bias), np.uint64(0), np.uint64(f.bias) - low)
    else:
        field = random % np.uint64(largest + 1)
    ignored = np.uint64(f.ignored_bits)
    code = finite(f, (sign | field << np.uint64(f.fraction_bits) | fraction) << ignored)
    if kind != "special":
        return code

    which = random % np.uint64(16)
    top = np.uint64((fields - 1) << f.fraction_bits)
    ones = np.uint64((1 << (width - 1)) - 1)
    zero = np.zeros_like(code) if f.specials == "fnuz" else sign << ignored
    if infinite:
        infinity = (sign | top) << ignored
        nan = (sign | top | fraction | np.uint64(1 << (f.fraction_bits - 1))) << ignored
    else:
        infinity = sign | (ones - np.uint64(f.specials == "nan_only"))
        nan = np.full_like(code, int(ones) * 2 + 1)
    code = np.where(which == 0, zero, code)
    code = np.where(which == 1, infinity, code)
    return np.where(which == 2, nan, code)


def generate(seed: int, kind: str, shape: tuple, role: str, name: str) -> np.ndarray:
    """Codes of the format `name`, little-endian."""
    f = FORMATS[name]
    columns = shape[-1]
    index = np.arange(int(np.prod(shape)), dtype=np.uint64)
    stream = ROLES.index(role)
    with np.errstate(over="ignore"):
        word = words(seed, stream, index)
        pairs = kind in ("cancel", "stagger")
        if not pairs or role not in ("a", "b"):
            code = number(f, "normal" if pairs else kind, word, name.startswith("int"))
        else:
            row, column = index // np.uint64(columns), index % np.uint64(columns)
            one = np.uint64(1)
            k, first = column if role == "a" else row, np.uint64(kind == "stagger")
            odd = (k > first) & ((k - first) & one == one)
            partner = np.where(odd, index - (one if role == "a" else np.uint64(columns)), index)
            code = number(f, "normal", words(seed, stream, partner))
            if role == "a":
                width = 1 + f.exponent_bits + f.fraction_bits + f.ignored_bits
                if f.specials == "scale":
                    flip = np.uint64(0)
                elif f.specials != "integer":
                    flip = np.uint64(1 << (width - 1))
                elif name.startswith("int"):
                    flip = np.uint64(1 << (f.fraction_bits - 1))
                else:
                    flip = np.uint64(0)
                last = odd & ((word >> np.uint64(32)) & np.uint64(15) == 0)
                code = code ^ np.where(odd, flip, np.uint64(0))
                code = finite(f, code ^ last.astype(np.uint64) << np.uint64(f.ignored_bits))
                code = np.where(k < first, np.uint64(0), code)
    return code.astype(f.dtype).reshape(shape)


if __name__ == "__main__":
    seed, kind, shape, role, name, out = sys.argv[1:]
    axes = tuple(int(axis) for axis in shape.split("x"))
    np.save(out, generate(int(seed), kind, axes, role, name))
