"""Which primitives of JAX hold no matrix product, and which hold what their parts hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Primitives without a matrix product on a GPU. Others count as hiding some, unless they are products: factorisations, Fourier
#: transforms, callbacks, kernels of Pallas, collectives.
_WITHOUT = frozenset(
    """
    abs acos acosh add add_any after_all and approx_top_k argmax argmin asin asinh atan atan2 atanh bessel_i0e bessel_i1e
    bitcast_convert_type broadcast_in_dim cbrt ceil clamp clz complex concatenate conj convert_element_type copy copy_p cos
    cosh create_token cumlogsumexp cummax cummin cumprod cumsum dce_sink debug_callback debug_print device_put digamma div
    dynamic_slice dynamic_update_slice empty empty2 eq eq_to erf erf_inv erfc exp exp2 expm1 floor gather ge gt igamma
    igamma_grad_a igammac imag integer_pow iota is_finite layout_constraint le le_to lgamma log log1p logistic lt lt_to
    lu_pivots_to_permutation max min mul mulhi name ne neg nextafter not optimization_barrier or pad platform_index polygamma
    population_count pow random_bits random_clone random_fold_in random_gamma random_seed random_split random_unwrap
    random_wrap real reduce reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod reduce_sum reduce_window
    reduce_window_max reduce_window_min reduce_window_sum reduce_xor regularized_incomplete_beta rem reshape rev
    rng_bit_generator rng_uniform round rsqrt scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub scatter_add
    scatter_max scatter_min scatter_mul select_and_gather_add select_and_scatter select_and_scatter_add select_n
    sharding_constraint shift_left shift_right_arithmetic shift_right_logical sign sin sinh slice sort split sqrt square
    squeeze stack stop_gradient sub tan tanh threefry2x32 tile top_k transpose unstack xor zeta
    """.split()
)

#: Those that run a part of theirs once, by where they keep it.
CALLS = {
    "call": "call_jaxpr",
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
}

#: Those that run parts of theirs again and again, or one of several.
LOOPS = frozenset({"cond", "scan", "while"})


def contains_none(equation: Any, known: dict[int, bool]) -> bool:
    """Whether nothing that an equation does is a product; ``known`` keeps the answers for its parts."""
    name = equation.primitive.name
    if name not in _WITHOUT and name not in CALLS and name not in LOOPS:
        return False
    return all(_without(part, known) for part in _parts(equation.params))


def _parts(params: Mapping[str, Any]) -> Iterator[Any]:
    """The jaxprs among parameters, in tuples, too."""
    for value in params.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(one, "eqns"):
                yield one


def _without(jaxpr: Any, known: dict[int, bool]) -> bool:
    if id(jaxpr) not in known:
        known[id(jaxpr)] = all(contains_none(equation, known) for equation in jaxpr.eqns)
    return known[id(jaxpr)]
