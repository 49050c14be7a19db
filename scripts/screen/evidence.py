"""Shows wrong elements of a matrix product to somebody who has nothing of tcverify: Python's standard library alone.

  python3 evidence.py FOLDER [--dtype bf16] [--device cuda:0]

FOLDER holds a.npy, b.npy, perhaps c.npy, d.npy (what the GPU returned) and right.npy (what its arithmetic gives). For every element in
which the two differ it prints both, and how far each is from A.B + C in exact rational numbers. With --device, PyTorch multiplies A
and B there, too: another GPU of the same model should return right.npy. Exit codes: 0 no element differs, 1 some do, 2 anything else.
"""

import argparse
import ast
import os
import struct
import sys
from fractions import Fraction

# Exponent bits, fraction bits, bias, whether the largest exponent is infinity and NaN; of integers their sign.
FLOATS = {
    "fp64": (11, 52, 1023, True),
    "fp32": (8, 23, 127, True),
    "tf32": (8, 23, 127, True),
    "fp16": (5, 10, 15, True),
    "bf16": (8, 7, 127, True),
    "e5m2": (5, 2, 15, True),
    "e4m3": (4, 3, 7, False),
}
INTEGERS = {"int8": True, "uint8": False, "int32": True}
BY_TYPE = {"<f8": "fp64", "<f4": "fp32", "<f2": "fp16", "<V2": "bf16", "|i1": "int8", "|u1": "uint8", "<i4": "int32"}
MOST = 20


def read(path, dtype=None):
    """Format, rows, columns and codes of a matrix."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        raise ValueError(f"{path}: it is no .npy file")
    wide = data[6] > 1
    length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    start = (12 if wide else 10) + length
    header = ast.literal_eval(data[start - length : start].decode("latin1"))
    if header["fortran_order"] or len(header["shape"]) != 2:
        raise ValueError(f"{path}: it is no matrix in C order")
    descr = header["descr"]
    width = int(descr[2:])
    name = dtype if dtype and (descr[1] in "uV" or dtype == "tf32") else BY_TYPE.get(descr)
    if name is None:
        raise ValueError(f"{path}: say with --dtype what {descr!r} holds")
    rows, columns = header["shape"]
    if len(data) - start != rows * columns * width:
        raise ValueError(f"{path}: {len(data) - start} bytes of elements, {rows * columns * width} expected")
    codes = [int.from_bytes(data[i : i + width], "little") for i in range(start, len(data), width)]
    return name, rows, columns, codes


def value(name, code):
    """The number behind a code; none if it is infinity or NaN."""
    if name in INTEGERS:
        width = 32 if name == "int32" else 8
        return Fraction(code - (1 << width) if INTEGERS[name] and code >> (width - 1) else code)
    exponent_bits, bits, bias, specials = FLOATS[name]
    field, fraction = code >> bits & ((1 << exponent_bits) - 1), code & ((1 << bits) - 1)
    top = field == (1 << exponent_bits) - 1
    if top and (specials or fraction == (1 << bits) - 1):
        return None
    significand = fraction | (1 << bits if field else 0)
    scale = max(field, 1) - bias - bits
    if name == "tf32":
        # The unit reads the upper bits alone.
        significand &= ~0x1FFF
    sign = -1 if code >> (exponent_bits + bits) & 1 else 1
    return sign * Fraction(significand) * Fraction(2) ** scale


def unit(name, number):
    """The distance of neighbouring numbers around one."""
    if name in INTEGERS or number is None:
        return Fraction(1)
    _, bits, bias, _ = FLOATS[name]
    exponent = 1 - bias
    while number and abs(number) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    return Fraction(2) ** (exponent - bits)


def shown(name, code, exact):
    number = value(name, code)
    width = {"fp64": 16, "fp32": 8, "tf32": 8, "int32": 8, "fp16": 4, "bf16": 4}.get(name, 2)
    said = f"{code:0{width}x}"
    if number is None or exact is None:
        return f"{said} {'(no number)' if number is None else float(number)}"
    return f"{said} {float(number):.9g}, {float(abs(number - exact) / unit(name, exact)):.6g} units from the exact sum"


def exact_sum(folder, arrays, row, column):
    (a_name, _, k, a), (b_name, _, n, b) = arrays["a"], arrays["b"]
    terms = [(value(a_name, a[row * k + i]), value(b_name, b[i * n + column])) for i in range(k)]
    if any(x is None or y is None for x, y in terms):
        return None
    total = sum((x * y for x, y in terms), Fraction(0))
    if "c" in arrays:
        c_name, _, columns, c = arrays["c"]
        added = value(c_name, c[row * columns + column])
        return None if added is None else total + added
    return total


def again(device, arrays, right):
    """How many elements another device's product has unlike right.npy."""
    import torch

    def tensor(array):
        name, rows, columns, codes = array
        kind = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "tf32": "float32"}[name]
        through = torch.int32 if name in ("fp32", "tf32") else torch.int16
        bits = 32 if through is torch.int32 else 16
        signed = [code - (1 << bits) if code >> (bits - 1) else code for code in codes]
        return torch.tensor(signed, dtype=through).view(getattr(torch, kind)).reshape(rows, columns).to(device)

    torch.backends.cuda.matmul.allow_tf32 = arrays["a"][0] == "tf32"
    d = (tensor(arrays["a"]) @ tensor(arrays["b"])).cpu()
    wanted = tensor(right).cpu()
    if d.dtype != wanted.dtype:
        raise ValueError(f"PyTorch returns {d.dtype}, right.npy holds {wanted.dtype}: these products cannot be compared")
    bits = torch.int32 if d.dtype == torch.float32 else torch.int16
    return int((d.view(bits) != wanted.view(bits)).sum())


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--dtype", choices=[*FLOATS, *INTEGERS], help="format of A and B, if their files hold codes")
    parser.add_argument("--d-dtype", choices=[*FLOATS, *INTEGERS], help="format of D and C, if their files hold codes")
    parser.add_argument("--device", help="multiply with PyTorch on this device, too")
    options = parser.parse_args(words)
    try:
        kinds = {"a": options.dtype, "b": options.dtype, "c": options.d_dtype, "d": options.d_dtype, "right": options.d_dtype}
        paths = {name: os.path.join(options.folder, f"{name}.npy") for name in kinds}
        arrays = {name: read(path, kinds[name]) for name, path in paths.items() if name != "c" or os.path.exists(path)}
        (name, rows, columns, d), right = arrays["d"], arrays["right"]
        if right[:3] != (name, rows, columns) or arrays["a"][1] != rows or arrays["b"][2] != columns or arrays["a"][2] != arrays["b"][1]:
            raise ValueError(f"{options.folder}: the shapes or formats of the arrays do not belong together")
        differ = [i for i in range(rows * columns) if d[i] != right[3][i]]
        print(f"{len(differ)} of {rows * columns} elements differ from right.npy")
        for i in differ[:MOST]:
            exact = exact_sum(options.folder, arrays, i // columns, i % columns)
            print(f"element [{i // columns}, {i % columns}]")
            print(f"  returned  {shown(name, d[i], exact)}")
            print(f"  right     {shown(name, right[3][i], exact)}")
        if len(differ) > MOST:
            print(f"and {len(differ) - MOST} more")
        if options.device:
            print(f"{options.device} returns {again(options.device, arrays, right)} elements unlike right.npy")
    except (OSError, ValueError, KeyError, SyntaxError, ImportError) as error:
        print(f"evidence: {error}", file=sys.stderr)
        return 2
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
