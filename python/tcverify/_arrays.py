"""Arrays of other libraries as NumPy sees their bytes, and back. Nothing is converted; where it can be, nothing copied."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, Union

import numpy as np
import numpy.typing as npt

from tcverify import _tcverify
from tcverify._errors import CheckError

if TYPE_CHECKING:
    import torch

#: What a check takes for an array: an array, or the text of a file or of generated operands.
ArrayLike = Union[npt.NDArray[Any], "torch.Tensor", str, "os.PathLike[str]", Any]

#: An array and the type of its elements, as a ``.npy`` header or ml_dtypes would call it.
Held = tuple[npt.NDArray[Any], str]

#: Types of torch that NumPy does not know: the integers as which their bytes are seen, and their names.
_TORCH = {
    "torch.bfloat16": ("int16", "bfloat16"),
    "torch.float8_e4m3fn": ("uint8", "float8_e4m3fn"),
    "torch.float8_e5m2": ("uint8", "float8_e5m2"),
    "torch.float8_e4m3fnuz": ("uint8", "float8_e4m3fnuz"),
    "torch.float8_e5m2fnuz": ("uint8", "float8_e5m2fnuz"),
    "torch.float8_e8m0fnu": ("uint8", "float8_e8m0fnu"),
}

#: Formats that torch and NumPy have types for.
_TORCH_NAMES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "int32": "int32",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
}
_NUMPY_NAMES = {"fp16": "<f2", "fp32": "<f4", "fp64": "<f8", "int32": "<i4", "int8": "|i1", "uint8": "|u1"}


def is_torch(value: object) -> bool:
    """Whether this is a tensor of torch, which is not imported for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_jax(value: object) -> bool:
    """Whether this is an array of JAX, which is not imported for the question."""
    return isinstance(value, getattr(sys.modules.get("jax"), "Array", ()))


def is_named(value: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this is text: a file, or generated operands."""
    return isinstance(value, (str, os.PathLike))


def held(argument: str, value: Any) -> Held:
    """The bytes of an array, in place if their layout allows."""
    if is_torch(value):
        return _of_torch(argument, value)
    array = value if isinstance(value, np.ndarray) else _of_other(argument, value)
    if isinstance(array, np.ma.MaskedArray):
        raise CheckError(argument, f"`{argument}` is a masked array: say what masked elements are, `.filled(...)`")
    return in_place(array), _descr(argument, array.dtype)


def in_place(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same, copied if its strides go backwards, or are no multiples of an element."""
    width = array.dtype.itemsize
    steps = [step for n, step in zip(array.shape, array.strides) if n > 1]
    if width and all(step >= 0 and step % width == 0 for step in steps):
        return array
    return np.ascontiguousarray(array)


def _descr(argument: str, dtype: np.dtype[Any]) -> str:
    plain = dtype.names is None and dtype.subdtype is None
    if plain and (dtype.type is np.void or dtype.kind in "fiu" and (dtype.isbuiltin == 1 or not dtype.isnative)):
        return dtype.str
    # Types of ml_dtypes call themselves void, or floats; their names are formats.
    if dtype.isbuiltin != 1 and _tcverify.format_name(dtype.name) is not None:
        return str(dtype.name)
    raise CheckError(argument, f"`{argument}` holds {dtype}, which is no format that is known here")


def _of_torch(argument: str, tensor: Any) -> Held:
    import torch

    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_complex():
        raise CheckError(argument, f"`{argument}` is no plain tensor: {tensor.layout}, {tensor.dtype}")
    if tensor.is_meta or tensor.is_nested or type(tensor).__name__ == "FakeTensor":
        where = "is nested" if tensor.is_nested else "is on the device `meta`: it has a shape, and no elements"
        raise CheckError(argument, f"`{argument}` {where}")
    tensor = tensor.detach()
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    tensor = tensor.resolve_neg()
    name = str(tensor.dtype)
    seen, descr = _TORCH.get(name, (None, None))
    try:
        array = _seen(tensor if seen is None else tensor.view(getattr(torch, seen)))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise CheckError(argument, f"`{argument}` holds {name}, which is no format that is known here") from error
    return array, descr or _descr(argument, array.dtype)


def _seen(tensor: Any) -> npt.NDArray[Any]:
    """The elements in place. ``Tensor.numpy`` would forbid, for good, that its storage is resized."""
    array: npt.NDArray[Any] = np.from_dlpack(tensor.resolve_conj())
    return array


def _of_other(argument: str, value: Any) -> npt.NDArray[Any]:
    """Through DLPack, the array interface or the buffer protocol; of lists as NumPy takes them."""
    if isinstance(value, (list, tuple)):
        try:
            return np.asarray(value)
        except (TypeError, ValueError) as error:
            raise CheckError(argument, f"`{argument}` is a list that is no array: {error}") from None
    if isinstance(value, getattr(sys.modules.get("jax.core"), "Tracer", ())):
        reason = f"`{argument}` has no numbers yet: JAX traces it for jit, grad, vmap or a loop; check its value outside of them"
        raise CheckError(argument, reason)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError):
            # Types that NumPy does not import, or another device's memory: the library's own way to NumPy, below.
            pass
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    try:
        view = memoryview(value)
    except TypeError:
        kind = type(value).__name__
        reason = f"`{argument}` is of type {kind}; an array, a tensor, or the path of a file is expected"
        raise CheckError(argument, reason) from None
    return np.asarray(view)


#: Formats whose elements are not one byte.
_WIDE = {"fp64": "<f8", "fp32": "<f4", "tf32": "<f4", "xf32": "<f4", "int32": "<i4", "fp16": "<u2", "bf16": "<u2"}


def of_shape(argument: str, shape: tuple[int, ...], format: str) -> Held:
    """Zeros of this shape, all of them one element in memory: they stand for an array that is not there."""
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in shape):
        raise CheckError(argument, f"`{argument}`: {shape!r} is no shape")
    descr = _WIDE.get(_tcverify.format_name(format) or format, "|u1")
    return np.broadcast_to(np.zeros((), descr), shape), descr


def multiplied(arrays: dict[str, Held], transposed: Mapping[str, bool]) -> tuple[int, ...]:
    """Makes operands in memory matrices as ``@`` of NumPy does, in place: vectors get an axis, leading axes broadcast.

    Gives the axes of D that vectors have not, counted from its end. No element is copied.
    """
    for name in {"a", "b", "c", "d"} & set(arrays):
        if arrays[name][0].ndim == 0 and name in "ab":
            raise CheckError(name, f"`{name}` is a single number; a matrix or a vector is expected")
    lost = []
    for name, axis in (("a", -2), ("b", -1)):
        if name in arrays and arrays[name][0].ndim == 1:
            stored = -1 if (axis == -2) == transposed.get(name, False) else -2
            arrays[name] = np.expand_dims(arrays[name][0], stored), arrays[name][1]
            lost.append(axis)
    batch: tuple[int, ...] = ()
    if "a" in arrays and "b" in arrays:
        a, b = arrays["a"][0].shape[:-2], arrays["b"][0].shape[:-2]
        try:
            batch = np.broadcast_shapes(a, b)
        except ValueError:
            raise CheckError("b", f"leading axes of `b`, {b}, do not go with those of `a`, {a}") from None
        for name in ("a", "b"):
            _spread(arrays, name, batch)
    for name in ("c", "d"):
        if name not in arrays:
            continue
        if lost and arrays[name][0].ndim <= len(batch) + 2 - len(lost):
            arrays[name] = np.expand_dims(arrays[name][0], tuple(lost)), arrays[name][1]
        if name == "c" and batch and arrays[name][0].ndim >= 2:
            try:
                _spread(arrays, name, batch)
            except ValueError:
                # That they do not go together is said with the shape of D.
                pass
    return tuple(lost)


def _spread(arrays: dict[str, Held], name: str, batch: tuple[int, ...]) -> None:
    array, descr = arrays[name]
    if array.shape[:-2] != batch:
        arrays[name] = np.broadcast_to(array, batch + array.shape[-2:]), descr


def as_user(payload: npt.NDArray[np.uint8], format: str, shape: Sequence[int], like: object, codes: bool) -> Any:
    """Codes as the type that a caller with such arrays uses; as unsigned integers if `codes`."""
    width = payload.size // int(np.prod(shape, dtype=np.int64))
    if codes:
        return payload.view(f"<u{width}").reshape(shape)
    if is_torch(like):
        import torch

        if format not in _TORCH_NAMES:
            raise CheckError("codes", f"torch has no type for {format}; `codes=True` gives codes")
        seen = torch.from_numpy(payload.view({1: "|u1", 2: "<i2", 4: "<i4", 8: "<i8"}[width]).reshape(shape))
        # A tensor with memory of torch's, which may be resized.
        tensor = torch.empty(seen.shape, dtype=getattr(torch, _TORCH_NAMES[format]))
        tensor.view(seen.dtype).copy_(seen)
        return tensor.to(like.device)  # type: ignore[attr-defined]
    if is_jax(like):
        return _as_jax(as_user(payload, format, shape, None, codes), like)
    if format in _NUMPY_NAMES:
        return payload.view(_NUMPY_NAMES[format]).reshape(shape)
    try:
        import ml_dtypes
    except ImportError:
        reason = f"NumPy has no type for {format}: install ml_dtypes, or ask for unsigned integers with `codes=True`"
        raise CheckError("codes", reason) from None
    names = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
    return payload.view(getattr(ml_dtypes, names[format])).reshape(shape)


def _as_jax(array: npt.NDArray[Any], like: Any) -> Any:
    import jax

    devices = like.devices()
    placed = jax.device_put(array, next(iter(devices)) if len(devices) == 1 else None)
    if placed.dtype != array.dtype:
        reason = f"JAX has no {array.dtype} unless `jax_enable_x64` is set; `codes=True` or arrays of NumPy do without"
        raise CheckError("codes", reason)
    return placed
