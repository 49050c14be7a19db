#!/usr/bin/env python3
"""Recompute every digest of a tcverify.report/1, or of a tcverify.operation-report/1, from the files that it names,
and every figure that follows from others.

Nothing of tcverify is used: this is a second implementation of what docs/report-format.md says, to be read
beside it. It does not replay the product and knows no catalogue: that the arithmetic is that of the
architecture, and D what it gives, is the report's word. `tcverify verify-report --replay` confirms both.

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
import math
import re
import shlex
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

try:
    import numpy as np
except ImportError as missing:
    # What cannot be looked at is not different.
    print(f"error: {missing}; this script needs NumPy", file=sys.stderr)
    sys.exit(2)


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


# The fields of each object: those that must be there, and those that may.
TOP = ({"schema", "tool", "verdict", "request", "command", "model", "product", "inputs", "reproduced", "outcome",
        "causes"}, {"chosen", "schedule", "commitment", "tried", "discrimination"})
MODEL = ({"architecture", "title", "instruction", "evidence", "note", "summary", "arithmetic", "sha256", "constants",
          "sources"}, {"file"})
PRODUCT = ({"batch", "m", "n", "k", "transpose_a", "transpose_b"}, set())
INPUTS = ({"a", "b", "c", "d"}, {"scale_a", "scale_b", "bias", "azp", "azp_adj"})
INPUT = ({"path", "descr", "fortran_order", "format", "shape", "file_sha256", "payload_sha256", "tf32_low_bits"}, set())
REPRODUCED = ({"format", "shape", "payload_sha256", "conversion"}, {"tree", "sample"})
SAMPLE = ({"rows", "columns", "population", "elements", "seed", "sha256", "missed", "caught_99_percent"},
          {"seed_from", "assumes"})
TREE = ({"block_rows", "root"}, set())
OPERATION = ({"schema", "tool", "verdict", "request", "command", "operation", "inputs", "reproduced", "outcome", "causes"},
             {"commitment", "tried"})
OPERATED = ({"name", "variant", "title", "library", "versions", "evidence", "about", "rule", "sha256", "constants",
             "sources"}, {"file", "multiplied_by", "notes"})
RESULT = ({"output", "format", "shape"}, {"payload_sha256", "sample"})
COMMITTED = ({"path", "file_sha256"}, set())
ELEMENTS = ({"judged_by", "nan", "zero", "comparison"}, set())
DIGEST = ({"judged_by", "expected_payload_sha256"}, set())
COMPARISON = ({"elements", "mismatches", "mismatch_percent", "accepted", "rows", "rows_touched", "columns",
               "columns_touched", "units", "classes", "largest", "histogram", "first"}, set())
CLASSES = ("zero_sign", "nan_payload", "nan_against_number", "infinity_against_finite", "infinity_sign", "sign",
           "exponent", "significand")
MISMATCH = ({"index", "reproduced", "given", "reproduced_value", "given_value", "ulp", "xor", "class"}, set())


def fields(what: str, value, known: tuple) -> dict:
    """Refuses an object that lacks a field, or has one that nobody knows."""
    needed, optional = known
    if not isinstance(value, dict):
        raise ValueError(f"{what}: an object is expected")
    if missing := needed - value.keys():
        raise ValueError(f"{what}: {min(missing)} is missing")
    if unknown := value.keys() - needed - optional:
        raise ValueError(f"{what}: {min(unknown)!r} is no field of it")
    return value


def once(pairs: list) -> dict:
    """Refuses an object that has a field twice."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError(f"a field is there twice among {[name for name, _ in pairs]}")
    return dict(pairs)


def digest(what: str, value, needed: bool = True):
    if value is None and not needed:
        return
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError(f"{what}: a SHA-256 is expected, not {value!r}")


def check_outcome_form(outcome: dict):
    """Every field of the comparison, every count a whole number."""
    if outcome["judged_by"] == "digest":
        fields("outcome", outcome, DIGEST)
        digest("outcome", outcome["expected_payload_sha256"])
        return
    if outcome["judged_by"] != "elements":
        raise ValueError(f"judged_by {outcome['judged_by']!r} is no way to judge")
    comparison = fields("comparison", fields("outcome", outcome, ELEMENTS)["comparison"], COMPARISON)
    counts = [comparison[name] for name in ("elements", "mismatches", "accepted", "rows", "rows_touched", "columns",
                                            "columns_touched")]
    fields("classes", comparison["classes"], (set(CLASSES), set()))
    counts += comparison["classes"].values()
    counts += [bucket["count"] for bucket in comparison["histogram"]]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError("comparison: a count is no whole number")


def check_form(report: dict):
    """Every object has its fields, every digest is one, every count is a whole number."""
    fields("report", report, TOP)
    fields("model", report["model"], MODEL)
    fields("product", report["product"], PRODUCT)
    digest("model", report["model"]["sha256"])
    for name, entry in fields("inputs", report["inputs"], INPUTS).items():
        if entry is None and name in ("c", "d"):
            continue
        fields(f"inputs.{name}", entry, INPUT)
        digest(f"inputs.{name}.file_sha256", entry["file_sha256"])
        digest(f"inputs.{name}.payload_sha256", entry["payload_sha256"])
    reproduced = fields("reproduced", report["reproduced"], REPRODUCED)
    named = [name for name in ("tree", "sample") if name in reproduced]
    if len(named) > 1 or named and reproduced["payload_sha256"] is not None:
        raise ValueError("reproduced: D has two names")
    digest("reproduced", reproduced["payload_sha256"], not named)
    if "tree" in reproduced:
        digest("tree", fields("tree", reproduced["tree"], TREE)["root"])
    if "sample" in reproduced:
        digest("sample", fields("sample", reproduced["sample"], SAMPLE)["sha256"])
    check_outcome_form(report["outcome"])


# Fields that leave the order to what a library says of its kernel.
KERNELS = ("kernel", "kernel_log", "kernel_table")
# Fields that no chain over K has.
SCHEDULING = ("schedule_file", "tile_k", "instruction_k", "split_k", "alpha", "beta", "scale_result", "bias", "azp_adj")


def check_request(report: dict, check: Tally):
    """What was asked is what was done, as far as no catalogue is needed."""
    request, model, product = report["request"], report["model"], report["product"]
    if request is None:
        raise ValueError("the report does not say what was asked")
    check("tool", report["tool"]["name"], "tcverify")
    arithmetic = model["arithmetic"]
    dtype = request["dtype"]
    check("formats asked for", [dtype, request.get("dtype_b", dtype)], [arithmetic["a"], arithmetic["b"]])
    # A kernel's words may say how operands are stored, where they multiply so alone.
    words = next((name for name in KERNELS if name in request), None)
    for name in ("transpose_a", "transpose_b"):
        if words is None or name in request:
            check("turned", product[name], request.get(name, False))
    # What a catalogue calls an architecture it does not say, but that it is the catalogue's.
    check("a file's model", "file" in model, "model" in request)
    if "model" in request:
        check("its evidence", model["evidence"], "claimed")
        check("its path", model["file"]["path"], request["model"])
    scheduled = request.get("schedule", "plain") != "plain" or any(name in request for name in SCHEDULING)
    if words is None:
        check("a schedule", "schedule" in report, scheduled or request.get("promote", "never") != "never")
    check("a commitment", "commitment" in report, "against" in request or "seed_from" in request)
    for name in ("a", "b", "c", "d", "scale_a", "scale_b", "bias", "azp", "azp_adj"):
        entry = report["inputs"].get(name)
        check(f"{name.upper()} asked for", entry and entry["path"], request.get(name))
    formats = [report["inputs"][name]["format"] for name in "ab"]
    check("formats of A and B", formats, [arithmetic["a"], arithmetic["b"]])
    if (command := report["command"]) is not None:
        words = shlex.split(command)
        check("command", words[:2], ["tcverify", "check"])
        said, at, arguments = {}, 2, []
        while at < len(words):
            if words[at].startswith("--"):
                name = words[at][2:].replace("-", "_")
                flag = request.get(name) is True
                said[name] = True if flag else words[at + 1]
                at += 1 if flag else 2
            else:
                arguments.append(words[at])
                at += 1
        check("its arguments", arguments, [request[name] for name in "abd" if name in request])
        asked = {name: value for name, value in request.items() if name not in "abd"}
        check("its options", sorted(said), sorted(asked))
        for name, value in asked.items():
            if isinstance(value, str):
                check(f"its {name}", said.get(name), value)
            elif not isinstance(value, bool):
                check(f"its {name}", float(said.get(name, "nan")), float(value))


def check_product(report: dict, check: Tally):
    """The shapes multiply to what is said."""
    product, inputs = report["product"], report["inputs"]
    a, b = (list(inputs[name]["shape"]) for name in "ab")
    if product["transpose_a"]:
        a[-2:] = a[-1], a[-2]
    if product["transpose_b"]:
        b[-2:] = b[-1], b[-2]
    batch = a[:-2] if len(a) >= len(b) else b[:-2]
    if len(a) > 2 and len(b) > 2:
        batch = list(np.broadcast_shapes(tuple(a[:-2]), tuple(b[:-2])))
    check("M, N, K", [product["m"], product["n"], product["k"]], [a[-2], b[-1], b[-2]])
    check("inner dimensions", a[-1], b[-2])
    check("batch", product["batch"], batch)
    shape = [*batch, a[-2], b[-1]]
    check("shape of D", report["reproduced"]["shape"], shape)
    if inputs["d"] is not None:
        check("shape of the given D", inputs["d"]["shape"], shape)
        check("format of D", report["reproduced"]["format"], inputs["d"]["format"])
    accumulator, format = report["model"]["arithmetic"]["accumulator"], report["reproduced"]["format"]
    expected = None if accumulator == format else {"from": accumulator, "to": format, "rounding": "rne"}
    check("conversion", report["reproduced"]["conversion"], expected)


def span(text, count: int) -> list:
    """First, and one past the last, of rows or columns."""
    if text is None:
        return [0, count]
    start, dots, end = str(text).partition("..")
    if not dots:
        return [int(start), int(start) + 1]
    return [int(start or 0), int(end) if end else count]


def split_mix(seed: int):
    while True:
        seed = seed + 0x9E3779B97F4A7C15 & (1 << 64) - 1
        word = seed
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
        word = (word ^ word >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
        yield word ^ word >> 31


def draw(population: int, count: int, seed: int) -> np.ndarray:
    """Positions in a part, in order."""
    if count >= population:
        return np.arange(population)
    few = count <= population // 2
    end = (1 << 64) // population * population
    drawn, words = set(), split_mix(seed)
    while len(drawn) < (count if few else population - count):
        if (word := next(words)) < end:
            drawn.add(word % population)
    return np.array(sorted(drawn)) if few else np.delete(np.arange(population), sorted(drawn))


def missed(population: int, count: int, tampered: int) -> float:
    if tampered > population - count:
        return 0.0
    low, high = sorted((tampered, count))
    return math.prod((population - high - i) / (population - i) for i in range(low))


def check_part(report: dict, check: Tally, whose: str = "D"):
    """Which part of D was compared; positions of its elements in D, or None for all."""
    request, product, reproduced = report["request"], report["product"], report["reproduced"]
    asked = any(name in request for name in ("sample", "rows", "cols", "region"))
    check("a part", "sample" in reproduced, asked)
    check("a tree", "tree" in reproduced, request.get("tree", False))
    if "sample" not in reproduced:
        return None
    part = reproduced["sample"]
    rows, columns = (span(request.get(name), product[size]) for name, size in (("rows", "m"), ("cols", "n")))
    check("its rows", part["rows"], rows)
    check("its columns", part["columns"], columns)
    batches = math.prod(product["batch"])
    population = batches * (rows[1] - rows[0]) * (columns[1] - columns[0])
    check("its elements", part["population"], population)
    seed, drawn_by, assumes = None, None, None
    if "sample" in request:
        seed, assumes = request.get("seed"), f"nobody who could still change {whose} knew the seed"
        if "seed_from" in request:
            # Of the commitment, whose file's digest is checked with it.
            committed, beacon = report["commitment"]["file_sha256"], request["beacon"]
            text = f"tcverify.draw/1\ncommitment={committed}\nbeacon={beacon}\n"
            drawn = sha256(text.encode())
            drawn_by = {"commitment_sha256": committed, "beacon": beacon, "draw_sha256": drawn}
            seed = int(drawn[:16], 16)
            assumes = "the commitment was published before anybody could know the beacon's value"
    check("its seed", part["seed"], seed)
    check("what its seed was made of", part.get("seed_from"), drawn_by)
    check("what its figures assume", part.get("assumes"), assumes)
    count = request.get("sample", population)
    check("compared", part["elements"], count)
    if seed is None:
        check("its odds", [part["missed"], part["caught_99_percent"]], [[], None])
    else:
        sizes = [10**i for i in range(7) if i == 0 or 10**(i - 1) < population]
        sizes = [size for size in sizes if size <= population]
        check("its odds are of", [one["tampered"] for one in part["missed"]], sizes)
        close = all(math.isclose(one["probability"], missed(population, count, one["tampered"]),
                                 rel_tol=1e-6, abs_tol=1e-12) for one in part["missed"])
        check("its odds", close, True)
        caught = part["caught_99_percent"]
        check("caught with 99 %", missed(population, count, caught) <= 0.01
              < (missed(population, count, caught - 1) if caught > 1 else 1.0), True)
    every = np.arange(batches * product["m"] * product["n"]).reshape(batches, product["m"], product["n"])
    every = every[:, rows[0]:rows[1], columns[0]:columns[1]].reshape(-1)
    return every[draw(population, count, seed)] if "sample" in request else every


def value_of(code: int, format: Format) -> tuple:
    """Sign, exponent field and fraction field of a code, and what kind of number it is."""
    sign = code >> (format.exponent_bits + format.fraction_bits)
    exponent = code >> format.fraction_bits & (1 << format.exponent_bits) - 1
    fraction = code & (1 << format.fraction_bits) - 1
    top = exponent == (1 << format.exponent_bits) - 1
    kind = "finite"
    if format.specials == "ieee" and top:
        kind = "nan" if fraction else "infinite"
    elif format.specials == "nan_only" and top and fraction == (1 << format.fraction_bits) - 1:
        kind = "nan"
    return sign, exponent, fraction, kind


def class_of(one: int, other: int, format: Format) -> str:
    a, b = value_of(one, format), value_of(other, format)
    kinds = [a[3], b[3]]
    if kinds == ["nan", "nan"]:
        return "nan_payload"
    if "nan" in kinds:
        return "nan_against_number"
    if kinds == ["infinite", "infinite"]:
        return "infinity_sign"
    if "infinite" in kinds:
        return "infinity_against_finite"
    if a[1:3] == b[1:3] == (0, 0):
        return "zero_sign"
    return "sign" if a[0] != b[0] else "exponent" if a[1] != b[1] else "significand"


def check_comparison(report: dict, d: np.ndarray, part, check: Tally):
    """Figures that can be true of each other, of D and of what was asked."""
    outcome, request, name = report["outcome"], report["request"], report["reproduced"]["format"]
    comparison = outcome["comparison"]
    m, n = (1, *d.shape)[-2:]
    batches = d.size // (m * n)
    mismatches, accepted, classes = comparison["mismatches"], comparison["accepted"], comparison["classes"]
    for policy in ("nan", "zero"):
        check(f"policy {policy}", outcome[policy], request.get(policy, "exact"))
    elements = d.size if part is None else len(part)
    check("elements", comparison["elements"], elements)
    check("rows and columns", [comparison["rows"], comparison["columns"]], [batches * m, batches * n])
    check("unequal at most", mismatches + accepted <= elements, True)
    check("mismatch percent", comparison["mismatch_percent"], math.floor(mismatches / elements * 1e8 + 0.5) / 1e6)
    any_nan, any_zero = outcome["nan"] == "any", outcome["zero"] == "any"
    check("accepted", accepted == 0 or any_nan or any_zero, True)
    check("classes", sum(classes.values()), mismatches)
    check("classes accepted", (any_nan and classes["nan_payload"]) or (any_zero and classes["zero_sign"]) or 0, 0)
    for what, across in (("rows", n), ("columns", m)):
        least, most = -(-mismatches // across), min(comparison[what], mismatches)
        check(f"{what} touched", least <= comparison[f"{what}_touched"] <= most, True)
    with_distance = mismatches - classes["nan_payload"] - classes["nan_against_number"]
    buckets = comparison["histogram"]
    check("histogram", sum(bucket["count"] for bucket in buckets), with_distance)
    ranges = [[0, 0], [1, 1], *([(1 << b - 2) + 1, 1 << b - 1] for b in range(2, 67))]
    places = [ranges.index([bucket["from"], bucket["to"]]) for bucket in buckets]
    check("buckets", places == sorted(set(places)) and all(bucket["count"] for bucket in buckets), True)
    largest = comparison["largest"]
    check("largest", largest is not None, bool(buckets))
    if largest is not None and buckets:
        check("its bucket", buckets[-1]["from"] <= abs(largest["ulp"]) <= buckets[-1]["to"], True)
    if (units := comparison["units"]) is not None:
        known = {"mma_m16n8": ("lane", 32), "wgmma_m64": ("warp", 4), "octets": ("octet", 4)}
        check("units", (units["unit"], len(units["counts"])), known[units["layout"]])
        check("units hold", sum(units["counts"]), mismatches)
    first = comparison["first"]
    check("listed", len(first), min(mismatches, request.get("max_mismatches", 10)))
    flat = d.reshape(-1)
    places, counted, ulps = [], dict.fromkeys(CLASSES, 0), []
    for one in first:
        fields("mismatch", one, MISMATCH)
        place = int(np.ravel_multi_index(tuple(one["index"]), d.shape))
        places.append(place)
        digits = 2 * d.dtype.itemsize
        given, reproduced = int(flat[place]), int(one["reproduced"], 16)
        said = [one["reproduced"], one["given"], one["xor"]]
        check(f"mismatch {one['index']}", said, [f"{code:0{digits}x}" for code in (reproduced, given, reproduced ^ given)])
        check("it differs", reproduced != given, True)
        if name in FORMATS:
            kind = class_of(reproduced, given, FORMATS[name])
            check("its class", one["class"], kind)
            counted[kind] += 1
            if (any_nan and kind == "nan_payload") or (any_zero and kind == "zero_sign"):
                check("it is no mismatch", True, False)
            bits = 8 * FORMATS[name].bytes
            place_of = lambda code: -(code & ~(1 << bits - 1)) if code >> bits - 1 else code
            ulp = None if kind.startswith("nan") else place_of(given) - place_of(reproduced)
            check("its distance", one["ulp"], ulp)
            ulps.append(ulp)
    check("in order", places, sorted(set(places)))
    if part is not None:
        check("in the part", set(places) <= set(part.tolist()), True)
    if len(first) == mismatches and name in FORMATS:
        check("all classes", classes, counted)
        distances = [abs(ulp) for ulp in ulps if ulp is not None]
        held = [sum(low <= distance <= high for distance in distances) for low, high in ranges]
        check("all distances", [[bucket["from"], bucket["to"], bucket["count"]] for bucket in buckets],
              [[*bounds, count] for bounds, count in zip(ranges, held) if count])
        lines = [{place // n for place in places}, {(place // (m * n), place % n) for place in places}]
        check("all touched", [comparison["rows_touched"], comparison["columns_touched"]], [len(line) for line in lines])
    causes = report["causes"] + report.get("tried", [])
    if mismatches == 0 or request.get("no_causes"):
        check("causes", causes, [])
    explained = max((cause["mismatches"] for cause in report["causes"]), default=0)
    check("explained", explained <= mismatches, True)


def check_outcome(report: dict, root: Path, check: Tally, whose: str = "D"):
    """The verdict follows from the figures, and the figures from D as far as that goes."""
    outcome, reproduced, request = report["outcome"], report["reproduced"], report["request"]
    part = check_part(report, check, whose)
    if outcome["judged_by"] == "digest":
        check("digest asked for", outcome["expected_payload_sha256"], request.get("d_digest"))
        check("causes", report["causes"] + report.get("tried", []), [])
        same = outcome["expected_payload_sha256"] == reproduced["payload_sha256"]
    else:
        entry = report["inputs"]["d"]
        path, array_name = locate(root, entry["path"])
        d = codes(read_array(path, array_name), entry["format"])
        check_comparison(report, d, part, check)
        comparison = outcome["comparison"]
        same = comparison["mismatches"] == 0
        if part is not None:
            found = sha256(d.reshape(-1)[part].tobytes())
            said = reproduced["sample"]["sha256"]
        elif "tree" in reproduced:
            rows = reproduced["tree"]["block_rows"]
            if "block_rows" in request:
                check("rows of a block", rows, request["block_rows"])
            found, said = root_of(d, reproduced["format"], rows), reproduced["tree"]["root"]
        else:
            found, said = payload_sha256(d), reproduced["payload_sha256"]
        if comparison["mismatches"] + comparison["accepted"] == 0:
            check("replay = D", said, found)
        else:
            check("replay is not D", said != found, True)
    identical = "identical" if part is None else "identical_in_part"
    check("verdict", report["verdict"], identical if same else "different")


def check_replayed(report: dict, options, check: Tally):
    """What was replayed and kept has the digest that is said."""
    if options.replayed is None:
        return
    said = report["reproduced"]
    replayed = codes(read_npy(options.replayed), said["format"])
    check("replay shape", said["shape"], list(replayed.shape))
    if said.get("payload_sha256") is not None:
        check("replay payload", said["payload_sha256"], payload_sha256(replayed))
    check_root(report, replayed, "replay root", check)


def check_report_of_product(report: dict, options, check: Tally):
    check_form(report)
    check_request(report, check)
    check_product(report, check)
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
    check_replayed(report, options, check)
    check_outcome(report, options.root, check)


# From the least to the best known.
EVIDENCE = ["claimed", "inferred", "literature", "hardware"]
# Arrays of operations, in the order of a report.
ARRAYS = ("x", "other", "residual", "weight", "bias", "up", "cos", "sin", "scale", "q", "k", "v", "y")


def check_report_of_operation(report: dict, options, check: Tally):
    """An operation between products: the same, but for what multiplied."""
    root = options.root
    fields("report", report, OPERATION)
    operation = fields("operation", report["operation"], OPERATED)
    digest("operation", operation["sha256"])
    reproduced = fields("reproduced", report["reproduced"], RESULT)
    if "sample" in reproduced:
        digest("sample", fields("sample", reproduced["sample"], SAMPLE)["sha256"])
    if ("sample" in reproduced) == ("payload_sha256" in reproduced):
        raise ValueError("reproduced: all of the result has one digest, a part of it another")
    digest("reproduced", reproduced.get("payload_sha256"), "sample" not in reproduced)
    check_outcome_form(report["outcome"])
    request = report["request"]
    if request is None:
        raise ValueError("the report does not say what was asked")
    check("tool", report["tool"]["name"], "tcverify")

    check("operation asked for", operation["name"], request["operation"])
    if "variant" in request:
        check("variant asked for", operation["variant"], request["variant"])
    rule = json.dumps(operation["rule"], sort_keys=True, separators=(",", ":"))
    check("rule", operation["sha256"], sha256(rule.encode()))
    check("a file's rule", "file" in operation, "variant_file" in request)
    if "file" in operation:
        check("its evidence", operation["evidence"], "claimed")
        check("its path", operation["file"]["path"], request["variant_file"])
        check("its digest", operation["file"]["sha256"], sha256((root / operation["file"]["path"]).read_bytes()))
    known = [constant["evidence"] for constant in operation["constants"]]
    known += [operation["multiplied_by"]["evidence"]] if "multiplied_by" in operation else []
    least = min(map(EVIDENCE.index, known), default=len(EVIDENCE) - 1)
    check("known no better than its parts", EVIDENCE.index(operation["evidence"]) <= least, True)
    check("output asked for", reproduced["output"], request.get("output", "y"))

    inputs = {entry["name"]: {name: entry[name] for name in entry if name != "name"} for entry in report["inputs"]}
    check("arrays", [entry["name"] for entry in report["inputs"]], [name for name in ARRAYS if name in request])
    for name, entry in inputs.items():
        fields(name, entry, INPUT)
        digest(f"{name}.file_sha256", entry["file_sha256"])
        digest(f"{name}.payload_sha256", entry["payload_sha256"])
        check(f"{name} asked for", entry["path"], request[name])
        check_input(name, entry, root, check)
        # Codes without a name are what is said; a result and what has a format of its own is the rule's to say.
        held = read_array(*locate(root, entry["path"]))
        own = {"fp16": "fp16", "fp32": "fp32", "fp64": "fp32"}.get(held.float_format)
        own = own or {"<V2": "bf16", "bfloat16": "bf16", "safetensors BF16": "bf16"}.get(held.descr)
        if name not in ("y", "cos", "sin", "scale"):
            own = request.get("dtype", own)
            check(f"{name} format", entry["format"], own or entry["format"])
    shape = reproduced["shape"]
    if "y" in inputs:
        check("shape of the result", shape, inputs["y"]["shape"])
        check("format of the result", reproduced["format"], inputs["y"]["format"])

    check("a commitment", "commitment" in report, "seed_from" in request)
    if "commitment" in report:
        said = fields("commitment", report["commitment"], COMMITTED)
        check("commitment asked for", said["path"], request["seed_from"])
        text = (root / said["path"]).read_bytes()
        check("commitment file", said["file_sha256"], sha256(text))
        fixed = json.loads(text, object_pairs_hook=once)
        check("commitment of", [fixed["operation"], fixed["rule_sha256"]], [operation["name"], operation["sha256"]])
        arrays = {name: [entry["format"], entry["shape"], entry["payload_sha256"]] for name, entry in inputs.items()}
        check("committed arrays", {name: [entry["format"], entry["shape"], entry["payload_sha256"]]
                                   for name, entry in fixed["arrays"].items()}, arrays)
        asked = {name: value for name, value in request.items()
                 if name in ("arch", "eps", "softmax_scale", "causal", "layout", "interleaved", "group", "tile", "output")}
        check("committed parameters", fixed["parameters"], asked)

    if (command := report["command"]) is not None:
        words = shlex.split(command)
        check("command", words[:3], ["tcverify", "op", request["operation"]])
        said = {}
        for word in words[3:]:
            name, _, value = word.partition("=")
            name = name[2:].replace("-", "_") if name.startswith("--") else name
            said[name] = True if request.get(name) is True else value
        asked = {name: value for name, value in request.items() if name != "operation" and value is not False}
        check("its words", sorted(said), sorted(asked))
        for name, value in asked.items():
            if isinstance(value, (str, bool)):
                check(f"its {name}", said.get(name), value)
            else:
                check(f"its {name}", np.float32(said.get(name, "nan")), np.float32(value))

    # One axis is one row of one matrix.
    *batch, m, n = [1, *shape] if len(shape) == 1 else shape
    seen = {**report, "product": {"batch": batch, "m": m, "n": n}, "inputs": {"d": inputs.get("y")},
            "request": {**request, "d_digest": request.get("y_digest")}}
    check_replayed(report, options, check)
    check_outcome(seen, root, check, "the result")


KINDS = {"tcverify.report/1": check_report_of_product, "tcverify.operation-report/1": check_report_of_operation}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, metavar="REPORT.json")
    parser.add_argument("--root", type=Path, default=Path("."), metavar="DIR")
    parser.add_argument("--replayed", type=Path, metavar="D.npy")
    options = parser.parse_args()
    check = Tally()
    try:
        report = json.loads(options.report.read_text(), object_pairs_hook=once)
        if report["schema"] not in KINDS:
            raise ValueError(f"{options.report}: schema is {report['schema']!r}")
        KINDS[report["schema"]](report, options, check)
    except Exception as error:  # whatever a report or a file may hold: it is no answer
        plain = isinstance(error, (OSError, ValueError))
        print(f"error: {error}" if plain else f"error: {error!r}", file=sys.stderr)
        return 2
    print("all agree" if check.failed == 0 else f"{check.failed} do not agree")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
