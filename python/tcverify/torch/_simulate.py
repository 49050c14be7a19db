"""A model on a CPU with the matrix products of a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

import tcverify
from tcverify.torch import _products

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

#: Those that are active, the innermost last.
ACTIVE: list[simulate] = []
#: How many captures are active; they must see products before they are computed.
capturing = 0


class simulate(TorchDispatchMode):
    """Computes every matrix product inside by replay, with the bits of the GPU ``arch``; the rest by torch.

    ``schedule`` and the other fields of a request (docs/request.md) hold for all products whose operation names
    none itself: ``_scaled_mm`` has one, and ``addmm`` with a matrix C, ``alpha`` or ``beta``. FP32 products are
    TF32 where ``torch.backends.cuda.matmul.allow_tf32`` is set, else chains of IEEE fused multiply-adds. Attention
    is decomposed into its products. Operations that hide theirs (convolutions, recurrent cells) are refused, or
    left to torch with ``hidden="torch"``; :attr:`hidden_calls` counts those.

    Without gradients only: use ``torch.no_grad()`` or ``torch.inference_mode()``.
    """

    def __init__(
        self,
        arch: str = "h100",
        *,
        hidden: Literal["refuse", "torch"] = "refuse",
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        super().__init__()
        self.arch = arch
        self.fields: Mapping[str, Any] = _products.common(fields)
        self.hidden = hidden
        #: Calls of operations whose products torch computed.
        self.hidden_calls: Counter[str] = Counter()
        #: Products that were replayed.
        self.products = 0
        self._stack: list[ExitStack] = []

    def __enter__(self) -> Self:
        if capturing:
            raise RuntimeError("a capture inside of which a model is simulated sees no product: enter simulate() first")
        stack = ExitStack()
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        self._stack.append(stack)
        ACTIVE.append(self)
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        ACTIVE.remove(self)
        self._stack.pop().close()

    def request(self, found: _products.Wanted) -> dict[str, Any]:
        """The fields of a product's request."""
        return {"arch": self.arch, **self.fields, **_products.formats(found), **found.fields}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            found = _products.wanted(func, args, kwargs)
        except _products.Refused as why:
            raise NotImplementedError(f"{_products.opname(func)} cannot be simulated: {why}") from None
        if found is not None:
            return self._computed(func, found, args, kwargs)
        parts = _products.decomposed(self, func, args, kwargs)
        if parts is not NotImplemented:
            return parts
        if _products.hides(func):
            name = _products.opname(func)
            if self.hidden == "refuse":
                raise NotImplementedError(
                    f"{name} hides its products, so they cannot be simulated; hidden='torch' leaves it to torch"
                )
            self.hidden_calls[name] += 1
        return func(*args, **kwargs)

    def _computed(self, func: Any, found: _products.Wanted, args: Any, kwargs: dict[str, Any]) -> Any:
        tensors = (found.a, found.b, *found.arrays.values())
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            raise RuntimeError("simulate() computes without gradients: use torch.no_grad() or torch.inference_mode()")
        with _disable_current_modes():
            fields: dict[str, Any] = {**self.request(found), **found.arrays}
            d = tcverify.replay(found.a, found.b, **fields)
            d = d.reshape(found.shape)
        self.products += 1
        if "out" in kwargs:
            return kwargs["out"].copy_(d)
        if _products.opname(func).endswith("_"):
            return args[0].copy_(d)
        return d

