"""A function on a CPU with the matrix products of a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import tcverify
from tcverify._recorder import Refused
from tcverify.jax import _interpreter, _products
from tcverify.jax._product_request import ProductRequest

if TYPE_CHECKING:
    from typing_extensions import Unpack


class simulate(_interpreter.Listener):
    """Gives functions whose matrix products are computed by replay, with the bits of the GPU ``arch``; the rest is JAX's.

    ``schedule`` and the other fields of a request (docs/request.md) hold for all products. FP32 products are TF32 where
    the GPU has it, else, or by ``precision="highest"``, chains of IEEE fused multiply-adds. What ``jit``, ``grad``, ``vmap``, ``scan``,
    ``while_loop`` and ``cond`` have inside is seen; a primitive that is not known to contain no product is refused, or left to
    JAX with ``hidden="jax"``; :attr:`hidden_calls` counts those.

    >>> import jax.numpy as jnp
    >>> x = jnp.ones((2, 16), jnp.bfloat16)
    >>> simulate("h100")(lambda x: x @ x.T)(x)
    Array([[16, 16],
           [16, 16]], dtype=bfloat16)
    """

    computes = True

    def __init__(
        self,
        arch: str = "h100",
        *,
        hidden: Literal["refuse", "jax"] = "refuse",
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        if hidden not in ("refuse", "jax"):
            raise ValueError(f"hidden: 'refuse' or 'jax', not {hidden!r}")
        self.arch = arch
        self.fields: Mapping[str, Any] = _products.common(fields)
        self.hidden = hidden
        #: Calls of primitives whose products JAX computed.
        self.hidden_calls: Counter[str] = Counter()
        #: Products that were replayed.
        self.products = 0

    def missed(self, name: str, why: str, path: str) -> None:
        if self.hidden == "refuse":
            raise NotImplementedError(f"{name} cannot be simulated: {why}; hidden='jax' leaves it to JAX")
        self.hidden_calls[name] += 1

    def product(self, found: ProductRequest, path: str, run: _interpreter.Run) -> Any:
        try:
            fields = {"arch": self.arch, **self.fields, **found.formats(self.arch, self.fields.get("model"))}
            try:
                d = tcverify.replay(found.a, found.b, **fields)
            except tcverify.CheckError as error:
                raise Refused(error.reason) from None
        except Refused as refused:
            self.missed(found.op, str(refused), path)
            return run()
        self.products += 1
        return found.returned(d)
