"""``dot_general`` as a product that a check can be asked about."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import tcverify
from tcverify import _recorder
from tcverify._recorder import Refused

#: Fields that each product's arrays give.
_OWN = ("a", "b", "c", "d", "bias", "scale_a", "scale_b", "dtype", "dtype_b", "d_dtype", "transpose_a", "transpose_b")

#: Integers that a unit multiplies matrices of.
_INTEGERS = ("int8", "uint8", "int4", "uint4")

_ORDER = "K runs over the contracted axes in the order in which dot_general names them; XLA may sort them"


@dataclass
class ProductRequest:
    """A product as a request: its matrices, and what follows from the equation."""

    a: np.ndarray[Any, Any]
    b: np.ndarray[Any, Any]
    #: D's type, and its shape in the program.
    result: str
    shape: tuple[int, ...]
    #: As JAX has it.
    operands: tuple[Any, Any]
    params: Mapping[str, Any]
    note: str = ""

    op = "dot_general"

    @property
    def multiply_adds(self) -> int:
        return self.a.size * int(self.b.shape[-1])

    def matrix(self, d: Any) -> np.ndarray[Any, Any]:
        """D as the product of ``a`` and ``b`` has it."""
        return np.asarray(d).reshape(*self.a.shape[:-1], self.b.shape[-1])

    def formats(self, arch: str, model: Any = None) -> dict[str, Any]:
        """The fields that say formats, and for FP32 the unit.

        :raises Refused: if no request can ask for it.
        """
        a, b = str(self.a.dtype), str(self.b.dtype)
        if "complex" in a + b:
            raise Refused(f"{a}: complex numbers are not multiplied by any model here")
        if a == "bool" or "int" in a and a not in _INTEGERS:
            raise Refused(f"{a}: no unit multiplies matrices of such integers")
        fields: dict[str, Any] = {"dtype": a, "d_dtype": self.result}
        if a != b:
            fields["dtype_b"] = b
        precision = _precision(self.params["precision"])
        if precision not in _PRECISIONS:
            if precision not in _ALGORITHMS:
                raise Refused(f"the algorithm {precision}: no rule is known")
            fields.update(_ALGORITHMS[precision][1])
        if a == "float32":
            # JAX's documents: TF32 where the GPU has it, ordinary FP32 for the highest precision, and elsewhere.
            wide = precision in ("HIGHEST", "F32_F32_F32") or not _has_tf32(arch, model)
            fields.update({"arch": "ieee-fma", "dtype": "fp32"} if wide else {"dtype": "tf32"})
        return fields


def product_of(equation: Any, args: Sequence[Any]) -> ProductRequest:
    """The product that an equation is, whichever axes it contracts and keeps together."""
    (left, right), (left_batch, right_batch) = equation.params["dimension_numbers"]
    x, y = _converted(args, equation)
    batch = tuple(x.shape[axis] for axis in left_batch)
    k = math.prod(x.shape[axis] for axis in left)
    x_free = [axis for axis in range(x.ndim) if axis not in (*left, *left_batch)]
    y_free = [axis for axis in range(y.ndim) if axis not in (*right, *right_batch)]
    a = x.transpose((*left_batch, *x_free, *left)).reshape(*batch, -1, k)
    b = y.transpose((*right_batch, *right, *y_free)).reshape(*batch, k, -1)
    aval = equation.outvars[0].aval
    note = _ORDER if len(left) > 1 else ""
    return ProductRequest(a, b, str(aval.dtype), tuple(aval.shape), (args[0], args[1]), equation.params, note)


def _converted(args: Sequence[Any], equation: Any) -> list[Any]:
    """Operands as JAX hands them to XLA: in the algorithm's type, or of two types in the result's (``lax._dot_general_lower``)."""
    into, _ = _ALGORITHMS.get(_precision(equation.params["precision"]), (None, {}))
    mixed = args[0].dtype != args[1].dtype and not all(str(one.dtype).startswith("float8") for one in args)
    if into is None and mixed:
        into = equation.outvars[0].aval.dtype
    return [np.asarray(one) if into is None else np.asarray(one).astype(into) for one in args]


#: From the lowest to the highest.
_PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")

#: Algorithms that are one product, by the type that their operands are converted to, and what they say beside.
_ALGORITHMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "F16_F16_F16": (jax.numpy.float16.dtype, {"acc": "f16"}),
    "F16_F16_F32": (jax.numpy.float16.dtype, {}),
    "BF16_BF16_F32": (jax.numpy.bfloat16.dtype, {}),
    "TF32_TF32_F32": (jax.numpy.float32.dtype, {}),
    "F32_F32_F32": (jax.numpy.float32.dtype, {}),
    "F64_F64_F64": (jax.numpy.float64.dtype, {}),
    "ANY_F8_ANY_F8_F32": (None, {}),
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": (None, {}),
}


def _precision(value: Any) -> str:
    """The higher of both operands' precisions, or the algorithm."""
    names = [str(getattr(one, "name", one)) for one in (value if isinstance(value, tuple) else (value,)) if one is not None]
    if all(name in _PRECISIONS for name in names):
        return max(names, key=_PRECISIONS.index, default="DEFAULT")
    return names[0]


@functools.cache
def _has_tf32(arch: str, model: Any) -> bool:
    try:
        tcverify.plan((1, 4), (4, 1), arch=arch, model=model, dtype="tf32")
    except tcverify.CheckError:
        return False
    return True


def common(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that hold for all products.

    :raises ValueError: if one is among them that differs from product to product.
    """
    return _recorder.common(fields, _OWN, "arrays of each product, and its precision")


def as_jax(d: np.ndarray[Any, Any], found: ProductRequest) -> jax.Array:
    """D as the program has it."""
    return jax.numpy.asarray(d.reshape(found.shape))
