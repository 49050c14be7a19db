"""What operations of other libraries mean: products that a request can ask for, or none at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tcverify.torch import _known, _products
from tcverify.torch._products import Refused, Wanted

#: What a registered operation is: a product, or None if this call contains none.
Meaning = Callable[..., "Wanted | None"]


def product(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    result: torch.dtype | None = None,
    shape: tuple[int, ...] | None = None,
    out: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    **fields: Any,
) -> Wanted:
    """The product that an operation is, for :func:`register`.

    ``a`` is M x K (or a batch of those), ``b`` K x N: ``weight.t()`` of a weight that is stored N x K. ``result`` is the type of
    D, that of ``out`` or of ``a`` without; ``shape`` what the operation returns; ``out`` the argument that it writes to, if it
    returns nothing. Other ``fields`` are those of a request (docs/request.md): ``schedule="cutlass-sm90"``, ``promote="never"``.
    """
    kind = result or (a.dtype if out is None else out.dtype)
    arrays = {"c": c, "bias": bias, "scale_a": scale_a, "scale_b": scale_b}
    there = {name: tensor for name, tensor in arrays.items() if tensor is not None}
    return Wanted("product", a, b, kind, shape or (*a.shape[:-1], b.shape[-1]), there, fields, out=out)


def register(name: str, meaning: Meaning | None = None, *, no_products: bool = False) -> None:
    """Says what an operation of another library means: for ``capture``, which then records it, and for ``simulate``.

    :param name: its full name, ``vllm::cutlass_scaled_mm`` as in ``torch.ops.vllm.cutlass_scaled_mm``; of a kernel in Triton
        ``triton::`` and the name of its function.
    :param meaning: takes what the operation takes and gives a :func:`product`, or None of a call that contains none.
        What it raises makes the call one that is not recorded.
    :param no_products: it never contains a product; nothing is recorded, and nothing is missing.

    >>> import torch
    >>> def meaning(x, weight, bias=None):
    ...     return product(x, weight.t(), bias=bias)
    >>> register("mylib::linear", meaning)
    >>> register("mylib::rotary", no_products=True)
    """
    if "::" not in name:
        raise ValueError(f"name: {name!r} is no full name, which has a namespace: \"vllm::{name}\"")
    if (meaning is None) != no_products:
        raise ValueError("meaning: what it means, or no_products=True")
    if meaning is None:
        _known.harmless.add(name)
        _products.REGISTERED.pop(name, None)
        return
    _known.harmless.discard(name)
    op = name.partition("::")[2]

    def named(*args: Any, **kwargs: Any) -> Wanted | None:
        found = meaning(*args, **kwargs)
        if found is not None:
            found.op = op
        return found

    _products.REGISTERED[name] = named


def _cutlass_scaled_mm(
    out: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    a_scales: torch.Tensor,
    b_scales: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> Wanted:
    """vLLM: ``csrc/torch_bindings.cpp``, ``cutlass_scaled_mm(Tensor! out, Tensor a, Tensor b, Tensor a_scales, Tensor b_scales, Tensor? bias)``."""
    (m, n), sizes = (a.shape[0], b.shape[1]), (a_scales.numel(), b_scales.numel())
    if a.dtype not in _products.FLOAT8 or sizes not in ((m, n), (1, 1)):
        raise Refused(f"scales {tuple(a_scales.shape)} and {tuple(b_scales.shape)} of {a.dtype}: not recorded")
    # A scale of a tensor is one for every row and column, repeated: the epilogue multiplies the same numbers.
    scales = {"scale_a": a_scales.reshape(-1).expand(m), "scale_b": b_scales.reshape(-1).expand(n)}
    return product(a, b, out=out, bias=bias, schedule=_products.SCALED_ROWS, promote="never", **scales)


#: From public signatures of libraries; none of them has been run here against its library.
READY: dict[str, Meaning] = {"_C::cutlass_scaled_mm": _cutlass_scaled_mm}

#: Of libraries: known to move numbers, or to work on each alone.
READY_WITHOUT = (
    "_C::rms_norm", "_C::fused_add_rms_norm", "_C::rotary_embedding", "_C::silu_and_mul", "_C::gelu_and_mul",
    "_C::static_scaled_fp8_quant", "_C::dynamic_scaled_fp8_quant", "_C::dynamic_per_token_scaled_fp8_quant",
    "_C_cache_ops::reshape_and_cache", "_C_cache_ops::reshape_and_cache_flash", "torchvision::nms", "torchvision::roi_align",
    "torchvision::roi_pool",
)

for _name, _meaning in READY.items():
    register(_name, _meaning)
for _name in READY_WITHOUT:
    register(_name, no_products=True)
