"""Functions of JAX: every product recorded, or computed as a GPU would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import normal
from hypothesis import given, settings
from hypothesis import strategies as st

import tcverify

jax = pytest.importorskip("jax", reason="JAX is not installed: `pip install jax`")
jnp, lax = jax.numpy, jax.lax

from tcverify.jax import capture, simulate  # noqa: E402

X, W = jnp.asarray(normal(1, (5, 64))), jnp.asarray(normal(2, (64, 7)))


def same(left: Any, right: Any) -> bool:
    left, right = np.asarray(left), np.asarray(right)
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def dense(params: Any, x: Any) -> Any:
    """Two layers, as Flax names them."""
    for name in ("Dense_0", "Dense_1"):
        with jax.named_scope(name):
            y = jnp.dot(x, params[name]["kernel"], preferred_element_type=jnp.float32)
            x = jax.nn.gelu(y + params[name]["bias"]).astype(x.dtype)
    return x


def parameters() -> Any:
    shapes = {"Dense_0": (64, 96), "Dense_1": (96, 32)}
    return {
        name: {"kernel": jnp.asarray(normal(n, shape)) * 0.1, "bias": jnp.asarray(normal(n + 9, shape[1:]))}
        for n, (name, shape) in enumerate(shapes.items())
    }


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / np.sqrt(q.shape[-1])
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(q.dtype), v)


def heads(seed: int = 3) -> Any:
    return [jnp.asarray(normal(seed + n, (2, 8, 4, 16))) for n in range(3)]


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "int8"])
def test_arrays_go_in_and_out_as_those_of_jax(name: str) -> None:
    a, b = (X * 8).astype(name), (W * 8).astype(name)
    d = tcverify.replay(a, b, arch="h100")
    assert isinstance(d, jax.Array) and d.dtype == (jnp.int32 if name == "int8" else jnp.float32)
    assert tcverify.check(a, b, d, arch="h100").verdict == "identical"
    assert tcverify.check(a, b, d.at[1, 2].add(1), arch="h100").mismatch_count == 1
    simulated = simulate("h100")
    found = simulated(partial(jnp.dot, preferred_element_type=d.dtype))(a, b)
    assert isinstance(found, jax.Array) and same(found, d) and simulated.products == 1


def test_the_result_has_the_type_that_is_preferred() -> None:
    for preferred in (None, jnp.bfloat16, jnp.float32):
        found = simulate("h100")(partial(jnp.dot, preferred_element_type=preferred))(X, W)
        expected = tcverify.replay(X, W, arch="h100", d_dtype="fp32" if preferred == jnp.float32 else "bf16")
        assert same(found, expected)
    with pytest.raises(NotImplementedError, match="dot_general cannot be simulated"):
        # As int8 sums do not fit.
        simulate("h100")(jnp.dot)(X.astype(jnp.int8), W.astype(jnp.int8))


def test_another_gpu_gives_other_bits() -> None:
    a, b = jnp.asarray(normal(3, (32, 512), np.float16)), jnp.asarray(normal(4, (512, 32), np.float16))
    h100, a100 = (simulate(arch)(partial(jnp.dot, preferred_element_type=jnp.float32))(a, b) for arch in ("h100", "a100"))
    assert not same(h100, a100) and same(a100, tcverify.replay(a, b, arch="a100"))
    split = simulate("a100", schedule="cublas-workspace-f32", split_k=4)(partial(jnp.dot, preferred_element_type=jnp.float32))(a, b)
    assert same(split, tcverify.replay(a, b, arch="a100", schedule="cublas-workspace-f32", split_k=4)) and not same(split, a100)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_axes_may_stand_anywhere(data: Any) -> None:
    """Numbers whose sums are exact in any order, so JAX itself says what comes out."""
    axes = data.draw(st.integers(1, 4))
    kinds = [data.draw(st.sampled_from("bck")) for _ in range(axes)]
    sizes = [data.draw(st.integers(1, 3)) for _ in range(axes)]
    shared = [n for n in range(axes) if kinds[n] != "k"]
    right = data.draw(st.permutations([*shared, axes, axes + 1]))
    sizes += [data.draw(st.integers(1, 3)) for _ in range(2)]
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = jnp.asarray(random.integers(-4, 5, [sizes[n] for n in range(axes)]), jnp.bfloat16)
    y = jnp.asarray(random.integers(-4, 5, [sizes[n] for n in right]), jnp.bfloat16)
    contract, batch = ([n for n in shared if kinds[n] == kind] for kind in "cb")
    contract = data.draw(st.permutations(contract))
    numbers = ((contract, [right.index(n) for n in contract]), (batch, [right.index(n) for n in batch]))
    dot = partial(lax.dot_general, dimension_numbers=numbers, preferred_element_type=jnp.float32)
    simulated = simulate("h100")
    found = simulated(dot)(x, y)
    assert found.shape == dot(x, y).shape and (found == dot(x, y)).all() and simulated.products == bool(contract)


def test_k_runs_over_contracted_axes_in_their_order() -> None:
    x, y = jnp.asarray(normal(5, (4, 16, 32))), jnp.asarray(normal(6, (16, 32, 4)))

    def found(order: tuple[int, int]) -> Any:
        numbers = ((tuple(n + 1 for n in order), order), ((), ()))
        return simulate("h100")(partial(lax.dot_general, dimension_numbers=numbers, preferred_element_type=jnp.float32))(x, y)

    flat = tcverify.replay(np.asarray(x).reshape(4, 512), np.asarray(y).reshape(512, 4), arch="h100")
    turned = tcverify.replay(np.asarray(x).transpose(0, 2, 1).reshape(4, 512), np.asarray(y).transpose(1, 0, 2).reshape(512, 4), arch="h100")
    assert same(found((0, 1)), flat) and same(found((1, 0)), turned) and not same(flat, turned)


def test_a_dense_layer_is_recorded(tmp_path: Path) -> None:
    params, x = parameters(), jnp.asarray(normal(7, (6, 64)))
    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        y = captured(gpu(jax.jit(dense)))(params, x)
    assert y.shape == (6, 32) and gpu.products == captured.products == 2
    batch = captured.batch()
    assert batch.identical and [case.name for case in batch.cases] == ["00000 Dense_0 dot_general", "00001 Dense_1 dot_general"]
    # Near what JAX itself computes, and no more than near.
    assert jnp.abs(y - dense(params, x)).max() < 0.1 and not same(y, simulate("v100", hidden="jax")(dense)(params, x.astype(jnp.float16)))
    manifest = json.loads(captured.manifest.read_text())
    record = json.loads((tmp_path / "c" / "capture.json").read_text())
    assert record["schema"] == "tcverify.jax-capture/1" and record["jax"] == jax.__version__ and record["ended"]
    assert record["products"][0]["operands"]["b"] == {"dtype": "bfloat16", "shape": [64, 96]}
    # A wrong model, and a flipped bit of a weight, are found.
    for case in manifest["cases"]:
        case["arch"] = "exact"
    (tmp_path / "c" / "other.json").write_text(json.dumps(manifest))
    assert tcverify.batch(tmp_path / "c" / "other.json").totals["different"] == 2
    manifest = json.loads(captured.manifest.read_text())
    kernel = np.asarray(params["Dense_1"]["kernel"]).copy()
    kernel.view(np.uint16)[3, 5] ^= 0x40
    np.save(tmp_path / "c" / "w.npy", kernel.view(np.uint16))
    manifest["cases"][1]["b"] = "w.npy"
    (tmp_path / "c" / "flipped.json").write_text(json.dumps(manifest))
    flipped = tcverify.batch(tmp_path / "c" / "flipped.json")
    assert [case.verdict for case in flipped.cases] == ["identical", "different"]
    report = flipped.cases[1].report
    assert report is not None and report.document["outcome"]["comparison"]["columns_touched"] == 1


def test_attention_and_its_gradient(tmp_path: Path) -> None:
    q, k, v = heads()

    def loss(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v).astype(jnp.float32).sum()

    with capture(tmp_path / "c", arch="h100") as captured:
        # What the CPU computes is not what an H100 would.
        captured(attention)(q, k, v)
    assert captured.products == 2 and captured.batch().totals["different"] >= 1
    gpu = simulate("h100")
    with capture(tmp_path / "d") as captured:
        gradients = gpu(captured(jax.jit(jax.grad(loss, argnums=(0, 1, 2)))))(q, k, v)
    assert gpu.products == captured.products == 2 + 4
    assert captured.batch().identical and len(gradients) == 3 and all(one.shape == q.shape for one in gradients)
    names = [case.name for case in captured.batch().cases]
    assert any("transpose" in name for name in names), names


def convolved(groups: int = 1, batches: int = 1, **how: Any) -> Any:
    given: dict[str, Any] = {"window_strides": (2, 1), "padding": ((1, 2), (2, 0)), "lhs_dilation": (1, 2), "rhs_dilation": (2, 1)}
    given.update({"preferred_element_type": jnp.float32, **how})
    given.update(feature_group_count=groups, batch_group_count=batches, dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return partial(lax.conv_general_dilated, **given)


def judged(captured: Any, differs: str = "") -> Any:
    """The batch of a capture: identical, and different once a case has this architecture, or a bit of D another value."""
    batch = captured.batch()
    assert batch.identical, batch.text()
    manifest = json.loads(captured.manifest.read_text())
    for case in manifest["cases"]:
        case["arch"] = differs
    other = captured.directory / "other.json"
    other.write_text(json.dumps(manifest))
    assert tcverify.batch(other).totals["different"] >= 1
    manifest = json.loads(captured.manifest.read_text())
    report = batch.cases[0].report
    assert report is not None
    d = np.asarray(tcverify.replay(**{k: v for k, v in arrays(captured, manifest["cases"][0]).items() if k != "d"}))
    d.reshape(-1).view(np.uint32)[5] ^= 1
    np.save(captured.directory / "d.npy", d)
    manifest["cases"][0]["d"] = "d.npy"
    other.write_text(json.dumps(manifest))
    flipped = tcverify.batch(other)
    assert flipped.cases[0].verdict == "different" and flipped.totals["different"] == 1
    found = flipped.cases[0].report
    assert found is not None and found.mismatch_count == 1
    return batch


def arrays(captured: Any, case: dict[str, Any]) -> dict[str, Any]:
    """A case's fields, with paths from here."""
    return {name: str(captured.directory / value) if name in ("a", "b", "d") else value for name, value in case.items() if name not in ("name", "id")}


@pytest.mark.parametrize(("groups", "batches"), [(1, 1), (3, 1), (1, 2)])
def test_a_convolution_is_the_product_of_its_patches(groups: int, batches: int, tmp_path: Path) -> None:
    x, w = jnp.asarray(normal(11, (4, 9, 8, 12), np.float16)), jnp.asarray(normal(12, (3, 2, 12 // groups, 6), np.float16))
    convolve = convolved(groups, batches)
    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        y = captured(gpu(jax.jit(convolve)))(x, w)
    assert gpu.products == captured.products == 1 and captured.coverage.seen == 1
    judged(captured, differs="v100")
    # What JAX computes in 64 bits is near, and a filter turned round is not.
    with jax.enable_x64(True):
        wide = convolved(groups, batches, preferred_element_type=None)
        exact, turned = (np.asarray(wide(x.astype(jnp.float64), f.astype(jnp.float64))) for f in (w, w[::-1, ::-1]))
    assert y.shape == exact.shape and np.abs(y - exact).max() < 1e-3 * np.abs(exact).max() and np.abs(y - turned).max() > 1
    v100 = simulate("v100")(convolve)(x, w)
    assert not same(y, v100) and np.abs(v100 - exact).max() < 1e-2 * np.abs(exact).max()
    record = json.loads((tmp_path / "c" / "capture.json").read_text())["products"][0]
    assert record["op"] == "conv_general_dilated" and record["padding"] == [[1, 2], [2, 0]]
    assert record["feature_group_count"] == groups and "not published" in record["note"]


def test_k_of_a_convolution_runs_over_places_then_channels() -> None:
    x, w = jnp.asarray(normal(13, (1, 2, 2, 64))), jnp.asarray(normal(14, (2, 2, 64, 5)))
    convolve = convolved(window_strides=(1, 1), padding="VALID", lhs_dilation=(1, 1), rhs_dilation=(1, 1))
    y = simulate("h100")(convolve)(x, w)
    assert same(y.reshape(1, 5), tcverify.replay(np.asarray(x).reshape(1, 256), np.asarray(w).reshape(256, 5), arch="h100"))
    channels = [np.asarray(one).transpose(order).reshape(shape) for one, order, shape in ((x, (0, 3, 1, 2), (1, 256)), (w, (2, 0, 1, 3), (256, 5)))]
    assert not same(y.reshape(1, 5), tcverify.replay(*channels, arch="h100"))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_convolution_is_unfolded(data: Any) -> None:
    """Numbers whose sums are exact in any order, added place by place. (XLA's own sums on a CPU are wrong for some negative padding.)"""
    rank = data.draw(st.integers(0, 2))
    groups, batches = data.draw(st.sampled_from([(1, 1), (2, 1), (3, 1), (1, 2), (1, 3)]))

    def of(least: int, most: int) -> tuple[int, ...]:
        return tuple(data.draw(st.integers(least, most)) for _ in range(rank))

    image, kernel, strides, spread, apart, low, high = of(2, 5), of(1, 3), of(1, 2), of(1, 3), of(1, 2), of(-1, 3), of(-1, 3)
    number, channels, columns = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    orders = [tuple(data.draw(st.permutations(range(rank + 2)))) for _ in range(3)]
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = random.integers(-4, 5, (number * batches, channels * groups, *image))
    w = random.integers(-4, 5, (columns * groups * batches, channels, *kernel))
    convolve = partial(
        lax.conv_general_dilated,
        window_strides=strides,
        padding=tuple(zip(low, high)),
        lhs_dilation=spread,
        rhs_dilation=apart,
        dimension_numbers=lax.ConvDimensionNumbers(*orders),
        feature_group_count=groups,
        batch_group_count=batches,
        preferred_element_type=jnp.float32,
    )
    given = [jnp.asarray(one.transpose(np.argsort(order)), jnp.bfloat16) for one, order in zip((x, w), orders)]
    gpu = simulate("h100")
    found = np.asarray(gpu(convolve)(*given)).transpose(orders[2])
    expected = np.zeros(found.shape)
    for place in np.ndindex(*found.shape[2:]):
        for tap in np.ndindex(*kernel):
            at = [p * s + t * d - edge for p, s, t, d, edge in zip(place, strides, tap, apart, low)]
            if any(n % d or not 0 <= n // d < size for n, d, size in zip(at, spread, image)):
                continue
            here = x[(..., *(n // d for n, d in zip(at, spread)))]
            for out in range(len(w)):
                group = out // columns
                rows = here[number * group :][:number] if batches > 1 else here[:, channels * group :][:, :channels]
                expected[(slice(None), out, *place)] += rows @ w[(out, slice(None), *tap)]
    assert (found == expected).all() and gpu.products == (expected.size > 0)


def test_gradients_of_a_convolution_are_convolutions(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    x, w = (jnp.asarray(random.integers(-2, 3, shape), jnp.float32) for shape in ((2, 7, 6, 4), (3, 2, 2, 6)))

    def loss(x: Any, w: Any) -> Any:
        return (convolved(2, padding=((1, 2), (2, 0)))(x, w) * jnp.arange(6)).sum()

    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        gradients = captured(gpu(jax.grad(loss, argnums=(0, 1))))(x, w)
    expected = jax.grad(loss, argnums=(0, 1))(x, w)
    assert all(same(a, b) for a, b in zip(gradients, expected))
    assert gpu.products == captured.products == 3 and captured.batch().identical


def grouped(kind: str) -> tuple[Any, Any, Any, Any]:
    """Operands and axes of ``ragged_dot_general``: groups of rows, of k, or of batches."""
    axes = {"rows": (((1,), (1,)), ((), ())), "k": (((0,), (0,)), ((), ())), "batches": (((2,), (1,)), ((0,), (0,)))}[kind]
    shapes = {"rows": ((16, 32), (4, 32, 6)), "k": ((16, 6), (16, 8)), "batches": ((16, 3, 32), (16, 32, 6))}[kind]
    x, w = (jnp.asarray(normal(20 + n, shape, np.float16)) for n, shape in enumerate(shapes))
    ragged = [0]
    return x, w, lax.RaggedDotDimensionNumbers(axes, ragged, [0] if kind == "rows" else []), jnp.asarray([5, 0, 7, 3], jnp.int32)


@pytest.mark.parametrize("kind", ["rows", "k", "batches"])
def test_a_ragged_product_is_a_product_of_each_group(kind: str, tmp_path: Path) -> None:
    x, w, axes, sizes = grouped(kind)
    dot = partial(lax.ragged_dot_general, ragged_dot_dimension_numbers=axes, preferred_element_type=jnp.float32)
    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        y = captured(gpu(dot))(x, w, sizes)
    # The empty group has none; batches are one product, whichever group they belong to.
    number = 1 if kind == "batches" else 3
    assert gpu.products == captured.products == captured.coverage.seen == number
    judged(captured, differs="v100")
    with jax.enable_x64(True):
        exact = np.asarray(dot(x.astype(jnp.float64), w.astype(jnp.float64), sizes, preferred_element_type=None))
        other = np.asarray(dot(x.astype(jnp.float64), w.astype(jnp.float64), sizes[::-1], preferred_element_type=None))
    assert y.shape == exact.shape and np.abs(y - exact).max() < 1e-3 * np.abs(exact).max()
    assert kind == "batches" or np.abs(y - other).max() > 0.5
    assert not same(y, simulate("v100")(dot)(x, w, sizes))
    # On a device its own result is what is judged: a CPU's is near, and none of an H100.
    with capture(tmp_path / "d", arch="h100") as captured:
        assert same(captured(dot)(x, w, sizes), dot(x, w, sizes))
    assert captured.products == number and captured.batch().totals["identical"] + captured.batch().totals["different"] == number


def test_experts_and_their_gradient(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    x, w = (jnp.asarray(random.integers(-3, 4, shape), jnp.float32) for shape in ((12, 8), (3, 8, 4)))
    sizes = jnp.asarray([4, 6, 1])

    def loss(x: Any, w: Any) -> Any:
        return (lax.ragged_dot(x, w, sizes) * jnp.arange(4)).sum()

    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        gradients = captured(gpu(jax.grad(loss, argnums=(0, 1))))(x, w)
    assert all(same(a, b) for a, b in zip(gradients, jax.grad(loss, argnums=(0, 1))(x, w)))
    assert captured.batch().identical and gpu.products == captured.products >= 6
    # Groups that differ between batches.
    many = jax.vmap(lax.ragged_dot)
    given = (jnp.stack([x, x]), jnp.stack([w, w]), jnp.stack([sizes, sizes]))
    with pytest.raises(NotImplementedError, match="ragged_dot_general cannot be simulated: groups that differ"):
        simulate("h100")(many)(*given)
    gpu = simulate("h100", hidden="jax")
    with capture(tmp_path / "d") as captured:
        assert same(captured(gpu(many))(*given), many(*given))
    assert gpu.hidden_calls == {"ragged_dot_general": 1} and not captured.products and [op for op, *_ in captured.not_recorded] == ["ragged_dot_general"]


W4 = jnp.asarray(np.random.default_rng(1).integers(-1, 2, (4, 4)), jnp.float32)


@jax.custom_vjp
def own_gradient(x: Any) -> Any:
    return x @ W4


own_gradient.defvjp(lambda x: (x @ W4, None), lambda _, g: (2 * (g @ W4.T),))


@jax.custom_jvp
def own_tangent(x: Any) -> Any:
    return x @ W4


own_tangent.defjvp(lambda x, t: (own_tangent(*x), t[0] @ W4))

FLOW: list[tuple[Any, int]] = [
    (lambda x: lax.scan(lambda c, w: (c @ w, c.sum()), x, jnp.stack([W4, 2 * W4, W4])), 3),
    (lambda x: lax.scan(lambda c, w: (c @ w, (c, w)), x, jnp.stack([W4, 2 * W4]), reverse=True), 2),
    (lambda x: lax.scan(lambda c, _: (c @ W4, None), x, None, length=0), 0),
    (lambda x: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] @ W4, c[1] + 1), (x, 0)), 3),
    (lambda x: lax.fori_loop(0, 4, lambda i, c: c @ W4 + i, x), 4),
    (lambda x: lax.cond(x[0, 0] > -99, lambda x: x @ W4, lambda x: x, x), 1),
    (lambda x: lax.switch(7, [lambda x: x, lambda x: (x @ W4) @ W4], x), 2),
    (lambda x: lax.map(lambda row: row @ W4, x), 3),
    (lambda x: jax.vmap(lambda row: row @ W4)(x), 1),
    (lambda x: jax.grad(lambda x: own_gradient(x).sum())(x), 2),
    (lambda x: jax.jvp(own_tangent, (x,), (x,)), 2),
    (lambda x: jax.grad(lambda x: jax.checkpoint(lambda x: ((x @ W4) ** 2).sum())(x))(x), 3),
    (lambda x: {"a": jax.jit(lambda x: jax.jit(jnp.dot)(x, W4))(x), "b": (None, 3.0, x[::2])}, 1),
]


@pytest.mark.parametrize("n", range(len(FLOW)))
def test_what_functions_have_inside_is_seen(n: int, tmp_path: Path) -> None:
    fun, products = FLOW[n]
    x = jnp.asarray(np.random.default_rng(2).integers(-3, 4, (3, 4)), jnp.float32)
    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        found = captured(gpu(fun))(x)
    expected = jax.jit(fun)(x)
    assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(expected)
    assert all(same(a, b) for a, b in zip(*map(jax.tree_util.tree_leaves, (found, expected))))
    assert gpu.products == captured.products == products
    assert not products or captured.batch().totals["identical"] == products


#: Functions of a matrix of four columns, of functions; and how many products each has.
STEPS: list[tuple[Any, int]] = [
    (lambda f: lambda x: f(x) @ W4, 1),
    (lambda f: lambda x: jax.nn.relu(f(x)), 0),
    (lambda f: lambda x: jax.jit(f)(x) + 1, 0),
    (lambda f: lambda x: jax.checkpoint(f)(x) - jnp.eye(3, 4), 0),
    (lambda f: lambda x: lax.scan(lambda c, w: (c @ w, None), f(x), jnp.stack([W4, W4.T]))[0], 2),
    (lambda f: lambda x: lax.cond(x.sum() > 0, lambda x: x @ W4, lambda x: x @ W4.T, f(x)), 1),
    (lambda f: lambda x: lax.fori_loop(0, 2, lambda _, c: c @ W4, f(x)), 2),
    (lambda f: lambda x: jax.vmap(lambda row: row @ W4)(f(x)), 1),
    (lambda f: lambda x: jax.vmap(f)(jnp.stack([x, -x])).sum(0), 0),
    (lambda f: lambda x: own_gradient(f(x)), 1),
    (lambda f: lambda x: jnp.sort(f(x), axis=0)[::-1] * 2 - jnp.cumsum(x, 0), 0),
]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(range(len(STEPS))), min_size=1, max_size=5), st.booleans())
def test_random_functions_give_what_they_give(steps: list[int], differentiated: bool) -> None:
    """Whole numbers small enough for every order of sums: what an H100 computes is what JAX does."""
    fun: Any = lambda x: x
    for n in steps:
        fun = STEPS[n][0](fun)
    forward, x = fun, jnp.asarray(np.random.default_rng(len(steps)).integers(-2, 3, (3, 4)), jnp.float32)
    if differentiated:
        fun = jax.grad(lambda x: forward(x).sum())
    gpu = simulate("h100")
    with jax.default_matmul_precision("highest"):
        found, expected = gpu(fun)(x), fun(x)
    assert found.dtype == expected.dtype and (found == expected).all()
    # Of a branch that rows take each for itself, both sides are computed.
    assert gpu.products >= sum(STEPS[n][1] for n in steps)


def test_an_exception_leaves_a_valid_manifest(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), capture(tmp_path / "c") as captured:
        captured(simulate("h100")(dense))(parameters(), jnp.ones((2, 64), jnp.bfloat16))
        raise ZeroDivisionError("of the caller's")
    assert captured.products == 2 and captured.batch().identical
    record = json.loads((tmp_path / "c" / "capture.json").read_text())
    assert record["stopped"] == "ZeroDivisionError: of the caller's"


def test_what_hides_products_is_named_and_refused(tmp_path: Path) -> None:
    x = jnp.eye(4) * 2

    def hiding(x: Any) -> Any:
        return jnp.linalg.inv(x) @ x, jnp.fft.fft(x)

    with pytest.raises(NotImplementedError, match="lu cannot be simulated.*hidden='jax'"):
        simulate("h100")(hiding)(x)
    gpu = simulate("h100", hidden="jax")
    with capture(tmp_path / "c") as captured:
        found = captured(gpu(hiding))(x)
    assert same(found[0], jnp.eye(4)) and gpu.products == captured.products == 1
    assert set(gpu.hidden_calls) == {"lu", "custom_linear_solve", "fft"}
    assert {op for op, *_ in captured.not_recorded} == set(gpu.hidden_calls)
    batch = captured.batch()
    assert not batch.identical and batch.verdict == "identical_in_part" and batch.missed == 3
    with pytest.raises(tcverify.NotRecordedError, match="1 of 4 products recorded"), capture(tmp_path / "d", arch="h100", strict=True) as strict:
        strict(hiding)(x)
    with capture(tmp_path / "e", arch="h100") as refused:
        refused(lambda x: (x.astype(jnp.complex64) @ x, x.astype(jnp.int32) @ x.astype(jnp.int32)))(x)
    assert {why.split(":")[0] for _, _, why in refused.not_recorded} == {"complex64", "int32"}


def test_functions_that_jax_traces_are_refused() -> None:
    gpu = simulate("h100")
    followed = gpu(jnp.dot)
    for outer in (jax.jit(followed), jax.vmap(followed, (0, None)), jax.grad(lambda x, w: followed(x, w).sum())):
        with pytest.raises(tcverify.CheckError, match="JAX traces them"):
            outer(X, W)
    with pytest.raises(tcverify.CheckError, match="JAX traces them"):
        jax.jit(lambda x: gpu(lambda w: x @ w)(W))(X)
    with pytest.raises(tcverify.CheckError, match="`a` has no numbers yet"):
        jax.jit(partial(tcverify.replay, arch="h100"))(X, W)
    with pytest.raises(tcverify.CheckError, match="simulated already"):
        gpu(simulate("a100")(jnp.dot))
    with pytest.raises(tcverify.CheckError, match="a function of arrays is expected, not int"):
        gpu(3)
    assert gpu.products == 0


def test_precision_says_which_unit() -> None:
    a, b = jnp.asarray(normal(8, (4, 64), np.float32)), jnp.asarray(normal(9, (64, 4), np.float32))

    def found(arch: str, **how: Any) -> Any:
        return simulate(arch)(partial(jnp.dot, **how))(a, b)

    tf32, fp32 = tcverify.replay(a, b, arch="a100", dtype="tf32"), tcverify.replay(a, b, arch="ieee-fma", dtype="fp32")
    assert not same(tf32, fp32)
    assert same(found("a100"), tf32) and same(found("a100", precision="high"), tf32) and same(found("a100", precision="TF32_TF32_F32"), tf32)
    assert same(found("a100", precision="highest"), fp32) and same(found("a100", precision="F32_F32_F32"), fp32)
    # It has no TF32.
    assert same(found("v100"), fp32)
    with jax.default_matmul_precision("highest"):
        assert same(found("a100"), fp32)
    half = [one.astype(jnp.float16) for one in (a, b)]
    narrow = simulate("h100")(partial(jnp.dot, precision="F16_F16_F16", preferred_element_type=jnp.float16))(*half)
    assert same(narrow, tcverify.replay(*half, arch="h100", acc="f16"))
    rounded = tcverify.replay(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), arch="h100")
    assert same(found("h100", precision="BF16_BF16_F32"), rounded)
    for how in ("BF16_BF16_F32_X3", "TF32_TF32_F32_X3"):
        with pytest.raises(NotImplementedError, match=f"the algorithm {how}: no rule is known"):
            found("h100", precision=how)


@pytest.mark.parametrize(("result", "into"), [("float32", "tf32"), ("bfloat16", "bf16")])
def test_operands_of_two_types_are_converted_to_the_results(result: str, into: str) -> None:
    a, b = jnp.asarray(normal(8, (4, 64))), jnp.asarray(normal(9, (64, 4), np.float32))
    found = simulate("h100")(partial(lax.dot, preferred_element_type=jnp.dtype(result)))(a, b)
    assert same(found, tcverify.replay(a.astype(result), b.astype(result), arch="h100", dtype=into, d_dtype="fp32" if into == "tf32" else "bf16"))


def test_what_to_record(tmp_path: Path) -> None:
    params, x, gpu = parameters(), jnp.asarray(normal(7, (6, 64))), simulate("h100")
    with capture(tmp_path / "a", select="*_1") as selected, capture(tmp_path / "b", every=2) as sparse, capture(tmp_path / "c", only={1}) as one:
        for captured in (selected, sparse, one):
            for _ in range(3):
                captured(gpu(dense))(params, x)
    assert (selected.products, sparse.products, one.products) == (3, 4, 1)
    assert selected.skipped == {"select": 3} and one.skipped == {"only": 5}
    assert all(captured.batch().identical for captured in (selected, sparse, one))
    with capture(tmp_path / "d", draw=tcverify.Sample(2, seed=1)) as drawn:
        for _ in range(3):
            drawn(gpu(dense))(params, x)
    assert drawn.products == 2 and drawn.skipped == {"draw": 4} and drawn.batch().identical
    assert len(json.loads(drawn.commitments.read_text())["products"]) == 6
    with pytest.raises(ValueError, match="the recording has ended"):
        one(gpu(dense))(params, x)


def test_what_is_asked_wrongly(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="recorded no function"), capture(tmp_path / "a", arch="h100"):
        dense(parameters(), jnp.ones((2, 64), jnp.bfloat16))
    with pytest.raises(ValueError, match="say with arch="), capture(tmp_path / "b") as captured:
        captured(jnp.dot)(X, W)
    with pytest.raises(FileExistsError), capture(tmp_path / "b", arch="h100"):
        pass
    with pytest.raises(TypeError, match="inside it"):
        capture(tmp_path / "c", arch="h100")(jnp.dot)
    with pytest.raises(tcverify.CheckError, match="no architecture"):
        capture(tmp_path / "d", arch="h1000")
    for mode in (simulate, partial(capture, tmp_path / "e")):
        with pytest.raises(ValueError, match="dtype: follows from the arrays"):
            mode(dtype="bf16")
    with pytest.raises(ValueError, match="hidden"):
        simulate("h100", hidden="torch")  # type: ignore[arg-type]


def test_arguments_are_those_of_the_function() -> None:
    def fun(x: Any, power: int, *, scale: Any = 1.0, **more: Any) -> Any:
        for _ in range(power):
            x = x @ W4 * scale
        return x, more["key"]

    key, x = jax.random.key(3), jnp.ones((2, 4))
    found = simulate("h100")(fun, static_argnums=1)(x, 2, scale=2, key=key)
    assert same(found[0], fun(x, 2, scale=2, key=key)[0]) and (jax.random.bits(found[1]) == jax.random.bits(key)).all()
    assert same(simulate("h100")(lambda x, k: x + jax.random.normal(k, x.shape))(x, key), x + jax.random.normal(key, x.shape))


def test_what_is_spread_over_devices_is_not_recorded(tmp_path: Path) -> None:
    script = f"""
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tcverify.jax import capture
spread = NamedSharding(Mesh(np.array(jax.devices()), ("k",)), PartitionSpec(None, "k"))
x = jax.device_put(jnp.ones((4, 8)), spread)
with capture({str(tmp_path / "c")!r}, arch="h100") as captured:
    captured(lambda x: x @ jnp.ones((8, 4)))(x)
print(captured.coverage)
"""
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert "0 of 1 products recorded" in done.stdout and "spread over 2 devices" in done.stdout, done.stderr


def test_without_jax_the_sentence_says_what_to_install() -> None:
    script = "import sys; sys.modules['jax'] = None\nimport tcverify\ntry:\n    import tcverify.jax\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "tcverify.jax needs JAX: `pip install jax`\n", done.stderr
