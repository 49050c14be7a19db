"""Runs the library products of a suite of 'tcverify screen make' with PyTorch: docs/screening.md.

  python -m tcverify.screen suite.json --device cuda:0 [--seconds S] [--stop] -o results/node17-0.json

or, without the package, this file alone: python3 tcverify_screen.py (scripts/screen). --device ttnn:0 is a Tenstorrent chip,
whose products ttnn multiplies as the suite's configurations say (docs/tenstorrent.md).

Products of a route "instruction" are for screen.cu; those of a route "library" are PyTorch's here. Exit codes: 0
every result is right (of a challenge: answered), 1 one is wrong, 2 anything else. One file, the standard library and PyTorch.

  python3 tcverify_screen.py commit --device cuda:0 --key node.pem -o commitment.json
  python3 tcverify_screen.py sign results.json --key node.pem [--commitment commitment.json]

commit to a GPU before a challenge is drawn, and sign results, also those of screen.cu. Both run the command openssl.
"""

import argparse
import ast
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
ROLES = ["a", "b", "c", "scale-a", "scale-b"]
CLASSES = ["normal", "wide", "subnormal", "special", "cancel", "toggle", "carry", "align", "alternate", "stagger"]

# Exponent bits, fraction bits (of integers all), bias, ignored low bits, bytes, special values.
FORMATS = {
    "fp16": (5, 10, 15, 0, 2, "ieee"),
    "bf16": (8, 7, 127, 0, 2, "ieee"),
    "tf32": (8, 10, 127, 13, 4, "ieee"),
    "xf32": (8, 10, 127, 13, 4, "ieee"),
    "fp32": (8, 23, 127, 0, 4, "ieee"),
    "fp64": (11, 52, 1023, 0, 8, "ieee"),
    "e5m2": (5, 2, 15, 0, 1, "ieee"),
    "e4m3": (4, 3, 7, 0, 1, "nan_only"),
    "e4m3fnuz": (4, 3, 8, 0, 1, "fnuz"),
    "e5m2fnuz": (5, 2, 16, 0, 1, "fnuz"),
    "e3m2": (3, 2, 3, 0, 1, "none"),
    "e2m3": (2, 3, 1, 0, 1, "none"),
    "e2m1": (2, 1, 1, 0, 1, "none"),
    "ue8m0": (8, 0, 127, 0, 1, "scale"),
    "ue4m3": (4, 3, 7, 0, 1, "scale"),
    "int8": (0, 8, 0, 0, 1, "signed"),
    "uint8": (0, 8, 0, 0, 1, "unsigned"),
    "int4": (0, 4, 0, 0, 1, "signed"),
    "uint4": (0, 4, 0, 0, 1, "unsigned"),
    "int32": (0, 32, 0, 0, 4, "signed"),
}


class Fault(Exception):
    """A sentence for the operator."""


# The generator of docs/capturing.md, over anything that has the operators of signed 64-bit integers: tensors of
# torch, arrays of NumPy. Products wrap, and `logical` shifts zeros in.


def signed(value):
    """A word as a signed number, as tensors hold it."""
    value &= MASK
    return value - (1 << 64) if value >> 63 else value


def logical(x, n):
    return (x >> n) & ((1 << (64 - n)) - 1)


def mix(z):
    z = (z ^ logical(z, 30)) * signed(0xBF58476D1CE4E5B9)
    z = (z ^ logical(z, 27)) * signed(0x94D049BB133111EB)
    return z ^ logical(z, 31)


def mix_int(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def words(seed, role, index):
    stream = mix_int((seed + GOLDEN * (role + 1)) & MASK)
    return mix(signed(stream) + signed(GOLDEN) * (index + 1))


def finite(f, code, where):
    e, bits, _, ignored, _, specials = f
    ones = (1 << (e + bits)) - 1
    if specials == "nan_only":
        return where((code & ones) == ones, code & ~1, code)
    if specials == "fnuz":
        return where(code == ones + 1, code & 0, code)
    return code


def fraction_of(f, kind, word, where):
    e, bits, _, _, _, specials = f
    integer = specials in ("signed", "unsigned")
    ones = (1 << bits) - 1
    which = logical(word, 48) & 0xFF
    inverted = (logical(word, 62) & 1) * ones
    if kind == "toggle":
        one = word & 0
        turn = which % (bits + (not integer))
        for p in range(bits):
            one = where(turn == p, one | (1 << p), one)
        return one ^ inverted
    if kind == "carry":
        extreme = (word & 0) | ones
        if specials == "signed":
            extreme = extreme ^ (1 << (bits - 1)) ^ where(logical(word, 62) == 3, extreme, extreme & 0)
        return extreme ^ where(which % 4 == 0, (word & 0) | 1, word & 0)
    if kind == "alternate":
        up = (word & 0) | (0x5555555555555555 & ones)
        down = (word & 0) | (0xAAAAAAAAAAAAAAAA & ones)
        return where((logical(word, 62) & 1) == 1, down, up)
    return word & ones


def number(f, kind, word, where):
    e, bits, bias, ignored, _, specials = f
    if specials in ("signed", "unsigned"):
        return fraction_of(f, kind, word, where)
    fields, random = 1 << e, logical(word, 32) & 0xFFFF
    fraction = word & ((1 << bits) - 1)
    if specials == "scale":
        field = bias + random % 8
        field = where(field < 4, (field & 0) + 4, field) - 4
        field = where(field > fields - 2, (field & 0) + fields - 2, field)
        return (field << bits) | fraction
    sign = where(logical(word, 62) == 3, (word & 0) | 1, word & 0) if kind == "carry" else logical(word, 63)
    sign = sign << (e + bits)
    infinite = specials == "ieee"
    if kind == "subnormal":
        field = random & 0
    elif kind == "carry":
        field = bias - random % 2
    elif kind == "align":
        field = bias - random % min(bias + 1, 32)
    elif kind == "alternate":
        field = bias + random % 2
    elif kind in ("normal", "toggle") and e > 3:
        field = bias - random % 8
        field = where(field < 0, field & 0, field)
    else:
        field = random % (fields - infinite)
    code = (sign | (field << bits) | fraction_of(f, kind, word, where)) << ignored
    code = finite(f, code, where)
    if kind != "special":
        return code
    top, ones = (fields - 1) << bits, (1 << (e + bits)) - 1
    zero = word & 0 if specials == "fnuz" else sign << ignored
    if infinite:
        infinity = (sign | top) << ignored
        nan = (sign | top | fraction | (1 << (bits - 1))) << ignored
    else:
        infinity = sign | (ones - (specials == "nan_only"))
        nan = (word & 0) | (ones * 2 + 1)
    which = random % 16
    code = where(which == 0, zero, code)
    code = where(which == 1, infinity, code)
    return where(which == 2, nan, code)


def generate(seed, kind, role, name, columns, index, where):
    """Codes, as signed 64-bit numbers, of the elements `index`."""
    f = FORMATS[name]
    e, bits, _, ignored, _, specials = f
    stream = ROLES.index(role)
    word = words(seed, stream, index)
    if kind not in ("cancel", "stagger"):
        return number(f, kind, word, where)
    if role not in ("a", "b"):
        return number(f, "normal", word, where)
    row, column = index // columns, index % columns
    k, first = column if role == "a" else row, int(kind == "stagger")
    # Python's and PyTorch's remainder of -1 by 2 is 1.
    odd = where(k < first, k < 0, (k - first) % 2 == 1)
    partner = where(odd, index - (1 if role == "a" else columns), index)
    code = number(f, "normal", words(seed, stream, partner), where)
    if role == "a":
        width = (0 if specials in ("signed", "unsigned") else 1) + e + bits + ignored
        flip = 0 if specials in ("scale", "unsigned") else signed(1 << (width - 1))
        last = where((logical(word, 32) & 15) == 0, (word & 0) | (1 << ignored), word & 0)
        code = where(odd, code ^ flip ^ last, code)
        code = where(k < first, word & 0, code)
    return finite(f, code, where)


def parse_spec(text):
    """Seed, class, rows and columns of generate:SEED:CLASS:ROWSxCOLUMNS."""
    parts = text.split(":")
    if len(parts) != 4 or parts[0] != "generate" or parts[2] not in CLASSES:
        raise Fault(f"the suite: {text!r} is no generated operand")
    rows, columns = (int(axis) for axis in parts[3].split("x"))
    return int(parts[1]), parts[2], rows, columns


def is_stored(text):
    return not text.startswith("generate:")


def stored(folder, text, verified):
    """Shape and bytes of an operand beside the suite, whose name is its SHA-256; `verified` has the names that were found right."""
    parts = text.split("/")
    if len(parts) != 2 or ".." in parts or not parts[0] or len(parts[1]) != 68:
        raise Fault(f"the suite: {text!r} is no operand beside it")
    path = os.path.join(folder, *parts)
    with open(path, "rb") as file:
        data = file.read()
    if text not in verified and hashlib.sha256(data).hexdigest() + ".npy" != parts[1]:
        raise Fault(f"{path}: is damaged: its name is not its SHA-256; copy it again")
    verified.add(text)
    start = 10 if data[6] == 1 else 12
    end = start + int.from_bytes(data[8:start], "little")
    return ast.literal_eval(data[start:end].decode("latin1"))["shape"], data[end:]


# Suites and results.


def unseal(data, schema, what="the suite"):
    """The content of a sealed document, its digest, and the version that wrote it."""
    try:
        text = data.decode("utf-8")
        document = json.loads(text)
    except ValueError as error:
        raise Fault(f"{what} is damaged, or was cut short: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise Fault(f"{what} is no {schema}")
    key = '"content":'
    start, end = text.find(key), text.rfind("}")
    if start < 0 or end < start:
        raise Fault(f"{what} has no content")
    content = text[start + len(key) : end].encode("utf-8")
    digest = hashlib.sha256(content).hexdigest()
    if digest != document.get("sha256"):
        raise Fault(f"{what} was edited or damaged: its content has not the SHA-256 that it says")
    return document["content"], digest, document["tool"]


def seal(schema, tool, content, key=None):
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    head = {"schema": schema, "tool": tool, "sha256": digest}
    if key:
        head["signature"] = {"key": public_key(key), "ed25519": signature(key, f"{schema} {digest}")}
    return json.dumps(head, separators=(",", ":"))[:-1] + ',"content":' + text + "}\n"


def openssl(*words):
    try:
        done = subprocess.run(["openssl", *words], capture_output=True, check=False)
    except OSError as error:
        raise Fault(f"signing needs the command openssl: {error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Fault(f"openssl {words[0]}: {said[0] if said else done.returncode}")
    return done.stdout


def public_key(path):
    """The public key of a private Ed25519 key in PEM, in hexadecimal."""
    der = openssl("pkey", "-in", path, "-pubout", "-outform", "DER")
    if len(der) != 44:
        raise Fault(f"{path}: is no Ed25519 key; 'openssl genpkey -algorithm ed25519' writes one")
    return der[-32:].hex()


def signature(path, message):
    with tempfile.NamedTemporaryFile() as file:
        file.write(message.encode("ascii"))
        file.flush()
        return openssl("pkeyutl", "-sign", "-inkey", path, "-rawin", "-in", file.name).hex()


def write_whole(path, text):
    with open(path + ".part", "w", encoding="ascii") as file:
        file.write(text)
    os.replace(path + ".part", path)


def tiles_of(product, width):
    """Index, and row by row the bytes of D, of every tile."""
    (m, n), (rows, columns) = (product["m"], product["n"]), product["tile"]
    index = 0
    for row in range(0, m, rows):
        for column in range(0, n, columns):
            end = min(column + columns, n)
            yield index, [slice((r * n + column) * width, (r * n + end) * width) for r in range(row, min(row + rows, m))]
            index += 1


class Machine:
    """PyTorch on one device."""

    # torch's dtype, and the integer type through which codes pass.
    TORCH = {
        "fp16": ("float16", "int16"),
        "bf16": ("bfloat16", "int16"),
        "tf32": ("float32", "int32"),
        "fp32": ("float32", "int32"),
        "e4m3": ("float8_e4m3fn", "uint8"),
        "e5m2": ("float8_e5m2", "uint8"),
        "int8": ("int8", "int8"),
    }
    RESULTS = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "int32": "int32"}

    def __init__(self, device):
        try:
            import torch
        except ImportError:
            raise Fault("PyTorch is not here; this program needs it and nothing else") from None
        self.torch, self.device = torch, torch.device(device)
        if self.device.type != "cuda" or not torch.cuda.is_available():
            raise Fault(f"PyTorch sees no GPU {device}")
        matmul = torch.backends.cuda.matmul
        matmul.allow_tf32 = True
        matmul.allow_fp16_reduced_precision_reduction = False
        matmul.allow_bf16_reduced_precision_reduction = False
        if hasattr(matmul, "allow_fp16_accumulation"):
            matmul.allow_fp16_accumulation = False
        self.index = self.device.index or 0
        properties = torch.cuda.get_device_properties(self.index)
        self.architecture = f"sm_{properties.major}{properties.minor}"
        runtime = f"CUDA {torch.version.cuda}"
        if getattr(torch.version, "hip", None):
            # "gfx90a:sramecc+:xnack-"
            self.architecture, runtime = properties.gcnArchName.split(":")[0], f"HIP {torch.version.hip}"
        self.about = {
            "name": properties.name,
            "uuid": f"GPU-{properties.uuid}" if hasattr(properties, "uuid") else None,
            "driver": None,
            "multiprocessors": properties.multi_processor_count,
            "program": f"tcverify_screen.py, torch {torch.__version__}, {runtime}",
        }
        self.folder, self.verified = "", set()
        self.sensor = None
        try:
            import pynvml

            pynvml.nvmlInit()
            # CUDA counts visible GPUs, NVML all of them.
            self.sensor = pynvml.nvmlDeviceGetHandleByUUID(self.about["uuid"].encode())
            self.nvml = pynvml
        except Exception as error:  # whatever it is, readings are an extra
            print(f"no temperatures: {error}", file=sys.stderr)

    def sense(self):
        if self.sensor is None:
            return None, None
        n = self.nvml
        return (
            int(n.nvmlDeviceGetTemperature(self.sensor, n.NVML_TEMPERATURE_GPU)),
            int(n.nvmlDeviceGetClockInfo(self.sensor, n.NVML_CLOCK_SM)),
        )

    def reason(self, product):
        """Why a product cannot be computed here; None if it can."""
        dtype, d = product["check"]["dtype"], product["d"]
        if product["route"] != "library":
            return "an instruction of its own: screen.cu"
        if dtype not in self.TORCH or d not in self.RESULTS:
            return f"PyTorch has no product of {dtype} to {d}"
        if not hasattr(self.torch, self.TORCH[dtype][0]):
            return f"this PyTorch has no {self.TORCH[dtype][0]}"
        return None

    def operand(self, text, role, name):
        torch = self.torch
        if is_stored(text):
            dtype, through = self.TORCH[name]
            shape, data = stored(self.folder, text, self.verified)
            codes = torch.frombuffer(bytearray(data), dtype=getattr(torch, through))
            return codes.to(self.device).view(getattr(torch, dtype)).reshape(shape)
        seed, kind, rows, columns = parse_spec(text)
        index = torch.arange(rows * columns, dtype=torch.int64, device=self.device)
        codes = generate(seed, kind, role, name, columns, index, torch.where)
        dtype, through = self.TORCH[name]
        width = 8 * FORMATS[name][4]
        codes = codes & ((1 << width) - 1)
        if through != "uint8":
            codes = torch.where(codes >> (width - 1) == 1, codes - (1 << width), codes)
        return codes.to(getattr(torch, through)).view(getattr(torch, dtype)).reshape(rows, columns)

    def multiply(self, a, b, dtype, d, added=None, alpha=1, beta=1):
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = dtype != "fp32"
        if added is not None:
            return torch.addmm(added, a, b, beta=beta, alpha=alpha)
        if dtype == "int8":
            return torch._int_mm(a, b)
        if dtype in ("e4m3", "e5m2"):
            one = torch.ones((), device=self.device, dtype=torch.float32)
            y = b.t().contiguous().t()
            out = getattr(torch, self.RESULTS[d])
            found = torch._scaled_mm(a, y, scale_a=one, scale_b=one, out_dtype=out, use_fast_accum=True)
            return found[0] if isinstance(found, tuple) else found
        return torch.matmul(a, b)

    def compute(self, product):
        """D's payload."""
        torch, check = self.torch, product["check"]
        a = self.operand(check["a"], "a", check["dtype"])
        b = self.operand(check["b"], "b", check.get("dtype_b", check["dtype"]))
        # As the workload has them: how operands are stored is one of the things by which a library chooses its kernel.
        a, b = (x.t() if check.get(f"transpose_{name}") else x for x, name in ((a, "a"), (b, "b")))
        added = None
        for name in ("bias", "c"):
            if name in check:
                added = self.operand(check[name], name, check.get(f"{name}_dtype", product["d"]))
        factors = [float(check.get(name, 1)) for name in ("alpha", "beta")]
        d = self.multiply(a, b, check["dtype"], product["d"], added, *factors)
        if str(d.dtype) != f"torch.{self.RESULTS[product['d']]}":
            raise Fault(f"{product['name']}: PyTorch returned {d.dtype}")
        return bytes(d.contiguous().view(torch.uint8).cpu().flatten().tolist())

    def rehearse(self, product):
        """Small integers, which no unit rounds: they show that this program is right before it judges."""
        torch, dtype = self.torch, product["check"]["dtype"]
        n = 64
        values = torch.arange(n * n, device=self.device)
        x, y = (values * 7 % 4 - 1).reshape(n, n), (values * 5 % 3).reshape(n, n)
        kind = getattr(torch, self.TORCH[dtype][0])
        d = self.multiply(x.to(torch.float32).to(kind), y.to(torch.float32).to(kind), dtype, product["d"])
        right = (x.cpu() @ y.cpu()).to(torch.float32)
        if not torch.equal(d.cpu().to(torch.float32), right):
            raise Fault(
                f"{product['name']}: a product of small integers came out wrong; this is a mistake of this program "
                "or of the library's setting, or the GPU is badly broken; nothing was judged"
            )


class Chip:
    """ttnn on one Tenstorrent chip. Products of BF16, by the configurations that the suite names."""

    # Names of ttnn that a suite may call: compute kernels, and programs.
    KERNELS = ("WormholeComputeKernelConfig", "BlackholeComputeKernelConfig")
    PROGRAMS = (
        "MatmulMultiCoreReuseProgramConfig",
        "MatmulMultiCoreReuseMultiCastProgramConfig",
        "MatmulMultiCoreReuseMultiCast1DProgramConfig",
    )

    def __init__(self, device):
        try:
            import torch
            import ttnn
        except ImportError as error:
            raise Fault(f"{error}; this program needs ttnn and PyTorch") from None
        self.torch, self.ttnn = torch, ttnn
        self.folder, self.verified = "", set()
        self.index = int(device.partition(":")[2] or 0)
        self.device = ttnn.open_device(device_id=self.index)
        self.architecture = ttnn.get_arch_name()
        version = getattr(ttnn, "__version__", "of unknown version")
        self.about = {
            "name": self.architecture,
            "uuid": None,
            "driver": None,
            "multiprocessors": None,
            "program": f"tcverify_screen.py, ttnn {version}, torch {torch.__version__}",
        }

    def sense(self):
        return None, None

    def configurations(self, text):
        """The compute kernel's and the program's of a suite's text, which is read and not run."""
        try:
            calls = ast.parse(f"({text},)", mode="eval").body.elts
            found = [self.made(call, (*self.KERNELS, *self.PROGRAMS)) for call in calls]
        except (SyntaxError, ValueError, AttributeError, RecursionError) as error:
            raise Fault(f"the suite: {text[:200]!r} are no configurations of ttnn: {error}") from None
        kernels = [one for name, one in found if name in self.KERNELS]
        programs = [one for name, one in found if name in self.PROGRAMS]
        if len(kernels) != 1 or len(programs) != 1:
            raise Fault(f"the suite: {text[:200]!r} are not one configuration of a compute kernel and one of a program")
        return kernels[0], programs[0]

    def made(self, call, names):
        """Name and object of a call by keywords, whose values are constants, tuples of them, and fidelities."""
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError("calls with keywords alone")
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        if name not in names:
            raise ValueError(f"{name} is not one of {', '.join(names)}")
        return name, getattr(self.ttnn, name)(**{one.arg: self.worth(one.value) for one in call.keywords})

    def worth(self, node):
        if isinstance(node, ast.Attribute):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id
            if owner != "MathFidelity":
                raise ValueError(f"{owner} is no MathFidelity")
            return getattr(self.ttnn.MathFidelity, node.attr)
        return ast.literal_eval(node)

    def reason(self, product):
        check = product["check"]
        if product["route"] != "library":
            return "an instruction of its own: no program of ours issues it on this chip"
        if "ttnn" not in check or check["dtype"] != "bf16" or product["d"] != "bf16" or is_stored(check["a"]):
            return "this program computes products of BF16 by configurations of ttnn"
        return None

    def tensor(self, codes):
        signed_codes = self.torch.where(codes >> 15 == 1, codes - (1 << 16), codes)
        tensor = signed_codes.to(self.torch.int16).view(self.torch.bfloat16)
        ttnn = self.ttnn
        return ttnn.from_torch(tensor, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=self.device)

    def operand(self, text, role):
        seed, kind, rows, columns = parse_spec(text)
        index = self.torch.arange(rows * columns, dtype=self.torch.int64)
        codes = generate(seed, kind, role, "bf16", columns, index, self.torch.where) & 0xFFFF
        return self.tensor(codes.reshape(rows, columns))

    def multiply(self, a, b, text):
        kernel, program = self.configurations(text)
        ttnn = self.ttnn
        d = ttnn.matmul(a, b, dtype=ttnn.bfloat16, compute_kernel_config=kernel, program_config=program)
        return ttnn.to_torch(d)

    def compute(self, product):
        check = product["check"]
        d = self.multiply(self.operand(check["a"], "a"), self.operand(check["b"], "b"), check["ttnn"])
        if d.dtype != self.torch.bfloat16 or d.numel() != product["m"] * product["n"]:
            raise Fault(f"{product['name']}: ttnn returned {d.dtype} of {tuple(d.shape)}")
        return bytes(d.contiguous().view(self.torch.uint8).flatten().tolist())

    def rehearse(self, product):
        """Small integers, which no fidelity rounds."""
        torch, check = self.torch, product["check"]
        m, n, k = product["m"], product["n"], product["k"]
        x = (torch.arange(m * k) * 7 % 4 - 1).reshape(m, k) * (torch.arange(k) < 32)
        y = (torch.arange(k * n) * 5 % 3).reshape(k, n)
        tiled = [self.ttnn.from_torch(one.to(torch.bfloat16), dtype=self.ttnn.bfloat16, layout=self.ttnn.TILE_LAYOUT, device=self.device) for one in (x, y)]
        d = self.multiply(*tiled, check["ttnn"])
        if not torch.equal(d.to(torch.int64).reshape(m, n), x @ y):
            raise Fault(
                f"{product['name']}: a product of small integers came out wrong; this is a mistake of this program "
                "or of the configurations, or the chip is badly broken; nothing was judged"
            )


MOST_FAILURES, MOST_TILES, MOST_TILE_BYTES, MOST_CASES = 128, 4, 1 << 14, 8


class Screening:
    """What was compared, and what was wrong."""

    def __init__(self, suite, machine, output):
        self.suite, self.machine, self.output = suite, machine, output
        # A challenge does not say what is right: every D is an answer.
        self.blind = "challenge" in suite
        self.runs, self.left_out, self.failures, self.more = {}, [], [], 0
        self.degrees, self.clocks, self.stopped, self.seconds = [], [], False, 0.0
        # Wrong results of each run of the suite.
        self.rounds = []

    def wrong(self):
        return sum(one["times"] for one in self.failures) + self.more

    def run(self, seconds, stop):
        start, todo, rehearsed = time.monotonic(), [], set()
        for product in self.suite["products"]:
            reason = self.machine.reason(product)
            if reason:
                self.left_out.append([product["name"], reason])
                continue
            kind = (product["check"]["dtype"], product["d"], product["check"].get("ttnn"))
            if kind not in rehearsed:
                self.machine.rehearse(product)
                rehearsed.add(kind)
            todo.append(product)
        if not todo:
            raise Fault("this program can compute no product of the suite" + (f": {self.left_out[0][1]}" if self.left_out else ""))
        while True:
            before = self.wrong()
            for product in todo:
                self.compare(product)
                if stop and self.failures and not self.blind:
                    self.stopped = True
                    break
            self.rounds.append(self.wrong() - before)
            if self.stopped or time.monotonic() - start >= seconds:
                break
        self.seconds = round(time.monotonic() - start, 3)

    def compare(self, product):
        d = self.machine.compute(product)
        degrees, clock = self.machine.sense()
        self.degrees += [] if degrees is None else [degrees]
        self.clocks += [] if clock is None else [clock]
        self.runs[product["name"]] = self.runs.get(product["name"], 0) + 1
        digest = hashlib.sha256(d).hexdigest()
        if digest == product["sha256"]:
            return
        for one in self.failures:
            if one["product"] == product["name"] and one["d_sha256"] == digest:
                one["times"] += 1
                if degrees is not None:
                    low, high = one["temperature_c"] or [degrees, degrees]
                    one["temperature_c"] = [min(low, degrees), max(high, degrees)]
                return
        if len(self.failures) == MOST_FAILURES:
            self.more += 1
            return
        width, wrong = FORMATS[product["d"]][4], []
        for index, rows in tiles_of(product, width):
            tile = b"".join(d[row] for row in rows)
            if hashlib.sha256(b"\0" + tile).hexdigest() != product["leaves"][index]:
                wrong.append((index, tile))
        case = self.keep(product, d, digest) if len(self.failures) < MOST_CASES and not self.blind else None
        self.failures.append(
            {
                "product": product["name"],
                "d_sha256": digest,
                "times": 1,
                "sms": [],
                "temperature_c": None if degrees is None else [degrees, degrees],
                "tiles_different": len(wrong),
                "tiles": [
                    {"index": index, "payload": tile.hex() if len(tile) <= MOST_TILE_BYTES else None}
                    for index, tile in wrong[:MOST_TILES]
                ],
                "case": case,
            }
        )

    def keep(self, product, d, digest):
        """The product as a folder that 'tcverify batch' takes: D is a file, operands stay seeds, or are files, too."""
        folder = f"{self.output}.cases/{product['name']}-{digest[:8]}"
        os.makedirs(folder, exist_ok=True)
        descr = {"fp16": "<f2", "bf16": "<V2", "fp32": "<f4", "int32": "<i4"}[product["d"]]
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({product['m']}, {product['n']}), }}"
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        with open(f"{folder}/d.npy", "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + d)
        fields = {key: value for key, value in product["check"].items() if key != "d_dtype"}
        for role in ("a", "b", "c", "bias"):
            if is_stored(fields.get(role, "generate:")):
                shutil.copyfile(os.path.join(self.machine.folder, fields[role]), f"{folder}/{role}.npy")
                fields[role] = f"{role}.npy"
        with open(f"{folder}/case.json", "w", encoding="utf-8") as file:
            json.dump(dict(fields, d="d.npy"), file)
        return os.path.basename(self.output) + ".cases/" + os.path.basename(folder)

    def results(self, suite_digest, host):
        span = lambda values: [min(values), max(values)] if values else None
        machine, half = self.machine, (len(self.rounds) + 1) // 2
        readings = None
        if self.degrees:
            readings = {"temperature_c": span(self.degrees), "sm_clock_mhz": span(self.clocks)}
        return {
            "suite": suite_digest,
            "device": {
                "host": host,
                "index": machine.index,
                "name": machine.about["name"],
                "architecture": machine.architecture,
                "uuid": machine.about["uuid"],
                "driver": machine.about["driver"],
                "multiprocessors": machine.about["multiprocessors"],
                "program": machine.about["program"],
                "simulated": False,
            },
            "runs": [{"product": name, "compared": count, "sms": 0} for name, count in self.runs.items()],
            "left_out": self.left_out,
            "sms": [],
            "failures": self.failures,
            "more_failures": self.more,
            "halves": [sum(self.rounds[:half]), sum(self.rounds[half:])] if len(self.rounds) > 1 else None,
            "readings": readings,
            "seconds": self.seconds,
            "stopped": self.stopped,
        }


def suits(suite, architecture):
    return architecture.lower() in [name.lower() for name in [suite["arch"], *suite["also"]]]


def opened(device):
    return (Chip if device.partition(":")[0] == "ttnn" else Machine)(device)


def commit(words, make):
    """Says which GPU will be screened, before anybody has drawn the products."""
    parser = argparse.ArgumentParser(prog="tcverify_screen.py commit", description=commit.__doc__)
    parser.add_argument("--device", default="cuda:0", help="cuda:N, or ttnn:N")
    parser.add_argument("--uuid", help="the GPU's, as its results will have it; PyTorch is asked without")
    parser.add_argument("--host", default=socket.gethostname())
    parser.add_argument("--key", required=True, metavar="PRIVATE.pem", help="the key that will sign the results")
    parser.add_argument("-o", "--output", required=True, metavar="COMMITMENT.json")
    options = parser.parse_args(words)
    index, uuid = int(options.device.partition(":")[2] or 0), options.uuid
    if uuid is None:
        uuid = make(options.device).about["uuid"]
    said = {"schema": "tcverify.screen-commitment/1", "host": options.host, "index": index, "uuid": uuid}
    said.update(key=public_key(options.key), time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    text = json.dumps(said) + "\n"
    write_whole(options.output, text)
    print(f"{hashlib.sha256(text.encode('ascii')).hexdigest()}  {options.output}")
    return 0


def sign(words, make):
    """Signs results, of this program or of screen.cu."""
    parser = argparse.ArgumentParser(prog="tcverify_screen.py sign", description=sign.__doc__)
    parser.add_argument("results", metavar="RESULTS.json")
    parser.add_argument("--key", required=True, metavar="PRIVATE.pem")
    parser.add_argument("--commitment", metavar="COMMITMENT.json", help="the one that a challenge was drawn for")
    options = parser.parse_args(words)
    schema = "tcverify.screen-results/1"
    with open(options.results, "rb") as file:
        content, _, tool = unseal(file.read(), schema, "the file of results")
    if options.commitment:
        with open(options.commitment, encoding="ascii") as file:
            content["commitment"] = file.read()
    write_whole(options.results, seal(schema, tool, content, options.key))
    return 0


def main(words=None, make=opened):
    words = sys.argv[1:] if words is None else words
    try:
        named = {"commit": commit, "sign": sign}.get(words[0]) if words else None
        return named(words[1:], make) if named else screen(words, make)
    except (Fault, OSError, KeyError) as error:
        what = f"the suite lacks {error}" if isinstance(error, KeyError) else error
        print(f"tcverify_screen: {what}", file=sys.stderr)
        return 2


def screen(words, make):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", metavar="SUITE.json")
    parser.add_argument("--device", default="cuda:0", help="cuda:N, or ttnn:N")
    parser.add_argument("--seconds", type=float, default=0, help="run for so long, the suite once at the least")
    parser.add_argument("--stop", action="store_true", help="end at the first difference")
    parser.add_argument("--host", default=socket.gethostname())
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument("-o", "--output", required=True, metavar="RESULTS.json")
    options = parser.parse_args(words)
    if os.path.exists(options.output) and not options.force:
        raise Fault(f"{options.output}: is there already; --force replaces it")
    with open(options.suite, "rb") as file:
        suite, digest, tool = unseal(file.read(1 << 21), "tcverify.screen-suite/1")
    machine = make(options.device)
    machine.folder = os.path.dirname(options.suite)
    if not suits(suite, machine.architecture):
        raise Fault(f"the suite is for {suite['arch']}; this device is {machine.architecture}")
    screening = Screening(suite, machine, options.output)
    screening.run(options.seconds, options.stop)
    write_whole(options.output, seal("tcverify.screen-results/1", tool, screening.results(digest, options.host)))
    compared = sum(screening.runs.values())
    if screening.blind:
        print(f"ANSWERED  {compared} results  {options.output}")
        return 0
    wrong = screening.wrong()
    print(f"{'WRONG' if wrong else 'RIGHT'}  {wrong} of {compared} results are wrong  {options.output}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
