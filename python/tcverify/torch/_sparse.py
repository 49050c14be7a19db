"""Products of a 2:4 sparse operand, as PyTorch's kernels of CUTLASS store it."""

from __future__ import annotations

from typing import Any

import torch

from tcverify._recorder import Refused
from tcverify.torch import _products
from tcverify.torch._product_request import ProductRequest


def mm(a: torch.Tensor, meta: torch.Tensor, b: torch.Tensor, *, out_dtype: torch.dtype | None = None) -> ProductRequest:
    """``aten::_sparse_semi_structured_mm``."""
    fields = {"sparse_layout": "cutlass"}
    shape = (a.shape[0], b.shape[-1])
    return ProductRequest("sparse_mm", a, b, out_dtype or a.dtype, shape, arrays={"sparse_a": meta}, fields=fields)


def addmm(
    c: torch.Tensor,
    a: torch.Tensor,
    meta: torch.Tensor,
    b: torch.Tensor,
    *,
    alpha: Any = 1,
    beta: Any = 1,
    out_dtype: torch.dtype | None = None,
) -> ProductRequest:
    """``aten::_sparse_semi_structured_addmm``, where nothing is added."""
    if beta != 0 or alpha != 1:
        raise Refused("how CUTLASS's sparse kernel adds C is not known here")
    return mm(a, meta, b, out_dtype=out_dtype)


def linear(
    x: torch.Tensor,
    weight: torch.Tensor,
    meta: torch.Tensor,
    *,
    bias: torch.Tensor | None = None,
    activation: str | None = None,
    out_dtype: torch.dtype | None = None,
) -> ProductRequest:
    """``aten::_sparse_semi_structured_linear``: the weight is the left operand, and the result its transpose."""
    if bias is not None or activation is not None:
        raise Refused("what CUTLASS's sparse kernel does with a bias or an activation is not known here")
    rows = x.reshape(-1, x.shape[-1])
    found = mm(weight, meta, rows.t(), out_dtype=out_dtype)
    found.op = "sparse_linear"
    found.shape = (*x.shape[:-1], weight.shape[0])
    found.matrix = lambda result: result.reshape(-1, weight.shape[0]).t()
    found.tensor = lambda d: d.t().reshape(found.shape)
    return found


def opaque(*_: Any, **__: Any) -> ProductRequest:
    """``aten::_cslt_sparse_mm``."""
    raise Refused("cuSPARSELt does not say where its metadata lie; SparseSemiStructuredTensor._FORCE_CUTLASS = True takes CUTLASS")


_products.MEANINGS.update(
    {
        "_sparse_semi_structured_mm": mm,
        "_sparse_semi_structured_addmm": addmm,
        "_sparse_semi_structured_linear": linear,
        "_cslt_sparse_mm": opaque,
    }
)
