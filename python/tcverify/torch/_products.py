"""Operations of torch as products that a check can be asked about. One file says what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

import tcverify
from tcverify import _recorder
from tcverify._recorder import Refused
from tcverify.torch import _convolutions, _dispatcher, _scaled_products
from tcverify.torch._dispatcher import tensors_of
from tcverify.torch._known import full_name
from tcverify.torch._product_request import EMPTY, ProductRequest

#: A chain over K with an epilogue in f32, for products whose C, alpha or beta is the epilogue's.
EPILOGUE = "batch-invariant"
#: Operations whose kernels call other operations of torch for their products, which are seen. Read in torch's sources; of some
#: devices and shapes they multiply by themselves: then nothing is seen inside, and they are named.
OPENED = frozenset(
    {
        "_cdist_forward", "_convolution", "_euclidean_dist", "_grouped_mm", "_native_multi_head_attention",
        "_transformer_encoder_layer_fwd", "_trilinear", "addbmm", "affine_grid_generator", "convolution", "linalg_matrix_exp",
        "transformers::grouped_mm_fallback",
    }
)


#: Fields that each product's tensors give.
_OWN = ("a", "b", "c", "d", "bias", "scale_a", "scale_b", "dtype", "dtype_b", "d_dtype", "transpose_a", "transpose_b")


def common(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that hold for all products.

    :raises ValueError: if one is among them that differs from product to product.
    """
    return _recorder.common(fields, _OWN, "tensors of each product (FP32 is TF32 where torch.backends.cuda.matmul lets it be)")


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value


def _epilogue(request: ProductRequest, addend: torch.Tensor, alpha: Any, beta: Any) -> None:
    """D = alpha * A @ B + beta * addend."""
    alpha, beta = _number(alpha), _number(beta)
    if beta != 0:
        rows = addend.shape[-2] if addend.dim() > 1 else 1
        if beta == 1 and alpha == 1 and rows == 1 and addend.shape[-1] == request.b.shape[-1] and request.a.dim() == 2:
            # One number for every column of D.
            request.arrays["bias"] = addend.reshape(-1)
            return
        request.arrays["c"] = addend.expand(request.shape)
        request.fields.update(schedule=EPILOGUE, beta=float(beta))
    if alpha != 1:
        request.fields.update(schedule=EPILOGUE, alpha=float(alpha))


def _mm(a: torch.Tensor, b: torch.Tensor) -> ProductRequest:
    return ProductRequest("mm", a, b, a.dtype, (a.shape[0], b.shape[1]))


def _int_mm(a: torch.Tensor, b: torch.Tensor) -> ProductRequest:
    return ProductRequest("_int_mm", a, b, torch.int32, (a.shape[0], b.shape[1]))


def _bmm(a: torch.Tensor, b: torch.Tensor) -> ProductRequest:
    return ProductRequest("bmm", a, b, a.dtype, (*a.shape[:2], b.shape[2]))


def _addmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> ProductRequest:
    request = _mm(a, b)
    request.op = "addmm"
    _epilogue(request, c, alpha, beta)
    return request


def _baddbmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> ProductRequest:
    request = _bmm(a, b)
    request.op = "baddbmm"
    _epilogue(request, c, alpha, beta)
    return request


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> ProductRequest:
    a = x.reshape(-1, x.shape[-1])
    request = ProductRequest("linear", a, weight.t(), x.dtype, (*x.shape[:-1], weight.shape[0]))
    if bias is not None:
        request.arrays["bias"] = bias
    return request


def _mv(a: torch.Tensor, x: torch.Tensor) -> ProductRequest:
    return ProductRequest("mv", a, x.unsqueeze(1), a.dtype, (a.shape[0],))


def _addmv(c: torch.Tensor, a: torch.Tensor, x: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> ProductRequest:
    request = _mv(a, x)
    request.op = "addmv"
    alpha, beta = _number(alpha), _number(beta)
    if beta != 0:
        request.arrays["c"] = c.expand(request.shape).unsqueeze(1)
        request.fields.update(schedule=EPILOGUE, beta=float(beta))
    if alpha != 1:
        request.fields.update(schedule=EPILOGUE, alpha=float(alpha))
    return request


def _dot(x: torch.Tensor, y: torch.Tensor) -> ProductRequest:
    return ProductRequest("dot", x.unsqueeze(0), y.unsqueeze(1), x.dtype, ())


MEANINGS: dict[str, Callable[..., ProductRequest | None]] = {
    "mm": _mm,
    "bmm": _bmm,
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "linear": _linear,
    "mv": _mv,
    "dot": _dot,
    "vdot": _dot,
    "addmv": _addmv,
    "convolution": _convolutions.convolution,
    "cudnn_convolution": _convolutions.cudnn_convolution,
    "mkldnn_convolution": _convolutions.mkldnn_convolution,
    "_int_mm": _int_mm,
    "_scaled_mm": _scaled_products.scaled_mm,
}


#: Operations of other namespaces, by their full name, and functions of Python, by their dotted one; `register` adds to them.
REGISTERED: dict[str, Callable[..., ProductRequest | None]] = {}


def product_of(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> ProductRequest | None:
    """The product that an operation is; none if it is none.

    :raises Refused: if it is one that no request can ask for, or that cannot be examined.
    """
    name = func if isinstance(func, str) else full_name(func)
    space, _, base = name.partition("::")
    meaning: Callable[..., ProductRequest | None] | None = REGISTERED.get(name)
    if meaning is None and space == "aten":
        # In place, as `addmm_`, it means the same.
        meaning = MEANINGS.get(base) or MEANINGS.get(base.removesuffix("_"))
    if meaning is None:
        return None
    with _disable_current_modes():
        why = unreadable((args, kwargs))
        if why:
            raise Refused(why)
        return _examined(meaning, args, kwargs)


def _examined(meaning: Callable[..., ProductRequest | None], args: Sequence[Any], kwargs: dict[str, Any]) -> ProductRequest | None:
    try:
        return _checked(meaning, args, kwargs)
    except (Refused, KeyboardInterrupt):
        raise
    except Exception as error:
        # A program that runs must not stop because we do not understand it.
        raise Refused(f"cannot be examined: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from None


def unreadable(values: Any) -> str | None:
    """Why tensors among these are none whose elements can be read."""
    for tensor in tensors_of(values):
        if tensor.is_nested:
            return "a nested tensor"
        if tensor.layout != torch.strided:
            return f"a tensor of layout {str(tensor.layout).removeprefix('torch.')}"
        if tensor.is_quantized:
            return f"a tensor of {str(tensor.dtype).removeprefix('torch.')}"
        if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
            return "a CUDA graph is being recorded: nothing has been computed yet"
    return None


def _checked(meaning: Callable[..., ProductRequest | None], args: Sequence[Any], kwargs: dict[str, Any]) -> ProductRequest | None:
    found = meaning(*args, **{name: value for name, value in kwargs.items() if name != "out"})
    if found is None:
        return None
    if found.a.is_complex():
        raise Refused(f"{found.a.dtype}: complex numbers are not multiplied by any model here")
    if found.a.dtype in _WIDE_INTEGERS:
        raise Refused(f"{_name(found.a.dtype)}: no unit multiplies matrices of such integers")
    if 0 in (*found.a.shape, *found.b.shape):
        raise Refused(EMPTY)
    return found


_WIDE_INTEGERS = (torch.bool, torch.int16, torch.int32, torch.int64)

def opens(func: Any) -> bool:
    """Whether an operation is made of others, which are seen."""
    name = full_name(func)
    if name.removeprefix("aten::").removesuffix("_") in OPENED:
        return True
    return isinstance(func, torch._ops.OpOverload) and _dispatcher.composite(func.name())


def request(found: ProductRequest, arch: str, fields: Mapping[str, Any], own: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of a product on a GPU, from those for all products, and those of its type of operands, which go first.

    :raises Refused: if nobody names the schedule of a kernel whose own is not known on this GPU.
    """
    said = found.fields
    why = found.unknown_on.get(tcverify._tcverify.architecture(arch) or "")
    if why is not None:
        if not {"schedule", "kernel"} & {*fields, *(own or {})}:
            raise Refused(f"{why}; name it with schedule=")
        said = {name: value for name, value in said.items() if name != "schedule"}
    if own is None:
        return {"arch": arch, **fields, **formats(found), **said}
    return {**fields, **whole_formats(found), **said, "arch": arch, **own}


def formats(found: ProductRequest) -> dict[str, Any]:
    """The fields that say formats, and for FP32 the unit: tensor cores take TF32, and only if torch lets them."""
    fields = whole_formats(found)
    if found.a.dtype == torch.float32 and "dtype" not in found.fields:
        if _takes_tf32():
            fields["dtype"] = "tf32"
        else:
            fields.update(arch="ieee-fma", dtype="fp32")
    return fields


def whole_formats(found: ProductRequest) -> dict[str, Any]:
    """The fields that say formats: of FP32 numbers with all of their bits."""
    a, b = found.a.dtype, found.b.dtype
    if "dtype" in found.fields:
        # Codes of a format that has no type of one byte.
        return {"dtype": found.fields["dtype"], "d_dtype": _name(found.result)}
    fields: dict[str, Any] = {"dtype": _name(a)}
    if a != b:
        fields["dtype_b"] = _name(b)
    if a == torch.float32:
        fields["dtype"] = "fp32"
    fields["d_dtype"] = _name(found.result)
    return fields


def _takes_tf32() -> bool:
    """Whether torch lets FP32 products be TF32: newer versions answer by ``fp32_precision`` (none, ieee or tf32)."""
    matmul = torch.backends.cuda.matmul
    try:
        precision = matmul.fp32_precision
    except AttributeError:
        return bool(matmul.allow_tf32)
    if precision not in ("none", "ieee", "tf32"):
        raise Refused(f"torch.backends.cuda.matmul.fp32_precision is {precision!r}; by_dtype= of simulate names its schedule")
    return bool(precision == "tf32")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
