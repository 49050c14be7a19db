"""Operands from a counter, as docs/generator.md specifies them ("generate:SEED:CLASS:SHAPE").

A second implementation of src/io/generate/mod.rs, in NumPy: codes as unsigned integers. Run as a program it
writes one operand: tcgenerate.py SEED CLASS SHAPE ROLE FORMAT OUT.npy, or what torch draws on a GPU:
tcgenerate.py generate:torch-cuda-randn:SEED:OFFSET:SMS:SHAPE[:STEP...] FORMAT OUT.npy    (rand, randint:LOW:HIGH)
"""

import functools
import json
import pathlib
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


def floats(codes) -> np.ndarray:
    return np.asarray(codes, np.uint32).view(np.float32)


def fma(x, y, z) -> np.ndarray:
    """x * y + z of FP32, rounded once: in FP64 the product is exact, and the sum is rounded to odd."""
    product, z = np.float64(x) * np.float64(y), np.float64(z)
    total = product + z
    other = total - product
    lost = (product - (total - other)) + (z - other)
    bits = total.view(np.int64)
    nudged = np.where((lost < 0) == (total < 0), bits + 1, bits - 1)
    bits = np.where((lost != 0) & (bits & 1 == 0), nudged, bits)
    return bits.view(np.float64).astype(np.float32)


def philox(seed: int, counter: np.ndarray, thread: np.ndarray) -> list:
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    c = [counter & low, counter >> shift, thread & low, thread >> shift]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        h0, h1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [h1 >> shift ^ c[1] ^ np.uint64(k0), h1 & low, h0 >> shift ^ c[3] ^ np.uint64(k1), h0 & low]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c


def tables() -> dict:
    """The special function unit's, which lie beside its model."""
    path = pathlib.Path(__file__).resolve().parents[2] / "crates/float32/src/tables.json"
    return json.loads(path.read_text())


def square(x: np.ndarray) -> np.ndarray:
    return sum(np.where(x >> i & 1 == 1, x >> (18 - i), 0) for i in range(17)) >> 1


def sine(turns: np.ndarray, quarters: np.ndarray) -> np.ndarray:
    fixed = np.floor(np.float64(turns) * 2**25).astype(np.int64)
    quadrant = (fixed >> 23) + quarters
    fraction = np.where(quadrant & 1 == 1, ~fixed, fixed) & 0x7FFFFF
    a, b, c = np.array(tables()["quarter_turn"], np.int64)[fraction >> 17].T
    y = fraction & 0x1FFFF
    total = (a << 11) + b * y + c * square(y)
    # Cut to 24 bits: FP64 holds 37.
    down = np.maximum(np.frexp(np.float64(total))[1] - 24, 0)
    cut = np.float64(total >> down << down) * 2.0**-37
    return np.where(quadrant & 2 == 2, -cut, cut).astype(np.float32)


def logf(u: np.ndarray) -> np.ndarray:
    bits = u.view(np.uint32)
    exponent = bits - np.uint32(0x3F2AAAAB) & np.uint32(0xFF800000)
    x = (bits - exponent).view(np.float32) - np.float32(1)
    p = floats(0xBE055027)
    for c in (0x3E1039F6, 0xBDF8CDCC, 0x3E0F2955, 0xBE2AD8B9, 0x3E4CED0B, 0xBE7FFF22, 0x3EAAAA78, 0xBF000000):
        p = fma(p, x, floats(c))
    k = exponent.view(np.int32).astype(np.float32) * np.float32(2.0**-23)
    return fma(k, floats(0x3F317218), fma(x * p, x, x))


def silu(x: np.ndarray) -> np.ndarray:
    """x / (1 + expf(-x))."""
    t = np.clip(fma(-x, floats(0x3BBB989D), np.float32(0.5)), np.float32(0), np.float32(1))
    steps = np.floor(np.float64(t) * 252).astype(np.int64)  # fma(t, 252, 12582913), rounded down
    n = (steps + 12582913 - 12583039).astype(np.float32)
    r = fma(-x, floats(0x32A57060), fma(-x, floats(0x3FB8AA3B), -n))
    row = next(table for table in tables()["tables"] if table["name"] == "ex2")
    fixed = np.trunc(np.abs(np.float64(r)) * 2**23).astype(np.int64)
    whole, fraction = fixed >> 23, fixed & 0x7FFFFF
    below = (r < 0) & (fraction != 0)
    fraction = np.where(below, ~fraction & 0x7FFFFF, fraction)
    whole = np.where(below, -whole - 1, np.where(r < 0, -whole, whole))
    a, b, c = np.array(row["rows"], np.int64)[fraction >> 17].T
    y = fraction & 0x1FFFF
    value = (a << 13) + b * y + c * square(y) + row["bias"] >> 15
    ex2 = (np.float64(value) * 2.0**-23 * 2.0 ** np.float64(whole)).astype(np.float32)
    power = ((steps + 0x4B400001) << 23 & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    return x / fma(ex2, power, np.float32(1))


def drawn(seed: int, offset: int, sms: int, n: int, index: np.ndarray) -> tuple:
    """The four words that a thread draws at once for some of n numbers, and which of them are theirs."""
    threads = 256 * min(-(-n // 256), 8 * sms)
    turn, place = index // (4 * threads), index % (4 * threads)
    lane, thread = place // threads, place % threads
    return np.array(philox(seed, np.uint64(offset // 4) + turn.astype(np.uint64), thread.astype(np.uint64))), lane


def rand(*draw) -> np.ndarray:
    """Some of the n numbers that torch.rand draws."""
    four, lane = drawn(*draw)
    own = np.take_along_axis(four, lane[None], 0)[0].astype(np.float32)
    u = own * np.float32(2.0**-32) + np.float32(2.0**-33)
    return np.where(u == 1, np.float32(0), u)


def randint(low: int, high: int, *draw) -> np.ndarray:
    """Some of the n integers that torch.randint draws."""
    four, lane = drawn(*draw)
    own = np.take_along_axis(four, lane[None], 0)[0].astype(np.int64)
    return (own % (high - low) + low).astype(np.float32)


def randn(*draw) -> np.ndarray:
    """Some of the n numbers that torch.randn draws."""
    four, lane = drawn(*draw)
    first = np.where(lane < 2, four[0], four[2]).astype(np.float32)
    second = np.where(lane < 2, four[1], four[3]).astype(np.float32)
    u = fma(first, floats(0x2F800000), floats(0x2F000000))
    v = fma(second, floats(0x30C90FDB), floats(0x30490FDB))
    radius = np.sqrt(np.float32(-2) * logf(u))
    exact = np.float64(v) * np.float64(floats(0x3E22F983))
    turns = exact.astype(np.float32)
    turns = (turns.view(np.uint32) - (np.float64(turns) > exact)).astype(np.uint32).view(np.float32)
    return sine(turns, lane & 1) * radius + np.float32(0)


def torch_operand(spec: str, name: str) -> np.ndarray:
    """The codes of generate:torch-cuda-randn:... (rand, randint) in fp32, fp16 or bf16, of integers int8, too."""
    _, word, *parts = spec.split(":")
    name_of_law = word.removeprefix("torch-cuda-")
    if name_of_law == "randint":
        low, high, *parts = parts
        law = functools.partial(randint, int(low), int(high))
    else:
        law = randn if name_of_law == "randn" else rand
    seed, offset, sms, shape, *steps = parts
    axes = tuple(int(axis) for axis in shape.split("x"))
    n = int(np.prod(axes))
    index = np.arange(n, dtype=np.int64)
    pairs = [step for step in steps if step.startswith("pairs-")]
    odd = index % axes[-1] % 2 == 1
    index = np.where(odd, index - 1, index) if pairs else index
    z = law(int(seed), int(offset), int(sms), n, index)
    for step in steps:
        said = step.split("-")
        if said[0] == "times":
            z = z * floats(int(said[1], 16))
        elif said[0] == "silu":
            z = silu(z) * law(int(seed), int(said[2]), int(sms), n, index)
        elif step == "pairs-negated":
            z = np.where(odd, -z, z)
        else:
            z = np.where(odd, z + floats(int(said[2], 16)), z)
    if name_of_law == "rand-of-format":
        z = np.where(of_format(z, name) == of_format(np.ones(1, np.float32), name), np.float32(0), z)
    return of_format(z, name).reshape(axes)


def of_format(z: np.ndarray, name: str) -> np.ndarray:
    """The codes of FP32 numbers."""
    if name == "fp32":
        return z.view(np.uint32)
    if name == "fp16":
        return z.astype(np.float16).view(np.uint16)
    if name == "int8":
        return z.astype(np.int8)
    bits = z.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> 16 & 1)) >> 16).astype(np.uint16)


if __name__ == "__main__" and len(sys.argv) == 4:
    np.save(sys.argv[3], torch_operand(sys.argv[1], sys.argv[2]))
elif __name__ == "__main__":
    seed, kind, shape, role, name, out = sys.argv[1:]
    axes = tuple(int(axis) for axis in shape.split("x"))
    np.save(out, generate(int(seed), kind, axes, role, name))
