#!/usr/bin/env python3
"""Recompute every digest of a tcverify.report/2 from the files that it names.

Nothing of tcverify is used: this is a second implementation of what docs/report-format.md says
about digests, to be read beside it. It does not replay the product.

Usage: verify_report.py REPORT.json [--root DIR] [--replayed D.npy]

  --root DIR        paths of the report are relative to DIR (default: the working directory)
  --replayed D.npy  what `tcverify replay -o D.npy` wrote, to check the digest of the reproduced D

Exit codes: 0 all agree, 1 something does not, 2 the report or a file cannot be read.
Needs Python 3.9 and NumPy.
"""

import argparse
import ast
import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Format(NamedTuple):
    exponent_bits: int
    fraction_bits: int
    bytes: int  # of one code
    specials: str = "ieee"  # what the largest exponent field means: ieee, nan_only or none
    ignored_bits: int = 0  # low bits of a code that the format does not have


FORMATS = {
    "fp16": Format(5, 10, 2),
    "bf16": Format(8, 7, 2),
    "tf32": Format(8, 10, 4, ignored_bits=13),
    "e4m3": Format(4, 3, 1, "nan_only"),
    "e5m2": Format(5, 2, 1),
    "e3m2": Format(3, 2, 1, "none"),
    "e2m3": Format(2, 3, 1, "none"),
    "e2m1": Format(2, 1, 1, "none"),
    "fp32": Format(8, 23, 4),
    "fp64": Format(11, 52, 8),
    "xf32": Format(8, 10, 4, ignored_bits=13),
}

# Formats whose elements are read as codes alone here: their bytes.
CODES_ONLY = {"e4m3fnuz": 1, "e5m2fnuz": 1, "ue8m0": 1, "ue4m3": 1}

# Bits, whether signed, and bytes of a code.
INTEGERS = {
    "int8": (8, True, 1),
    "uint8": (8, False, 1),
    "int4": (4, True, 1),
    "uint4": (4, False, 1),
    "int32": (32, True, 4),
}

# Names that some writers put where a type string belongs.
NAMED_FLOATS = {"float16": "<f2", "float32": "<f4", "float64": "<f8"}
NAMED_CODES = {"bfloat16": "<u2"}  # every other name is a format of one byte

FLOATS = {2: "fp16", 4: "fp32", 8: "fp64"}


class Stored(NamedTuple):
    descr: str
    fortran_order: bool
    elements: np.ndarray  # unsigned integers: the bits of each element
    float_format: str  # "fp16", "fp32" or "fp64" if the elements are floats, else ""
    kind: str  # of the type string: f, i, u or V


SAFETENSORS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "bfloat16",
               "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu",
               "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2FNUZ": "float8_e5m2fnuz",
               **{f"{kind}{8 * n}": f"<{kind.lower()}{n}" for kind in "IU" for n in (1, 2, 4, 8)}}


def locate(root: Path, said: str):
    """The file of a path, and the array's name after a '#': what exists is the file."""
    parts = said.split("#")
    for n in range(len(parts), 0, -1):
        path = root / "#".join(parts[:n])
        if path.exists():
            return path, "#".join(parts[n:]) if n < len(parts) else None
    return root / said, None


def read_array(path: Path, name) -> Stored:
    """The array that `locate` found."""
    data = path.read_bytes()
    if name is None:
        return parse_npy(data, path)
    if data[:2] == b"PK":
        return parse_npy(zipfile.ZipFile(io.BytesIO(data)).read(f"{name}.npy"), path)
    start = 8 + int.from_bytes(data[:8], "little")
    about = json.loads(data[8:start])[name]
    storage = storage_type(SAFETENSORS[about["dtype"]])
    begin, end = about["data_offsets"]
    raw = np.frombuffer(data[start + begin : start + end], f"<u{int(storage[2:])}")
    return stored(f"safetensors {about['dtype']}", storage, False, raw.reshape(about["shape"]))


def read_npy(path: Path) -> Stored:
    return parse_npy(path.read_bytes(), path)


def parse_npy(data: bytes, path: Path) -> Stored:
    if data[:6] != b"\x93NUMPY":
        raise ValueError(f"{path}: not a .npy file")
    start = 10 if data[6] == 1 else 12
    length = int.from_bytes(data[8:start], "little")
    header = ast.literal_eval(data[start : start + length].decode())
    descr = header["descr"]

    storage = storage_type(descr)
    order, width = storage[0], int(storage[2:])
    raw = np.frombuffer(data, f"{'>' if order == '>' else '<'}u{width}", offset=start + length)
    elements = raw.reshape(header["shape"], order="F" if header["fortran_order"] else "C")
    return stored(descr, storage, header["fortran_order"], elements)


def storage_type(descr: str) -> str:
    """The type string of a descr that may be a name."""
    storage = NAMED_FLOATS.get(descr, descr)
    return storage if storage[0] in "<>|" else NAMED_CODES.get(descr, "|u1")


def stored(descr: str, storage: str, fortran_order: bool, elements: np.ndarray) -> Stored:
    kind, width = storage[1], int(storage[2:])
    is_float = kind == "f" and width > 1  # <f1 is how ml_dtypes writes the codes of float8_e5m2
    float_format = FLOATS[width] if is_float else ""
    return Stored(descr, fortran_order, elements, float_format, kind)


def convert(code: int, source: Format, target: Format) -> int:
    """The code of `target` that means what `code` means in `source`, an IEEE format."""
    negative = code >> (source.exponent_bits + source.fraction_bits)
    field = code >> source.fraction_bits & ((1 << source.exponent_bits) - 1)
    fraction = code & ((1 << source.fraction_bits) - 1)
    top = (1 << target.exponent_bits) - 1
    least = 2 - (1 << (target.exponent_bits - 1))  # the exponent of subnormals

    if field == (1 << source.exponent_bits) - 1:  # infinity, or NaN
        if fraction and target.specials == "nan_only":
            magnitude = (top << target.fraction_bits) + (1 << target.fraction_bits) - 1
        elif target.specials == "ieee":
            # A NaN keeps its leading fraction bits.
            narrower = source.fraction_bits - target.fraction_bits
            kept = fraction >> narrower if narrower > 0 else fraction << -narrower
            if narrower > 0 and kept << narrower != fraction:
                raise ValueError(f"0x{code:x}: its NaN payload does not fit")
            magnitude = (top << target.fraction_bits) + kept
        else:
            raise ValueError(f"0x{code:x}: the format has no such value")
    else:
        significand = fraction + ((1 << source.fraction_bits) if field else 0)
        lsb = max(field, 1) + 1 - (1 << (source.exponent_bits - 1)) - source.fraction_bits
        exponent = max(lsb + significand.bit_length() - 1, least) if significand else least
        shift = lsb - (exponent - target.fraction_bits)
        exact = significand << shift if shift >= 0 else significand >> -shift
        if shift < 0 and exact << -shift != significand:
            raise ValueError(f"0x{code:x}: not representable")
        # The leading bit of a normal significand carries into the exponent field, as it should.
        magnitude = ((exponent - least) << target.fraction_bits) + exact
        limit = {
            "ieee": top << target.fraction_bits,
            "nan_only": (top + 1 << target.fraction_bits) - 1,
            "none": top + 1 << target.fraction_bits,
        }[target.specials]
        if magnitude >= limit:
            raise ValueError(f"0x{code:x}: too large")
    code = magnitude | negative << (target.exponent_bits + target.fraction_bits)
    return code << target.ignored_bits


def codes(stored: Stored, name: str) -> np.ndarray:
    """The codes of the format `name`, as little-endian unsigned integers."""
    if name in INTEGERS:
        return integer_codes(stored, *INTEGERS[name])
    if name in CODES_ONLY:
        if stored.elements.dtype.itemsize != CODES_ONLY[name]:
            raise ValueError(f"values of {stored.descr} are not made codes of {name} here")
        return stored.elements
    target, held = FORMATS[name], stored.float_format
    elements = stored.elements
    if held and held != name and not (held == "fp32" and name in ("tf32", "xf32")):
        values, where = np.unique(elements, return_inverse=True)
        table = [convert(int(value), FORMATS[held], target) for value in values]
        elements = np.array(table, np.uint64)[where].reshape(elements.shape)
    elif elements.dtype.itemsize != target.bytes:
        raise ValueError(f"elements of {stored.descr} are no codes of {name}")
    return elements.astype(f"<u{target.bytes}")


def integer_codes(stored: Stored, bits: int, signed: bool, size: int) -> np.ndarray:
    """Numbers in two's complement; opaque bytes are codes already."""
    elements = stored.elements
    if stored.kind == "V":
        return elements.astype(f"<u{size}")
    kind = "f" if stored.float_format else stored.kind
    values = elements.view(f"{kind}{elements.dtype.itemsize}")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not np.all((values >= low) & (values <= high) & (values == np.trunc(values))):
        raise ValueError(f"elements of {stored.descr} are no integers of {bits} bits")
    return (values.astype(np.int64) & ((1 << bits) - 1)).astype(f"<u{size}")


def nearest_tf32(registers: np.ndarray) -> np.ndarray:
    """To nearest, ties away from zero; infinities and NaNs as they are."""
    special = (registers & 0x7F800000) == 0x7F800000
    return np.where(special, registers, (registers + 0x1000) & 0xFFFFE000).astype("<u4")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def payload_sha256(array: np.ndarray) -> str:
    return sha256(array.tobytes(order="C"))


class Tally:
    def __init__(self):
        self.failed = 0

    def __call__(self, what: str, said, found):
        agrees = said == found
        self.failed += not agrees
        print(f"{'ok ' if agrees else 'BAD'}  {what:<22} {found}")
        if not agrees:
            print(f"     {'the report says':<22} {said}")


def check_input(name: str, entry: dict, root: Path, check: Tally):
    path, array_name = locate(root, entry["path"])
    check(f"{name} file", entry["file_sha256"], sha256(path.read_bytes()))
    stored = read_array(path, array_name)
    layout = (stored.descr, stored.fortran_order, list(stored.elements.shape))
    check(f"{name} layout", (entry["descr"], entry["fortran_order"], entry["shape"]), layout)
    array = codes(stored, entry["format"])
    if (low := entry["tf32_low_bits"]) is not None:
        registers = stored.float_format in ("", "fp32")
        count = int(np.count_nonzero(array & 0x1FFF)) if registers else 0
        check(f"{name} TF32 low bits", low["elements"], count)
        if low["treatment"] == "nearest":
            array = nearest_tf32(array)
    check(f"{name} payload", entry["payload_sha256"], payload_sha256(array))


def root_of(array: np.ndarray, format: str, block_rows: int) -> str:
    """The root of docs/commitment-format.md."""
    hash_of = lambda *pieces: hashlib.sha256(b"".join(pieces)).digest()
    rows = array.reshape(-1, array.shape[-1])
    blocks = range(0, len(rows), block_rows)
    level = [hash_of(b"\0", rows[i:i + block_rows].tobytes(order="C")) for i in blocks]
    while len(level) > 1:
        # A last one without a partner rises as it is.
        pairs = [level[i:i + 2] for i in range(0, len(level), 2)]
        level = [hash_of(b"\1", *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    shape = ",".join(map(str, array.shape))
    header = f"tcverify.commitment/1\nformat={format}\nshape={shape}\nblock_rows={block_rows}\n"
    return hash_of(b"\3", hash_of(b"\2", header.encode()), level[0]).hex()


def check_root(report: dict, d: np.ndarray, what: str, check: Tally):
    reproduced = report["reproduced"]
    if (tree := reproduced.get("tree")) is not None:
        check(what, tree["root"], root_of(d, reproduced["format"], tree["block_rows"]))


def check_verdict(report: dict, check: Tally):
    outcome, reproduced = report["outcome"], report["reproduced"]["payload_sha256"]
    if outcome["judged_by"] == "digest":
        same = outcome["expected_payload_sha256"] == reproduced
    else:
        comparison = outcome["comparison"]
        same = comparison["mismatches"] == 0
        # Of a sample there is no such digest; of a tree the root says it.
        if same and comparison["accepted"] == 0 and reproduced is not None:
            check("replay = D payload", reproduced, report["inputs"]["d"]["payload_sha256"])
    part = "sample" in report["reproduced"]
    identical = "identical_in_part" if part else "identical"
    check("verdict", report["verdict"], identical if same else "different")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.add_argument("--root", type=Path, default=Path("."), metavar="DIR")
    parser.add_argument("--replayed", type=Path, metavar="D.npy")
    options = parser.parse_args()
    check = Tally()
    try:
        report = json.loads(options.report.read_text())
        if report["schema"] != "tcverify.report/2":
            raise ValueError(f"{options.report}: schema is {report['schema']!r}")
        model = report["model"]
        arithmetic = json.dumps(model["arithmetic"], sort_keys=True, separators=(",", ":"))
        check("model", model["sha256"], sha256(arithmetic.encode()))
        if "schedule" in report:
            schedule = report["schedule"]
            spec = json.dumps(schedule["spec"], sort_keys=True, separators=(",", ":"))
            check("schedule", schedule["sha256"], sha256(spec.encode()))
        if "commitment" in report:
            said = report["commitment"]
            path = options.root / said["path"]
            check("commitment file", said["file_sha256"], sha256(path.read_bytes()))
        for name, entry in report["inputs"].items():
            if entry is not None:
                check_input(name.upper(), entry, options.root, check)
        if options.replayed is not None:
            said = report["reproduced"]
            replayed = codes(read_npy(options.replayed), said["format"])
            check("replay shape", said["shape"], list(replayed.shape))
            if said["payload_sha256"] is not None:
                check("replay payload", said["payload_sha256"], payload_sha256(replayed))
            check_root(report, replayed, "replay root", check)
        comparison = report["outcome"].get("comparison", {})
        if comparison.get("mismatches") == 0 and comparison["accepted"] == 0:
            entry = report["inputs"]["d"]
            path, array_name = locate(options.root, entry["path"])
            d = codes(read_array(path, array_name), entry["format"])
            check_root(report, d, "replay = D root", check)
        check_verdict(report, check)
    except (OSError, KeyError, SyntaxError, ValueError) as error:
        print(f"error: {error!r}" if isinstance(error, KeyError) else f"error: {error}",
              file=sys.stderr)
        return 2
    print("all agree" if check.failed == 0 else f"{check.failed} do not agree")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
