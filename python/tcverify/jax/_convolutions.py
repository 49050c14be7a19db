"""``conv_general_dilated`` as a product: an implicit GEMM."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tcverify.jax._product_request import Array, ProductRequest

_ORDER = "K runs over the filter's places, then channels, as CUTLASS's implicit GEMM; the order of cuDNN, which XLA calls, is not published"


def product_of(equation: Any, args: Sequence[Any]) -> ProductRequest:
    """A row for each place of each image, a column for each channel that comes out; a batch for each group.

    Zeros between places and around them are multiplied, too.
    """
    params = equation.params
    images, filters, results = params["dimension_numbers"]
    x = _padded(np.asarray(args[0]).transpose(images), params["lhs_dilation"], params["padding"])
    w = np.asarray(args[1]).transpose(filters)
    by_images, by_channels = params["batch_group_count"], params["feature_group_count"]
    # At most one of the two is not 1.
    groups = by_images * by_channels
    number, channels, columns = x.shape[0] // by_images, x.shape[1] // by_channels, w.shape[0] // groups
    kernel = w.shape[2:]
    shape = tuple(equation.outvars[0].aval.shape)
    places = tuple(shape[axis] for axis in results[2:])
    view = np.lib.stride_tricks.as_strided(
        x,
        (groups, number, *places, *kernel, channels),
        (
            x.strides[0] * number if by_images > 1 else x.strides[1] * channels,
            x.strides[0],
            *(step * n for step, n in zip(x.strides[2:], params["window_strides"])),
            *(step * n for step, n in zip(x.strides[2:], params["rhs_dilation"])),
            x.strides[1],
        ),
        writeable=False,
    )
    k = channels * math.prod(kernel)
    a = view.reshape(groups, -1, k)
    b = np.moveaxis(w, 1, -1).reshape(groups, columns, k).swapaxes(1, 2)
    if groups == 1:
        a, b = a[0], b[0]
    # The result is images x (groups x columns) x places, in the program's order of axes.
    back = tuple(np.argsort(results))

    def matrix(d: Array) -> Array:
        split: Array = d.transpose(results).reshape(number, groups, columns, -1).transpose(1, 0, 3, 2)
        split = split.reshape(groups, -1, columns)
        return split[0] if groups == 1 else split

    def tensor(d: Array) -> Array:
        split = d.reshape(groups, number, -1, columns).transpose(1, 0, 3, 2)
        return split.reshape(number, groups * columns, *places).transpose(back)

    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "feature_group_count", "batch_group_count")
    about = {
        "dimension_numbers": [list(map(int, one)) for one in (images, filters, results)],
        **{name: np.asarray(params[name], int).tolist() for name in names},
    }
    result = str(equation.outvars[0].aval.dtype)
    return ProductRequest(
        equation.primitive.name, a, b, result, shape, (args[0], args[1]), params["precision"], about, _ORDER, matrix, tensor
    )


def _padded(x: Array, dilation: Sequence[int], padding: Sequence[tuple[int, int]]) -> Array:
    """With zeros between places, and around them; negative padding cuts."""
    spread = np.zeros((*x.shape[:2], *((n - 1) * d + 1 for n, d in zip(x.shape[2:], dilation))), x.dtype)
    spread[_places(slice(None, None, d) for d in dilation)] = x
    sizes = [max(n + low + high, 0) for n, (low, high) in zip(spread.shape[2:], padding)]
    padded = np.zeros((*x.shape[:2], *sizes), x.dtype)
    kept = [range(max(-low, 0), min(n, n + high)) for n, (low, high) in zip(spread.shape[2:], padding)]
    if all(kept):
        into = _places(slice(one.start + low, one.stop + low) for one, (low, _) in zip(kept, padding))
        padded[into] = spread[_places(slice(one.start, one.stop) for one in kept)]
    return padded


def _places(slices: Iterable[slice]) -> tuple[slice, ...]:
    """Of images and channels all."""
    return (slice(None), slice(None), *slices)
