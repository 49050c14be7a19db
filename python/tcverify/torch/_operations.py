"""Operations of torch between products, as steps that a manifest can ask about (docs/layers.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from tcverify.torch._known import opname
from tcverify._recorder import Refused

#: Modules that compute RMSNorm as Llama's does: in f32, rounded, times the weight.
RMS_NORMS = (
    "LlamaRMSNorm", "MistralRMSNorm", "MixtralRMSNorm", "Qwen2RMSNorm", "Qwen2MoeRMSNorm", "Qwen3RMSNorm",
    "Qwen3MoeRMSNorm", "Phi3RMSNorm",
)

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)

#: Attention whose order nobody published, or that is another than the one that is modelled.
_OTHER_ATTENTION = {
    "_scaled_dot_product_cudnn_attention": "cuDNN's kernels are closed",
    "_scaled_dot_product_efficient_attention": "tiles and order of the memory-efficient kernel are not gathered",
    "_scaled_dot_product_flash_attention_for_cpu": "a CPU's attention is none of a GPU's",
    "_flash_attention_forward": "sequences of different lengths in one call are not modelled",
    "_efficient_attention_forward": "tiles and order of the memory-efficient kernel are not gathered",
}


@dataclass
class Between:
    """A step as a request: arrays by field, other fields, and which of the results is y."""

    op: str
    arrays: dict[str, torch.Tensor]
    fields: dict[str, Any] = field(default_factory=dict)
    #: Of several results.
    result: int | None = None
    #: Whether the GPU decides bits of it.
    needs_arch: bool = False


def _step(op: str, operation: str, variant: str, **arrays: torch.Tensor | None) -> Between:
    there = {name: tensor for name, tensor in arrays.items() if tensor is not None}
    kinds = {tensor.dtype for tensor in there.values()}
    if len(kinds) > 1:
        raise Refused(f"{', '.join(sorted(map(str, kinds)))} together are not modelled")
    return Between(op, there, {"operation": operation, "variant": variant})


def _silu(x: torch.Tensor) -> Between:
    return _step("silu", "silu", "pytorch", x=x)


def _gelu(x: torch.Tensor, *, approximate: str = "none") -> Between:
    if approximate != "tanh":
        raise Refused("GELU by erf: no version's coefficients give the published counts above 1")
    return _step("gelu", "gelu", "pytorch-tanh", x=x)


def _softmax(x: torch.Tensor, dim: int, half_to_float: bool = False) -> Between:
    if dim not in (-1, x.dim() - 1):
        raise Refused("softmax over another axis than the last")
    if half_to_float:
        raise Refused("softmax of 16 bits into FP32 is not modelled")
    return _step("softmax", "softmax", "pytorch" if _since(2, 7) else "pytorch-2.6", x=x)


def _layer_norm(
    x: torch.Tensor, shape: Sequence[int], weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float
) -> Between:
    if len(shape) != 1:
        raise Refused("layer_norm over several axes")
    step = _step("layer_norm", "layer_norm", "pytorch", x=x, weight=weight, bias=bias)
    step.fields["eps"] = repr(eps)
    step.result = 0
    return step


def _fused_rms_norm(x: torch.Tensor, shape: Sequence[int], weight: torch.Tensor | None, eps: float | None) -> Between:
    if len(shape) != 1 or weight is None or eps is None:
        raise Refused("rms_norm over several axes, without a weight or without eps")
    step = _step("rms_norm", "rms_norm", "pytorch-fused", x=x, weight=weight)
    step.fields["eps"] = repr(eps)
    step.result = 0
    return step


def _add(x: Any, other: Any, *, alpha: Any = 1) -> Between | None:
    if not isinstance(x, torch.Tensor) or not isinstance(other, torch.Tensor) or 0 in (x.dim(), other.dim()):
        return None
    if x.dtype not in _FLOATS:
        return None
    if alpha != 1:
        raise Refused("a sum with a factor")
    if x.shape == other.shape:
        return _step("add", "add", "rounded-once", x=x, other=other)
    if other.shape == x.shape[-1:]:
        return _step("add", "bias", "rounded-once", x=x, bias=other)
    raise Refused("a sum of arrays of different shapes")


def _flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0, is_causal: bool = False,
    return_debug_mask: bool = False, *, scale: float | None = None,
) -> Between:
    if dropout_p:
        raise Refused("attention with dropout")
    if is_causal and q.shape[-2] != k.shape[-2]:
        raise Refused("causal attention of fewer queries than keys")
    step = _step("attention", "attention", "pytorch-flash", q=q, k=k, v=v)
    step.fields["layout"] = "bhsd"
    if is_causal:
        step.fields["causal"] = True
    if scale is not None:
        step.fields["softmax_scale"] = repr(scale)
    step.result, step.needs_arch = 0, True
    return step


def _flash_attn(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float, softmax_scale: float, causal: bool,
    window_size_left: int, window_size_right: int, softcap: float, alibi_slopes: torch.Tensor | None, return_softmax: bool,
) -> Between:
    """The package flash-attn, version 2: batch x rows x heads x numbers."""
    if dropout_p or softcap or alibi_slopes is not None or window_size_left >= 0 or window_size_right > 0:
        raise Refused("attention with dropout, a cap, slopes or a window")
    if window_size_right == 0 and not causal:
        raise Refused("attention with a window")
    if causal and q.shape[1] != k.shape[1]:
        raise Refused("causal attention of fewer queries than keys")
    step = _step("attention", "attention", "flash-attention-2", q=q, k=k, v=v)
    step.fields.update(layout="bshd", softmax_scale=repr(softmax_scale))
    if causal:
        step.fields["causal"] = True
    step.result, step.needs_arch = 0, True
    return step


_MEANINGS: dict[str, Callable[..., Between | None]] = {
    "flash_attn::_flash_attn_forward": _flash_attn,
    "silu": _silu,
    "gelu": _gelu,
    "_softmax": _softmax,
    "native_layer_norm": _layer_norm,
    "_fused_rms_norm": _fused_rms_norm,
    "add": _add,
    "_scaled_dot_product_flash_attention": _flash,
}


def _since(*version: int) -> bool:
    return tuple(int(part) for part in str(torch.__version__).split(".")[:2]) >= version


def known(name: str) -> bool:
    """Whether an operation of this full name may be a step."""
    name = name.removeprefix("aten::")
    return name in _OTHER_ATTENTION or name in _MEANINGS or name.removesuffix("_") in _MEANINGS


def operation_of(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Between | None:
    """The step that an operation is; none if it is none.

    :raises Refused: if it is one that no rule is known for.
    """
    name = opname(func)
    if name in _OTHER_ATTENTION:
        raise Refused(_OTHER_ATTENTION[name])
    meaning = _MEANINGS.get(name) or _MEANINGS.get(name.removesuffix("_"))
    if meaning is None:
        return None
    with _disable_current_modes():
        found = meaning(*args, **{name: value for name, value in kwargs.items() if name != "out"})
    return found and _plain(found)


def _plain(found: Between) -> Between | None:
    first = next(iter(found.arrays.values()))
    if first.dtype not in _FLOATS:
        raise Refused(f"{first.dtype}: operations take fp16, bf16 and fp32")
    if any(tensor.numel() == 0 for tensor in found.arrays.values()):
        raise Refused("an array without elements")
    return found


def normed(module: torch.nn.Module, args: Sequence[Any], names: Sequence[str]) -> Between | None:
    """The RMSNorm that a module is; none if it is none.

    :raises Refused: if it is called one, and its recipe is not known.
    """
    kind = type(module).__name__
    if not kind.endswith("RMSNorm") or isinstance(module, torch.nn.RMSNorm):
        return None
    if kind not in names:
        raise Refused(f"{kind}: whether it computes as Llama's is not known; rms_norms= says which do")
    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    weight = getattr(module, "weight", None)
    if not isinstance(eps, float) or not isinstance(weight, torch.Tensor) or not args:
        raise Refused(f"{kind}: it has no weight and eps as Llama's has")
    variant = "hf-eager" if _since(2, 10) else "hf-eager-2.9"
    step = _step("rms_norm", "rms_norm", variant, x=args[0], weight=weight)
    step.fields["eps"] = repr(eps)
    return _plain(step)
