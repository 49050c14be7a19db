"""Operations of torch as products that a check can be asked about. One file says what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

#: A chain over K with an epilogue in f32, for products whose C, alpha or beta is the epilogue's.
EPILOGUE = "batch-invariant"
#: FP8 with a scale for each operand, and with a scale for each row and column; promoted every 128 k.
SCALED, SCALED_ROWS = "cublas-ada-fp8", "torch-scaled-mm-rowwise"

_FLOAT8 = {
    getattr(torch, name)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
    if hasattr(torch, name)
}

#: Operations with products inside that nobody sees: attention, convolutions, recurrent cells.
_HIDING = (
    "attention", "convolution", "conv1d", "conv2d", "conv3d", "conv_transpose", "mkldnn_", "lstm", "gru", "rnn_",
    "grouped_mm", "addmm_activation", "fbgemm", "quantized", "_weight_int", "bilinear", "cdist", "addbmm", "addmv",
    "addr", "sparse", "_cslt", "segment_mm",
)


@dataclass
class Wanted:
    """A product as a request: its arrays, and the fields that follow from the operation."""

    op: str
    a: torch.Tensor
    b: torch.Tensor
    #: D's type.
    result: torch.dtype
    #: The shape that the operation returns.
    shape: tuple[int, ...]
    #: Other arrays by field: ``c``, ``bias``, ``scale_a``, ``scale_b``.
    arrays: dict[str, torch.Tensor] = field(default_factory=dict)
    #: Fields beside those of the formats.
    fields: dict[str, Any] = field(default_factory=dict)


class Refused(Exception):
    """A product that no request can ask for, and why."""


#: Fields that each product's tensors give.
_OWN = ("a", "b", "c", "d", "bias", "scale_a", "scale_b", "dtype", "dtype_b", "d_dtype", "transpose_a", "transpose_b")


def common(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that hold for all products.

    :raises ValueError: if one is among them that differs from product to product.
    """
    own = [name for name in _OWN if fields.get(name) is not None]
    if own:
        raise ValueError(
            f"{own[0]}: follows from the tensors of each product (FP32 is TF32 where torch.backends.cuda.matmul.allow_tf32 is set)"
        )
    return dict(fields)


def opname(func: Any) -> str:
    """``mm`` of ``aten::mm``."""
    return str(func._schema.name).rpartition("::")[2]


def hides(func: Any) -> bool:
    """Whether there may be products inside that are not seen from outside."""
    name = opname(func)
    return any(part in name for part in _HIDING) and not name.endswith("_backward_data")


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, torch.Tensor) else value


def _epilogue(wanted: Wanted, addend: torch.Tensor, alpha: Any, beta: Any) -> None:
    """D = alpha * A @ B + beta * addend."""
    alpha, beta = _number(alpha), _number(beta)
    if beta != 0:
        rows = addend.shape[-2] if addend.dim() > 1 else 1
        if beta == 1 and alpha == 1 and rows == 1 and addend.shape[-1] == wanted.b.shape[-1] and wanted.a.dim() == 2:
            # One number for every column of D.
            wanted.arrays["bias"] = addend.reshape(-1)
            return
        wanted.arrays["c"] = addend.expand(wanted.shape)
        wanted.fields.update(schedule=EPILOGUE, beta=float(beta))
    if alpha != 1:
        wanted.fields.update(schedule=EPILOGUE, alpha=float(alpha))


def _mm(a: torch.Tensor, b: torch.Tensor) -> Wanted:
    return Wanted("mm", a, b, a.dtype, (a.shape[0], b.shape[1]))


def _int_mm(a: torch.Tensor, b: torch.Tensor) -> Wanted:
    return Wanted("_int_mm", a, b, torch.int32, (a.shape[0], b.shape[1]))


def _bmm(a: torch.Tensor, b: torch.Tensor) -> Wanted:
    return Wanted("bmm", a, b, a.dtype, (*a.shape[:2], b.shape[2]))


def _addmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> Wanted:
    wanted = _mm(a, b)
    wanted.op = "addmm"
    _epilogue(wanted, c, alpha, beta)
    return wanted


def _baddbmm(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> Wanted:
    wanted = _bmm(a, b)
    wanted.op = "baddbmm"
    _epilogue(wanted, c, alpha, beta)
    return wanted


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> Wanted:
    a = x.reshape(-1, x.shape[-1])
    wanted = Wanted("linear", a, weight.t(), x.dtype, (*x.shape[:-1], weight.shape[0]))
    if bias is not None:
        wanted.arrays["bias"] = bias
    return wanted


def _mv(a: torch.Tensor, x: torch.Tensor) -> Wanted:
    return Wanted("mv", a, x.unsqueeze(1), a.dtype, (a.shape[0],))


def _dot(x: torch.Tensor, y: torch.Tensor) -> Wanted:
    return Wanted("dot", x.unsqueeze(0), y.unsqueeze(1), x.dtype, ())


def _scaled_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Wanted:
    wanted = Wanted("_scaled_mm", a, b, out_dtype or a.dtype, (a.shape[0], b.shape[1]))
    (m, n), sizes = wanted.shape, (scale_a.numel(), scale_b.numel())
    if scale_a.dtype != torch.float32 or scale_b.dtype != torch.float32:
        raise Refused(f"scales in {scale_a.dtype}: only one f32 for a tensor or a row is recorded")
    if sizes == (1, 1):
        schedule = SCALED
    elif sizes == (m, n):
        schedule = SCALED_ROWS
    else:
        raise Refused(f"scales {tuple(scale_a.shape)} and {tuple(scale_b.shape)} of blocks: not recorded")
    # One-dimensional, they are the same however operands are stored.
    wanted.arrays.update(scale_a=scale_a.reshape(-1), scale_b=scale_b.reshape(-1))
    wanted.fields["schedule"] = schedule
    if use_fast_accum:
        wanted.fields["promote"] = "never"
    if bias is not None:
        wanted.arrays["bias"] = bias
    if scale_result is not None and wanted.result in _FLOAT8:
        wanted.fields["scale_result"] = float(scale_result.item())
    return wanted


_MEANINGS: dict[str, Callable[..., Wanted]] = {
    "mm": _mm,
    "bmm": _bmm,
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "linear": _linear,
    "mv": _mv,
    "dot": _dot,
    "_int_mm": _int_mm,
    "_scaled_mm": _scaled_mm,
}


def wanted(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Wanted | None:
    """The product that an operation is; none if it is none.

    :raises Refused: if it is one that no request can ask for.
    """
    name = opname(func)
    # In place, as `addmm_`, it means the same.
    meaning = _MEANINGS.get(name) or _MEANINGS.get(name.removesuffix("_"))
    if meaning is None:
        return None
    with _disable_current_modes():
        return _wanted(meaning, args, kwargs)


def _wanted(meaning: Callable[..., Wanted], args: Sequence[Any], kwargs: dict[str, Any]) -> Wanted:
    found = meaning(*args, **{name: value for name, value in kwargs.items() if name != "out"})
    if found.a.is_complex():
        raise Refused(f"{found.a.dtype}: complex numbers are not multiplied by any model here")
    if 0 in (*found.a.shape, *found.b.shape):
        raise Refused("a product without elements")
    return found


class again:
    """A mode once more, without what entering it for the first time does."""

    def __init__(self, mode: TorchDispatchMode) -> None:
        self._mode = mode

    def __enter__(self) -> None:
        TorchDispatchMode.__enter__(self._mode)

    def __exit__(self, *error: Any) -> None:
        TorchDispatchMode.__exit__(self._mode, *error)


def decomposed(mode: TorchDispatchMode, func: Any, args: Any, kwargs: Any) -> Any:
    """An operation that is made of others, by those, which the mode sees; else ``NotImplemented``.

    Torch does so itself, but not in inference mode.
    """
    if not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"):
        return NotImplemented
    with again(mode):
        return func.decompose(*args, **kwargs)


def formats(found: Wanted) -> dict[str, Any]:
    """The fields that say formats, and for FP32 the unit: tensor cores take TF32, and only if torch lets them."""
    a, b = found.a.dtype, found.b.dtype
    fields: dict[str, Any] = {"dtype": _name(a)}
    if a != b:
        fields["dtype_b"] = _name(b)
    if a == torch.float32:
        if torch.backends.cuda.matmul.allow_tf32:
            fields["dtype"] = "tf32"
        else:
            fields.update(arch="ieee-fma", dtype="fp32")
    fields["d_dtype"] = _name(found.result)
    return fields


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
