"""Operations of torch as products that a check can be asked about. One file says what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from tcverify import _recorder
from tcverify._recorder import Refused as Refused
from tcverify.torch import _dispatcher
from tcverify.torch._dispatcher import tensors_of
from tcverify.torch._known import full_name

#: A chain over K with an epilogue in f32, for products whose C, alpha or beta is the epilogue's.
EPILOGUE = "batch-invariant"
#: FP8 with a scale for each operand, and with a scale for each row and column; promoted every 128 k.
SCALED, SCALED_ROWS = "cublas-ada-fp8", "torch-scaled-mm-rowwise"

FLOAT8 = {
    getattr(torch, name)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
    if hasattr(torch, name)
}

#: Operations whose kernels call other operations of torch for their products, which are seen. Read in torch's sources; of some
#: devices and shapes they multiply by themselves: then nothing is seen inside, and they are named.
OPENED = frozenset(
    {
        "_cdist_forward", "_convolution", "_euclidean_dist", "_grouped_mm", "_native_multi_head_attention",
        "_transformer_encoder_layer_fwd", "_trilinear", "addbmm", "affine_grid_generator", "convolution", "linalg_matrix_exp",
        "transformers::grouped_mm_fallback",
    }
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
    #: What is known of it that no field says.
    note: str = ""
    #: D, as a matrix, of what the operation returned, and the other way; by shape alone if there is none.
    matrix: Callable[[torch.Tensor], torch.Tensor] | None = None
    tensor: Callable[[torch.Tensor], torch.Tensor] | None = None
    #: Where the operation puts its result, if it returns none.
    out: torch.Tensor | None = None
    #: Which of several results it is.
    index: int | None = None

    @property
    def multiply_adds(self) -> int:
        return int(self.a.numel()) * int(self.b.shape[-1])

    def given(self, result: Any) -> torch.Tensor:
        """The tensor with D, of what the operation returned."""
        found = self.out if self.out is not None else result if self.index is None else result[self.index]
        if not isinstance(found, torch.Tensor):
            raise Refused(f"its result is a {type(found).__name__}, no tensor")
        return found.detach()

    def d(self, result: torch.Tensor) -> torch.Tensor:
        """D as the product of ``a`` and ``b`` has it."""
        if self.matrix is not None:
            return self.matrix(result)
        return result.reshape(*self.a.shape[:-1], self.b.shape[-1])

    def returned(self, d: torch.Tensor) -> torch.Tensor:
        """What the operation returns."""
        return self.tensor(d) if self.tensor is not None else d.reshape(self.shape)


#: Fields that each product's tensors give.
_OWN = ("a", "b", "c", "d", "bias", "scale_a", "scale_b", "dtype", "dtype_b", "d_dtype", "transpose_a", "transpose_b")


def common(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that hold for all products.

    :raises ValueError: if one is among them that differs from product to product.
    """
    return _recorder.common(fields, _OWN, "tensors of each product (FP32 is TF32 where torch.backends.cuda.matmul.allow_tf32 is set)")


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


def _addmv(c: torch.Tensor, a: torch.Tensor, x: torch.Tensor, *, beta: Any = 1, alpha: Any = 1) -> Wanted:
    wanted = _mv(a, x)
    wanted.op = "addmv"
    alpha, beta = _number(alpha), _number(beta)
    if beta != 0:
        wanted.arrays["c"] = c.expand(wanted.shape).unsqueeze(1)
        wanted.fields.update(schedule=EPILOGUE, beta=float(beta))
    if alpha != 1:
        wanted.fields.update(schedule=EPILOGUE, alpha=float(alpha))
    return wanted


def _dot(x: torch.Tensor, y: torch.Tensor) -> Wanted:
    return Wanted("dot", x.unsqueeze(0), y.unsqueeze(1), x.dtype, ())


def _convolution(
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
) -> Wanted | None:
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


def _cudnn_convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    *flags: Any,
) -> Wanted:
    return _implicit_gemm("cudnn_convolution", x, weight, None, stride, padding, dilation, groups)


def _mkldnn_convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Wanted:
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
) -> Wanted:
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

    wanted = Wanted(op, a, b, x.dtype, shape, matrix=matrix, tensor=tensor)
    wanted.note = _CHANNELS_LAST if last else _CHANNELS_FIRST
    if bias is not None:
        wanted.arrays["bias"] = bias
    return wanted


def scaled_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Wanted:
    if scale_a.dtype in BLOCKS and scale_a.dtype == scale_b.dtype:
        wanted = block_scaled("_scaled_mm", a, b, scale_a, scale_b, out_dtype or torch.bfloat16)
        if bias is not None:
            wanted.arrays["bias"] = bias
        return wanted
    wanted = Wanted("_scaled_mm", a, b, out_dtype or a.dtype, (a.shape[0], b.shape[1]))
    (m, n), sizes = wanted.shape, (scale_a.numel(), scale_b.numel())
    if scale_a.dtype != torch.float32 or scale_b.dtype != torch.float32:
        raise Refused(f"scales in {scale_a.dtype} and {scale_b.dtype}: not recorded")
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
    if scale_result is not None and wanted.result in FLOAT8:
        wanted.fields["scale_result"] = float(scale_result.item())
    return wanted


#: Formats of the scales of blocks, by their types: what they are called, and how many k share one.
BLOCKS: dict[torch.dtype, tuple[str, int]] = {torch.float8_e4m3fn: ("ue4m3", 16)}
if hasattr(torch, "float8_e8m0fnu"):
    BLOCKS[torch.float8_e8m0fnu] = ("ue8m0", 32)


def block_scaled(
    op: str, a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor, result: torch.dtype
) -> Wanted:
    """A product of MXFP8, MXFP4 or NVFP4: ``b`` is stored N x K, scales as cuBLAS wants them, in tiles of 128 x 4."""
    scale_format, block = BLOCKS[scale_a.dtype]
    fields: dict[str, Any] = {"scale_dtype": scale_format, "scale_block": block}
    wide = a.dtype in FLOAT8
    if not wide:
        # Two codes a byte, the first in the low bits.
        a, b = _codes_of_four_bits(a), _codes_of_four_bits(b.t()).t()
        fields["dtype"] = "e2m1"
    elif scale_format != "ue8m0":
        raise Refused(f"scales of blocks in {scale_a.dtype} of {a.dtype}")
    wanted = Wanted(op, a, b, result, (a.shape[0], b.shape[1]), fields=fields)
    k = a.shape[1] // block
    wanted.arrays.update(
        scale_a=_out_of_tiles(scale_a, a.shape[0], k), scale_b=_out_of_tiles(scale_b, b.shape[1], k).t()
    )
    wanted.note = "scales of blocks are the instruction's, and K is one chain; cuBLAS's order is not published"
    return wanted


def _codes_of_four_bits(packed: torch.Tensor) -> torch.Tensor:
    seen = packed.contiguous().view(torch.uint8)
    return torch.stack((seen & 15, seen >> 4), -1).flatten(-2)


def _out_of_tiles(scales: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Codes of scales as a matrix: of cuBLAS's tiles of 128 rows and 4 columns, in which row 32 * i + j is the i-th of j."""
    across, down = -(-columns // 4), -(-rows // 128)
    codes = scales.contiguous().view(torch.uint8)
    if codes.numel() != down * across * 512:
        raise Refused(f"{codes.numel()} scales of blocks: {down * across * 512} in tiles of 128 x 4 are expected")
    tiles = codes.reshape(down, across, 32, 4, 4).permute(0, 3, 2, 1, 4)
    return tiles.reshape(down * 128, across * 4)[:rows, :columns]


MEANINGS: dict[str, Callable[..., Wanted | None]] = {
    "mm": _mm,
    "bmm": _bmm,
    "addmm": _addmm,
    "baddbmm": _baddbmm,
    "linear": _linear,
    "mv": _mv,
    "dot": _dot,
    "vdot": _dot,
    "addmv": _addmv,
    "convolution": _convolution,
    "cudnn_convolution": _cudnn_convolution,
    "mkldnn_convolution": _mkldnn_convolution,
    "_int_mm": _int_mm,
    "_scaled_mm": scaled_mm,
}


#: Operations of other namespaces, by their full name, and functions of Python, by their dotted one; `register` adds to them.
REGISTERED: dict[str, Callable[..., Wanted | None]] = {}


def wanted(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Wanted | None:
    """The product that an operation is; none if it is none.

    :raises Refused: if it is one that no request can ask for, or that cannot be examined.
    """
    name = func if isinstance(func, str) else full_name(func)
    space, _, base = name.partition("::")
    meaning: Callable[..., Wanted | None] | None = REGISTERED.get(name)
    if meaning is None and space == "aten":
        # In place, as `addmm_`, it means the same.
        meaning = MEANINGS.get(base) or MEANINGS.get(base.removesuffix("_"))
    if meaning is None:
        return None
    with _disable_current_modes():
        why = odd((args, kwargs))
        if why:
            raise Refused(why)
        return _examined(meaning, args, kwargs)


def _examined(meaning: Callable[..., Wanted | None], args: Sequence[Any], kwargs: dict[str, Any]) -> Wanted | None:
    try:
        return _wanted(meaning, args, kwargs)
    except (Refused, KeyboardInterrupt):
        raise
    except Exception as error:
        # A program that runs must not stop because we do not understand it.
        raise Refused(f"cannot be examined: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from None


def odd(values: Any) -> str | None:
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


def _wanted(meaning: Callable[..., Wanted | None], args: Sequence[Any], kwargs: dict[str, Any]) -> Wanted | None:
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

#: What has no element is missed by nobody.
EMPTY = "a product without elements"


def opens(func: Any) -> bool:
    """Whether an operation is made of others, which are seen."""
    name = full_name(func)
    if name.removeprefix("aten::").removesuffix("_") in OPENED:
        return True
    return isinstance(func, torch._ops.OpOverload) and _dispatcher.composite(func.name())


def formats(found: Wanted) -> dict[str, Any]:
    """The fields that say formats, and for FP32 the unit: tensor cores take TF32, and only if torch lets them."""
    a, b = found.a.dtype, found.b.dtype
    if "dtype" in found.fields:
        # Codes of a format that has no type of one byte.
        return {"dtype": found.fields["dtype"], "d_dtype": _name(found.result)}
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
