"""A small transformer, recorded and judged; products as a GPU would compute them."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tcverify  # noqa: E402
from tcverify.torch import capture, simulate  # noqa: E402


class Attention(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q_proj = torch.nn.Linear(width, width, bias=False)
        self.k_proj = torch.nn.Linear(width, groups * self.size, bias=False)
        self.v_proj = torch.nn.Linear(width, groups * self.size, bias=False)
        self.o_proj = torch.nn.Linear(width, width, bias=False)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        q = self.q_proj(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k_proj(x).view(batch, length, self.groups, self.size).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.groups, self.size).transpose(1, 2)
        k, v = (t.repeat_interleave(self.heads // self.groups, dim=1) for t in (k, v))
        mask = torch.full((length, length), float("-inf")).triu(1)
        weights = torch.softmax((q @ k.transpose(-2, -1)).float() / self.size**0.5 + mask, -1).to(x.dtype)
        return self.o_proj((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Shapes of Llama: grouped queries, a gated feed-forward part, no bias."""

    def __init__(self, width: int = 64, heads: int = 4, groups: int = 2) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width, bias=False)
        self.attn = Attention(width, heads, groups)
        self.gate = torch.nn.Linear(width, 3 * width, bias=False)
        self.up = torch.nn.Linear(width, 3 * width, bias=False)
        self.down = torch.nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.norm(x))
        y = self.norm(x)
        return x + self.down(torch.nn.functional.silu(self.gate(y)) * self.up(y))


class Float8(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A linear layer in FP8, scaled per row of activations and of weights, or per tensor."""

    def __init__(self, layer: Any, rows: bool) -> None:
        super().__init__()
        self.rows = rows
        weight = layer.weight.float()
        largest = weight.abs().amax(1, keepdim=True) if rows else weight.abs().amax()
        self.scale = (largest / 448).clamp(min=1e-6)
        self.weight = (weight / self.scale).to(torch.float8_e4m3fn)
        self.bias = layer.bias

    def forward(self, x: Any) -> Any:
        flat = x.reshape(-1, x.shape[-1]).float()
        largest = flat.abs().amax(1, keepdim=True) if self.rows else flat.abs().amax()
        scale = (largest / 448).clamp(min=1e-6)
        d = torch._scaled_mm(
            (flat / scale).to(torch.float8_e4m3fn),
            self.weight.t(),
            scale_a=scale,
            scale_b=self.scale.t() if self.rows else self.scale,
            bias=self.bias,
            out_dtype=torch.bfloat16,
            use_fast_accum=not self.rows,
        )
        return d.reshape(*x.shape[:-1], -1)


def llama(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(Block(), Block()).to(torch.bfloat16).eval()


def gpt2(seed: int = 0) -> Any:
    """Shapes of GPT-2: bias everywhere; what follows attention."""
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(48, 144), torch.nn.GELU(), torch.nn.Linear(144, 48)]
    return torch.nn.Sequential(*layers).to(torch.bfloat16).eval()


def tokens(width: int, seed: int = 1) -> Any:
    return torch.randn(2, 12, width, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_recorded_transformer_is_identical(mode: Any, tmp_path: Path) -> None:
    model = llama()
    with mode(), simulate("h100") as simulated, capture(tmp_path / "c") as captured:
        model(tokens(64))
    assert simulated.products == captured.products == 2 * 9
    batch = captured.batch()
    assert batch.identical and batch.totals["identical"] == 18
    names = [case.name for case in batch.cases]
    assert "0.attn.q_proj" in names[0] and any("1.down" in name for name in names)
    assert any("0.attn bmm" in name for name in names)


def test_a_perturbed_weight_is_found(tmp_path: Path) -> None:
    model = llama()
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "c") as captured:
        model(tokens(64))
    manifest = json.loads(captured.manifest.read_text())
    weight = model[1].attn.q_proj.weight.detach().clone()
    weight.view(torch.int16)[3, 5] ^= 0x40
    place = next(case for case in manifest["cases"] if "1.attn.q_proj" in case["name"])
    assert place["transpose_b"] is True
    np.save(tmp_path / "c" / "w.npy", weight.view(torch.int16).numpy())
    place["b"] = "w.npy"
    (tmp_path / "c" / "perturbed.json").write_text(json.dumps(manifest))
    batch = tcverify.batch(tmp_path / "c" / "perturbed.json")
    different = [case for case in batch.cases if case.verdict != "identical"]
    assert [case.name for case in different] == [place["name"]]
    report = different[0].report
    assert report is not None and report.document["outcome"]["comparison"]["columns_touched"] == 1


def test_every_operation_is_recorded_as_it_was_computed(tmp_path: Path) -> None:
    def half(*shape: int) -> Any:
        return torch.randn(*shape).to(torch.bfloat16)

    torch.manual_seed(3)
    with torch.no_grad(), simulate("h100") as simulated, capture(tmp_path / "c") as captured:
        torch.addmm(half(24), half(8, 32), half(32, 24))
        torch.addmm(half(8, 24), half(8, 32), half(32, 24), alpha=0.5, beta=2)
        torch.addmm(half(8, 24), half(8, 32), half(32, 24), beta=0)
        torch.baddbmm(half(3, 8, 24), half(3, 8, 32), half(3, 32, 24), alpha=2)
        torch.baddbmm(half(24), half(3, 8, 32), half(3, 32, 24))
        torch.bmm(half(3, 8, 32), half(1, 32, 24).expand(3, 32, 24))
        half(8, 32).t().contiguous().t() @ half(24, 32).t()
        torch.mv(half(8, 32), half(32))
        torch.dot(half(32), half(32))
        torch._int_mm(torch.randint(-9, 9, (24, 32)).to(torch.int8), torch.randint(-9, 9, (32, 24)).to(torch.int8))
        torch.einsum("bik,kj->bij", half(2, 8, 32), half(32, 24))
        torch.randn(8, 32).double() @ torch.randn(32, 24).double()
        torch.randn(8, 32) @ torch.randn(32, 24)
        torch.nn.functional.linear(half(2, 8, 32), half(24, 32), half(24))
        out = torch.empty(8, 24, dtype=torch.bfloat16)
        torch.mm(half(8, 32), half(32, 24), out=out)
        assert out.isfinite().all()
        place = half(8, 24)
        before = place.clone()
        place.addmm_(half(8, 32), half(32, 24))
        assert not torch.equal(place, before)
    assert simulated.products == captured.products == 16
    batch = captured.batch()
    assert batch.identical, batch.text()
    reports = [case.report for case in batch.cases]
    assert [report.schedule is None for report in reports if report is not None][:5] == [False, False, True, False, False]
    assert not captured.not_recorded and not captured.skipped


def test_fp8_layers(tmp_path: Path) -> None:
    for rows in (False, True):
        torch.manual_seed(4)
        layers = [torch.nn.Linear(64, 96), torch.nn.Linear(96, 32)]
        model = torch.nn.Sequential(*(Float8(layer.to(torch.bfloat16), rows) for layer in layers))
        folder = tmp_path / str(rows)
        with torch.no_grad(), simulate("h100"), capture(folder) as captured:
            d = model(tokens(64))
        assert d.shape == (2, 12, 32) and d.dtype == torch.bfloat16
        batch = captured.batch()
        assert batch.identical and batch.totals["cases"] == 2
        report = batch.cases[0].report
        assert report is not None and report.model.a == "e4m3"
        assert report.schedule == ("torch-scaled-mm-rowwise" if rows else "cublas-ada-fp8")
        manifest = json.loads(captured.manifest.read_text())
        assert manifest["cases"][0].get("promote") == (None if rows else "never")
        # Another arithmetic gives another D.
        for case in manifest["cases"]:
            case["arch"] = "exact"
        (folder / "other.json").write_text(json.dumps(manifest))
        assert tcverify.batch(folder / "other.json").totals["different"] == 2
        # Near what torch itself computes, and no more than near.
        wide = model[0].weight.float() * model[0].scale
        exact = tokens(64).float().reshape(24, 64) @ wide.t() + model[0].bias.float()
        with torch.no_grad(), simulate("h100"):
            first = model[0](tokens(64)).float().reshape(24, 96)
        assert (first - exact).abs().max() < 0.2


def test_an_arm_processor_is_simulated() -> None:
    torch.manual_seed(3)
    a = torch.randn(64, 512, dtype=torch.bfloat16)
    b = torch.randn(512, 64, dtype=torch.bfloat16)
    with simulate("graviton3"):
        d = a @ b
    assert tcverify.check(a, b, d, arch="graviton3").verdict == "identical"
    with simulate("h100"):
        other = a @ b
    assert not torch.equal(d, other)
    assert tcverify.check(a, b, other, arch="graviton3").verdict == "different"


def test_simulated_products_are_those_of_replay() -> None:
    a, b = tokens(64)[0], llama()[0].gate.weight.detach()
    x, y = torch.randn(8, 512), torch.randn(512, 8)
    with torch.no_grad():
        with simulate("a100", schedule="cublas-splitk-serial", split_k=4):
            split = x @ y
        with simulate("a100"):
            chain = x @ y
        assert not torch.equal(split, chain)
        with simulate("a100", schedule="cublas-workspace", split_k=2):
            d = a @ b.t()
        same = tcverify.replay(a, b.t(), arch="a100", schedule="cublas-workspace", split_k=2, d_dtype="bf16")
    assert torch.equal(d, same) and d.dtype == torch.bfloat16
    assert (d.float() - (a @ b.t()).float()).abs().max() < 0.1


def test_what_holds_for_all_products(tmp_path: Path) -> None:
    torch.manual_seed(5)
    x, y = torch.randn(8, 512), torch.randn(512, 8)
    for mode in (simulate, lambda **fields: capture(tmp_path / "none", **fields)):
        with pytest.raises(ValueError, match="dtype: follows from the tensors"):
            mode(dtype="tf32")
    # What a capture says goes before what was simulated: it is what is judged.
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        with torch.no_grad(), simulate("a100", schedule="cublas-workspace-f32", split_k=4):
            with capture(tmp_path / "same") as same:
                x @ y
            with capture(tmp_path / "other", split_k=2) as other:
                x @ y
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert [json.loads(one.manifest.read_text())["cases"][0]["split_k"] for one in (same, other)] == [4, 2]
    assert (same.batch().verdict, other.batch().verdict) == ("identical", "different")


def test_tf32_follows_the_flag() -> None:
    a, b = torch.randn(8, 64), torch.randn(64, 8)
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        with torch.no_grad(), simulate("a100"):
            tf32 = a @ b
        torch.backends.cuda.matmul.allow_tf32 = False
        with torch.no_grad(), simulate("a100"):
            fp32 = a @ b
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert torch.equal(tf32, tcverify.replay(a, b, arch="a100", dtype="tf32"))
    assert torch.equal(fp32, tcverify.replay(a, b, arch="ieee-fma", dtype="fp32"))
    assert not torch.equal(tf32, fp32)


@pytest.mark.parametrize("precision", ["none", "ieee", "tf32", "bfx9"])
def test_tf32_follows_the_precision(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions that have ``fp32_precision`` refuse to read the old flag once the new one is set."""
    matmul = type(torch.backends.cuda.matmul)
    known = matmul.__getattr__

    def answer(self: Any, name: str) -> Any:
        assert name != "allow_tf32"
        return precision if name == "fp32_precision" else known(self, name)

    monkeypatch.setattr(matmul, "__getattr__", answer)
    a, b = torch.randn(8, 64), torch.randn(64, 8)
    if precision == "bfx9":
        with simulate("a100"), pytest.raises(NotImplementedError, match="fp32_precision is 'bfx9'"):
            a @ b
        return
    with torch.no_grad(), simulate("a100"):
        d = a @ b
    tf32 = tcverify.replay(a, b, arch="a100", dtype="tf32")
    assert torch.equal(d, tf32) == (precision == "tf32")


@pytest.mark.parametrize(
    ("dtype", "own"),
    [
        (torch.float32, {"schedule": "cutlass-bf16x9"}),
        (torch.float32, {"schedule": "triton-bf16x6"}),
        (torch.float32, {"schedule": "triton-tf32x3"}),
        (torch.float64, {"schedule": "cublas-fp64-slices", "slices": 7}),
    ],
)
def test_an_emulation_holds_for_its_type_alone(dtype: Any, own: Any, tmp_path: Path) -> None:
    torch.manual_seed(7)
    a, b = torch.randn(8, 96, dtype=dtype), torch.randn(96, 8, dtype=dtype)
    x, y = a.bfloat16(), b.bfloat16()
    with torch.no_grad(), simulate("b200", by_dtype={dtype: own}), capture(tmp_path / "c") as captured:
        d, z = a @ b, x @ y
    with torch.no_grad(), simulate("b200"):
        plain, same = a @ b, x @ y
    name = "fp64" if dtype == torch.float64 else "fp32"
    assert torch.equal(d, tcverify.replay(a, b, arch="b200", dtype=name, **own))
    assert torch.equal(z, same)
    assert not torch.equal(d, plain)
    assert captured.batch().verdict == "identical"
    with pytest.raises(ValueError, match="dtype: follows from the tensors"):
        simulate("b200", by_dtype={dtype: {"dtype": "tf32"}})


def test_gradients_go_through(tmp_path: Path) -> None:
    model = gpt2()
    with simulate("h100") as simulated, capture(tmp_path / "c") as captured:
        model(tokens(48)).float().square().sum().backward()
    # Forward, and for each layer the gradients of its weight and, but for the first, of its input.
    assert simulated.products == captured.products == 2 + 3
    assert captured.batch().identical
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_checkpoints_multiply_again(tmp_path: Path) -> None:
    from torch.utils.checkpoint import checkpoint

    model = gpt2()
    with simulate("h100"), capture(tmp_path / "c") as captured:
        checkpoint(model, tokens(48).requires_grad_(), use_reentrant=False).float().sum().backward()
    # The last layer's result is not computed again: no gradient needs it.
    assert captured.products == 2 + 1 + 4 and captured.batch().identical


def test_operations_that_hide_products() -> None:
    x = torch.randn(8, 8)
    with torch.no_grad(), simulate("h100"), pytest.raises(NotImplementedError, match="linalg_inv_ex cannot be simulated"):
        torch.linalg.inv(x)
    with torch.no_grad(), simulate("h100", hidden="torch") as simulated:
        torch.linalg.inv(x)
    assert sum(simulated.hidden_calls.values()) == 1
    q = tokens(64)[:, None]
    with torch.no_grad(), simulate("h100") as simulated:
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert simulated.products == 2


def test_what_cannot_be_recorded_is_listed(tmp_path: Path) -> None:
    q, model = tokens(64)[:, None], gpt2()
    with torch.no_grad(), capture(tmp_path / "c", arch="h100") as captured:
        model(tokens(48))
        torch.nn.functional.scaled_dot_product_attention(q, q, q)
        torch.linalg.inv(torch.randn(4, 4))
        torch.randn(4, 4).to(torch.complex64) @ torch.randn(4, 4).to(torch.complex64)
    assert captured.products == 2
    listed = {op: why for op, _, why in captured.not_recorded}
    assert any("attention" in op for op in listed) and "linalg_inv_ex" in listed
    assert "complex" in listed["mm"]
    record = json.loads((tmp_path / "c" / "capture.json").read_text())
    assert record["ended"] and record["stopped"] is None and len(record["not_recorded"]) == 3
    product = record["products"][0]
    assert (product["op"], product["module"], product["device"]) == ("addmm", "0", "cpu")
    assert product["operands"]["b"] == {"dtype": "bfloat16", "shape": [48, 144], "strides": [1, 48]}
    assert product["flags"]["allow_tf32"] is False and record["torch"] == torch.__version__


def test_what_to_record(tmp_path: Path) -> None:
    model, x = llama(), tokens(64)
    with torch.no_grad(), simulate("h100"):
        with capture(tmp_path / "select", select="*.attn.*") as selected:
            model(x)
        with capture(tmp_path / "every", every=2) as sparse:
            for _ in range(3):
                model(x)
        with capture(tmp_path / "all") as everything:
            model(x)
        with capture(tmp_path / "bytes", max_bytes=everything.bytes // 2) as limited:
            model(x)
    assert selected.products == 8 and selected.skipped == {"select": 10}
    # Both bmm of a block are of one module.
    assert sparse.products == 2 * (7 * 2 + 3) and sparse.skipped["every"] == 3 * 18 - sparse.products
    assert 0 < limited.products < 18 and limited.skipped["max_bytes"] == 18 - limited.products
    assert limited.bytes <= everything.bytes // 2
    for captured in (selected, sparse, limited):
        assert captured.batch().identical
        assert captured.batch().totals["cases"] == captured.products


def test_weights_are_stored_once(tmp_path: Path) -> None:
    model, sizes = gpt2(), []
    for calls in (1, 5):
        with torch.no_grad(), simulate("h100"), capture(tmp_path / str(calls)) as captured:
            for _ in range(calls):
                model(tokens(48))
        sizes.append(captured.bytes)
    assert sizes[0] == sizes[1], "the same operands five times"
    stored = sum(path.stat().st_size for path in (tmp_path / "5").glob("*.safetensors"))
    assert sizes[1] <= stored < sizes[1] + 4096


def test_tensors_of_several_files_are_those_that_safetensors_reads(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    model = llama()
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "c", shard_bytes=20_000) as captured:
        model(tokens(64))
    shards = sorted((tmp_path / "c").glob("shard-*.safetensors"))
    assert len(shards) > 3 and captured.batch().identical
    stored = [tensor for shard in shards for tensor in safetensors.load_file(shard).values()]
    weight = model[0].gate.weight.detach()
    assert sum(torch.equal(tensor, weight) for tensor in stored if tensor.shape == weight.shape) == 1


def test_operands_are_kept_as_they_were(tmp_path: Path) -> None:
    a, b = tokens(64)[0].clone(), llama()[0].gate.weight.detach().t()
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "c") as captured:
        d = a @ b
        a.zero_()
        d.zero_()
    assert captured.batch().identical


def test_an_exception_leaves_a_valid_manifest(tmp_path: Path) -> None:
    model = llama()
    with pytest.raises(ZeroDivisionError), torch.no_grad(), simulate("h100"), capture(tmp_path / "c") as captured:
        model(tokens(64))
        raise ZeroDivisionError("of the caller's")
    assert captured.products == 18 and captured.batch().identical
    record = json.loads((tmp_path / "c" / "capture.json").read_text())
    assert record["stopped"] == "ZeroDivisionError: of the caller's"


def test_a_full_disk_leaves_a_valid_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, synced, real = llama(), 0, os.fsync

    def full(handle: int) -> None:
        nonlocal synced
        synced += 1
        # A file of tensors, the manifest, the record: the fourth is another file of tensors.
        if synced >= 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", full)
    folder = tmp_path / "c"
    with pytest.raises(OSError, match="No space left"), torch.no_grad(), simulate("h100"):
        with capture(folder, shard_bytes=20_000):
            model(tokens(64))
    monkeypatch.undo()
    batch = tcverify.batch(folder / "manifest.json")
    assert batch.identical and 0 < batch.totals["cases"] < 18
    assert sorted(path.name for path in folder.iterdir()) == [
        "capture.json",
        "manifest.json",
        "shard-00000.safetensors",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_leaves_a_valid_manifest(number: int, tmp_path: Path) -> None:
    script = f"""
import torch
from tcverify.torch import capture, simulate
a, b = torch.randn(64, 64).to(torch.bfloat16), torch.randn(64, 64).to(torch.bfloat16)
with torch.no_grad(), simulate("h100"), capture({str(tmp_path / "c")!r}, shard_bytes=60_000):
    while True:
        a = torch.randn(64, 64).to(torch.bfloat16)
        a @ b
        print("once", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        for _ in range(40):
            assert child.stdout.readline() == "once\n"
        child.send_signal(number)
        child.communicate()
    batch = tcverify.batch(tmp_path / "c" / "manifest.json")
    assert batch.identical and batch.totals["cases"] >= 30
    record = json.loads((tmp_path / "c" / "capture.json").read_text())
    assert record["ended"] is (number == signal.SIGINT)


def test_a_capture_takes_little_of_the_programs_time(tmp_path: Path) -> None:
    """Of its thread's: digests and files are made by another. (Once ten times the bare run's; now about two and a half, or
    1.3 ms a product where AMX multiplies.)"""
    net = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8))).to(torch.bfloat16)
    x, threads = torch.randn(64, 512).to(torch.bfloat16), torch.get_num_threads()

    def took() -> float:
        begun = time.thread_time()
        net(x)
        return time.thread_time() - begun

    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            bare = min(took() for _ in range(10))
            inside = []
            for i in range(5):
                with capture(tmp_path / str(i), arch="h100") as captured:
                    inside.append(took())
    finally:
        torch.set_num_threads(threads)
    assert captured.products == 8 and min(inside) < 6 * bare + 8 * 0.0015, (min(inside), bare)


def test_captures_do_not_mix(tmp_path: Path) -> None:
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "c"):
        tokens(64)[0] @ tokens(64)[0].t()
    with pytest.raises(FileExistsError), capture(tmp_path / "c", arch="h100"):
        pass
    with torch.no_grad(), pytest.raises(ValueError, match="say with arch="), capture(tmp_path / "d"):
        tokens(64)[0] @ tokens(64)[0].t()
    with pytest.raises(ValueError):
        capture(tmp_path / "f", every=0)


def test_tensors_go_in_and_out_as_they_are() -> None:
    for dtype in (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float64):
        a, b = torch.randn(8, 32).to(dtype), torch.randn(24, 32).to(dtype).t()
        d = tcverify.replay(a, b, arch="h100")
        assert isinstance(d, torch.Tensor) and d.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert tcverify.check(a, b, d, arch="h100").identical
        assert tcverify.digest(a) == tcverify.digest(a.t().contiguous().t())
    grad = torch.randn(4, 8, requires_grad=True)
    assert tcverify.replay(grad.half(), grad.half().t(), arch="h100").shape == (4, 4)
    with pytest.raises(tcverify.CheckError) as caught:
        tcverify.replay(torch.eye(4).to_sparse(), torch.eye(4), arch="h100", dtype="tf32")
    assert caught.value.argument == "a"


def test_memory_of_tensors_is_read_where_it_is() -> None:
    from tcverify import _arrays

    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float16):
        tensor = torch.zeros(64, 32).to(dtype)
        for view in (tensor, tensor.t(), tensor[::2]):
            held, _ = _arrays.held("a", view)
            assert held.__array_interface__["data"][0] == view.data_ptr()


def test_products_among_what_torch_compares() -> None:
    from tcverify.torch import Product, ProductPair, assert_close

    a, b = torch.randn(4, 32).bfloat16(), torch.randn(32, 3).bfloat16()
    d = tcverify.replay(a, b, arch="h100")
    expected = {"y": [Product(a, b, arch="h100"), 1.0]}
    assert_close({"y": [d, 1.0 + 1e-9]}, expected)
    wrong = d.clone()
    wrong[2, 1] += wrong[2, 1].abs() * 2.0**-20
    torch.testing.assert_close(wrong, d)
    with pytest.raises(AssertionError, match=r"DIFFERENT  1 of 12 elements[\s\S]*\[2, 1\]") as caught:
        assert_close({"y": [wrong, 1.0]}, expected)
    assert "['y'][0]" in str(caught.value)
    with pytest.raises(AssertionError, match="Scalars"):
        assert_close({"y": [d, 2.0]}, expected)
    with pytest.raises(AssertionError, match="mine"):
        assert_close(wrong, Product(a, b, arch="h100"), msg="mine")
    assert not torch.testing._comparison.not_close_error_metas(d, Product(a, b, arch="h100"), pair_types=(ProductPair,))
    with pytest.raises(AssertionError, match="`d`"):
        assert_close(d[:1], Product(a, b, arch="h100"))
