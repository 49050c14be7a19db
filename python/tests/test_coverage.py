"""No product that ran is missed unnoticed: recorded, judged, or named and part of the verdict."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import tcverify  # noqa: E402
from tcverify.torch import NotRecordedError, _known, capture, product, register, simulate  # noqa: E402

F = torch.nn.functional


def half(*shape: int) -> Any:
    return torch.randn(*shape).to(torch.bfloat16)


@torch.library.custom_op("tcvtest::linear", mutates_args=())
def custom_linear(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
    return x @ weight.t()


def recorded(work: Callable[[], Any], folder: Path, **arguments: Any) -> Any:
    with torch.no_grad(), capture(folder, arch="h100", **arguments) as captured:
        work()
    return captured


def simulated(work: Callable[[], Any], folder: Path, **arguments: Any) -> Any:
    with torch.no_grad(), simulate("h100"), capture(folder, **arguments) as captured:
        work()
    return captured


def encoder() -> Any:
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 4).to(torch.bfloat16).eval()


def test_an_encoder_hides_nothing(tmp_path: Path) -> None:
    model, x = encoder(), half(2, 5, 32)
    captured = recorded(lambda: model(x), tmp_path / "plain")
    # Of each layer six products; a kernel that ends with an activation has a D that nobody sees.
    assert captured.coverage.seen == 24 and captured.products == 20
    assert {op for op, _, _ in captured.not_recorded} == {"_addmm_activation"}
    captured = simulated(lambda: model(x), tmp_path / "simulated")
    assert captured.products == captured.coverage.seen == 24 and captured.coverage.complete
    assert captured.batch().verdict == "identical"


def test_less_than_all_is_no_identical(tmp_path: Path) -> None:
    def work() -> None:
        torch.randn(4, 8) @ torch.randn(8, 4)
        torch.linalg.inv(torch.eye(4))

    with torch.no_grad(), simulate("h100", hidden="torch"), capture(tmp_path / "c") as captured:
        work()
    batch = captured.batch(html=tmp_path / "pages")
    assert batch.verdict == "identical_in_part" and not batch.identical and batch.missed == 1
    assert batch.coverage is not None and (batch.coverage["judged"], batch.coverage["seen"]) == (1, 2)
    said = "1 of 2 products judged"
    pages = (tmp_path / "pages" / "index.html").read_text()
    for form in (batch.text(), batch.to_markdown(), batch.to_junit(), batch._repr_html_(), repr(batch), pages):
        assert said in form
    assert batch.text().startswith("IDENTICAL IN PART") and "linalg_inv_ex" in batch.text()
    assert 'errors="1"' in batch.to_junit() and "linalg_inv_ex" in batch.to_junit()
    with pytest.raises(tcverify.DifferentError, match=said):
        batch.raise_for_difference()
    # Somebody who was asked to pass over something is not wrong.
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "every", every=2) as sparse:
        for _ in range(2):
            torch.randn(4, 8) @ torch.randn(8, 4)
    assert sparse.batch().verdict == "identical_in_part" and sparse.batch().identical
    with torch.no_grad(), simulate("h100"), capture(tmp_path / "whole") as whole:
        torch.randn(4, 8) @ torch.randn(8, 4)
    assert whole.batch().verdict == "identical"


def test_the_command_says_so_too(tmp_path: Path) -> None:
    with torch.no_grad(), simulate("h100", hidden="torch"), capture(tmp_path / "c") as captured:
        torch.randn(4, 8) @ torch.randn(8, 4)
        torch.linalg.inv(torch.eye(4))
    manifest = json.loads(captured.manifest.read_text())
    call = f"import sys; from tcverify import _tcverify; sys.exit(_tcverify.main(['tcverify', 'batch', {str(captured.manifest)!r}]))"

    def ended() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)

    done = ended()
    assert done.returncode == 2 and "1 of 2 products judged" in done.stdout and "not recorded" in done.stderr
    # Who edits the numbers is told.
    for field, value in [("seen", 1), ("recorded", 0), ("recorded", 2)]:
        wrong = {**manifest, "coverage": {**manifest["coverage"], field: value}}
        captured.manifest.write_text(json.dumps(wrong))
        assert ended().returncode == 2
        with pytest.raises(tcverify.CheckError, match="coverage"):
            captured.batch()


def test_nothing_but_misses_is_an_error(tmp_path: Path) -> None:
    captured = recorded(lambda: torch.linalg.inv(torch.eye(4)), tmp_path / "c")
    with pytest.raises(tcverify.CheckError, match="1 products ran, but none was recorded"):
        captured.batch()


def test_strict_raises_at_the_end(tmp_path: Path) -> None:
    after = []
    with pytest.raises(NotRecordedError, match="linalg_inv_ex"):
        recorded(lambda: (torch.linalg.inv(torch.eye(4)), after.append(1)), tmp_path / "a", strict=True)
    assert after, "the program ran to its end"
    recorded(lambda: torch.eye(4) @ torch.eye(4), tmp_path / "b", strict=True)


@pytest.mark.parametrize(
    ("work", "name"),
    [
        (lambda: torch.linalg.inv(torch.eye(4)), "linalg_inv_ex"),
        (lambda: torch.fft.fft(torch.randn(8)), "_fft_r2c"),
        (lambda: torch.linalg.svd(torch.eye(3)), "_linalg_svd"),
        (lambda: torch.eye(4).to_sparse_csr() @ torch.randn(4, 4), "mm"),
        (lambda: torch.eye(4).to_sparse() @ torch.randn(4, 4), "mm"),
        (lambda: torch.hspmm(torch.eye(4).to_sparse(), torch.randn(4, 4)), "hspmm"),
        (lambda: F.linear(torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)]), torch.randn(4, 4)), "linear"),
        (lambda: torch.ops.tcvtest.linear(torch.randn(2, 3), torch.randn(4, 3)), "tcvtest::linear"),
        (lambda: torch.nn.LSTM(8, 6)(torch.randn(5, 2, 8)), "mkldnn_rnn_layer"),
        (lambda: F.embedding_bag(torch.tensor([[0, 1]]), torch.randn(3, 4), mode="sum", per_sample_weights=torch.rand(1, 2)), "_embedding_bag"),
    ],
)
def test_what_hides_products_is_named_and_refused(work: Callable[[], Any], name: str, tmp_path: Path) -> None:
    captured = recorded(work, tmp_path / "c")
    assert captured.coverage.missed and any(name in op for op, _, _ in captured.not_recorded), captured.coverage
    if name != "mkldnn_rnn_layer":
        with torch.no_grad(), simulate("h100"), pytest.raises(NotImplementedError, match=name):
            work()


@pytest.mark.parametrize(
    ("work", "products"),
    [
        (lambda: torch.nn.LSTM(8, 6, 2)(torch.randn(5, 2, 8)), 12),
        (lambda: torch.nn.LSTMCell(8, 6)(torch.randn(2, 8)), 2),
        (lambda: torch.nn.GRUCell(8, 6)(torch.randn(2, 8)), 2),
        (lambda: torch.nn.Bilinear(4, 5, 6)(torch.randn(3, 4), torch.randn(3, 5)), 12),
        (lambda: torch.cdist(torch.randn(40, 8), torch.randn(40, 8)), 1),
        (lambda: torch.addbmm(torch.randn(3, 4), torch.randn(2, 3, 5), torch.randn(2, 5, 4)), 2),
        (lambda: torch.addmv(torch.randn(3), torch.randn(3, 5), torch.randn(5), beta=0.5, alpha=2), 1),
        (lambda: torch.vdot(torch.randn(3), torch.randn(3)), 1),
        (lambda: F.scaled_dot_product_attention(*[torch.randn(1, 2, 5, 8)] * 3), 2),
        (lambda: torch.nn.Conv2d(3, 8, 3, padding=1, stride=2)(torch.randn(2, 3, 9, 9)), 1),
        (lambda: torch.nn.Conv2d(4, 8, 3)(torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)), 1),
        (lambda: torch.nn.Conv1d(4, 6, 3, dilation=2, groups=2)(torch.randn(2, 4, 11)), 1),
        (lambda: torch.nn.Conv3d(2, 4, 2)(torch.randn(1, 2, 4, 5, 6)), 1),
        (lambda: torch.nn.ConvTranspose1d(2, 3, 2)(torch.randn(1, 2, 5)), 1),
        (lambda: torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)(torch.randn(2, 4, 5, 5)), 1),
    ],
)
def test_what_is_made_of_products_is_recorded_and_judged(work: Callable[[], Any], products: int, tmp_path: Path) -> None:
    torch.manual_seed(1)
    captured = simulated(work, tmp_path / "c")
    assert captured.products == captured.coverage.seen == products
    assert captured.batch().verdict == "identical", captured.batch().text()


def test_convolutions_are_what_torch_computes() -> None:
    torch.manual_seed(2)
    for layer, x in [
        (torch.nn.Conv2d(3, 8, 3, padding=1, stride=2), torch.randn(2, 3, 9, 9)),
        (torch.nn.Conv1d(4, 6, 3, dilation=2, groups=2), torch.randn(2, 4, 11)),
        (torch.nn.Conv2d(4, 4, 3, groups=4), torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)),
        (torch.nn.Conv3d(2, 4, 2, bias=False), torch.randn(1, 2, 4, 5, 6)),
        (torch.nn.ConvTranspose1d(4, 6, 3, stride=2, dilation=2), torch.randn(2, 4, 7)),
        (torch.nn.ConvTranspose2d(4, 6, 3, stride=3, padding=1, output_padding=2, groups=2), torch.randn(2, 4, 5, 4)),
        (torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), torch.randn(2, 4, 9, 8)),
    ]:
        with torch.no_grad():
            with simulate("h100"):
                got = layer(x)
            assert torch.allclose(got, layer(x), atol=1e-5) and got.shape == layer(x).shape
        # Its gradients are products as well.
        wishes = [x.requires_grad_(), *layer.parameters()]
        out = torch.randn_like(got)
        expected = torch.autograd.grad(layer(x), wishes, out)
        with simulate("h100") as simulation:
            found = torch.autograd.grad(layer(x), wishes, out)
        assert simulation.products >= 3 and not simulation.hidden_calls
        for one, other in zip(found, expected):
            assert one.shape == other.shape and torch.allclose(one, other, atol=1e-4)


def test_experts_are_products(tmp_path: Path) -> None:
    """Hugging Face's operation for a mixture of experts where torch has none of its own."""
    torch.manual_seed(4)

    def experts(x: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        out, start = torch.zeros(x.shape[0], weight.shape[2], dtype=x.dtype), 0
        for i, end in enumerate(offs.tolist()):
            torch.mm(x[start:end], weight[i], out=out[start:end])
            start = end
        return out

    name = "transformers::grouped_mm_fallback"
    torch.library.custom_op(name, experts, mutates_args=(), schema="(Tensor x, Tensor weight, Tensor offs) -> Tensor")
    x, weight, offs = half(9, 16), half(3, 16, 8), torch.tensor([4, 6, 9], dtype=torch.int32)
    captured = simulated(lambda: torch.ops.transformers.grouped_mm_fallback(x, weight, offs), tmp_path / "c")
    assert captured.products == captured.coverage.seen == 3 and captured.batch().verdict == "identical"
    assert captured.coverage.multiply_adds == {"recorded": 9 * 16 * 8}


def test_coverage_has_weight(tmp_path: Path) -> None:
    def work() -> None:
        half(64, 64) @ half(64, 64)
        half(2, 4) @ half(4, 2)
        torch.ones(2, 4, dtype=torch.int32) @ torch.ones(4, 2, dtype=torch.int32)
        torch.linalg.inv(torch.eye(4))

    captured = recorded(work, tmp_path / "c")
    coverage, small = captured.coverage, 2 * 4 * 2
    assert coverage.multiply_adds["recorded"] == 64**3 + small
    # Of an inverse nobody knows the work.
    assert coverage.multiply_adds["missed"] == small and coverage.unweighed == 1
    assert coverage.share is not None and 0.999 < coverage.share < 1 and "99.9 %" in coverage.sentence()
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        half(64, 64) @ half(64, 64)
    assert counter.get_total_flops() == 2 * 64**3
    passed = recorded(work, tmp_path / "d", every=2)
    assert passed.coverage.multiply_adds["passed"] == small and passed.coverage.multiply_adds["recorded"] == 64**3


def test_other_threads_are_counted(tmp_path: Path) -> None:
    layer = torch.nn.Linear(3, 3)
    pool = ThreadPoolExecutor(1)
    pool.submit(lambda: None).result()

    def begun() -> None:
        thread = threading.Thread(target=lambda: torch.randn(2, 3) @ torch.randn(3, 2))
        thread.start()
        thread.join()

    captured = recorded(begun, tmp_path / "begun")
    assert [(op, "thread" in why) for op, _, why in captured.not_recorded] == [("mm", True)]
    captured = recorded(lambda: pool.submit(lambda: layer(torch.randn(2, 3))).result(), tmp_path / "pool")
    assert [op for op, _, _ in captured.not_recorded] == ["addmm"]
    # Afterwards nobody watches.
    start = threading.Thread.start
    assert start.__module__ == "threading" and not hasattr(start, "__wrapped__")
    begun()
    assert captured.coverage.seen == 1


def test_programs_run_as_without(tmp_path: Path) -> None:
    jagged = torch.nested.nested_tensor([torch.randn(2, 4), torch.randn(3, 4)], layout=torch.jagged)
    for number, work in enumerate(
        [
            lambda: torch.randn(4, 4, device="meta") @ torch.randn(4, 4, device="meta"),
            lambda: F.linear(jagged, torch.randn(4, 4)),
            lambda: torch.quantize_per_tensor(torch.randn(4), 0.1, 0, torch.qint8),
            lambda: torch.empty(0, 4) @ torch.randn(4, 3),
            lambda: torch.randn(2, 2, dtype=torch.float64) @ torch.eye(2, dtype=torch.float64),
            lambda: torch.ones(2, 2, dtype=torch.int64) @ torch.ones(2, 2, dtype=torch.int64),
        ]
    ):
        captured = recorded(work, tmp_path / str(number))
        assert captured.coverage.seen <= 1


def test_what_a_registered_operation_means(tmp_path: Path) -> None:
    name = "tcvtest::linear"
    x, weight = half(5, 16), half(8, 16)
    try:
        register(name, lambda x, weight: product(x, weight.t()))
        captured = simulated(lambda: torch.ops.tcvtest.linear(x, weight), tmp_path / "a")
        assert captured.products == 1 and captured.batch().verdict == "identical"
        register(name, lambda x, weight: 1 / 0)
        captured = recorded(lambda: torch.ops.tcvtest.linear(x, weight), tmp_path / "b")
        assert "ZeroDivisionError" in next(iter(captured.not_recorded))[2]
        register(name, no_products=True)
        captured = recorded(lambda: torch.ops.tcvtest.linear(x, weight), tmp_path / "c")
        assert captured.coverage.seen == 0
    finally:
        _known.harmless.discard(name)
    with pytest.raises(ValueError, match="full name"):
        register("linear", no_products=True)
    with pytest.raises(ValueError, match="meaning"):
        register(name)


def test_the_list_holds_no_product() -> None:
    """Whatever multiplies matrices by its name is not on the list of what does not."""
    words = set("mm bmm addmm baddbmm matmul dot vdot mv linear bilinear conv convolution attention rnn lstm gru gemm einsum".split())
    harmless = ("upsample_", "_upsample_", "_thnn_fused_", "_cudnn_rnn_flatten", "mkldnn_reorder_conv")
    for name in _known.NO_PRODUCT:
        if not name.startswith(harmless):
            assert not words & {part.rstrip("0123456789d") for part in name.split("_")} - {""}, name
    assert not _known.without_products("aten::mm") and not _known.without_products("vllm::anything")
    assert _known.without_products("aten::add_") and _known.without_products("aten::view_copy")
    # Names of this version's registry: a name that is on no list is one that a capture tells of.
    registry = {name.split(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    known = [name for name in registry if name.startswith("aten::") and _known.without_products(name)]
    assert 900 < len(known) < 1400


@pytest.mark.skipif(sys.platform != "linux", reason="needs a compiler that Inductor finds")
def test_a_compiled_model_stays_compiled(tmp_path: Path) -> None:
    import torch._dynamo as dynamo

    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).to(torch.bfloat16).eval()
    compiled, x = torch.compile(model, backend="aot_eager"), half(5, 8)
    dynamo.reset()
    dynamo.utils.counters.clear()
    frames = dynamo.utils.counters["frames"]
    with torch.no_grad():
        with capture(tmp_path / "cold", arch="h100") as cold:
            compiled(x)
            compiled(x)
        assert frames["ok"] == 1 and cold.products == cold.coverage.seen == 4
        compiled(x)
        with capture(tmp_path / "warm", arch="h100") as warm:
            compiled(x)
        with simulate("h100") as simulation:
            compiled(x)
        compiled(x)
    assert warm.products == 2 and simulation.products == 2
    assert frames["ok"] == frames["total"] == 1, "compiled once, and never eager"
    # What runs between the graphs of one function is seen as the rest.

    @torch.compile(backend="aot_eager")
    def broken(x: Any) -> Any:
        y = x @ x.t()
        dynamo.graph_break()
        return y @ y

    with torch.no_grad(), capture(tmp_path / "broken", arch="h100") as captured:
        broken(x)
    assert captured.products == captured.coverage.seen == 2 and captured.coverage.complete


def test_kernels_of_a_compiler_are_named() -> None:
    from tcverify.torch._undispatched import _fused

    source = """
cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*'], '''...''')
triton_tem_fused_mm_1 = async_compile.triton('triton_tem_fused_mm_1', '''...''')
triton_poi_fused_addmm_relu_2 = async_compile.triton('...', '''...''')

def call(args):
    # Topologically Sorted Source Nodes: [linear], Original ATen: [aten.addmm]
    extern_kernels.addmm(arg0, arg1, out=buf0)
    # Topologically Sorted Source Nodes: [linear, relu], Original ATen: [aten.addmm, aten.relu]
    triton_poi_fused_addmm_relu_2.run(buf0, 8, stream=stream0)
    # Topologically Sorted Source Nodes: [relu], Original ATen: [aten.relu]
    cpp_fused_relu_0(buf0)
    # Topologically Sorted Source Nodes: [mm], Original ATen: [aten.mm]
    triton_tem_fused_mm_1.run(buf0, arg2, buf1, stream=stream0)
"""
    assert _fused(source) == {"mm": 1}
    # As of a backward pass: no node of the program has a name, and what only adds has no comment.
    backward = """
cpp_fused_sum_0 = async_compile.cpp_pybinding(['const float*'], '''...''')
cpp_CppMicroGemmFP32Vec_mm_1 = async_compile.cpp_pybinding(['const float*'], '''...''')

def call(args):
    # Topologically Sorted Source Nodes: [], Original ATen: [aten.mm]
    extern_kernels.mm(tangents_1, permute_1, out=buf0)
    cpp_fused_sum_0(tangents_1, buf2)
"""
    assert not _fused(backward)
    assert _fused(backward + "    cpp_CppMicroGemmFP32Vec_mm_1(tangents_1, buf2)\n") == {"mm": 1}
    assert _fused("int main() {}") == {"torch.compile": 1}
