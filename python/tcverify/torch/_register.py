"""What operations of other libraries mean: products that a request can ask for, or none at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tcverify.torch import _known, _products
from tcverify.torch._product_request import ProductRequest

#: What a registered operation is: a product, or None if this call contains none.
Meaning = Callable[..., "ProductRequest | None"]


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
    index: int | None = None,
    **fields: Any,
) -> ProductRequest:
    """The product that an operation is, for :func:`register`.

    ``a`` is M x K (or a batch of those), ``b`` K x N: ``weight.t()`` of a weight that is stored N x K. ``result`` is the type of
    D, that of ``out`` or of ``a`` without; ``shape`` what the operation returns; ``out`` the argument that it writes to, if it
    returns nothing; ``index`` which of several results is D. Other ``fields`` are those of a request (docs/request.md):
    ``schedule="cutlass-sm90"``, ``promote="never"``, ``azp_adj=tensor``.
    """
    kind = result or (a.dtype if out is None else out.dtype)
    said = {"c": c, "bias": bias, "scale_a": scale_a, "scale_b": scale_b, **fields}
    arrays = {name: value for name, value in said.items() if isinstance(value, torch.Tensor)}
    fields = {name: value for name, value in fields.items() if name not in arrays and value is not None}
    return ProductRequest("product", a, b, kind, shape or (*a.shape[:-1], b.shape[-1]), arrays, fields, out=out, index=index)


def register(name: str, meaning: Meaning | None = None, *, no_products: bool = False) -> None:
    """Says what an operation of another library means: for ``capture``, which then records it, and for ``simulate``.

    :param name: its full name, ``vllm::cutlass_scaled_mm`` as in ``torch.ops.vllm.cutlass_scaled_mm``; of a kernel in Triton
        ``triton::`` and the name of its function; of a function that torch does not dispatch, as extensions have them, where
        it lies: ``deep_gemm.fp8_gemm_nt``. Such a one is found if its module was imported before.
    :param meaning: takes what the operation takes and gives a :func:`product`, or None of a call that contains none.
        What it raises makes the call one that is not recorded.
    :param no_products: it never contains a product; nothing is recorded, and nothing is missing.

    >>> import torch
    >>> def meaning(x, weight, bias=None):
    ...     return product(x, weight.t(), bias=bias)
    >>> register("mylib::linear", meaning)
    >>> register("mylib::rotary", no_products=True)
    """
    if "::" not in name and "." not in name:
        raise ValueError(f"name: {name!r} is no full name, which has a namespace, \"vllm::{name}\", or a module, \"vllm.{name}\"")
    if (meaning is None) != no_products:
        raise ValueError("meaning: what it means, or no_products=True")
    if meaning is None and "::" not in name:
        raise ValueError(f"no_products: nothing is asked of {name!r}, which torch does not dispatch, unless it has a meaning")
    if meaning is None:
        _known.harmless.add(name)
        _products.REGISTERED.pop(name, None)
        return
    _known.harmless.discard(name)
    op = name.partition("::")[2] or name

    def named(*args: Any, **kwargs: Any) -> ProductRequest | None:
        found = meaning(*args, **kwargs)
        if found is not None:
            found.op = op
        return found

    _products.REGISTERED[name] = named
