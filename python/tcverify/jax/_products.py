"""Equations of JAX as products that a check can be asked about."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tcverify import _recorder
from tcverify._recorder import Refused
from tcverify.jax import _convolutions
from tcverify.jax._product_request import ALGORITHMS, Array, ProductRequest, precision_of

#: Fields that each product's arrays give.
_OWN = ("a", "b", "c", "d", "bias", "scale_a", "scale_b", "dtype", "dtype_b", "d_dtype", "transpose_a", "transpose_b")

_ORDER = "K runs over the contracted axes in the order in which dot_general names them; XLA may sort them"


class Part(NamedTuple):
    """A product, and where in the equation's result its D is; none of a D that is all of it."""

    found: ProductRequest
    at: tuple[Any, ...] | None = None


def common(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that hold for all products.

    :raises ValueError: if one is among them that differs from product to product.
    """
    return _recorder.common(fields, _OWN, "arrays of each product, and its precision")


def products_of(equation: Any, args: Sequence[Any]) -> list[Part]:
    """The products that an equation is: none without elements, which nobody misses.

    :raises Refused: if no request can ask for it.
    """
    if 0 in (*args[0].shape, *args[1].shape, *equation.outvars[0].aval.shape):
        return []
    return MEANINGS[equation.primitive.name](equation, args)


def _dot_general(equation: Any, args: Sequence[Any]) -> list[Part]:
    dimensions = equation.params["dimension_numbers"]
    if not dimensions[0][0]:
        # Without an axis to be contracted XLA multiplies numbers, no matrices.
        return []
    shape = tuple(equation.outvars[0].aval.shape)
    return [Part(_dot(equation, args, _converted(args, equation), dimensions, shape))]


def _dot(equation: Any, args: Sequence[Any], operands: Sequence[Array], dimensions: Any, shape: tuple[int, ...]) -> ProductRequest:
    """The product of two operands, whichever axes it contracts and keeps together."""
    (left, right), (left_batch, right_batch) = dimensions
    x, y = operands
    batch = tuple(x.shape[axis] for axis in left_batch)
    k = math.prod(x.shape[axis] for axis in left)
    x_free = [axis for axis in range(x.ndim) if axis not in (*left, *left_batch)]
    y_free = [axis for axis in range(y.ndim) if axis not in (*right, *right_batch)]
    a = x.transpose((*left_batch, *x_free, *left)).reshape(*batch, -1, k)
    b = y.transpose((*right_batch, *right, *y_free)).reshape(*batch, k, -1)
    about = {"dimension_numbers": [[list(map(int, axes)) for axes in pair] for pair in dimensions]}
    result, precision = str(equation.outvars[0].aval.dtype), equation.params["precision"]
    note = _ORDER if len(left) > 1 else ""
    return ProductRequest(equation.primitive.name, a, b, result, shape, (args[0], args[1]), precision, about, note)


def _converted(args: Sequence[Any], equation: Any) -> list[Array]:
    """Operands as JAX hands them to XLA: in the algorithm's type, or of two types in the result's (``lax._dot_general_lower``)."""
    args = args[:2]
    into, _ = ALGORITHMS.get(precision_of(equation.params["precision"]), (None, {}))
    mixed = args[0].dtype != args[1].dtype and not all(str(one.dtype).startswith("float8") for one in args)
    if into is None and mixed:
        into = equation.outvars[0].aval.dtype
    return [np.asarray(one) if into is None else np.asarray(one).astype(into) for one in args]


def _ragged_dot_general(equation: Any, args: Sequence[Any]) -> list[Part]:
    """A product for each group that has elements. What belongs to no group is zero, and no product."""
    params, sizes = equation.params, np.asarray(args[2])
    ragged, shape = params["ragged_dot_dimension_numbers"], tuple(equation.outvars[0].aval.shape)
    if sizes.ndim != 1 or params["group_offset"] is not None:
        raise Refused("groups that differ between batches, or that begin at an offset")
    (left, right), (left_batch, right_batch) = dimensions = ragged.dot_dimension_numbers
    operands = x, y = _converted(args, equation)
    (axis,) = ragged.lhs_ragged_dimensions
    if axis in left_batch:
        # Groups of batches are multiplied alike.
        return [Part(_dot(equation, args, operands, dimensions, shape))]
    free = [n for n in range(x.ndim) if n not in (*left, *left_batch)]
    ends = np.minimum(np.cumsum(sizes), x.shape[axis])
    found = []
    at: tuple[Any, ...]
    for group, (begin, end) in enumerate(zip([0, *ends], ends)):
        if begin >= end:
            continue
        here = slice(int(begin), int(end))
        if axis in left:
            at, other, axes = (group,), _along(y, right[left.index(axis)], here), dimensions
        else:
            # Each group has its own part of the right operand, which goes without that axis.
            (own,) = ragged.rhs_group_dimensions
            at, other = (*[slice(None)] * (*left_batch, *free).index(axis), here), _along(y, own, group)
            axes = ((left, _without(own, right)), (left_batch, _without(own, right_batch)))
        part = np.broadcast_to(np.False_, shape)[at].shape
        request = _dot(equation, args, (_along(x, axis, here), other), axes, part)
        request.about["group"] = group
        request.note = "each group is a product of its own; XLA may add zeros of other groups"
        found.append(Part(request, at))
    return found


def _without(axis: int, axes: Sequence[int]) -> list[int]:
    """Axes of an array that lost one."""
    return [n - (n > axis) for n in axes]


def _along(array: Array, axis: int, at: Any) -> Array:
    part: Array = array[(*[slice(None)] * axis, at)]
    return part


def _convolution(equation: Any, args: Sequence[Any]) -> list[Part]:
    return [Part(_convolutions.product_of(equation, args))]


#: Primitives that are products.
MEANINGS: dict[str, Callable[[Any, Sequence[Any]], list[Part]]] = {
    "conv_general_dilated": _convolution,
    "dot_general": _dot_general,
    "ragged_dot_general": _ragged_dot_general,
}
