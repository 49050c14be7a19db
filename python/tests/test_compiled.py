"""What a compiler skips, breaks or leaves to Python is recorded as the rest; and the program runs as without a capture."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch._dynamo as dynamo  # noqa: E402
from test_property import LAYERS, W  # noqa: E402

from tcverify.torch import _dispatcher, capture, simulate  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs a compiler that Dynamo has")
BACKENDS = ["eager", "aot_eager"]


@pytest.fixture(autouse=True)
def fresh() -> Any:
    dynamo.reset()
    yield
    dynamo.reset()
    assert not _dispatcher.LISTENING


def half(*shape: int) -> Any:
    return torch.randn(*shape).to(torch.bfloat16)


def recorded(work: Callable[[], Any], folder: Path, **fields: Any) -> Any:
    with torch.no_grad(), capture(folder, arch="h100", **fields) as captured:
        work()
    return captured


def model() -> Any:
    layers = [torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8)]
    return torch.nn.Sequential(*layers).to(torch.bfloat16).eval()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_module_compiled_in_place(backend: str, tmp_path: Path) -> None:
    net, x = model(), half(5, 8)
    net.compile(backend=backend)
    for state in ("cold", "warm"):
        captured = recorded(lambda: net(x), tmp_path / state, strict=True)
        assert captured.products == captured.coverage.seen == 2, state
    # The same of a part, in a model that is not compiled.
    outer = torch.nn.Sequential(torch.nn.Linear(8, 8).to(torch.bfloat16), model())
    outer[1].compile(backend=backend)
    captured = recorded(lambda: outer(x), tmp_path / "part")
    assert captured.products == captured.coverage.seen == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_graph_break_in_a_loop(backend: str, tmp_path: Path) -> None:
    @torch.compile(backend=backend)  # type: ignore[untyped-decorator]
    def looped(x: Any) -> Any:
        for _ in range(3):
            x = x @ x.t() @ x
            dynamo.graph_break()
            x = x / 2
        return x @ x.t()

    x = half(4, 4)
    for state in ("cold", "warm"):
        captured = recorded(lambda: looped(x), tmp_path / state)
        assert captured.products == captured.coverage.seen == 7 and captured.coverage.complete, (state, captured.coverage)


def test_a_skipped_frame(tmp_path: Path) -> None:
    @dynamo.disable  # type: ignore[untyped-decorator]
    def eager(x: Any) -> Any:
        return x @ x

    def generator(x: Any) -> Any:
        yield x @ x
        yield x @ x @ x

    @torch.compile(backend="eager")  # type: ignore[untyped-decorator]
    def outer(x: Any) -> Any:
        y = eager(x) @ x
        for one in generator(y):
            print(end="")
            y = y + one
        try:
            return y @ y
        finally:
            y @ x

    x = half(4, 4)
    with torch.no_grad():
        with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
            outer.__wrapped__(x) if hasattr(outer, "__wrapped__") else None
    products = counter.get_total_flops() // (2 * 4 * 4 * 4) or 7
    for state in ("cold", "warm"):
        captured = recorded(lambda: outer(x), tmp_path / state)
        assert captured.products == captured.coverage.seen == products == 7, (state, captured.coverage)


@pytest.mark.parametrize("limit", [1, 8])
def test_what_is_compiled_too_often_runs_eagerly(limit: int, tmp_path: Path) -> None:
    name = "recompile_limit" if hasattr(dynamo.config, "recompile_limit") else "cache_size_limit"
    with dynamo.config.patch({name: limit, "automatic_dynamic_shapes": False}):

        @torch.compile(backend="eager")  # type: ignore[untyped-decorator]
        def product(x: Any) -> Any:
            return x @ x.t()

        captured = recorded(lambda: [product(half(n, 8)) for n in range(2, 8)], tmp_path / "c")
    assert captured.products == captured.coverage.seen == 6


def test_nothing_is_compiled_again(tmp_path: Path) -> None:
    net, x = torch.compile(model(), backend="aot_eager"), half(5, 8)
    frames = dynamo.utils.counters["frames"]
    frames.clear()
    with torch.no_grad():
        net(x)
        for i in range(3):
            assert recorded(lambda: net(x), tmp_path / str(i)).products == 2
        net(x)
    assert frames["ok"] == frames["total"] == 1


def compiled_by_chance(seed: int) -> tuple[Any, list[int]]:
    """Random layers, each of them perhaps compiled, in place, as a wrapper, or with a break of the graph between."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    chosen = draw.choices(range(len(LAYERS)), k=3)

    class Broken(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            y = self.layer(x)
            dynamo.graph_break()
            return y

    layers: list[Any] = []
    for i in chosen:
        layer, way = LAYERS[i](), draw.choice(["plain", "in place", "wrapped", "broken"])
        if way == "broken":
            layer = Broken(layer)
        if way in ("in place", "broken"):
            layer.compile(backend="eager")
        layers.append(torch.compile(layer, backend="eager") if way == "wrapped" else layer)
    whole = torch.nn.Sequential(*layers).eval()
    if draw.random() < 0.5:
        whole.compile(backend="eager")
    return whole, chosen


def counted(captured: Any) -> dict[str, int]:
    """Recorded and missed calls of a model, whatever they are called."""
    return {"recorded": captured.products, "missed": captured.coverage.missed.total()}


@pytest.mark.parametrize("seed", range(12))
def test_a_compiled_module_hides_no_more_than_an_eager_one(seed: int, tmp_path: Path) -> None:
    net, chosen = compiled_by_chance(seed)
    x = torch.randn(2, W, W)
    with torch.compiler.set_stance("force_eager"):
        eager = counted(recorded(lambda: net(x), tmp_path / "eager"))
    for state in ("cold", "warm"):
        assert counted(recorded(lambda: net(x), tmp_path / state)) == eager, (chosen, state)


def test_captures_of_two_threads_are_each_others_nothing(tmp_path: Path) -> None:
    start = threading.Thread.start
    first, second = threading.Event(), threading.Event()
    found: dict[str, Any] = {}
    net = model()

    def one() -> None:
        with torch.no_grad(), capture(tmp_path / "one", arch="h100") as found["one"]:
            net(half(5, 8))
            first.set()
            second.wait(60)

    def two() -> None:
        first.wait(60)
        with torch.no_grad(), capture(tmp_path / "two", arch="a100") as found["two"]:
            second.set()
            threads[0].join()
            net(half(3, 8))

    threads = [threading.Thread(target=one), threading.Thread(target=two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, rows in (("one", 5), ("two", 3)):
        captured = found[name]
        assert captured.products == captured.coverage.seen == 2, captured.coverage
        assert f'"shape": [\n      {rows},'.replace(" ", "") in (tmp_path / name / "capture.json").read_text().replace(" ", "")
    assert threading.Thread.start is start


def test_either_order_of_capture_and_simulation(tmp_path: Path) -> None:
    net, x = model(), half(5, 8)
    with torch.no_grad():
        with simulate("h100"), capture(tmp_path / "inner") as inner:
            net(x)
        with capture(tmp_path / "outer", arch="h100") as outer, simulate("h100"):
            net(x)
        with capture(tmp_path / "a", arch="h100") as a, simulate("h100"), capture(tmp_path / "b", select="2") as b:
            net(x)
    for captured, products in ((inner, 2), (outer, 2), (a, 2), (b, 1)):
        assert captured.products == products and captured.batch().identical


def test_memory_stays_the_programs(tmp_path: Path) -> None:
    weight, x = half(8, 8), half(4, 8)
    with torch.no_grad(), capture(tmp_path / "c", arch="h100") as captured:
        y = x @ weight
    assert captured.products == 1
    for tensor in (weight, x, y):
        assert tensor.untyped_storage().resizable()
        tensor.untyped_storage().resize_(0)


def test_a_simulation_leaves_other_numbers_to_torch() -> None:
    a = torch.arange(4).reshape(2, 2)
    with simulate("h100", hidden="torch") as simulation:
        assert torch.equal(a @ a, torch.tensor([[2, 3], [6, 11]]))
    assert simulation.hidden_calls["mm"] == 1 and simulation.products == 0
    with simulate("h100"), pytest.raises(NotImplementedError, match="int64"):
        a @ a


def test_what_is_exported_inside_of_a_simulation() -> None:
    net, x = model(), half(5, 8)
    with torch.no_grad(), simulate("h100") as simulation:
        program = torch.export.export(net, (x,))
        assert simulation.products == 0
        y = program.module()(x)
        assert simulation.products == 2 and torch.equal(y, net(x))


def test_two_ranks_do_not_share_a_folder(tmp_path: Path) -> None:
    with capture(tmp_path / "c", arch="h100"):
        with pytest.raises(FileExistsError, match="each rank its own"), capture(tmp_path / "c", arch="h100"):
            pass


def test_an_operation_that_is_defined_meanwhile(tmp_path: Path) -> None:
    x = half(4, 4)

    def work() -> None:
        library = torch.library.Library("tcvlater", "FRAGMENT")
        library.define("hidden(Tensor x) -> Tensor")
        library.impl("hidden", lambda x: x.clone(), "CPU")
        torch.ops.tcvlater.hidden(x)
        work.library = library  # type: ignore[attr-defined]

    captured = recorded(work, tmp_path / "c")
    assert [op for op, _, _ in captured.coverage.missed] == ["tcvlater::hidden"]


def test_threads_that_were_there_before_are_counted(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(1)
    pool.submit(lambda: None).result()
    x = half(4, 4)
    # Outside of all modules.
    captured = recorded(lambda: pool.submit(lambda: x @ x).result(), tmp_path / "c")
    assert [(op, why) for op, _, why in captured.coverage.missed] == [("mm", _dispatcher.THREAD)]


def test_numbers_in_place_of_tensors_stay_what_they_are(tmp_path: Path) -> None:
    inputs = [torch.ones(3).bfloat16(), torch.ones(3, dtype=torch.int32), torch.ones((), dtype=torch.float64), torch.ones(2, dtype=torch.bool)]
    inputs += [torch.tensor(3.0).half(), torch.tensor(3), torch.rand(4).double()]
    numbers = [1, 2.5, True, 1e-6]

    def sums() -> list[Any]:
        out = torch.empty((), dtype=torch.float16)
        torch.add(inputs[4], 0.1, out=out)
        place = inputs[4].clone()
        place += 0.1
        return [x + n for x in inputs for n in numbers] + [n + x for x in inputs for n in numbers] + [out, place]

    expected = sums()
    with torch.no_grad(), capture(tmp_path / "c", arch="h100", operations=True):
        found = sums()
    for one, other in zip(found, expected):
        assert one.dtype == other.dtype and torch.equal(one, other)


def test_a_kernel_of_a_library_in_place_of_parts(tmp_path: Path) -> None:
    """Torch makes a matmul of products that are seen; a library's kernel for it may multiply by itself."""
    x = torch.randn(4, 4)
    library = torch.library.Library("aten", "IMPL")
    try:
        with torch.inference_mode():
            before = recorded(lambda: torch.matmul(x, x), tmp_path / "before")
        library.impl("matmul", lambda x, y: torch.from_numpy(x.numpy() @ y.numpy()), "CPU")
        captured = recorded(lambda: torch.matmul(x, x), tmp_path / "library")
    finally:
        library._destroy()
    assert before.products == before.coverage.seen == 1
    assert captured.products == 0 and [op for op, _, _ in captured.coverage.missed] == ["matmul"]
