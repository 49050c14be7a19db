"""Convolutions, and their gradients, as products: implicit GEMMs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tcverify._recorder import Refused
from tcverify.torch import _dispatcher
from tcverify.torch._product_request import EMPTY, ProductRequest


def convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *flags: Any,
) -> ProductRequest | None:
    if _dispatcher.simulation() is None:
        # A library's kernel does it, or several: those are looked at.
        return None
    if bias is not None:
        return None
    if not transposed:
        return _implicit_gemm("convolution", x, weight, None, stride, padding, dilation, groups)
    x, weight = _upright(x, weight, stride, padding, dilation, output_padding, groups)
    found = _implicit_gemm("convolution", x, weight, None, [1], [0], dilation, groups)
    found.note = f"transposed: zeros between places are multiplied, too; {found.note}"
    return found


def _upright(
    x: torch.Tensor,
    weight: torch.Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A transposed convolution as one that is not: zeros between places, and the filter turned round."""
    rank = weight.dim() - 2
    stride, padding, dilation, more = (list(v) * (rank if len(v) == 1 else 1) for v in (stride, padding, dilation, output_padding))
    spread = x.new_zeros((*x.shape[:2], *((n - 1) * s + 1 for n, s in zip(x.shape[2:], stride))))
    spread[(..., *(slice(None, None, s) for s in stride))] = x
    sides = [(d * (k - 1) - p, d * (k - 1) - p + m) for d, k, p, m in zip(dilation, weight.shape[2:], padding, more)]
    spread = torch.nn.functional.pad(spread, [side for pair in reversed(sides) for side in pair])
    turned = weight.flip(list(range(2, 2 + rank))).reshape(groups, -1, *weight.shape[1:]).transpose(1, 2)
    return spread, turned.reshape(groups * weight.shape[1], -1, *weight.shape[2:])


def convolution_gradients(
    grad: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    mask: Sequence[bool],
) -> tuple[torch.Tensor | None, ...]:
    """``aten::convolution_backward`` as convolutions, which are products."""
    convolved = torch.ops.aten.convolution.default
    rank = weight.dim() - 2
    stride, padding, dilation = (list(v) * (rank if len(v) == 1 else 1) for v in (stride, padding, dilation))
    to_x = to_weight = to_bias = None
    if mask[0]:
        sizes = zip(x.shape[2:], grad.shape[2:], stride, padding, dilation, weight.shape[2:])
        more = [0] * rank if transposed else [n - ((o - 1) * s - 2 * p + d * (k - 1) + 1) for n, o, s, p, d, k in sizes]
        to_x = convolved(grad, weight, None, stride, padding, dilation, not transposed, more, groups)
    if mask[1]:
        # Images and channels change places; what was a step of the filter is a step between its numbers.
        image, filters = (grad, x) if transposed else (x, grad)
        parts = [
            convolved(i.transpose(0, 1), f.transpose(0, 1), None, dilation, padding, stride, False, [0] * rank, 1)
            for i, f in zip(image.chunk(groups, 1), filters.chunk(groups, 1))
        ]
        to_weight = torch.cat([one.transpose(0, 1) for one in parts])[(..., *(slice(k) for k in weight.shape[2:]))].contiguous()
    if mask[2]:
        to_bias = grad.sum([0, *range(2, 2 + rank)])
    return to_x, to_weight, to_bias


def cudnn_convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    *flags: Any,
) -> ProductRequest:
    return _implicit_gemm("cudnn_convolution", x, weight, None, stride, padding, dilation, groups)


def mkldnn_convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> ProductRequest:
    return _implicit_gemm("mkldnn_convolution", x, weight, bias, stride, padding, dilation, groups)


#: Of channels that are the last axis in memory, and of others.
_CHANNELS_LAST = "K runs over the filter's places, then channels, as CUTLASS's implicit GEMM; cuDNN's order is not published"
_CHANNELS_FIRST = "K runs over channels, then the filter's places, as a GEMM of unfolded images; cuDNN's order is not published"


def _implicit_gemm(
    op: str,
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> ProductRequest:
    """A convolution as a product: a row for each place of each image, a column for each channel that comes out."""
    rank = weight.dim() - 2
    stride, padding, dilation = (list(v) * (rank if len(v) == 1 else 1) for v in (stride, padding, dilation))
    if x.dim() != rank + 2:
        x = x.unsqueeze(0)
    if groups > 1 and bias is not None:
        raise Refused("a convolution of several groups with a bias in its epilogue")
    last = rank > 0 and x.stride(1) == 1 and x.shape[1] > 1
    padded = torch.nn.functional.pad(x, [side for n in reversed(padding) for side in (n, n)])
    images, channels, kernel = x.shape[0], x.shape[1] // groups, weight.shape[2:]
    # The kernel's axes, dilated, and the places that it is put to.
    places = [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(padded.shape[2:], dilation, kernel, stride)]
    if min(places) < 1:
        raise Refused(EMPTY)
    steps, own = padded.stride()[2:], padded.stride()
    view = padded.as_strided(
        (images, groups, channels, *places, *kernel),
        (own[0], own[1] * channels, own[1], *(n * s for n, s in zip(steps, stride)), *(n * d for n, d in zip(steps, dilation))),
    )
    at, of = list(range(3, 3 + rank)), list(range(3 + rank, 3 + 2 * rank))
    k = [*of, 2] if last else [2, *of]
    a = view.permute(1, 0, *at, *k).reshape(groups, -1, channels * kernel.numel())
    columns = weight.shape[0] // groups
    w = weight.reshape(groups, columns, channels, *kernel)
    w = w.permute(0, 1, *range(3, 3 + rank), 2) if last else w
    b = w.reshape(groups, columns, -1).mT
    shape = (images, weight.shape[0], *places)
    if groups == 1:
        a, b = a[0], b[0]

    def matrix(result: torch.Tensor) -> torch.Tensor:
        split = result.reshape(images, groups, columns, *places).permute(1, 0, *range(3, 3 + rank), 2)
        split = split.reshape(groups, -1, columns)
        return split[0] if groups == 1 else split

    def tensor(d: torch.Tensor) -> torch.Tensor:
        split = d.reshape(groups, images, *places, columns).permute(1, 0, 2 + rank, *range(2, 2 + rank))
        return split.reshape(shape).contiguous()

    request = ProductRequest(op, a, b, x.dtype, shape, matrix=matrix, tensor=tensor)
    request.note = _CHANNELS_LAST if last else _CHANNELS_FIRST
    if bias is not None:
        request.arrays["bias"] = bias
    return request
