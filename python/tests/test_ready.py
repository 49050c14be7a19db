"""Operations of other libraries by their public signatures, scales of blocks, and `torch._scaled_mm` itself."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tcverify  # noqa: E402
from tcverify._recorder import Refused  # noqa: E402
from tcverify.torch import SplitUnknown, _known, _products, _ready, _scaled_products, capture, product, register, scaled_mm, simulate  # noqa: E402

of_torch = scaled_mm
E4M3 = torch.float8_e4m3fn


def half(*shape: int) -> Any:
    return torch.randn(*shape).to(torch.bfloat16)


def eighths(*shape: int) -> Any:
    return torch.randn(*shape).to(E4M3)


def factors(*shape: int) -> Any:
    return torch.rand(*shape) + 0.3


def same(x: Any, y: Any) -> bool:
    return bool((x.contiguous().view(torch.uint8) == y.contiguous().view(torch.uint8)).all())


def in_tiles(scales: Any) -> Any:
    """Scales as cuBLAS wants them: written down once more, element by element."""
    rows, columns = scales.shape
    down, across = -(-rows // 128), -(-columns // 4)
    codes, out = scales.view(torch.uint8), torch.zeros(down * across * 512, dtype=torch.uint8)
    for r in range(rows):
        for c in range(columns):
            tile = (r // 128) * across + c // 4
            out[tile * 512 + (r % 32) * 16 + (r % 128) // 32 * 4 + c % 4] = codes[r, c]
    return out.view(scales.dtype)


def packed(codes: Any) -> Any:
    """Two codes a byte, the first in the low bits."""
    return (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8)


def judged(work: Any, folder: Path, **arguments: Any) -> Any:
    with torch.no_grad(), simulate("b200"), capture(folder, **arguments) as captured:
        result = work()
    assert captured.products == captured.coverage.seen == 1, captured.coverage
    assert captured.batch().verdict == "identical", captured.batch().text()
    return result


@pytest.mark.skipif(not hasattr(torch, "float8_e8m0fnu"), reason="no scales of MX in this version")
def test_mxfp8(tmp_path: Path) -> None:
    m, n, k = 130, 72, 160
    a, w = eighths(m, k), eighths(n, k)
    scale_a, scale_b = (torch.randint(118, 134, (rows, k // 32), dtype=torch.uint8).view(torch.float8_e8m0fnu) for rows in (m, n))

    def work() -> Any:
        return torch._scaled_mm(a, w.t(), in_tiles(scale_a), in_tiles(scale_b), out_dtype=torch.bfloat16)

    d = judged(work, tmp_path / "c")
    wide = [x.float() * 2.0 ** (s.view(torch.uint8).float() - 127).repeat_interleave(32, 1) for x, s in ((a, scale_a), (w, scale_b))]
    assert torch.allclose(d.float(), wide[0] @ wide[1].t(), rtol=2e-2, atol=1e-1)
    # A scale that another row has is another product.
    swapped = torch.cat((scale_a[1:2], scale_a[:1], scale_a[2:]))
    fields: Any = {"arch": "b200", "d_dtype": "bf16", "scale_dtype": "ue8m0", "scale_block": 32, "scale_b": scale_b.t()}
    assert tcverify.check(a, w.t(), d, scale_a=scale_a, **fields).identical
    assert not tcverify.check(a, w.t(), d, scale_a=swapped, **fields).identical


def test_nvfp4(tmp_path: Path) -> None:
    m, n, k = 40, 24, 96
    codes = [torch.randint(0, 16, (rows, k), dtype=torch.uint8) for rows in (m, n)]
    scales = [(torch.rand(rows, k // 16) * 8).to(E4M3) for rows in (m, n)]
    found = _scaled_products.scaled_mm(packed(codes[0]), packed(codes[1]).t(), in_tiles(scales[0]), in_tiles(scales[1]))
    assert (found.a == codes[0]).all() and (found.b == codes[1].t()).all() and found.fields["dtype"] == "e2m1"
    # vLLM's, with a factor for the tensors.
    out, alpha = torch.empty(m, n, dtype=torch.bfloat16), torch.tensor([0.37])
    meaning = _ready.vllm_scaled_fp4_mm(out, packed(codes[0]), packed(codes[1]), in_tiles(scales[0]), in_tiles(scales[1]), alpha)
    request: Any = {"arch": "b200", **_products.formats(meaning), **meaning.fields, **meaning.arrays}
    d = tcverify.replay(meaning.a, meaning.b, **request)
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    wide = [values[c.long()] * s.float().repeat_interleave(16, 1) for c, s in zip(codes, scales)]
    assert torch.allclose(d.float(), 0.37 * wide[0] @ wide[1].t(), rtol=2e-2, atol=1e-1)
    with pytest.raises(Refused, match="tiles"):
        _scaled_products.scaled_mm(packed(codes[0]), packed(codes[1]).t(), scales[0], scales[1])


def library(name: str, schema: str, meaning: Any) -> Any:
    """An operation of this signature in a namespace of tests, which computes nothing: a simulation does."""
    lib = torch.library.Library("tcvready", "FRAGMENT")
    lib.define(f"{name}{schema}")
    lib.impl(name, lambda *args: None, "CPU")
    register(f"tcvready::{name}", meaning)
    return lib, getattr(torch.ops.tcvready, name)


@pytest.fixture
def forgotten() -> Iterator[None]:
    before = dict(_products.REGISTERED)
    yield
    _products.REGISTERED.clear()
    _products.REGISTERED.update(before)


@pytest.mark.usefixtures("forgotten")
def test_vllm(tmp_path: Path) -> None:
    m, n, k = 6, 8, 64
    schema = "(Tensor! out, Tensor a, Tensor b, Tensor a_scales, Tensor b_scales, Tensor? bias) -> ()"
    lib, call = library("cutlass_scaled_mm", schema, _ready.vllm_scaled_mm)
    for number, (sizes, bias) in enumerate([((m, n), None), ((1, n), half(n)), ((1, 1), None)]):
        for a, b in [(eighths(m, k), eighths(n, k).t()), (torch.randint(-9, 9, (m, k), dtype=torch.int8), torch.randint(-9, 9, (n, k), dtype=torch.int8).t())]:
            out, scales = torch.empty(m, n, dtype=torch.bfloat16), [factors(size, 1) for size in sizes]
            judged(lambda: call(out, a, b, *scales, bias), tmp_path / f"{number}{a.dtype}")
            wide = a.float() @ b.float() * scales[0] * scales[1].reshape(1, -1) + (0 if bias is None else bias.float())
            assert torch.allclose(out.float(), wide, rtol=2e-2, atol=1e-1)
    schema = "(Tensor! out, Tensor a, Tensor b, Tensor a_scales, Tensor b_scales, Tensor azp_adj, Tensor? azp, Tensor? bias) -> ()"
    lib2, call = library("cutlass_scaled_mm_azp", schema, _ready.vllm_scaled_mm_azp)
    a, b = torch.randint(-9, 9, (m, k), dtype=torch.int8), torch.randint(-9, 9, (n, k), dtype=torch.int8).t()
    adj, azp = b.sum(0, dtype=torch.int32), torch.randint(-5, 5, (m, 1), dtype=torch.int32)
    out, scales = torch.empty(m, n, dtype=torch.bfloat16), [factors(m, 1), factors(1, n)]
    judged(lambda: call(out, a, b, *scales, adj, azp, None), tmp_path / "azp")
    assert torch.allclose(out.float(), (a.float() - azp) @ b.float() * scales[0] * scales[1], rtol=2e-2, atol=1e-1)
    # Scales of blocks are none of these kernels'.
    with torch.no_grad(), capture(tmp_path / "blocks", arch="h100") as captured:
        torch.ops.tcvready.cutlass_scaled_mm(out, eighths(m, k), eighths(n, k).t(), factors(m, 2), factors(2, 4), None)
    assert "blocks" in next(iter(captured.not_recorded))[2]
    del lib, lib2


@contextmanager
def defined(space: str, name: str, schema: str) -> Iterator[Any]:
    """An operation by its library's own name and schema, whose kernel gives one tensor without numbers."""
    with torch.library._scoped_library(space, "FRAGMENT") as lib:
        lib.define(f"{name}{schema}")
        lib.impl(name, lambda a, *rest: torch.full((a.shape[0], 8), 7, dtype=torch.bfloat16), "CPU")
        yield getattr(getattr(torch.ops, space), name)


SGLANG = "(Tensor mat_a, Tensor mat_b, Tensor scales_a, Tensor scales_b, ScalarType out_dtype, Tensor? bias) -> Tensor"


@pytest.mark.parametrize(("name", "older"), [("fp8_scaled_mm", "ada"), ("int8_scaled_mm", "ada"), ("int8_scaled_mm", "a100"), ("int8_scaled_mm", "t4")])
def test_sglang(name: str, older: str, tmp_path: Path) -> None:
    m, n, k = 6, 8, 512
    torch.manual_seed(4)
    made = eighths if name.startswith("fp8") else lambda *shape: torch.randint(-128, 128, shape, dtype=torch.int8)
    a, b, scales = made(m, k), made(n, k).t(), (factors(m, 1), factors(n, 1))
    with defined("sgl_kernel", name, SGLANG) as call:
        for number, bias in enumerate((None, half(n))):
            d = judged(lambda: call(a, b, *scales, torch.bfloat16, bias), tmp_path / str(number))
            wide = a.double() @ b.double() * scales[0] * scales[1].t() + (0 if bias is None else bias.double())
            assert d.dtype == torch.bfloat16 and torch.allclose(d.double(), wide, rtol=2e-2, atol=2e-1)
        # The order is vLLM's; scales of columns go first, and another order is not the same.
        request: Any = {"arch": "h100", "d_dtype": "bf16", "scale_a": scales[0].reshape(-1), "scale_b": scales[1].reshape(-1), "bias": bias}
        with torch.no_grad(), simulate("h100") as simulation:
            d = call(a, b, *scales, torch.bfloat16, bias)
        assert simulation.products == 1 and same(d, tcverify.replay(a, b, schedule="vllm-scaled-mm", **request))
        flipped = d.clone()
        flipped.view(torch.int16)[2, 3] ^= 1
        report = tcverify.check(a, b, flipped, schedule="vllm-scaled-mm", **request)
        assert report.verdict == "different" and report.mismatch_count == 1
        # Kernels of which it is not known are refused, unless somebody names a schedule.
        with pytest.raises(NotImplementedError, match="SGLang.*schedule="), torch.no_grad(), simulate(older):
            call(a, b, *scales, torch.bfloat16, None)
        with torch.no_grad(), capture(tmp_path / "older", arch=older) as captured:
            call(a, b, *scales, torch.bfloat16, None)
        assert not captured.products and [why for *_, why in captured.not_recorded][0].startswith(("on Ada", "before Hopper"))
        with torch.no_grad(), simulate(older, schedule="vllm-scaled-mm") as simulation, capture(tmp_path / "named") as captured:
            call(a, b, *scales, torch.bfloat16, None)
        assert simulation.products == captured.products == 1 and captured.batch().identical


def test_vllms_kernel_in_triton(tmp_path: Path) -> None:
    m, n, k = 5, 130, 256
    torch.manual_seed(5)
    schema = "(Tensor qx, Tensor weight, Tensor x_scale, Tensor weight_scale, int[] block_size, ScalarType output_dtype) -> Tensor"
    x, w, scales = eighths(m, k), eighths(n, k), (factors(m, 2), factors(2, 2))
    with defined("vllm", "w8a8_triton_block_scaled_mm_func", schema) as call:
        with torch.no_grad(), simulate("h100") as simulation, capture(tmp_path / "c") as captured:
            d = call(x, w, *scales, [128, 128], torch.bfloat16)
        assert simulation.products == captured.products == captured.coverage.seen == 1 and captured.batch().identical
        wide = scales[0].repeat_interleave(128, 1), scales[1].repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)
        assert torch.allclose(d.double(), (x.double() * wide[0]) @ (w.double() * wide[1]).t(), rtol=2e-2, atol=1e-1)
        fields: Any = {"arch": "h100", "scale_a": scales[0], "scale_b": scales[1].t(), "d_dtype": "bf16"}
        assert tcverify.check(x, w.t(), d, schedule="triton-fp8-block", **fields).identical
        assert not tcverify.check(x, w.t(), d, schedule="triton-fp8-block", **{**fields, "scale_b": scales[1]}).identical
        with pytest.raises(NotImplementedError, match="other blocks"), simulate("h100"):
            call(x, w, *scales, [64, 128], torch.bfloat16)


@pytest.mark.usefixtures("forgotten")
def test_the_order_of_an_fp8_kernel_on_ada_is_not_guessed() -> None:
    schema = "(Tensor! out, Tensor a, Tensor b, Tensor a_scales, Tensor b_scales, Tensor? bias) -> ()"
    lib, call = library("cutlass_scaled_mm_ada", schema, _ready.vllm_scaled_mm)
    out = torch.empty(6, 8, dtype=torch.bfloat16)
    given = (factors(6, 1), factors(8, 1), None)
    with pytest.raises(NotImplementedError, match="two orders.*schedule="), simulate("ada"):
        call(out, eighths(6, 64), eighths(8, 64).t(), *given)
    with simulate("ada") as simulation:
        # Sums of integers have no order.
        call(out, torch.ones(6, 64, dtype=torch.int8), torch.ones(8, 64, dtype=torch.int8).t(), *given)
    named: Any = {"by_dtype": {E4M3: {"schedule": "cublas-ada-fp8"}}}
    with simulate("ada", **named) as other:
        call(out, eighths(6, 64), eighths(8, 64).t(), factors(1), factors(1), None)
    assert simulation.products == other.products == 1
    del lib


def test_packed_weights_are_named(tmp_path: Path) -> None:
    x, packed_weights = half(2, 64), torch.zeros(4, 128, dtype=torch.int32)
    for space, name, instead in [
        ("_C", "marlin_gemm", 'weights="u4b8", kernel="marlin-vllm"'),
        ("_C", "awq_gemm", 'weights="u4", schedule="vllm-awq-gemm"'),
        ("sgl_kernel", "gptq_marlin_gemm", 'weights="u4b8", kernel="marlin-vllm"'),
        ("sgl_kernel", "gptq_gemm", "no fixed order"),
    ]:
        with defined(space, name, "(Tensor a, Tensor b_q_weight, Tensor b_scales) -> Tensor") as call:
            with torch.no_grad(), capture(tmp_path / f"{space}{name}", arch="h100") as captured:
                call(x, packed_weights, half(1, 8))
            (op, _, why), calls = next(iter(captured.not_recorded.items()))
            assert op == f"{space}::{name}" and calls == 1 and instead in why and not captured.products
            assert captured.coverage.missed.total() == captured.coverage.seen == 1
            with pytest.raises(NotImplementedError, match="packed for a kernel"), simulate("h100"):
                call(x, packed_weights, half(1, 8))


def module(name: str, **functions: Any) -> Any:
    made = types.ModuleType(name)
    for key, function in functions.items():
        function.__module__ = name
        setattr(made, key, function)
    sys.modules[name] = made
    return made


@pytest.fixture
def modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.usefixtures("modules")
def test_deep_gemm(tmp_path: Path) -> None:
    def fp8_gemm_nt(a: Any, b: Any, d: Any, c: Any = None, recipe: Any = None) -> None:
        d.fill_(7)

    deep_gemm = module("deep_gemm", fp8_gemm_nt=fp8_gemm_nt, einsum=lambda *args: None)
    user = module("user_of_deep_gemm", gemm=fp8_gemm_nt)
    m, n, k = 4, 130, 256
    x, w = (eighths(m, k), factors(m, 2)), (eighths(n, k), factors(2, 2))
    d = torch.empty(m, n, dtype=torch.bfloat16)
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "c") as captured:
        user.gemm(x, w, d)
    assert captured.products == captured.coverage.seen == 1 and captured.batch().verdict == "identical"
    scale = x[1].repeat_interleave(128, 1), w[1].repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)
    assert torch.allclose(d.float(), (x[0].float() * scale[0]) @ (w[0].float() * scale[1]).t(), rtol=2e-2, atol=1e-1)
    # What has no rule is named, and nobody is left in place of a function.
    with torch.no_grad(), capture(tmp_path / "named", arch="h100") as captured:
        deep_gemm.fp8_gemm_nt(x, w, d, d)
        deep_gemm.einsum("ij,jk", d)
    assert sorted(op for op, _, _ in captured.not_recorded) == ["deep_gemm.einsum", "deep_gemm.fp8_gemm_nt"]
    assert user.gemm is fp8_gemm_nt and deep_gemm.fp8_gemm_nt is fp8_gemm_nt and (d == 7).all()
    with pytest.raises(NotImplementedError, match="deep_gemm.einsum"), simulate("h100"):
        deep_gemm.einsum("ij,jk", d)


@pytest.mark.usefixtures("modules")
def test_transformer_engine(tmp_path: Path) -> None:
    class Float8Tensor:
        def __init__(self, data: Any, scale: Any) -> None:
            self._data, self._scale_inv, self._fp8_dtype = data.view(torch.uint8), scale, "kFloat8E4M3"
            self.shape = data.shape

    seen: list[Any] = []

    def generic_gemm(A: Any, transa: bool, B: Any, transb: bool, D: Any, quantizer: Any, output: Any, bias: Any, *rest: Any, **named: Any) -> Any:
        found = (B.mT if transb else B) @ (A.mT if transa else A)
        seen.append(found)
        return found, None, None, None

    tex = module("transformer_engine_torch", generic_gemm=generic_gemm)

    def rest(split: bool) -> tuple[Any, ...]:
        return (None, None, torch.empty(0), None, False, None, False, torch.empty(0), 0, False, split)

    x, w, g = half(6, 32), half(8, 32), half(6, 8)
    plain: list[Any] = [(w, True, x, False), (w, False, g, False), (x, False, g, True)]
    f8 = [Float8Tensor(eighths(rows, 64), factors(1)) for rows in (8, 6)]
    for number, (operands, split) in enumerate([*((one, False) for one in plain), ((f8[0], True, f8[1], False), False), ((f8[0], True, f8[1], False), True)]):
        with torch.no_grad(), simulate("h100", hidden="torch"), capture(tmp_path / str(number)) as captured:
            tex.generic_gemm(*operands, None, *rest(split))
        assert captured.products == captured.coverage.seen == 1 and not seen, captured.coverage
        assert captured.batch().verdict == "identical", captured.batch().text()
    # On a device the library runs, and its D is what is judged: the stand-in's is a CPU's.
    with torch.no_grad(), capture(tmp_path / "library", arch="h100") as captured:
        d = tex.generic_gemm(w, True, x, False, None, *rest(False))[0]
    assert captured.products == captured.coverage.seen == 1 and len(seen) == 1 and torch.equal(d, x @ w.t())
    with torch.no_grad(), capture(tmp_path / "gelu", arch="h100") as captured:
        tex.generic_gemm(w, True, x, False, None, None, None, None, None, True, None, False, torch.empty(0), 0, False, False)
    assert [op for op, _, _ in captured.not_recorded] == ["transformer_engine_torch.generic_gemm"] and not captured.products


@pytest.mark.usefixtures("forgotten", "modules")
def test_functions_of_python(tmp_path: Path) -> None:
    def linear(x: Any, w: Any) -> Any:
        return torch.ops.aten.mm(x, w.t())

    made = module("mylib", linear=linear)
    register("mylib.linear", lambda x, w: product(x, w.t()) if x.dim() == 2 else None)
    x, w = half(3, 16), half(4, 16)
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "c") as captured:
        y = made.linear(x, w)
    # Once, not with what it calls.
    assert captured.products == captured.coverage.seen == 1 and captured.batch().verdict == "identical" and y.shape == (3, 4)
    with pytest.raises(ValueError, match="full name"):
        register("linear", lambda x: None)
    with pytest.raises(ValueError, match="no_products"):
        register("mylib.rotary", no_products=True)
    assert not any("." in name and "::" not in name for name in _known.harmless)


def test_flash_attention_is_a_step(tmp_path: Path) -> None:
    schema = (
        "(Tensor q, Tensor k, Tensor v, float dropout_p, float softmax_scale, bool causal, int left, int right, float softcap, "
        "Tensor? slopes, bool softmax) -> (Tensor, Tensor)"
    )
    lib = torch.library.Library("flash_attn", "FRAGMENT")
    lib.define(f"_flash_attn_forward{schema}")
    lib.impl("_flash_attn_forward", lambda q, *rest: (q.clone(), q.new_zeros(1)), "CPU")
    q = half(1, 16, 2, 64)
    for causal in (False, True):
        with torch.no_grad(), capture(tmp_path / f"steps{causal}", arch="a100", operations=True) as captured:
            torch.ops.flash_attn._flash_attn_forward(q, q, q, 0.0, 0.125, causal, -1, -1, 0.0, None, False)
        assert captured.operations == 1 and not captured.not_recorded
        # The stand-in computes something else: the rule is asked, and says so.
        assert captured.batch().verdict == "different"
    with torch.no_grad(), capture(tmp_path / "products", arch="a100") as captured:
        torch.ops.flash_attn._flash_attn_forward(q, q, q, 0.0, 0.125, False, -1, -1, 0.0, None, False)
    assert [op for op, _, _ in captured.not_recorded] == ["flash_attn::_flash_attn_forward"]
    del lib


def test_what_splits_nobody_knows_is_not_guessed() -> None:
    def asked(m: int, k: int, n: int, **given: Any) -> Any:
        torch.manual_seed(3)
        a, w = (torch.randn(*shape).to(torch.float8_e4m3fn) for shape in ((m, k), (n, k)))
        return scaled_mm(a, w.t(), factors(1), factors(1), out_dtype=torch.float32, use_fast_accum=True, **given)

    assert issubclass(SplitUnknown, tcverify.CheckError)
    for profile in (None, "hopper-te", "ada", "ada-te"):
        with pytest.raises(SplitUnknown, match="log") as caught:
            asked(16, 8192, 64, profile=profile)
        assert caught.value.argument == "splitk"
    one = asked(16, 8192, 64, splitk=1)
    assert not same(one, asked(16, 8192, 64, splitk=4))
    assert same(one, asked(16, 8192, 64, profile="hopper-ws0"))
    asked(16, 512, 64)
    asked(16, 512, 64, profile="ada-ws0")
    for profile in ("ada", "hopper-te"):
        with pytest.raises(SplitUnknown):
            asked(16, 512, 64, profile=profile)


@pytest.mark.parametrize(("profile", "arch"), [("hopper", "h100"), ("ada", "ada"), ("hopper-te", "h100"), (None, "h100")])
def test_scaled_mm(profile: str | None, arch: str) -> None:
    a, w = eighths(16, 1024), eighths(24, 1024)
    # Where it is not known that nothing is split, that is said.
    scaled_mm = of_torch if profile in (None, "hopper") else functools.partial(of_torch, splitk=1)
    scale_a, scale_b = torch.tensor([0.0123]), torch.tensor([0.731])
    for fast in (False, True):
        with simulate(arch):
            expected = torch._scaled_mm(a, w.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)
        d = scaled_mm(a, w.t(), scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast, profile=profile)
        assert d.dtype == torch.bfloat16 and same(d, expected)
        assert same(d, scaled_mm(a, w.t(), scale_a, scale_b, None, None, torch.bfloat16, fast, profile=profile, backend="reference"))
    split = scaled_mm(a, w.t(), scale_a, scale_b, out_dtype=torch.float32, use_fast_accum=True, splitk=4, profile=profile)
    assert not same(split, scaled_mm(a, w.t(), scale_a, scale_b, out_dtype=torch.float32, use_fast_accum=True, profile=profile))
    scheme = "pairwise" if arch == "ada" else "contiguous"
    assert same(split, scaled_mm(a, w.t(), scale_a, scale_b, out_dtype=torch.float32, use_fast_accum=True, splitk=(4, scheme), profile=profile))
    out = torch.empty(16, 24, dtype=E4M3)
    assert scaled_mm(a, w.t(), scale_a, scale_b, out=out, profile=profile) is out
    assert scaled_mm(a, w.t(), factors(16, 1), factors(1, 24), out_dtype=torch.bfloat16, profile=profile).shape == (16, 24)
    for wrong in ({"splitk": 0}, {"splitk": "four"}, {"splitk": (2, "sideways")}, {"scale_a": factors(3)}):
        with pytest.raises(tcverify.CheckError):
            of_torch(**{"input": a, "mat2": w.t(), "scale_a": scale_a, "scale_b": scale_b, "profile": profile, **wrong})


def test_gradients_go_through_a_simulation() -> None:
    torch.manual_seed(3)
    layer, x = torch.nn.Linear(16, 8).bfloat16(), half(4, 16).requires_grad_()
    with simulate("h100") as simulation:
        layer(x).square().sum().backward()
    # The product, and those for the gradients of input and weight.
    assert simulation.products == 3
    g = (2 * layer(x)).detach()
    with simulate("h100"), torch.no_grad():
        g = 2 * layer(x)
    expected = tcverify.replay(g, layer.weight.detach(), arch="h100", d_dtype="bf16")
    assert x.grad is not None and same(x.grad, expected)
    weight = tcverify.replay(g.t(), x.detach(), arch="h100", d_dtype="bf16")
    assert layer.weight.grad is not None and same(layer.weight.grad, weight)


def test_what_was_not_recorded_is_shown(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    with torch.no_grad(), capture(tmp_path / "c", arch="h100") as captured:
        torch.linalg.inv(torch.eye(4))
    frame = captured.coverage.to_dataframe()
    assert isinstance(frame, pandas.DataFrame) and frame["op"].tolist() == ["linalg_inv_ex"] and not frame["on_request"].any()
    assert "linalg_inv_ex" in captured._repr_html_() and "<table>" in captured.coverage._repr_html_()
    assert np.asarray(frame["calls"]).tolist() == [1]
