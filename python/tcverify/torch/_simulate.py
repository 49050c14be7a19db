"""A model on a CPU with the matrix products of a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import _disable_current_modes

import tcverify
from tcverify._recorder import Refused
from tcverify.torch import _convolutions, _dispatcher, _known, _listening, _products
from tcverify.torch._product_request import EMPTY, ProductRequest

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class simulate(_dispatcher.Listener):
    """Computes every matrix product inside by replay, with the bits of the GPU ``arch``; the rest by torch.

    ``schedule`` and the other fields of a request (docs/request.md) hold for all products whose operation names
    none itself: ``_scaled_mm`` has one, and ``addmm`` with a matrix C, ``alpha`` or ``beta``. FP32 products are
    TF32 where ``torch.backends.cuda.matmul`` lets them be (``fp32_precision``, ``allow_tf32``), else chains of IEEE
    fused multiply-adds. ``by_dtype`` has fields for products of one type of operands, such as an emulation that a
    library does by itself: ``by_dtype={torch.float32: {"schedule": "cutlass-bf16x9"}}``. They go before all others. Attention
    is decomposed into its products, convolutions are implicit GEMMs. An operation that is not known to contain no product,
    and whose products are not seen, is refused, in other threads, too, or left to torch with ``hidden="torch"``;
    :attr:`hidden_calls` counts those. Compiled functions run eagerly, and are compiled again afterwards.

    Gradients go through it: products of the backward pass that run inside are simulated as well.
    """

    computes = True

    def __init__(
        self,
        arch: str = "h100",
        *,
        hidden: Literal["refuse", "torch"] = "refuse",
        by_dtype: Mapping[torch.dtype, tcverify.CheckFields] | None = None,
        **fields: Unpack[tcverify.CheckFields],
    ) -> None:
        self.arch = arch
        self.fields: Mapping[str, Any] = _products.common(fields)
        self.by_dtype = {dtype: _products.common(own) for dtype, own in (by_dtype or {}).items()}
        self.hidden = hidden
        #: Calls of operations whose products torch computed.
        self.hidden_calls: Counter[str] = Counter()
        #: Products that were replayed.
        self.products = 0
        self._stack: list[ExitStack] = []

    def __enter__(self) -> Self:
        stack = ExitStack()
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        # oneDNN has recurrent layers and linear ones of its own.
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        stance = getattr(torch.compiler, "set_stance", None)
        if stance is not None:
            stack.enter_context(stance("force_eager"))
        stack.callback(_listening.end, self)
        _listening.begin(self)
        self._stack.append(stack)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.pop().close()

    def missed(self, name: str, why: str) -> None:
        """A call whose products torch would compute."""
        self.looked += 1
        if self.hidden == "refuse":
            raise NotImplementedError(
                f"{name} cannot be simulated: {why}; hidden='torch' leaves it to torch, "
                "tcverify.torch.register says what it means"
            )
        self.hidden_calls[name] += 1

    def request(self, found: ProductRequest) -> dict[str, Any]:
        """The fields of a product's request."""
        return _products.request(found, self.arch, self.fields, self.by_dtype.get(found.a.dtype))

    def called(self, func: Any, args: Any, kwargs: Any, run: _dispatcher.Run) -> Any:
        named = isinstance(func, str)
        if not named and _known.contains_none(func, args, kwargs):
            return run()
        found, why = None, ""
        try:
            found = _products.product_of(func, args, kwargs)
            if named and found is None:
                return run()
            if found is not None and found.index is not None and found.tensor is None:
                raise Refused("one of its several results is a product")
            if found is not None:
                return self._computed(func, found, args, kwargs)
        except Refused as refused:
            why = str(refused)
        name = func if named else _known.opname(func)
        if why == EMPTY or (not why and _known.full_name(func) in _products.REGISTERED):
            self.looked += 1
            with _dispatcher.quiet():
                return run()
        if not why:
            parts = _parts(func, args, kwargs)
            if parts is not None:
                return parts()
            if _products.opens(func):
                return self.opened(name, run)
        self.missed(name, why or _dispatcher.UNSEEN)
        with _dispatcher.quiet():
            return run()

    def _computed(self, func: Any, found: ProductRequest, args: Any, kwargs: dict[str, Any]) -> Any:
        with _disable_current_modes(), _dispatcher.quiet():
            fields: dict[str, Any] = {**self.request(found), **found.arrays}
            try:
                d = tcverify.replay(found.a, found.b, **fields)
            except tcverify.CheckError as error:
                raise Refused(error.reason) from None
            d = found.returned(d)
            self.products += 1
            self.looked += 1
            out = found.out if found.out is not None else kwargs.get("out")
            if out is None and not isinstance(func, str) and _known.opname(func).endswith("_"):
                out = args[0]
            if out is None:
                return d
            if out.shape != d.shape:
                out.resize_(d.shape)
            out.copy_(d)
            return None if found.out is not None else out


def _parts(func: Any, args: Any, kwargs: Any) -> Callable[[], Any] | None:
    """An operation of a product and more as the product, and the rest; none of other operations.

    As PyTorch has cuDNN do it: a convolution is rounded before its bias is added.
    """
    name = _known.full_name(func)
    if name == "aten::convolution" and args[2] is not None:

        def convolution() -> Any:
            product = func(args[0], args[1], None, *args[3:])
            return product + args[2].reshape(-1, *[1] * (product.dim() - 2))

        return convolution
    if name == "aten::convolution_backward":
        return lambda: _convolutions.convolution_gradients(*args, **kwargs)
    if name == "aten::_addmm_activation":

        def activation() -> Any:
            given = dict(kwargs)
            gelu = given.pop("use_gelu", False)
            d = torch.addmm(*args, **given)
            return torch.nn.functional.gelu(d, approximate="tanh") if gelu else torch.relu(d)

        return activation
    return None
