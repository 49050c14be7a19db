"""Records which kernels cuBLASLt chooses on this GPU, for tcverify: docs/kernels.md.

  record_kernels.py --shape 64x128x8192 --dtype e4m3 --d-dtype bf16 --workspace 1048576 -o kernels.json
  record_kernels.py --shapes shapes.txt --dtype bf16 --d-dtype bf16 --workspace 0 --workspace 33554432 -o kernels.json

For every shape (M x N x K, row-major) and workspace it asks cublasLtMatmulAlgoGetHeuristic for its first
answer and writes the configuration: tcverify.kernel-table/1. Nothing is multiplied. The library is libcublasLt.so
(--library); torch, where it is installed, brings one. FP8 operands are asked for as torch does: A row-major,
B column-major ("tn").
"""

import argparse
import ctypes
import glob
import json
import os
import re
import sys
import traceback

SCHEMA = "tcverify.kernel-table/1"

# cudaDataType_t, cublasComputeType_t and the attributes of cublasLt.h (12.x).
TYPES = {"fp16": 2, "bf16": 14, "fp32": 0, "tf32": 0, "fp64": 1, "e4m3": 28, "e5m2": 29, "int8": 3, "int32": 10}
COMPUTE = {"fp32": 68, "tf32": 77, "fp64": 70, "int32": 72}
OP_N, OP_T = 0, 1
DESC_TRANSA, DESC_TRANSB, DESC_FAST_ACCUM = 3, 4, 25
DESC_A_SCALE, DESC_B_SCALE = 17, 18
PREF_WORKSPACE, PREF_REDUCTION_MASK = 1, 3
PREF_ALIGNMENT = (5, 6, 7, 8)
CONFIG = {
    "algo": (0, ctypes.c_int32),
    "tile": (1, ctypes.c_uint32),
    "split_k": (2, ctypes.c_int32),
    "reduction": (3, ctypes.c_uint32),
    "swizzle": (4, ctypes.c_uint32),
    "custom": (5, ctypes.c_uint32),
    "stages": (6, ctypes.c_uint32),
    # Reading these two into four bytes is refused.
    "inner_shape": (7, ctypes.c_uint16),
    "cluster_shape": (8, ctypes.c_uint16),
}


class Algo(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64 * 8)]


class HeuristicResult(ctypes.Structure):
    _fields_ = [
        ("algo", Algo),
        ("workspaceSize", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("wavesCount", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


class NoKernel(Exception):
    """The library has no kernel for a product."""


def check(status, what):
    if status != 0:
        raise NoKernel(f"{what}: cuBLAS status {status}")


def find_library():
    """libcublasLt of the system, or of torch's packages."""
    candidates = ["libcublasLt.so", "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"]
    for folder in sys.path:
        candidates += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublasLt.so*")))
    for name in candidates:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    sys.exit("libcublasLt is not found; say where with --library")


class Lt:
    """cublasLt, asked for configurations."""

    def __init__(self, library):
        self.library = library
        self.handle = ctypes.c_void_p()
        check(library.cublasLtCreate(ctypes.byref(self.handle)), "cublasLtCreate")

    def version(self):
        self.library.cublasLtGetVersion.restype = ctypes.c_size_t
        number = int(self.library.cublasLtGetVersion())
        # 120803 is 12.8.3; from 13 on the major number has two digits before four others.
        return f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def _set(self, function, target, attribute, value):
        status = getattr(self.library, function)(
            target, ctypes.c_int(attribute), ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))
        )
        check(status, f"{function}({attribute})")

    def _layout(self, dtype, rows, columns):
        layout = ctypes.c_void_p()
        status = self.library.cublasLtMatrixLayoutCreate(
            ctypes.byref(layout),
            ctypes.c_int(TYPES[dtype]),
            ctypes.c_uint64(rows),
            ctypes.c_uint64(columns),
            ctypes.c_int64(rows),
        )
        check(status, "cublasLtMatrixLayoutCreate")
        return layout

    def ask(self, shape, a, b, d, layout, fast, workspace, alignment=16, reduction_mask=None):
        """The configuration for one row-major product, as the library sees it: D^T = B^T * A^T."""
        m, n, k = shape
        library = self.library
        desc, preference = ctypes.c_void_p(), ctypes.c_void_p()
        layouts = []
        compute = {"tf32": "tf32", "fp64": "fp64", "int8": "int32"}.get(a, "fp32")
        scale = {"fp64": "fp64", "int8": "int32" if d == "int32" else "fp32"}.get(a, "fp32")
        try:
            check(
                library.cublasLtMatmulDescCreate(
                    ctypes.byref(desc), ctypes.c_int(COMPUTE[compute]), ctypes.c_int(TYPES[scale])
                ),
                "cublasLtMatmulDescCreate",
            )
            turned = {"n": OP_N, "t": OP_T}
            self._set("cublasLtMatmulDescSetAttribute", desc, DESC_TRANSA, ctypes.c_int32(turned[layout[0]]))
            self._set("cublasLtMatmulDescSetAttribute", desc, DESC_TRANSB, ctypes.c_int32(turned[layout[1]]))
            if a in ("e4m3", "e5m2"):
                self._set("cublasLtMatmulDescSetAttribute", desc, DESC_FAST_ACCUM, ctypes.c_int8(bool(fast)))
            # Column-major: the library's A is our B.
            first = (k, n) if layout[0] == "t" else (n, k)
            second = (m, k) if layout[1] == "t" else (k, m)
            layouts.append(self._layout(b, *first))
            layouts.append(self._layout(a, *second))
            # torch passes C of FP8 products as BF16 or FP16.
            c = {"e4m3": "fp16", "e5m2": "fp16"}.get(d, d)
            layouts.append(self._layout(c, n, m))
            layouts.append(self._layout(d, n, m))
            check(library.cublasLtMatmulPreferenceCreate(ctypes.byref(preference)), "cublasLtMatmulPreferenceCreate")
            set_preference = "cublasLtMatmulPreferenceSetAttribute"
            self._set(set_preference, preference, PREF_WORKSPACE, ctypes.c_uint64(workspace))
            if reduction_mask is not None:
                self._set(set_preference, preference, PREF_REDUCTION_MASK, ctypes.c_uint32(reduction_mask))
            for attribute in PREF_ALIGNMENT:
                self._set(set_preference, preference, attribute, ctypes.c_uint32(alignment))
            result, count = HeuristicResult(), ctypes.c_int()
            check(
                library.cublasLtMatmulAlgoGetHeuristic(
                    self.handle, desc, *layouts, preference, ctypes.c_int(1), ctypes.byref(result), ctypes.byref(count)
                ),
                "cublasLtMatmulAlgoGetHeuristic",
            )
            if count.value < 1 or result.state != 0:
                raise NoKernel("cublasLtMatmulAlgoGetHeuristic has no answer")
            return self.configuration(result.algo)
        finally:
            for made in layouts:
                library.cublasLtMatrixLayoutDestroy(made)
            if desc:
                library.cublasLtMatmulDescDestroy(desc)
            if preference:
                library.cublasLtMatmulPreferenceDestroy(preference)

    def configuration(self, algo):
        values = {}
        for name, (attribute, kind) in CONFIG.items():
            value, written = kind(), ctypes.c_size_t()
            status = self.library.cublasLtMatmulAlgoConfigGetAttribute(
                ctypes.byref(algo),
                ctypes.c_int(attribute),
                ctypes.byref(value),
                ctypes.c_size_t(ctypes.sizeof(value)),
                ctypes.byref(written),
            )
            # Older libraries lack the last two.
            if status != 0 and name in ("inner_shape", "cluster_shape"):
                continue
            check(status, f"cublasLtMatmulAlgoConfigGetAttribute({name})")
            values[name] = int(value.value)
        return values


def gpu():
    """Name, compute capability and multiprocessors of the GPU, from torch if it is there, else from the driver."""
    try:
        import torch

        facts = torch.cuda.get_device_properties(0)
        return {"gpu": facts.name, "capability": f"{facts.major}.{facts.minor}", "multiprocessors": facts.multi_processor_count}
    except ImportError:
        pass
    cuda = ctypes.CDLL("libcuda.so.1")
    device, text = ctypes.c_int(), ctypes.create_string_buffer(256)
    check(cuda.cuInit(0), "cuInit")
    check(cuda.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
    check(cuda.cuDeviceGetName(text, 256, device), "cuDeviceGetName")
    values = []
    for attribute in (75, 76, 16):
        value = ctypes.c_int()
        check(cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device), "cuDeviceGetAttribute")
        values.append(value.value)
    return {
        "gpu": text.value.decode(errors="replace"),
        "capability": f"{values[0]}.{values[1]}",
        "multiprocessors": values[2],
    }


def shape(text):
    match = re.fullmatch(r"(\d+)x(\d+)x(\d+)", text.strip())
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not a shape such as 128x64x4096")
    return tuple(int(size) for size in match.groups())


def record(lt, options, facts, warn=lambda text: print(text, file=sys.stderr)):
    """The table, as a document."""
    fp8 = options.dtype in ("e4m3", "e5m2")
    layout = options.layout or ("tn" if fp8 else "nn")
    entries = []
    for size in options.shape:
        for workspace in options.workspace:
            for fast in (options.accumulation or ["slow"]) if fp8 else [None]:
                asked = (size, options.dtype, options.dtype_b or options.dtype, options.d_dtype)
                try:
                    configuration = lt.ask(
                        *asked, layout, fast == "fast", workspace, options.alignment, options.reduction_mask
                    )
                except NoKernel as error:
                    warn(f"{'x'.join(map(str, size))}, workspace {workspace}: {error}")
                    continue
                entry = dict(zip("mnk", size), a=asked[1], b=asked[2], d=asked[3], layout=layout, workspace=workspace)
                if fast is not None:
                    entry["fast_accumulation"] = fast == "fast"
                entry["configuration"] = configuration
                entries.append(entry)
    library = {"name": "cublasLt", "version": lt.version()}
    return {"schema": SCHEMA, **facts, "library": library, "entries": entries}


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", type=shape, action="append", default=[], metavar="MxNxK")
    parser.add_argument("--shapes", metavar="FILE", help="a shape a line")
    parser.add_argument("--dtype", required=True, choices=sorted(set(TYPES) - {"int32"}))
    parser.add_argument("--dtype-b", choices=sorted(set(TYPES) - {"int32"}))
    parser.add_argument("--d-dtype", required=True, choices=sorted(set(TYPES) - {"tf32"}))
    parser.add_argument("--layout", choices=["nn", "tn", "nt", "tt"], help="as the library sees it, column-major")
    parser.add_argument("--workspace", type=int, action="append", metavar="BYTES", help="torch: 1 MiB by default")
    parser.add_argument("--accumulation", choices=["fast", "slow"], action="append", help="of FP8 products")
    parser.add_argument("--alignment", type=int, default=16, metavar="BYTES")
    parser.add_argument("--reduction-mask", type=int, metavar="MASK")
    parser.add_argument("--library", metavar="FILE", help="libcublasLt.so")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.json")
    options = parser.parse_args(words)
    if options.shapes:
        with open(options.shapes, encoding="utf-8") as lines:
            options.shape += [shape(line) for line in lines if line.strip()]
    if not options.shape:
        parser.error("give --shape or --shapes")
    options.workspace = options.workspace or [1 << 20]
    return options


def main(words=None):
    options = parse(words)
    if os.path.exists(options.output):
        sys.exit(f"{options.output} exists; name another file")
    library = ctypes.CDLL(options.library) if options.library else find_library()
    document = record(Lt(library), options, gpu())
    if not document["entries"]:
        sys.exit("the library had no kernel for any of these products")
    with open(options.output, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def end_with_2(work):
    """Whatever goes wrong is 2, as of every program here: 1 would be a difference."""
    try:
        work()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(2)
        raise
    except Exception:
        traceback.print_exc()
        sys.exit(2)


if __name__ == "__main__":
    end_with_2(main)
