"""Which operations of torch contain no matrix product.

A product is what a GEMM does: sums over k of A[i, k] * B[k, j], of two operands. Reviewed name by name in torch's own
registry (2.5 to 2.7): what is not listed here may hold products, and is then recorded, or named as not recorded. So a
new operation of a new version is named until somebody has looked at it. Element by element, torch may multiply and add
(``addcmul``, ``lerp``); a reduction of one array, a norm, a softmax or an interpolation is none.

Not listed on purpose: convolutions, attention, recurrent layers, everything of ``linalg`` that decomposes or solves,
Fourier transforms, distances (``cdist`` multiplies matrices), sparse and quantized products, ``embedding_bag`` with weights.
"""

from __future__ import annotations

import re
from typing import Any

import torch

_VIEWS = """
alias as_strided as_strided_scatter broadcast_tensors chunk conj _conj _conj_physical conj_physical detach diagonal diagonal_scatter
expand expand_as _neg_view resolve_conj resolve_neg permute real imag _reshape_alias reshape select select_scatter slice slice_inverse
slice_scatter split split_with_sizes unsafe_split unsafe_split_with_sizes squeeze t transpose swapaxes unbind unfold unsqueeze
_unsafe_view view view_as view_as_complex view_as_real flatten unflatten movedim narrow lift lift_fresh _fw_primal _make_dual
_has_same_storage_numel _lazy_clone numpy_T mT mH adjoint
"""

_COPIES_AND_MAKING = """
arange bartlett_window blackman_window block_diag cat _chunk_cat clone constant_pad_nd contiguous _copy_from _copy_from_and_resize
copy _to_copy to complex diag_embed _efficientzerotensor empty empty_like empty_permuted empty_strided eye fft_fftfreq fft_rfftfreq
fill flip from_file full full_like hamming_window hann_window kaiser_window linspace logspace new_empty new_empty_strided new_full
new_ones new_zeros _new_zeros_with_same_feature_meta ones ones_like pixel_shuffle pixel_unshuffle channel_shuffle polar range
reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d reflection_pad1d_backward
reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward
repeat repeat_interleave _reshape_copy resize resize_as _resize_output roll rot90 scalar_tensor set stack _stack tril tril_indices triu triu_indices
im2col col2im zero zeros zeros_like _pin_memory record_stream _cudnn_rnn_flatten_weight lu_unpack
to_mkldnn _mkldnn_reshape _mkldnn_transpose mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight
_pack_padded_sequence _jagged_to_padded_dense_forward _padded_dense_to_jagged_forward to_padded_tensor
_convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu _dyn_quant_pack_4bit_weight
"""

_INDEXING = """
bucketize embedding index_copy embedding_dense_backward embedding_renorm gather index index_add index_fill index_put _index_put_impl
index_reduce index_select masked_fill masked_scatter masked_scatter_backward masked_select nonzero nonzero_static put scatter
scatter_add scatter_reduce searchsorted select_backward slice_backward diagonal_backward unfold_backward take _unsafe_index
_unsafe_index_put _unsafe_masked_index _unsafe_masked_index_put_accumulate where
"""

_ELEMENTWISE = """
abs acos acosh add _add_relu addcdiv addcmul addr angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not
bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min copysign cos cosh deg2rad digamma div elu
elu_backward erf erfc erfinv exp exp2 expm1 floor floor_divide fmax fmin fmod frac frexp gcd gelu gelu_backward glu glu_backward
glu_backward_jvp glu_jvp hardshrink hardshrink_backward hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh
hardtanh_backward heaviside hypot i0 igamma igammac lcm leaky_relu leaky_relu_backward lerp lgamma linalg_cross log log10 log1p log2
logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logit_backward log_sigmoid_forward log_sigmoid_backward
maximum minimum mish mish_backward mul mvlgamma nan_to_num neg nextafter polygamma pow _prelu_kernel _prelu_kernel_backward
rad2deg reciprocal relu relu6 remainder round rrelu_with_noise rrelu_with_noise_backward rrelu_with_noise_functional rsqrt rsub sgn
sigmoid sigmoid_backward sign signbit silu silu_backward sin sinc sinh softplus softplus_backward softshrink softshrink_backward
special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr special_erfcx
special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1 special_i1e special_laguerre_polynomial_l
special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
special_modified_bessel_k1 special_ndtri special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
special_shifted_chebyshev_polynomial_w special_spherical_bessel_j0 special_xlog1py special_zeta sqrt square sub tan tanh
tanh_backward threshold threshold_backward trunc xlogy __ilshift__ __irshift__ __lshift__ __rshift__ __and__ __or__ __xor__
_masked_scale _transform_bias_rescale_qkv _thnn_fused_lstm_cell _thnn_fused_gru_cell _thnn_fused_gru_cell_backward
_thnn_fused_lstm_cell_backward_impl quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic dequantize int_repr
q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme _empty_affine_quantized
_empty_per_channel_affine_quantized empty_quantized _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor
fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask
_fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fake_quantize_learnable_per_channel_affine
_fake_quantize_learnable_per_channel_affine_backward _fake_quantize_learnable_per_tensor_affine
_fake_quantize_learnable_per_tensor_affine_backward _fused_moving_avg_obs_fq_helper _fused_moving_avg_obs_fq_helper_functional
_amp_foreach_non_finite_check_and_unscale _amp_update_scale _fused_adagrad _fused_adam _fused_adamw _fused_sgd
"""

_COMPARISONS = """
all allclose any eq equal ge gt is_same_size isin isinf isnan isneginf isposinf isfinite isreal le lt ne _is_all_true _is_any_true
is_coalesced is_pinned is_set_to is_nonzero item _local_scalar_dense _assert_async _assert_scalar _assert_tensor_metadata _linalg_check_errors
_functional_assert_async _functional_assert_scalar _functional_sym_constrain_range _functional_sym_constrain_range_for_size
sym_constrain_range sym_constrain_range_for_size sym_size sym_stride sym_numel sym_storage_offset size stride _make_dep_token _print
_fused_sdp_choice _debug_has_internal_overlap _use_cudnn_ctc_loss _nested_tensor_from_mask_left_aligned is_leaf
"""

_REDUCTIONS = """
_aminmax amax amin aminmax argmax argmin argsort bincount count_nonzero cummax cummin _cummax_helper _cummin_helper cumprod cumsum
dist histc histogram _histogramdd_bin_edges _histogramdd_from_bin_cts _histogramdd_from_bin_tensors kthvalue linalg_vector_norm
logcumsumexp _logcumsumexp logsumexp max mean median min mode nanmedian nansum norm native_norm prod renorm segment_reduce
_segment_reduce_backward sort std std_mean sum topk trace _unique _unique2 unique_consecutive unique_dim unique_dim_consecutive var
var_mean
"""

_NORMS_SOFTMAX_LOSSES = """
_batch_norm_no_update _batch_norm_with_update _batch_norm_with_update_functional batch_norm_backward batch_norm_backward_elemt
batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
batch_norm_update_stats cudnn_batch_norm cudnn_batch_norm_backward miopen_batch_norm miopen_batch_norm_backward native_batch_norm
_native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training native_batch_norm_backward
native_group_norm native_group_norm_backward native_layer_norm native_layer_norm_backward quantized_batch_norm _fused_rms_norm
_fused_rms_norm_backward rms_norm _weight_norm_interface _weight_norm_interface_backward _log_softmax _log_softmax_backward_data
log_softmax _masked_softmax _masked_softmax_backward _safe_softmax _softmax _softmax_backward_data softmax
binary_cross_entropy binary_cross_entropy_backward binary_cross_entropy_with_logits _ctc_loss _ctc_loss_backward huber_loss
huber_loss_backward mse_loss mse_loss_backward multi_margin_loss multi_margin_loss_backward multilabel_margin_loss_forward
multilabel_margin_loss_backward nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward smooth_l1_loss
smooth_l1_loss_backward soft_margin_loss soft_margin_loss_backward
"""

_POOLING_AND_INTERPOLATION = """
_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward adaptive_avg_pool1d
adaptive_avg_pool2d adaptive_avg_pool3d adaptive_avg_pool3d_backward adaptive_max_pool2d adaptive_max_pool2d_backward
adaptive_max_pool3d adaptive_max_pool3d_backward avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d avg_pool3d_backward
fractional_max_pool2d fractional_max_pool2d_backward fractional_max_pool3d fractional_max_pool3d_backward max_pool2d_backward
max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices max_pool3d_with_indices_backward max_unpool2d
max_unpool3d mkldnn_adaptive_avg_pool2d mkldnn_adaptive_avg_pool2d_backward mkldnn_max_pool2d mkldnn_max_pool2d_backward
mkldnn_max_pool3d mkldnn_max_pool3d_backward quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d
grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward _grid_sampler_2d_cpu_fallback cudnn_grid_sampler
cudnn_grid_sampler_backward upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d upsample_bilinear2d_backward
upsample_linear1d upsample_linear1d_backward upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d
upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward upsample_trilinear3d upsample_trilinear3d_backward
_upsample_nearest_exact1d _upsample_nearest_exact1d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward
_upsample_nearest_exact3d _upsample_nearest_exact3d_backward _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward
_upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward
"""

_RANDOM = """
bernoulli binomial cauchy _cudnn_init_dropout_state _dirichlet_grad exponential _fill_mem_eff_dropout_mask_ _fused_dropout geometric
log_normal multinomial native_dropout native_dropout_backward normal normal_functional poisson rand rand_like randint randint_like
randn randn_like random randperm _sample_dirichlet _standard_gamma _standard_gamma_grad uniform
"""

_LAYOUTS = """
_coalesce _coalesced ccol_indices col_indices crow_indices row_indices indices _indices values _values _nnz dense_dim sparse_dim _dimI
_dimV _to_dense _to_sparse _to_sparse_bsc _to_sparse_bsr _to_sparse_csc _to_sparse_csr _convert_indices_from_coo_to_csr
_convert_indices_from_csr_to_coo copy_sparse_to_sparse resize_as_sparse sparse_resize sparse_resize_and_clear sparse_coo_tensor
sparse_compressed_tensor sparse_mask _sparse_mask_projection _sparse_broadcast_to _sparse_compressed_tensor_with_dims
_sparse_coo_tensor_with_dims _sparse_coo_tensor_with_dims_and_tensors _sparse_csr_prod _sparse_csr_sum _sparse_sum
_sparse_sum_backward _sparse_softmax _sparse_softmax_backward_data _sparse_log_softmax _sparse_log_softmax_backward_data _spdiags
_validate_compressed_sparse_indices _nested_compute_contiguous_strides_offsets _nested_from_padded
_nested_from_padded_and_nested_example _nested_from_padded_tensor _nested_get_jagged_dummy _nested_get_lengths
_nested_get_max_seqlen _nested_get_min_seqlen _nested_get_offsets _nested_get_ragged_idx _nested_get_values _nested_select_backward
_nested_sum_backward _nested_tensor_from_mask _nested_tensor_from_tensor_list _nested_tensor_size
_nested_tensor_softmax_with_shape _nested_tensor_storage_offsets _nested_tensor_strides _nested_view_from_buffer
_nested_view_from_jagged
"""

#: Lists of tensors, each element by element.
_FOREACH = """
abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min copy cos cosh div erf erfc exp expm1 floor frac lerp lgamma log log10
log1p log2 max maximum minimum mul neg norm pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc zero
"""

#: Names without overload, and without the ends that `in_place` takes off.
NO_PRODUCT = frozenset(
    " ".join(
        (
            _VIEWS, _COPIES_AND_MAKING, _INDEXING, _ELEMENTWISE, _COMPARISONS, _REDUCTIONS, _NORMS_SOFTMAX_LOSSES,
            _POOLING_AND_INTERPOLATION, _RANDOM, _LAYOUTS,
        )
    ).split()
) | {f"_foreach_{name}" for name in _FOREACH.split()}

#: Other namespaces of torch itself: messages between devices, shards of parameters, marks of the profiler, random numbers.
_OTHERS = re.compile(r"(c10d|_c10d_functional|_c10d_functional_autograd|fsdp|profiler|rngprims)::\w+|_dtensor::shard_dim_alltoall")
_PRIMS_WITH_PRODUCTS = ("prims::fft_c2c", "prims::fft_c2r", "prims::fft_r2c", "prims::svd")

#: What users have said of operations of their own: whether they contain no product.
harmless: set[str] = set()


def full_name(func: Any) -> str:
    """``aten::mm``; of an operation of higher order the name that it has."""
    schema = getattr(func, "_schema", None)
    if schema is not None:
        return str(schema.name)
    name = getattr(func, "name", None)
    name = name() if callable(name) else name or getattr(func, "__name__", type(func).__name__)
    return f"higher_order::{str(name)}"


def opname(func: Any) -> str:
    """``mm`` of ``aten::mm``; with the namespace if it is another one."""
    return full_name(func).removeprefix("aten::")


def without_products(name: str) -> bool:
    """Whether it is known that an operation of this full name contains no product."""
    if name in harmless:
        return True
    space, _, base = name.partition("::")
    if space == "prims":
        return name not in _PRIMS_WITH_PRODUCTS
    if space != "aten":
        return _OTHERS.fullmatch(name) is not None
    if base in NO_PRODUCT:
        return True
    # In place, or with a result that is a copy, it computes the same.
    return any(base.endswith(end) and base[: -len(end)] in NO_PRODUCT for end in ("_", "_copy", "_out"))


def multiply_adds(func: Any, args: Any, kwargs: Any, result: Any) -> int | None:
    """Of a call, as torch's own counter counts them; none of an operation that it does not know."""
    from torch.utils.flop_counter import flop_registry

    formula = flop_registry.get(getattr(func, "_overloadpacket", None))
    try:
        return None if formula is None else int(formula(*args, **kwargs, out_val=result)) // 2
    except Exception:
        # Tensors that have no such shape.
        return None


def contains_none(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether this call is known to contain no product."""
    name = full_name(func)
    if name in ("aten::_embedding_bag", "aten::_embedding_bag_forward_only", "aten::_embedding_bag_dense_backward"):
        # With weights for the rows it is a sum of products.
        tensors = [one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor)]
        return not any(one.is_floating_point() for one in tensors[1:])
    return without_products(name)
