"""A product that an equation of JAX is, as a request."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

import tcverify
from tcverify._recorder import Refused

#: A matrix, or a batch of them.
Array = np.ndarray[Any, Any]

#: Integers that a unit multiplies matrices of.
_INTEGERS = ("int8", "uint8", "int4", "uint4")

#: From the lowest to the highest.
_PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")

#: Algorithms that are one product, by the type that their operands are converted to, and what they say beside.
ALGORITHMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "F16_F16_F16": (jax.numpy.float16.dtype, {"acc": "f16"}),
    "F16_F16_F32": (jax.numpy.float16.dtype, {}),
    "BF16_BF16_F32": (jax.numpy.bfloat16.dtype, {}),
    "TF32_TF32_F32": (jax.numpy.float32.dtype, {}),
    "F32_F32_F32": (jax.numpy.float32.dtype, {}),
    "F64_F64_F64": (jax.numpy.float64.dtype, {}),
    "ANY_F8_ANY_F8_F32": (None, {}),
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": (None, {}),
}


def precision_of(value: Any) -> str:
    """The higher of both operands' precisions, or the algorithm."""
    names = [str(getattr(one, "name", one)) for one in (value if isinstance(value, tuple) else (value,)) if one is not None]
    if all(name in _PRECISIONS for name in names):
        return max(names, key=_PRECISIONS.index, default="DEFAULT")
    return names[0]


@dataclass
class ProductRequest:
    """A product as a request: its matrices, and what follows from the equation."""

    op: str
    a: Array
    b: Array
    #: D's type, and its shape in the program.
    result: str
    shape: tuple[int, ...]
    #: As JAX has them.
    operands: tuple[Any, Any]
    precision: Any
    #: What the record says of the equation beside.
    about: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    #: D as a matrix, of what the program has, and the other way; by shape alone if there is none.
    matrix: Callable[[Array], Array] | None = None
    tensor: Callable[[Array], Array] | None = None

    @property
    def multiply_adds(self) -> int:
        return self.a.size * int(self.b.shape[-1])

    def d(self, result: Any) -> Array:
        """D as the product of ``a`` and ``b`` has it."""
        given = np.asarray(result)
        return given.reshape(*self.a.shape[:-1], self.b.shape[-1]) if self.matrix is None else self.matrix(given)

    def returned(self, d: Array) -> jax.Array:
        """D as the program has it."""
        return jax.numpy.asarray(d.reshape(self.shape) if self.tensor is None else self.tensor(d))

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
        precision = precision_of(self.precision)
        if precision not in _PRECISIONS:
            if precision not in ALGORITHMS:
                raise Refused(f"the algorithm {precision}: no rule is known")
            fields.update(ALGORITHMS[precision][1])
        if a == "float32":
            # JAX's documents: TF32 where the GPU has it, ordinary FP32 for the highest precision, and elsewhere.
            wide = precision in ("HIGHEST", "F32_F32_F32") or not _has_tf32(arch, model)
            fields.update({"arch": "ieee-fma", "dtype": "fp32"} if wide else {"dtype": "tf32"})
        return fields


@functools.cache
def _has_tf32(arch: str, model: Any) -> bool:
    try:
        tcverify.plan((1, 4), (4, 1), arch=arch, model=model, dtype="tf32")
    except tcverify.CheckError:
        return False
    return True
