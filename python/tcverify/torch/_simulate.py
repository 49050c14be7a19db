"""A model on a CPU with the matrix products of a GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

import tcverify
from tcverify.torch import _known, _outside, _products

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

#: Those that are active, the innermost last.
ACTIVE: list[simulate] = []
#: How many captures are active; they must see products before they are computed.
capturing = 0


class simulate(_outside.Watching):
    """Computes every matrix product inside by replay, with the bits of the GPU ``arch``; the rest by torch.

    ``schedule`` and the other fields of a request (docs/request.md) hold for all products whose operation names
    none itself: ``_scaled_mm`` has one, and ``addmm`` with a matrix C, ``alpha`` or ``beta``. FP32 products are
    TF32 where ``torch.backends.cuda.matmul.allow_tf32`` is set, else chains of IEEE fused multiply-adds. Attention
    is decomposed into its products, convolutions are implicit GEMMs. An operation that is not known to contain no product,
    and whose products are not seen, is refused, in other threads, too, or left to torch with ``hidden="torch"``;
    :attr:`hidden_calls` counts those. Compiled functions run eagerly, and are compiled again afterwards.

    Gradients go through it: products of the backward pass that run inside are simulated as well.
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
        # Products that were met, whatever became of them.
        self._looked = 0
        self._stack: list[ExitStack] = []

    def __enter__(self) -> Self:
        if capturing:
            raise RuntimeError("a capture inside of which a model is simulated sees no product: enter simulate() first")
        stack = ExitStack()
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        # oneDNN has recurrent layers and linear ones of its own.
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        stance = getattr(torch.compiler, "set_stance", None)
        if stance is not None:
            stack.enter_context(stance("force_eager"))
        patches = _outside.Patches()
        stack.callback(patches.close)
        _outside.watch(patches, self._hidden, lambda: True)
        _outside.watch_functions(patches, self._function)
        threads = _outside.Threads(self, self._hidden)
        stack.callback(threads.__exit__)
        threads.__enter__()
        self._stack.append(stack)
        ACTIVE.append(self)
        _products.simulated += 1
        super().__enter__()
        return self

    def _hidden(self, name: str, why: str) -> None:
        """A call whose products torch would compute."""
        self._looked += 1
        if self.hidden == "refuse":
            raise NotImplementedError(
                f"{name} cannot be simulated: {why}; hidden='torch' leaves it to torch, "
                "tcverify.torch.register says what it means"
            )
        self.hidden_calls[name] += 1

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        ACTIVE.remove(self)
        _products.simulated -= 1
        self._stack.pop().close()

    def request(self, found: _products.Wanted) -> dict[str, Any]:
        """The fields of a product's request."""
        return {"arch": self.arch, **self.fields, **_products.formats(found), **found.fields}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _known.contains_none(func, args, kwargs) or _products.unreal((args, kwargs)):
            return func(*args, **kwargs)
        if _products.of_subclasses(types):
            return NotImplemented
        why = _outside.UNSEEN
        try:
            found = _products.wanted(func, args, kwargs)
        except _products.Refused as refused:
            found, why = None, str(refused)
        if found is not None:
            return self._computed(func, found, args, kwargs)
        if why == _products.EMPTY or (why == _outside.UNSEEN and _known.full_name(func) in _products.REGISTERED):
            self._looked += 1
            return func(*args, **kwargs)
        if why == _outside.UNSEEN:
            ways: tuple[Callable[..., Any], ...] = (parts, _products.decomposed, _products.opened)
            for way in ways:
                before = self._looked
                result = way(self, func, args, kwargs)
                if result is not NotImplemented:
                    if way is _products.opened and self._looked == before:
                        self._hidden(_known.opname(func), why)
                    return result
        self._hidden(_known.opname(func), why)
        return func(*args, **kwargs)

    def _function(self, name: str, real: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """A function of Python that stands for a product."""
        if not _outside.entered(self):
            return real(*args, **kwargs)
        why = "one of its several results is a product"
        try:
            found = _products.wanted(name, args, kwargs)
            if found is None:
                return real(*args, **kwargs)
            if found.index is None or found.tensor is not None:
                return self._computed(None, found, args, kwargs)
        except _products.Refused as refused:
            why = str(refused)
        self._hidden(name, why)
        with _outside.popped(self):
            return real(*args, **kwargs)

    def _computed(self, func: Any, found: _products.Wanted, args: Any, kwargs: dict[str, Any]) -> Any:
        with _disable_current_modes():
            fields: dict[str, Any] = {**self.request(found), **found.arrays}
            d = tcverify.replay(found.a, found.b, **fields)
            d = found.returned(d)
        self.products += 1
        self._looked += 1
        if found.out is not None:
            found.out.copy_(d)
            return None
        if func is None:
            return d
        if "out" in kwargs:
            return kwargs["out"].copy_(d)
        if _known.opname(func).endswith("_"):
            return args[0].copy_(d)
        return d


def parts(mode: TorchDispatchMode, func: Any, args: Any, kwargs: Any) -> Any:
    """While a model is simulated: an operation of a product and more as the product, and the rest; else ``NotImplemented``.

    As PyTorch has cuDNN do it: a convolution is rounded before its bias is added.
    """
    if not ACTIVE:
        return NotImplemented
    name = _known.full_name(func)
    with _products.again(mode):
        if name == "aten::convolution" and args[2] is not None and not args[6]:
            product = func(args[0], args[1], None, *args[3:])
            return product + args[2].reshape(-1, *[1] * (product.dim() - 2))
        if name == "aten::_addmm_activation":
            given = dict(kwargs)
            gelu = given.pop("use_gelu", False)
            d = torch.addmm(*args, **given)
            return torch.nn.functional.gelu(d, approximate="tanh") if gelu else torch.relu(d)
    return NotImplemented
