"""Captures what libraries compute between the products of a layer on this GPU, for tcverify: docs/capturing-layers.md.

  capture_layers.py list
  capture_layers.py FOLDER [--only rms_norm,softmax] [--library torch,vllm] [--short]

FOLDER becomes a manifest and its arrays: tcverify batch FOLDER/manifest.json judges it. Every case has arrays, the captured
result, and beside it NAME.json: GPU, versions, kernels. A library that is not installed, or does not compute a case, is
named at the end and in FOLDER/provenance.json; nothing is put in its place.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

try:
    import numpy as np
except ImportError as missing:
    print(f"error: {missing}; this script needs NumPy", file=sys.stderr)
    sys.exit(2)

import tcgenerate
from capture_torch import end_with_2, sha256, write_json

# Rows and columns of norms: orders of sums change with both.
COLUMNS = (128, 896, 2560, 4096, 8192)
ROWS = (1, 2, 16, 255, 256, 4096)
DIMS = (64, 128)
LENGTHS = (1, 63, 64, 65, 128, 129, 1000)
SHORT = {"columns": (128, 896), "rows": (1, 16), "dims": (64,), "lengths": (1, 65)}

# How codes lie in a .npy, by format.
STORED = {"bf16": "<u2", "fp16": "<u2", "fp32": "<u4", "e4m3": "|u1"}


class Array(NamedTuple):
    """Codes of a format."""

    format: str
    codes: np.ndarray


@dataclass
class Case:
    """A step: what a manifest says of it, its arrays, and how a library computes its result."""

    name: str
    library: str
    fields: dict[str, Any]
    arrays: dict[str, Array]
    compute: Callable[..., Any]
    # Results beside y, which no rule reproduces, by name; as compute returns them.
    more: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


def normal(seed, shape, role="a", format="bf16"):
    return Array(format, tcgenerate.generate(seed, "normal", shape, role, format))


def adversarial(seed, rows, columns):
    """Numbers of one size, and in every second row one that is 2^10 times as large: orders of sums show."""
    codes = tcgenerate.generate(seed, "normal", (rows, columns), "a", "bf16").copy()
    for row in range(0, rows, 2):
        at = (7 * row + 3) % columns
        codes[row, at] = (codes[row, at] & 0x807F) | (127 + 10) << 7
    return Array("bf16", codes)


def every_bf16():
    """All patterns but NaNs, whose bits nobody specifies, in rows of 256."""
    codes = np.arange(1 << 16, dtype="<u2")
    codes[(codes & 0x7FFF) > 0x7F80] = 0
    return Array("bf16", codes.reshape(256, 256))


# What is computed; `t` is torch, and tensors are on the GPU.


def hf_norm(t, x, weight, eps):
    wide = x.to(t.float32)
    variance = wide.pow(2).mean(-1, keepdim=True)
    return weight * (wide * t.rsqrt(variance + eps)).to(x.dtype)


def half_turned(t, x):
    first, second = x.chunk(2, dim=-1)
    return t.cat((-second, first), dim=-1)


def norms(plan, since):
    hf = "hf-eager" if since(2, 10) else "hf-eager-2.9"
    for columns in plan["columns"]:
        weight = normal(2, (columns,), "b")
        bias = normal(3, (columns,), "b")
        for rows in plan["rows"]:
            x, residual = adversarial(columns + rows, rows, columns), normal(5, (rows, columns), "b")
            size = f"{rows}x{columns}"
            rms = {"operation": "rms_norm", "eps": "1e-6"}
            two = {"x": x, "weight": weight}
            # Before 2.10 rows of 128 were not read in fours, which no variant models.
            if columns > 128 or since(2, 10):
                yield Case(f"rms_norm-hf-{size}", "torch", {**rms, "variant": hf}, two,
                           lambda t, x, weight: hf_norm(t, x, weight, 1e-6))
            yield Case(f"rms_norm-fused-{size}", "torch", {**rms, "variant": "pytorch-fused"}, two,
                       lambda t, x, weight: t.nn.functional.rms_norm(x, x.shape[-1:], weight, 1e-6))
            yield Case(f"rms_norm-vllm-{size}", "vllm", {**rms, "variant": "vllm"}, two, vllm_norm)
            yield Case(f"rms_norm-flashinfer-{size}", "flashinfer", {**rms, "variant": "flashinfer"}, two,
                       flashinfer_norm)
            three = {"x": x, "residual": residual, "weight": weight}
            yield Case(f"fused_add-vllm-{size}", "vllm", {**rms, "variant": "vllm-fused-add"}, three,
                       lambda t, **a: vllm_add_norm(t, **a)[0])
            yield Case(f"fused_add-residual-{size}", "vllm",
                       {**rms, "variant": "vllm-fused-add", "output": "residual"}, three,
                       lambda t, **a: vllm_add_norm(t, **a)[1])
            yield Case(f"layer_norm-{size}", "torch", {"operation": "layer_norm", "variant": "pytorch", "eps": "1e-5"},
                       {"x": x, "weight": weight, "bias": bias}, layer_norm, more=("mean", "rstd"))
            soft = "pytorch" if since(2, 7) else "pytorch-2.6"
            yield Case(f"softmax-{size}", "torch", {"operation": "softmax", "variant": soft}, {"x": x},
                       lambda t, x: t.softmax(x, -1))
            yield Case(f"add-{size}", "torch", {"operation": "add"}, {"x": x, "other": residual},
                       lambda t, x, other: x + other)
            for kind, function in (("token", vllm_token), ("tensor", vllm_tensor)):
                for output, at in (("y", 0), ("scale", 1)):
                    yield Case(f"quantize-{kind}-{output}-{size}", "vllm",
                               {"operation": "quantize_fp8", "variant": f"vllm-{kind}", "output": output}, {"x": x},
                               lambda t, x, function=function, at=at: function(t, x)[at])


def layer_norm(t, x, weight, bias):
    y, mean, rstd = t.ops.aten.native_layer_norm(x, list(x.shape[-1:]), weight, bias, 1e-5)
    return y, mean, rstd


def vllm_norm(t, x, weight):
    import vllm._custom_ops as ops

    y = t.empty_like(x)
    ops.rms_norm(y, x, weight, 1e-6)
    return y


def vllm_add_norm(t, x, residual, weight):
    import vllm._custom_ops as ops

    x, residual = x.clone(), residual.clone()
    ops.fused_add_rms_norm(x, residual, weight, 1e-6)
    return x, residual


def vllm_token(t, x):
    import vllm._custom_ops as ops

    return ops.scaled_fp8_quant(x, use_per_token_if_dynamic=True)


def vllm_tensor(t, x):
    import vllm._custom_ops as ops

    return ops.scaled_fp8_quant(x)


def vllm_activation(t, x):
    y = t.empty(*x.shape[:-1], x.shape[-1] // 2, dtype=x.dtype, device=x.device)
    t.ops._C.silu_and_mul(y, x)
    return y


def flashinfer_norm(t, x, weight):
    import flashinfer

    return flashinfer.norm.rmsnorm(x, weight, 1e-6)


def flashinfer_activation(t, x):
    import flashinfer

    return flashinfer.activation.silu_and_mul(x)


def activations(plan, since):
    x = every_bf16()
    yield Case("silu-all", "torch", {"operation": "silu", "variant": "pytorch"}, {"x": x},
               lambda t, x: t.nn.functional.silu(x))
    yield Case("gelu-all", "torch", {"operation": "gelu", "variant": "pytorch-tanh"}, {"x": x},
               lambda t, x: t.nn.functional.gelu(x, approximate="tanh"))
    # Gate and up side by side: every pattern as a gate, beside numbers of one size.
    both = Array("bf16", np.concatenate([x.codes, normal(9, x.codes.shape).codes], axis=1))
    mul = {"operation": "silu_and_mul"}
    for library, compute in (("vllm", vllm_activation), ("flashinfer", flashinfer_activation)):
        yield Case(f"silu_and_mul-{library}", library, {**mul, "variant": library}, {"x": both}, compute)
    gate, up = Array("bf16", x.codes), normal(9, x.codes.shape)
    yield Case("silu_and_mul-torch", "torch", {**mul, "variant": "pytorch"}, {"x": gate, "up": up},
               lambda t, x, up: t.nn.functional.silu(x) * up)


def rotations(plan, since):
    for dim in plan["dims"]:
        for tokens in plan["lengths"]:
            x = normal(11, (1, tokens, 2, dim))
            angles = [Array("bf16", tables(tokens, dim)[which]) for which in range(2)]
            yield Case(f"rope-{tokens}x{dim}", "torch", {"operation": "rope", "variant": "hf", "layout": "bshd"},
                       {"x": x, "cos": angles[0], "sin": angles[1]}, rotated)


def tables(tokens, dim):
    """Cosines and sines, every angle twice as Hugging Face's models have them, a row a token, in BF16: given, so any will do."""
    frequencies = 10000.0 ** (-np.arange(0, dim, 2) / dim)
    angles = np.tile(np.arange(tokens)[:, None] * frequencies[None, :], 2)
    return [rounded(function(angles)) for function in (np.cos, np.sin)]


def rounded(numbers):
    """To BF16 by way of FP32, to nearest even."""
    codes = numbers.astype("<f4").view("<u4").astype(np.uint64)
    return ((codes + 0x7FFF + (codes >> 16 & 1)) >> 16).astype("<u2")


def rotated(t, x, cos, sin):
    cos, sin = (angles[None, :, None, :] for angles in (cos, sin))
    return x * cos + half_turned(t, x) * sin


def attentions(plan, since):
    for dim in plan["dims"]:
        for keys in plan["lengths"]:
            for causal in (False, True):
                size = f"{keys}x{dim}" + ("-causal" if causal else "")
                yield from attention(size, keys, dim, causal, {
                    "q": normal(21, (1, keys, 2, dim)), "k": normal(22, (1, keys, 2, dim), "b"),
                    "v": normal(23, (1, keys, 2, dim), "b")})
    # Scores that are one element of Q; values that read out one power each.
    dim = plan["dims"][0]
    one = np.zeros((1, dim, 1, dim), "<u2")
    one[0, range(dim), 0, range(dim)] = 0x3F80
    yield from attention(f"one-hot-{dim}", dim, dim, False, {
        "q": normal(24, (1, dim, 1, dim)), "k": Array("bf16", one), "v": Array("bf16", one)})


def attention(size, keys, dim, causal, arrays):
    fields = {"operation": "attention", "layout": "bshd", **({"causal": True} if causal else {})}
    yield Case(f"sdpa-{size}", "torch", {**fields, "variant": "pytorch-flash"}, arrays,
               lambda t, q, k, v: sdpa(t, q, k, v, causal), more=("lse",))
    yield Case(f"flash2-{size}", "flash_attn", {**fields, "variant": "flash-attention-2"}, arrays,
               lambda t, q, k, v: flash2(t, q, k, v, causal), more=("lse",))
    yield Case(f"flash3-{size}", "flash_attn_interface", {**fields, "variant": "flash-attention-3"}, arrays,
               lambda t, q, k, v: flash3(t, q, k, v, causal))


def sdpa(t, q, k, v, causal):
    q, k, v = (one.transpose(1, 2) for one in (q, k, v))
    rehearsed = t.ops.aten._scaled_dot_product_flash_attention_for_cpu
    of_gpu = t.ops.aten._scaled_dot_product_flash_attention
    found = (of_gpu if q.is_cuda else rehearsed)(q, k, v, 0.0, causal)
    return found[0].transpose(1, 2).contiguous(), found[1]


def flash2(t, q, k, v, causal):
    import flash_attn

    y, lse, _ = flash_attn.flash_attn_func(q, k, v, causal=causal, return_attn_probs=True)
    return y, lse


def flash3(t, q, k, v, causal):
    import flash_attn_interface

    y = flash_attn_interface.flash_attn_func(q, k, v, causal=causal, num_splits=1)
    return y[0] if isinstance(y, tuple) else y


GROUPS = {"norms": norms, "activations": activations, "rope": rotations, "attention": attentions}


def cases(options, since):
    plan = SHORT if options.short else {"columns": COLUMNS, "rows": ROWS, "dims": DIMS, "lengths": LENGTHS}
    for group in GROUPS.values():
        for case in group(plan, since):
            named = options.only is None or case.fields["operation"] in options.only
            if named and (options.library is None or case.library in options.library):
                yield case


class Torch:
    """Codes to tensors and back, and what computed them."""

    def __init__(self, device="cuda"):
        import torch

        self.torch, self.device = torch, device
        if device == "cuda" and not torch.cuda.is_available():
            sys.exit("PyTorch sees no GPU; --rehearse computes on the CPU, which proves nothing of a GPU")
        self.types = {"bf16": (torch.bfloat16, torch.int16), "fp16": (torch.float16, torch.int16),
                      "fp32": (torch.float32, torch.int32)}
        if hasattr(torch, "float8_e4m3fn"):
            self.types["e4m3"] = (torch.float8_e4m3fn, torch.uint8)

    def since(self, *version):
        return tuple(int(part) for part in self.torch.__version__.split(".")[:2]) >= version

    def tensor(self, array):
        kind, through = self.types[array.format]
        integers = np.ascontiguousarray(array.codes).view(f"<i{array.codes.dtype.itemsize}")
        return self.torch.from_numpy(integers).to(self.device).view(through).view(kind)

    def codes(self, tensor):
        for format, (kind, through) in self.types.items():
            if tensor.dtype == kind:
                plain = tensor.detach().contiguous().view(through).cpu().numpy()
                return Array(format, plain.view(STORED[format]))
        raise TypeError(f"{tensor.dtype} has no format here")

    def run(self, case):
        """The results, y first, and the names of the kernels that ran."""
        tensors = {name: self.tensor(array) for name, array in case.arrays.items()}
        found, kernels = self.profiled(lambda: case.compute(self.torch, **tensors))
        found = found if isinstance(found, tuple) else (found,)
        return [self.codes(one) for one in found], kernels

    def profiled(self, compute):
        with self.torch.no_grad():
            if self.device != "cuda":
                return compute(), []
            compute()  # a first time, so that the profile holds no set-up
            self.torch.cuda.synchronize()
            try:
                from torch.profiler import ProfilerActivity, profile

                with profile(activities=[ProfilerActivity.CUDA]) as record:
                    found = compute()
                    self.torch.cuda.synchronize()
                names = [event.name for event in record.events()
                         if str(event.device_type).endswith("CUDA") and not event.name.startswith("Mem")]
                return found, list(dict.fromkeys(names))
            except (ImportError, RuntimeError, AttributeError) as error:
                print(f"kernels' names could not be found: {error}", file=sys.stderr)
                return compute(), []

    def describe(self):
        facts = {"torch": self.torch.__version__, "cuda": self.torch.version.cuda}
        if self.device != "cuda":
            return {"gpu": None, "device": f"{self.device}: a rehearsal, of no GPU", **facts}
        properties = self.torch.cuda.get_device_properties(0)
        driver = ""
        if os.path.exists("/proc/driver/nvidia/version"):
            with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
                driver = file.readline().strip()
        flags = {name: value for name, value in os.environ.items()
                 if name.startswith(("CUBLAS", "NVIDIA_TF32", "TORCH_", "PYTORCH_", "VLLM_", "FLASHINFER_"))}
        return {"gpu": properties.name, "compute_capability": f"{properties.major}.{properties.minor}",
                "multiprocessors": properties.multi_processor_count, "driver": driver, **facts, "environment": flags}

    def arch(self):
        """The GPU whose tensor core multiplies; of a rehearsal, one that has all of them."""
        if self.device != "cuda":
            return "h100"
        major, minor = self.torch.cuda.get_device_capability(0)
        return f"sm_{major}{minor}"


def packages():
    """Versions of all that is installed, as pip freeze has them."""
    found = importlib.metadata.distributions()
    return sorted({f"{one.metadata['Name']}=={one.version}" for one in found if one.metadata["Name"]})


def save(folder, name, array):
    """Codes that a manifest's `dtype` names."""
    if os.path.exists(f"{folder}/{name}"):
        raise FileExistsError(f"{folder}/{name}: is there already")
    codes = np.ascontiguousarray(array.codes)
    # Elements of FP32 say what they are; others are codes.
    np.save(f"{folder}/{name}", codes.view("<f4") if array.format == "fp32" else codes.view(STORED[array.format]))


def record(case, found, kernels, folder, arch):
    """Writes a case's arrays and provenance; what the manifest says of it."""
    place = f"{folder}/{case.name}"
    os.makedirs(place)
    entry = {"name": case.name, **case.fields, "dtype": next(iter(case.arrays.values())).format}
    if case.fields["operation"] == "attention":
        entry["arch"] = arch
    digests = {}
    for name, array in [*case.arrays.items(), ("y", found[0]), *zip(case.more, found[1:])]:
        save(place, f"{name}.npy", array)
        digests[name] = {"format": array.format, "shape": list(array.codes.shape), "sha256": sha256(array.codes)}
        if name not in case.more:
            entry[name] = f"{case.name}/{name}.npy"
    write_json(f"{place}/{case.name}.json",
               {"schema": "tcverify.capture/1", "library": case.library, "kernels": kernels, "arrays": digests,
                "not_judged": [name for name in case.more if name in digests]})
    return entry


def capture(options, make=Torch):
    if os.path.exists(options.folder):
        sys.exit(f"{options.folder}: is there already; name a new folder")
    gpu = make("cpu" if options.rehearse else "cuda")
    os.makedirs(options.folder)
    entries, missing = [], {}
    for case in cases(options, gpu.since):
        try:
            found, kernels = gpu.run(case)
        # Whatever a library does instead: it is said, and the others are captured.
        except Exception as error:  # noqa: BLE001
            said = " ".join(str(error).split())[:200]
            missing.setdefault(f"{case.library}: {type(error).__name__}: {said}", []).append(case.name)
            continue
        entries.append(record(case, found, kernels, options.folder, gpu.arch()))
        print(f"{len(entries)} {case.name}", file=sys.stderr)
    write_json(f"{options.folder}/provenance.json",
               {"schema": "tcverify.capture/1",
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), **gpu.describe(),
                "python": platform.python_version(), "packages": packages(), "not_captured": missing})
    if not entries:
        sys.exit("nothing was captured: " + "; ".join(missing))
    write_json(f"{options.folder}/manifest.json", {"schema": "tcverify.manifest/1", "cases": entries})
    for reason, names in missing.items():
        print(f"not captured, {len(names)} cases ({names[0]} ...): {reason}", file=sys.stderr)
    print(f"{len(entries)} cases: tcverify batch {options.folder}/manifest.json")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a new folder, or the word list")
    names = lambda text: text.split(",")
    parser.add_argument("--only", type=names, help="these operations alone, such as rms_norm,softmax")
    parser.add_argument("--library", type=names, help="torch, vllm, flashinfer, flash_attn, flash_attn_interface")
    parser.add_argument("--short", action="store_true", help="a few sizes: kilobytes in place of gigabytes")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU: tries all but the GPU")
    options = parser.parse_args(arguments)
    chosen = list(cases(argparse.Namespace(**{**vars(options), "short": True}), lambda *_: True))
    if not chosen:
        parser.error("no case is of these operations and libraries; 'list' has all")
    return options


def main():
    options = parse(sys.argv[1:])
    if options.folder == "list":
        for case in cases(options, lambda *_: True):
            print(f"{case.library:<21} {case.name:<32} {case.fields['operation']} {case.fields.get('variant', '')}")
        return
    capture(options)


if __name__ == "__main__":
    end_with_2(main)
