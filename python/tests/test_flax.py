"""Layers of Flax, of both of its interfaces: every product of a block of a transformer recorded and simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import normal

jax = pytest.importorskip("jax", reason="JAX is not installed: `pip install jax`")
nn = pytest.importorskip("flax.linen", reason="Flax is not installed: `pip install flax`")
nnx = pytest.importorskip("flax.nnx", reason="Flax is not installed: `pip install flax`")
jnp = jax.numpy

from tcverify.jax import capture, simulate  # noqa: E402

#: Those of queries, keys, values, scores, weighted values, their projection, and two dense layers.
PRODUCTS = 8
HOW: dict[str, Any] = {"dtype": jnp.float16, "param_dtype": jnp.float16}


class Linen(nn.Module):  # type: ignore[name-defined, misc]
    """Attention and two dense layers, as `flax.linen` has them."""

    @nn.compact  # type: ignore[untyped-decorator]
    def __call__(self, x: Any) -> Any:
        x = x + nn.MultiHeadDotProductAttention(num_heads=4, name="attention", **HOW)(nn.LayerNorm(**HOW)(x))
        y = nn.Dense(96, name="up", **HOW)(nn.LayerNorm(**HOW)(x))
        return x + nn.Dense(x.shape[-1], name="down", **HOW)(nn.gelu(y))


class Nnx(nnx.Module):  # type: ignore[name-defined, misc]
    """The same of `flax.nnx`."""

    def __init__(self, width: int) -> None:
        rngs = nnx.Rngs(0)
        self.norms = nnx.List([nnx.LayerNorm(width, rngs=rngs, **HOW) for _ in range(2)])
        self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs, **HOW)
        self.up, self.down = nnx.Linear(width, 96, rngs=rngs, **HOW), nnx.Linear(96, width, rngs=rngs, **HOW)

    def __call__(self, x: Any) -> Any:
        x = x + self.attention(self.norms[0](x))
        return x + self.down(nnx.gelu(self.up(self.norms[1](x))))


def block(kind: str, x: Any) -> tuple[Any, Any]:
    """A pure function of parameters and input, and its parameters."""
    if kind == "linen":
        model = Linen()
        return model.apply, model.init(jax.random.key(0), x)
    graph, state = nnx.split(Nnx(x.shape[-1]))
    return lambda state, x: nnx.merge(graph, state)(x), state


@pytest.mark.parametrize("kind", ["linen", "nnx"])
def test_a_block_is_recorded_and_simulated(kind: str, tmp_path: Path) -> None:
    x = jnp.asarray(normal(31, (2, 8, 32), np.float16))
    apply, params = block(kind, x)
    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        y = captured(gpu(jax.jit(apply)))(params, x)
    assert captured.products == gpu.products == PRODUCTS and captured.coverage.complete, captured.coverage
    batch = captured.batch()
    assert batch.identical, batch.text()
    assert y.shape == x.shape and np.abs(np.asarray(y - apply(params, x), np.float32)).max() < 0.1
    # A V100 would round elsewhere.
    with capture(tmp_path / "d", arch="v100") as captured:
        captured(simulate("h100")(jax.jit(apply)))(params, x)
    assert captured.products == PRODUCTS and captured.batch().totals["different"] >= 1


@pytest.mark.parametrize("kind", ["linen", "nnx"])
def test_so_is_its_gradient(kind: str, tmp_path: Path) -> None:
    x = jnp.asarray(normal(32, (2, 8, 32), np.float16))
    apply, params = block(kind, x)
    gpu = simulate("h100")
    with capture(tmp_path / "c") as captured:
        step = captured(gpu(jax.jit(jax.grad(lambda params, x: apply(params, x).astype(jnp.float32).sum()))))
        gradient = step(params, x)
    # Both operands of each product have a gradient, and all of them are asked for: parameters of a norm come first.
    assert captured.products == gpu.products == 3 * PRODUCTS and captured.batch().identical
    assert jax.tree.structure(gradient) == jax.tree.structure(params)
