"""Captures what PyTorch's matrix products compute on this GPU, for tcverify: docs/capturing.md.

  capture_torch.py answer PROBES --dtype F --skip-c -o FOLDER
  capture_torch.py gemm --dtype F --size MxNxK --operands generate:SEED:CLASS -o d.npy
  capture_torch.py gemm --dtype F --a a.npy --b b.npy -o d.npy [--digest]

A library chooses its kernel, and the kernel its order of additions: what comes out is a product for
'check' and 'identify', not one chain of a known instruction. capture.cu gives those.
"""

import argparse
import datetime
import hashlib
import json
import os
import sys
import traceback

try:
    import numpy as np
except ImportError as missing:
    print(f"error: {missing}; this script needs NumPy", file=sys.stderr)
    sys.exit(2)

import tcgenerate

# Bytes of a code; and torch's dtype, and the integer type through which codes pass.
TORCH = {
    "fp16": ("float16", "int16"),
    "bf16": ("bfloat16", "int16"),
    "tf32": ("float32", "int32"),
    "fp32": ("float32", "int32"),
    "e4m3": ("float8_e4m3fn", "uint8"),
    "e5m2": ("float8_e5m2", "uint8"),
    "int8": ("int8", "int8"),
}
# How D lies in a .npy: BF16 as codes.
RESULTS = {"fp16": "<f2", "bf16": "<i2", "fp32": "<f4", "int32": "<i4"}
TORCH_RESULTS = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "int32": "int32"}


def sha256(array):
    """Of the canonical payload: codes in C order, little-endian."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def read_codes(path, dtype):
    """Codes of a .npy as unsigned integers; its elements must have the format's width."""
    array = np.load(path, allow_pickle=False)
    width = np.dtype(tcgenerate.FORMATS[dtype].dtype).itemsize
    if array.dtype.itemsize != width:
        sys.exit(f"{path}: has elements of {array.dtype.itemsize} bytes; {dtype} has {width}")
    if array.dtype.byteorder == ">":
        sys.exit(f"{path}: is big-endian; save it little-endian")
    return np.ascontiguousarray(array).view(f"<u{width}")


def diagonal(a, b, multiply, batch):
    """D of n dot products a (n,1,K), b (n,K,1): rows and columns of one product, whose diagonal they are."""
    answers = []
    for start in range(0, len(a), batch):
        rows, columns = a[start : start + batch, 0, :], b[start : start + batch, :, 0].T
        count = len(rows)
        # Whole tiles: FP8 and INT8 products want sizes that are multiples of 16 (and more than 16 rows).
        full = max(32, -(-count // 16) * 16)
        rows = np.concatenate([rows, np.zeros((full - count, rows.shape[1]), rows.dtype)])
        columns = np.concatenate([columns, np.zeros((columns.shape[0], full - count), columns.dtype)], axis=1)
        d = multiply(np.ascontiguousarray(rows), np.ascontiguousarray(columns))
        answers.append(np.diagonal(d)[:count].copy())
    return np.concatenate(answers).reshape(-1, 1, 1)


class Gpu:
    """torch's products of codes, and what computed them."""

    def __init__(self, options):
        import torch

        self.torch = torch
        if not torch.cuda.is_available():
            sys.exit("PyTorch sees no GPU")
        self.options = options
        self.kernels = []
        matmul = torch.backends.cuda.matmul
        matmul.allow_tf32 = options.dtype == "tf32"
        matmul.allow_fp16_reduced_precision_reduction = options.reduced_precision
        matmul.allow_bf16_reduced_precision_reduction = options.reduced_precision
        if hasattr(matmul, "allow_fp16_accumulation"):
            matmul.allow_fp16_accumulation = options.fp16_accumulation
        elif options.fp16_accumulation:
            sys.exit("this PyTorch has no allow_fp16_accumulation (2.7 has)")

    def tensor(self, codes, dtype):
        name, through = TORCH[dtype]
        integers = self.torch.from_numpy(codes.view(through)).cuda()
        return integers.view(getattr(self.torch, name))

    def product(self, a, b):
        torch, o = self.torch, self.options
        x, y = self.tensor(a, o.dtype), self.tensor(b, o.dtype_b)
        if o.dtype == "int8":
            return torch._int_mm(x, y)
        if o.dtype in ("e4m3", "e5m2"):
            # It wants B column by column; a transposed view changes no number.
            y = y.t().contiguous().t()
            one = torch.ones((), device="cuda", dtype=torch.float32)
            out = getattr(torch, TORCH_RESULTS[o.d_dtype])
            d = torch._scaled_mm(x, y, scale_a=one, scale_b=one, out_dtype=out, use_fast_accum=o.fast_accum)
            return d[0] if isinstance(d, tuple) else d
        return torch.matmul(x, y)

    def multiply(self, a, b):
        """D of codes, as an array that can be saved."""
        torch = self.torch
        self.product(a, b)  # a first time, so that the profile below holds no set-up
        torch.cuda.synchronize()
        try:
            from torch.profiler import ProfilerActivity, profile

            with profile(activities=[ProfilerActivity.CUDA]) as record:
                d = self.product(a, b)
                torch.cuda.synchronize()
            for event in record.events():
                on_gpu = str(event.device_type).endswith("CUDA")
                if on_gpu and not event.name.startswith("Mem") and event.name not in self.kernels:
                    self.kernels.append(event.name)
        except (ImportError, RuntimeError, AttributeError) as error:
            print(f"the kernel's name could not be found: {error}", file=sys.stderr)
            d = self.product(a, b)
        wanted = TORCH_RESULTS[self.options.d_dtype]
        if str(d.dtype) != f"torch.{wanted}":
            sys.exit(f"PyTorch returned {d.dtype}, not {wanted}; say --d-dtype")
        if d.dtype == torch.bfloat16:
            d = d.view(torch.int16)
        return d.cpu().numpy()

    def describe(self):
        torch, matmul = self.torch, self.torch.backends.cuda.matmul
        properties = torch.cuda.get_device_properties(0)
        driver = ""
        if os.path.exists("/proc/driver/nvidia/version"):
            with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
                driver = file.readline().strip()
        flags = {
            name: getattr(matmul, name)
            for name in (
                "allow_tf32",
                "allow_fp16_reduced_precision_reduction",
                "allow_bf16_reduced_precision_reduction",
                "allow_fp16_accumulation",
            )
            if hasattr(matmul, name)
        }
        flags["use_fast_accum"] = self.options.fast_accum
        for name in ("CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "NVIDIA_TF32_OVERRIDE"):
            if name in os.environ:
                flags[name] = os.environ[name]
        return {
            "gpu": properties.name,
            "compute_capability": f"{properties.major}.{properties.minor}",
            "multiprocessors": properties.multi_processor_count,
            "driver": driver,
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "cublas": cublas_version(),
            "flags": flags,
            "kernels": self.kernels,
        }


def cublas_version():
    """Of the library that this process has loaded: cublasGetProperty of major, minor, patch."""
    import ctypes

    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split()[-1] for line in maps if "libcublas.so" in line}
        library = ctypes.CDLL(paths.pop())
        numbers = []
        for which in range(3):
            number = ctypes.c_int()
            library.cublasGetProperty(which, ctypes.byref(number))
            numbers.append(str(number.value))
        return ".".join(numbers)
    except (OSError, KeyError, AttributeError):
        return None


def provenance(options, gpu, **more):
    facts = {
        "schema": "tcverify.capture/1",
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        **gpu.describe(),
        "a": options.dtype,
        "b": options.dtype_b,
        "d": options.d_dtype,
        "order": "as the library's kernel adds; not known",
    }
    facts.update(more)
    return facts


def write_json(path, facts):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(facts, file, indent=2)
        file.write("\n")


def zero_c(c):
    """Which cases have C = +0: the only C that a plain product has."""
    return (c.view(f"<u{c.dtype.itemsize}") == 0).reshape(-1)


def select(folder, dtype, dtype_b, skip_c):
    """Operands of the cases that can be answered, and their indices."""
    a, b = read_codes(f"{folder}/a.npy", dtype), read_codes(f"{folder}/b.npy", dtype_b)
    if a.ndim != 3 or a.shape[1] != 1 or b.shape != (a.shape[0], a.shape[2], 1):
        sys.exit(f"{folder}: a.npy must be (n,1,K) and b.npy (n,K,1)")
    keep = np.ones(len(a), bool)
    if os.path.exists(f"{folder}/c.npy"):
        c = np.load(f"{folder}/c.npy", allow_pickle=False)
        if c.shape != (len(a), 1, 1):
            sys.exit(f"{folder}: c.npy must be (n,1,1)")
        keep = zero_c(c)
    if not keep.all():
        print(f"{(~keep).sum()} of {len(keep)} cases have C other than +0, which a product without C "
              "cannot answer", file=sys.stderr)
        if not skip_c:
            sys.exit("nothing was captured; --skip-c leaves them out, for 'tcverify identify' and 'check' "
                     "('infer' wants every case: capture.cu answers them)")
    if not keep.any():
        sys.exit("no case is left")
    return a[keep], b[keep], np.flatnonzero(keep)


def answer(options, make_gpu=Gpu):
    # What can be refused without a GPU is.
    a, b, indices = select(options.probes, options.dtype, options.dtype_b, options.skip_c)
    if os.path.exists(options.output):
        sys.exit(f"{options.output}: is there already; name a new directory")
    gpu = make_gpu(options)
    d = diagonal(a, b, gpu.multiply, options.batch).astype(RESULTS[options.d_dtype], copy=False)
    manifest = f"{options.probes}/manifest.json"
    digest = None
    if os.path.exists(manifest):
        with open(manifest, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    os.makedirs(options.output)
    for name, array in (("a", a), ("b", b), ("d", d)):
        np.save(f"{options.output}/{name}.npy", array)
    facts = provenance(options, gpu, manifest_sha256=digest, embedding="diagonal of one product",
                       batch=options.batch, d_sha256=sha256(d), cases=indices.tolist())
    write_json(f"{options.output}/d.npy.json", facts)
    print(f"{sha256(d)}  {options.output}/d.npy, {len(d)} cases")


def operands(options):
    """A and B as codes, and what they are for the provenance."""
    if options.operands:
        parts = options.operands.split(":")
        sizes = (options.size or "").split("x")
        classes = ("normal", "wide", "subnormal", "special", "cancel")
        if len(parts) != 3 or parts[0] != "generate" or not parts[1].isdigit() or parts[2] not in classes:
            sys.exit("--operands: generate:SEED:CLASS is expected; classes: " + ", ".join(classes))
        if len(sizes) != 3 or not all(s.isdigit() and int(s) > 0 for s in sizes):
            sys.exit("--size: MxNxK is expected")
        m, n, k = map(int, sizes)
        a = tcgenerate.generate(int(parts[1]), parts[2], (m, k), "a", options.dtype)
        b = tcgenerate.generate(int(parts[1]), parts[2], (k, n), "b", options.dtype_b)
        return a, b, {"a_spec": f"{options.operands}:{m}x{k}", "b_spec": f"{options.operands}:{k}x{n}"}
    if not (options.a and options.b):
        sys.exit("--operands and --size, or --a and --b, are expected")
    a, b = read_codes(options.a, options.dtype), read_codes(options.b, options.dtype_b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        sys.exit(f"A is {a.shape} and B is {b.shape}; MxK and KxN are expected")
    return a, b, {"a_file": options.a, "b_file": options.b}


def gemm(options, make_gpu=Gpu):
    a, b, which = operands(options)
    if not options.digest and os.path.exists(options.output):
        sys.exit(f"{options.output}: is there already")
    gpu = make_gpu(options)
    d = np.ascontiguousarray(gpu.multiply(a, b)).astype(RESULTS[options.d_dtype], copy=False)
    if not options.digest:
        np.save(options.output, d)
    facts = provenance(options, gpu, a_sha256=sha256(a), b_sha256=sha256(b), d_sha256=sha256(d),
                       d_shape=list(d.shape), **which)
    write_json(f"{options.output}.json", facts)
    print(f"{sha256(d)}  D, {'x'.join(map(str, d.shape))}")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in (("answer", answer), ("gemm", gemm)):
        one = commands.add_parser(name)
        one.set_defaults(run=run)
        one.add_argument("--dtype", required=True, choices=TORCH)
        one.add_argument("--dtype-b", choices=TORCH, help="where it differs; FP8 only")
        one.add_argument("--d-dtype", choices=RESULTS, help="what PyTorch returns: A's type, fp32, int32")
        one.add_argument("--output", "-o", required=True)
        one.add_argument("--fast-accum", action="store_true", help="FP8: never promote to FP32")
        one.add_argument("--reduced-precision", action="store_true", help="FP16, BF16: split-K may round partial sums")
        one.add_argument("--fp16-accumulation", action="store_true")
        if name == "answer":
            one.add_argument("probes")
            one.add_argument("--batch", type=int, default=512, help="cases a product (512)")
            one.add_argument("--skip-c", action="store_true", help="leave out cases whose C is not +0")
        else:
            one.add_argument("--operands", help="generate:SEED:CLASS")
            one.add_argument("--size", help="MxNxK")
            one.add_argument("--a")
            one.add_argument("--b")
            one.add_argument("--digest", action="store_true", help="do not write D, only its digest and provenance")
    options = parser.parse_args(arguments)
    eight = ("e4m3", "e5m2")
    options.dtype_b = options.dtype_b or options.dtype
    if options.dtype != options.dtype_b and not (options.dtype in eight and options.dtype_b in eight):
        parser.error("A and B may differ among the two FP8 formats only")
    if getattr(options, "batch", 1) < 1:
        parser.error("--batch must be at least 1")
    default = {"int8": "int32", "tf32": "fp32", "e4m3": "fp32", "e5m2": "fp32"}
    options.d_dtype = options.d_dtype or default.get(options.dtype, options.dtype)
    if options.dtype not in eight and options.d_dtype != default.get(options.dtype, options.dtype):
        parser.error(f"PyTorch returns {default.get(options.dtype, options.dtype)} for {options.dtype}")
    return options


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


def main():
    chosen = parse(sys.argv[1:])
    chosen.run(chosen)


if __name__ == "__main__":
    end_with_2(main)
