"""Operations of other libraries, by their public signatures. None of this has run here against its library.

What is called like a product and has no rule here is named as not recorded: dispatched by torch it is anyway, and of functions
that torch does not dispatch those that are public are listed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

from tcverify._recorder import Refused
from tcverify.torch import _scaled_products
from tcverify.torch._product_request import ProductRequest
from tcverify.torch._register import product, register

def _scales(a: torch.Tensor, b: torch.Tensor, a_scales: torch.Tensor, b_scales: torch.Tensor) -> dict[str, torch.Tensor]:
    """vLLM's: one f32 for each row of A and column of B, or one for all."""
    (m, n), sizes = (a.shape[0], b.shape[1]), (a_scales.numel(), b_scales.numel())
    if sizes[0] not in (1, m) or sizes[1] not in (1, n) or {a_scales.dtype, b_scales.dtype} != {torch.float32}:
        raise Refused(f"scales {tuple(a_scales.shape)} and {tuple(b_scales.shape)}: those of blocks are not recorded")
    return {"scale_a": a_scales.reshape(-1), "scale_b": b_scales.reshape(-1)}


def vllm_scaled_mm(
    out: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    a_scales: torch.Tensor,
    b_scales: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> ProductRequest:
    found = product(a, b, out=out, bias=bias, schedule="vllm-scaled-mm", **_scales(a, b, a_scales, b_scales))
    if a.dtype in _scaled_products.FLOAT8:
        found.unknown_on["ada"] = "on Ada vLLM's FP8 kernels have two orders of sums, by shape, of which one is not known here"
    return found


def vllm_scaled_mm_azp(
    out: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    a_scales: torch.Tensor,
    b_scales: torch.Tensor,
    azp_adj: torch.Tensor,
    azp: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
) -> ProductRequest:
    schedule = "vllm-int8-azp" if azp is None else "vllm-int8-azp-token"
    points = {"azp_adj": azp_adj.reshape(-1), "azp": None if azp is None else azp.reshape(-1)}
    return product(a, b, out=out, bias=bias, schedule=schedule, **_scales(a, b, a_scales, b_scales), **points)


def vllm_scaled_fp4_mm(
    out: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    block_scale_a: torch.Tensor,
    block_scale_b: torch.Tensor,
    alpha: torch.Tensor,
) -> ProductRequest:
    found = _scaled_products.block_scaled("cutlass_scaled_fp4_mm", a, b.t(), block_scale_a, block_scale_b, out.dtype)
    found.fields["alpha"] = float(alpha.item())
    found.out = out
    return found


def vllm_block_scaled_mm(
    qx: torch.Tensor,
    weight: torch.Tensor,
    x_scale: torch.Tensor,
    weight_scale: torch.Tensor,
    block_size: Sequence[int],
    output_dtype: torch.dtype,
) -> ProductRequest:
    """vLLM's kernel in Triton: ``qx`` has a scale for 128 k of a row, ``weight``, N x K, one for 128 x 128."""
    if list(block_size) != [128, 128] or {x_scale.dtype, weight_scale.dtype} != {torch.float32}:
        raise Refused("scales of other blocks than 128 x 128, or not in f32: not modelled")
    return product(qx, weight.t(), result=output_dtype, scale_a=x_scale, scale_b=weight_scale.t(), schedule="triton-fp8-block")


def sglang_scaled_mm(
    mat_a: torch.Tensor,
    mat_b: torch.Tensor,
    scales_a: torch.Tensor,
    scales_b: torch.Tensor,
    out_dtype: torch.dtype,
    bias: torch.Tensor | None = None,
) -> ProductRequest:
    """``fp8_scaled_mm`` and ``int8_scaled_mm``, whose epilogue from Hopper on is that of vLLM's."""
    scales = _scales(mat_a, mat_b, scales_a, scales_b)
    found = product(mat_a, mat_b, result=out_dtype, bias=bias, schedule="vllm-scaled-mm", **scales)
    if mat_a.dtype in _scaled_products.FLOAT8:
        found.unknown_on["ada"] = "on Ada SGLang's FP8 kernel adds sums of tiles, in an order that is not known here"
    else:
        why = "before Hopper SGLang's INT8 kernel multiplies sums by both scales at once, for which no schedule is known"
        found.unknown_on.update(dict.fromkeys(("turing", "ampere", "ada"), why))
    return found


def deep_gemm_fp8(
    a: tuple[torch.Tensor, torch.Tensor],
    b: tuple[torch.Tensor, torch.Tensor],
    d: torch.Tensor,
    c: torch.Tensor | None = None,
    recipe: tuple[int, int, int] | None = None,
    *others: Any,
    **named: Any,
) -> ProductRequest:
    """``fp8_gemm_nt``: A is M x K with a scale for 128 k of a row, B N x K with one for 128 x 128."""
    (x, scale_x), (w, scale_w) = a, b
    if c is not None or recipe not in (None, (1, 128, 128)):
        raise Refused("DeepGEMM with C, or with scales of other blocks than 1 x 128 and 128 x 128: not modelled")
    if scale_x.dtype != torch.float32 or (x.is_cuda and torch.cuda.get_device_capability(x.device)[0] != 9):
        raise Refused("DeepGEMM on another GPU than Hopper, whose scales are powers of two: not modelled")
    return product(x, w.t(), out=d, scale_a=scale_x, scale_b=scale_w.t(), schedule="deepgemm-sm90")


def deep_gemm_first(lhs: Any, rhs: Any, out: torch.Tensor) -> ProductRequest:
    """As of its first releases."""
    return deep_gemm_fp8(lhs, rhs, out)


def te_generic_gemm(
    A: Any, transa: bool, B: Any, transb: bool, D: torch.Tensor | None, quantizer: Any, output_dtype: Any,
    bias: torch.Tensor | None, bias_type: Any, gelu: bool, gelu_in: Any, grad: bool, workspace: Any, workspace_size: Any,
    accumulate: bool, use_split_accumulator: bool, *others: Any, **named: Any,
) -> ProductRequest:  # fmt: skip
    """TransformerEngine's one GEMM, as its ``general_gemm`` calls it: D = B A of columns that cuBLAS sees, so B A^T of rows for "TN"."""
    if quantizer is not None or gelu or accumulate or grad and bias is not None:
        raise Refused("TransformerEngine with a quantized D, GELU, accumulation or the gradient of a bias: not recorded")
    fields: dict[str, Any] = {"bias": bias if bias is not None and bias.numel() else None}
    if type(A) is torch.Tensor or type(A) is torch.nn.Parameter:
        a, b = (B.mT if transb else B), (A.mT if transa else A)
    else:
        a, b, scales = _te_quantized(B), _te_quantized(A), (B, A)
        if not transa or transb:
            raise Refused("TransformerEngine's FP8 product of operands that are stored otherwise than \"TN\"")
        b = b.t()
        scale_a, scale_b = (one._scale_inv.reshape(-1) for one in scales)
        fields.update(scale_a=scale_a, scale_b=scale_b, schedule=_scaled_products.SCALED)
        if not use_split_accumulator:
            fields["promote"] = "never"
    shape = (*a.shape[:-1], b.shape[-1])
    kind = D.dtype if D is not None else torch.bfloat16 if a.dtype in _scaled_products.FLOAT8 else a.dtype
    found = product(a.reshape(-1, a.shape[-1]), b, result=kind, index=0, **fields)

    def returned(d: torch.Tensor) -> Any:
        return (d.reshape(shape) if D is None else D.copy_(d.reshape(D.shape)), None, None, None)

    found.tensor = returned
    return found


def _te_quantized(tensor: Any) -> torch.Tensor:
    """Codes of a tensor with one scale."""
    data, scale, kind = (getattr(tensor, name, None) for name in ("_data", "_scale_inv", "_fp8_dtype"))
    formats = {"kFloat8E4M3": torch.float8_e4m3fn, "kFloat8E5M2": torch.float8_e5m2}
    format = formats.get(getattr(kind, "name", str(kind)))
    if data is None or scale is None or scale.numel() != 1 or format is None:
        raise Refused(f"a {type(tensor).__name__} of TransformerEngine: only one scale for a tensor is recorded")
    return data.view(format)


def _packed(instead: str) -> Callable[..., NoReturn]:
    """A product whose right operand are codes in an order of a kernel's own."""

    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise Refused(f"codes of weights, packed for a kernel, are not unpacked here: {instead}")

    return refused


def _not_modelled(name: str) -> Callable[..., NoReturn]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        raise Refused(f"{name} has no rule here")

    return refused


READY: dict[str, Callable[..., ProductRequest | None]] = {
    "_C::cutlass_scaled_mm": vllm_scaled_mm,
    "_C::cutlass_scaled_mm_azp": vllm_scaled_mm_azp,
    "_C::cutlass_scaled_fp4_mm": vllm_scaled_fp4_mm,
    "vllm::w8a8_triton_block_scaled_mm_func": vllm_block_scaled_mm,
    "sgl_kernel::fp8_scaled_mm": sglang_scaled_mm,
    "sgl_kernel::int8_scaled_mm": sglang_scaled_mm,
    "sgl_kernel::cutlass_scaled_fp4_mm": vllm_scaled_fp4_mm,
    "deep_gemm.fp8_gemm_nt": deep_gemm_fp8,
    "deep_gemm.gemm_fp8_fp8_bf16_nt": deep_gemm_first,
    "transformer_engine_torch.generic_gemm": te_generic_gemm,
}

#: Products of packed weights, by what to do instead (docs/weights.md).
PACKED = {
    'check(x, codes, d, weights="u4b8", kernel="marlin-vllm") judges them': """
        _C::marlin_gemm _C::gptq_marlin_gemm _C::awq_marlin_gemm _C::fp8_marlin_gemm _moe_C::moe_wna16_marlin_gemm
        sgl_kernel::gptq_marlin_gemm sgl_kernel::moe_wna16_marlin_gemm
    """,
    'check(x, codes, d, weights="u4", schedule="vllm-awq-gemm") judges them': "_C::awq_gemm",
    "ExLlama's kernel adds in no fixed order, so weights= cannot judge it": "_C::gptq_gemm sgl_kernel::gptq_gemm",
    'check_operation("mul_mat_vec_q") judges one to eight rows': "_C::ggml_mul_mat_vec_a8",
    "weights= has no rule for this kernel": "_C::machete_mm _C::allspark_w8a16_gemm _C::ggml_mul_mat_a8",
}

#: Of vLLM, SGLang and torchvision: known to move numbers, or to work on each alone.
WITHOUT = """
_C::rms_norm _C::fused_add_rms_norm _C::fused_qk_norm_rope _C::rotary_embedding _C::silu_and_mul _C::mul_and_silu _C::gelu_and_mul
_C::gelu_tanh_and_mul _C::fatrelu_and_mul _C::swigluoai_and_mul _C::gelu_new _C::gelu_fast _C::gelu_quick _C::silu_and_mul_quant
_C::static_scaled_fp8_quant _C::dynamic_scaled_fp8_quant _C::dynamic_per_token_scaled_fp8_quant _C::static_scaled_int8_quant
_C::dynamic_scaled_int8_quant _C::rms_norm_static_fp8_quant _C::fused_add_rms_norm_static_fp8_quant _C::rms_norm_dynamic_per_token_quant
_C::scaled_fp4_quant _C::weak_ref_tensor _C::apply_repetition_penalties_ _C::top_k_per_row_decode _C::top_k_per_row_prefill
_C_cache_ops::reshape_and_cache _C_cache_ops::reshape_and_cache_flash _C_cache_ops::concat_and_cache_mla _C_cache_ops::swap_blocks
_C_cache_ops::convert_fp8 _C_cache_ops::gather_and_maybe_dequant_cache _C_custom_ar::all_reduce
_C::gptq_shuffle _C::gptq_marlin_repack _C::awq_marlin_repack _C::awq_dequantize _C::machete_prepack_B
sgl_kernel::sgl_per_token_quant_fp8 sgl_kernel::sgl_per_tensor_quant_fp8 sgl_kernel::sgl_per_token_group_quant_8bit
sgl_kernel::sgl_per_token_group_quant_8bit_v2 sgl_kernel::scaled_fp4_quant sgl_kernel::rmsnorm sgl_kernel::fused_add_rmsnorm
sgl_kernel::gemma_rmsnorm sgl_kernel::gemma_fused_add_rmsnorm sgl_kernel::silu_and_mul sgl_kernel::gelu_and_mul
sgl_kernel::gelu_tanh_and_mul sgl_kernel::apply_rope_pos_ids_cos_sin_cache sgl_kernel::awq_dequantize sgl_kernel::gptq_shuffle
sgl_kernel::gptq_marlin_repack sgl_kernel::awq_marlin_repack sgl_kernel::moe_align_block_size sgl_kernel::topk_softmax
sgl_kernel::moe_sum sgl_kernel::moe_sum_reduce sgl_kernel::all_reduce
torchvision::nms torchvision::roi_align torchvision::roi_pool
""".split()

#: Functions that multiply, are not dispatched by torch, and have no rule here: so that they are named.
NAMED = """
deep_gemm.fp8_gemm_nn deep_gemm.fp8_gemm_tn deep_gemm.fp8_gemm_tt deep_gemm.fp8_fp4_gemm_nt deep_gemm.bf16_gemm_nt
deep_gemm.bf16_gemm_nn deep_gemm.m_grouped_fp8_gemm_nt_contiguous deep_gemm.m_grouped_fp8_gemm_nt_masked
deep_gemm.k_grouped_fp8_gemm_nt_contiguous deep_gemm.m_grouped_bf16_gemm_nt_contiguous deep_gemm.fp8_mqa_logits
deep_gemm.fp8_paged_mqa_logits deep_gemm.einsum transformer_engine_torch.te_general_grouped_gemm
transformer_engine_torch.fused_attn_fwd transformer_engine_torch.fused_attn_bwd flash_attn_2_cuda.fwd flash_attn_2_cuda.bwd
flash_attn_2_cuda.varlen_fwd flash_attn_2_cuda.varlen_bwd flash_attn_2_cuda.fwd_kvcache
""".split()

for _name, _meaning in READY.items():
    register(_name, _meaning)
for _instead, _names in PACKED.items():
    for _name in _names.split():
        register(_name, _packed(_instead))
for _name in WITHOUT:
    register(_name, no_products=True)
for _name in NAMED:
    register(_name, _not_modelled(_name))
