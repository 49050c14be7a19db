//! 512-bit vectors of x86-64: AVX-512 F and BW.

use std::arch::x86_64::*;

use super::{FmaDown, Vector, operations};

/// Sixteen lanes; needs the features `avx512f` and `avx512bw`.
pub struct Avx512;

/// Doubles of the lower lanes, and of the upper ones.
#[derive(Clone, Copy)]
pub struct Pair(__m512d, __m512d);

// SAFETY: the intrinsics need AVX-512 F and BW, which whoever calls a method has
// detected (see the trait); pointers are the caller's promise, and unaligned forms are used.
unsafe impl Vector for Avx512 {
    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    type F = __m512;
    type I = __m512i;
    type D = Pair;
    type B = __m512i;

    operations! {
        fn splat_f(x: f32) -> __m512 = _mm512_set1_ps(x);
        fn load_f(from: *const f32) -> __m512 = _mm512_loadu_ps(from);
        fn store_f(to: *mut f32, x: __m512) = _mm512_storeu_ps(to, x);
        fn mul(x: __m512, y: __m512) -> __m512 = _mm512_mul_ps(x, y);
        fn add_f(x: __m512, y: __m512) -> __m512 = _mm512_add_ps(x, y);
        fn sub_f(x: __m512, y: __m512) -> __m512 = _mm512_sub_ps(x, y);
        fn add_cut(x: __m512, y: __m512) -> __m512 =
            _mm512_add_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x, y);
        /// Down, and up where that is even: of the two neighbours of a number that is neither, one is odd.
        fn add_odd(x: __m512, y: __m512) -> __m512 = {
            let down = _mm512_add_round_ps::<DOWN>(x, y);
            let even = _mm512_testn_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
            _mm512_mask_add_round_ps::<UP>(down, even, x, y)
        };
        fn fma_odd(x: __m512, y: __m512, z: __m512) -> __m512 = {
            let down = _mm512_fmadd_round_ps::<DOWN>(x, y, z);
            let even = _mm512_testn_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
            let up = _mm512_fmadd_round_ps::<UP>(x, y, z);
            _mm512_mask_mov_ps(down, even, up)
        };
        fn bits(x: __m512) -> __m512i = _mm512_castps_si512(x);
        fn from_bits(x: __m512i) -> __m512 = _mm512_castsi512_ps(x);
        fn truncate(x: __m512) -> __m512i = _mm512_cvttps_epi32(x);
        fn floor(x: __m512) -> __m512i = _mm512_cvt_roundps_epi32::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x);
        fn round_toward_zero(x: __m512i) -> __m512 = _mm512_cvt_roundepi32_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x);
        fn to_float(x: __m512i) -> __m512 = _mm512_cvtepi32_ps(x);
        fn through_half(x: __m512) -> __m512 = _mm512_cvtph_ps(_mm512_cvtps_ph::<
                { _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC },
            >(x));

        fn splat(x: i32) -> __m512i = _mm512_set1_epi32(x);
        fn load(from: *const i32) -> __m512i = _mm512_loadu_si512(from.cast());
        fn add(x: __m512i, y: __m512i) -> __m512i = _mm512_add_epi32(x, y);
        fn sub(x: __m512i, y: __m512i) -> __m512i = _mm512_sub_epi32(x, y);
        fn and(x: __m512i, y: __m512i) -> __m512i = _mm512_and_si512(x, y);
        fn or(x: __m512i, y: __m512i) -> __m512i = _mm512_or_si512(x, y);
        fn xor(x: __m512i, y: __m512i) -> __m512i = _mm512_xor_si512(x, y);
        fn max(x: __m512i, y: __m512i) -> __m512i = _mm512_max_epi32(x, y);
        fn min(x: __m512i, y: __m512i) -> __m512i = _mm512_min_epi32(x, y);
        fn min_unsigned(x: __m512i, y: __m512i) -> __m512i = _mm512_min_epu32(x, y);
        fn equal(x: __m512i, y: __m512i) -> __m512i = _mm512_maskz_set1_epi32(_mm512_cmpeq_epi32_mask(x, y), -1);
        fn greater(x: __m512i, y: __m512i) -> __m512i = _mm512_maskz_set1_epi32(_mm512_cmpgt_epi32_mask(x, y), -1);
        fn clear(x: __m512i, mask: __m512i) -> __m512i = _mm512_andnot_si512(mask, x);
        fn any_negative(x: __m512i) -> bool = _mm512_cmplt_epi32_mask(x, _mm512_setzero_si512()) != 0;

        fn splat_b(x: u32) -> __m512i = _mm512_set1_epi32(x as i32);
        fn load_b(from: *const u8) -> __m512i = _mm512_loadu_si512(from.cast());
        fn store_b(to: *mut u8, x: __m512i) = _mm512_storeu_si512(to.cast(), x);
        fn sub_saturating(x: __m512i, y: __m512i) -> __m512i = _mm512_subs_epu8(x, y);
        fn max_b(x: __m512i, y: __m512i) -> __m512i = _mm512_max_epu8(x, y);
        fn load_bytes(from: *const u8) -> __m512i = _mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()));
        fn load_pairs(from: *const u8) -> __m512i = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
        fn prefetch(at: *const u8) = _mm_prefetch::<_MM_HINT_T0>(at.cast());
        fn store_pairs(to: *mut u8, x: __m512i) = _mm256_storeu_si256(to.cast(), _mm512_cvtepi32_epi16(x));
        fn load_halves(from: *const u8) -> __m512i = _mm512_loadu_si512(from.cast());
        fn load_bytes_as_halves(from: *const u8) -> __m512i = _mm512_cvtepu8_epi16(_mm256_loadu_si256(from.cast()));
        fn store_halves_as_bytes(to: *mut u8, x: __m512i) = _mm256_storeu_si256(to.cast(), _mm512_cvtusepi16_epi8(x));
        fn floats_of_halves(x: __m512i) -> [__m512; 2] = [
            _mm512_cvtph_ps(_mm512_castsi512_si256(x)),
            _mm512_cvtph_ps(_mm512_extracti64x4_epi64::<1>(x)),
        ];
        fn store_bytes(to: *mut u8, x: __m512i) = _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(x));
        fn shift_left(x: __m512i, y: __m512i) -> __m512i = _mm512_sllv_epi32(x, y);
        fn fma(x: __m512, y: __m512, z: __m512) -> __m512 = _mm512_fmadd_ps(x, y, z);
        fn store(to: *mut i32, x: __m512i) = _mm512_storeu_si512(to.cast(), x);
        fn shift_right(x: __m512i, y: __m512i) -> __m512i = _mm512_srav_epi32(x, y);
        fn multiply_bytes(x: __m512i, y: __m512i) -> __m512i = _mm512_maddubs_epi16(x, y);
        fn add_halves(x: __m512i, y: __m512i) -> __m512i = _mm512_add_epi16(x, y);
        fn sub_halves(x: __m512i, y: __m512i) -> __m512i = _mm512_sub_epi16(x, y);
        fn min_halves(x: __m512i, y: __m512i) -> __m512i = _mm512_min_epu16(x, y);
        fn max_halves(x: __m512i, y: __m512i) -> __m512i = _mm512_max_epu16(x, y);
        fn equal_halves(x: __m512i, y: __m512i) -> __m512i = _mm512_movm_epi16(_mm512_cmpeq_epi16_mask(x, y));
        fn shift_left_halves(x: __m512i, y: __m512i) -> __m512i = _mm512_sllv_epi16(x, y);
        fn shift_right_halves(x: __m512i, y: __m512i) -> __m512i = _mm512_srlv_epi16(x, y);
        fn multiply_fractions(x: __m512i, y: __m512i) -> __m512i = _mm512_mulhrs_epi16(x, y);
        fn negate_halves(x: __m512i, sign: __m512i) -> __m512i =
            _mm512_mask_sub_epi16(x, _mm512_movepi16_mask(sign), _mm512_setzero_si512(), x);
        fn transpose(from: *const u8, step: usize, to: *mut i32) = {
            // Squares of four lanes first, then squares of such squares.
            let mut fours = [_mm512_setzero_si512(); 16];
            for i in 0..4 {
                let mut rows = [_mm512_setzero_si512(); 4];
                for (j, row) in rows.iter_mut().enumerate() {
                    *row = _mm512_loadu_si512(from.add((4 * i + j) * step).cast());
                }
                let [a, b, c, d] = rows;
                let low = [_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d)];
                let high = [_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d)];
                fours[i] = _mm512_unpacklo_epi64(low[0], low[1]);
                fours[4 + i] = _mm512_unpackhi_epi64(low[0], low[1]);
                fours[8 + i] = _mm512_unpacklo_epi64(high[0], high[1]);
                fours[12 + i] = _mm512_unpackhi_epi64(high[0], high[1]);
            }
            for i in 0..4 {
                let [a, b, c, d] = [fours[4 * i], fours[4 * i + 1], fours[4 * i + 2], fours[4 * i + 3]];
                let low = [_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d)];
                let high = [_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d)];
                let transposed = [
                    _mm512_shuffle_i32x4::<0x88>(low[0], low[1]),
                    _mm512_shuffle_i32x4::<0x88>(high[0], high[1]),
                    _mm512_shuffle_i32x4::<0xdd>(low[0], low[1]),
                    _mm512_shuffle_i32x4::<0xdd>(high[0], high[1]),
                ];
                for (j, lane) in transposed.into_iter().enumerate() {
                    _mm512_storeu_si512(to.add(16 * (4 * j + i)).cast(), lane);
                }
            }
        };
        fn truncate_d(x: Pair) -> Pair = Pair(
            _mm512_roundscale_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x.0),
            _mm512_roundscale_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x.1),
        );
        fn power_of_two(x: __m512i) -> Pair = {
            let field = _mm512_add_epi32(x, _mm512_set1_epi32(1023));
            let low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(field));
            let high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64::<1>(field));
            Pair(
                _mm512_castsi512_pd(_mm512_slli_epi64::<52>(low)),
                _mm512_castsi512_pd(_mm512_slli_epi64::<52>(high)),
            )
        };
        fn multiply_pairs(x: __m512i, y: __m512i) -> __m512i = _mm512_madd_epi16(x, y);

        fn splat_d(x: f64) -> Pair = Pair(_mm512_set1_pd(x), _mm512_set1_pd(x));
        fn load_d(from: *const f64) -> Pair = Pair(_mm512_loadu_pd(from), _mm512_loadu_pd(from.add(8)));
        fn store_d(to: *mut f64, x: Pair) = {
            _mm512_storeu_pd(to, x.0);
            _mm512_storeu_pd(to.add(8), x.1);
        };
        fn add_d(x: Pair, y: Pair) -> Pair = Pair(_mm512_add_pd(x.0, y.0), _mm512_add_pd(x.1, y.1));
        fn sub_d(x: Pair, y: Pair) -> Pair = Pair(_mm512_sub_pd(x.0, y.0), _mm512_sub_pd(x.1, y.1));
        fn mul_d(x: Pair, y: Pair) -> Pair = Pair(_mm512_mul_pd(x.0, y.0), _mm512_mul_pd(x.1, y.1));
        fn fma_d(x: Pair, y: Pair, z: Pair) -> Pair =
            Pair(_mm512_fmadd_pd(x.0, y.0, z.0), _mm512_fmadd_pd(x.1, y.1, z.1));
        fn and_d(x: Pair, mask: u64) -> Pair = {
            let mask = _mm512_set1_epi64(mask as i64);
            let low = _mm512_and_si512(_mm512_castpd_si512(x.0), mask);
            let high = _mm512_and_si512(_mm512_castpd_si512(x.1), mask);
            Pair(_mm512_castsi512_pd(low), _mm512_castsi512_pd(high))
        };
        fn floor_d(x: Pair) -> Pair = Pair(
            _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x.0),
            _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x.1),
        );
        fn floor_fraction_d(x: Pair, bits: u32) -> Pair = {
            let rest = _mm512_set1_epi64((u64::MAX >> (12 + bits)) as i64);
            let [mut low, mut high] = [_mm512_castpd_si512(x.0), _mm512_castpd_si512(x.1)];
            // A negative number's magnitude is raised first.
            low = _mm512_add_epi64(low, _mm512_and_si512(_mm512_srai_epi64::<63>(low), rest));
            high = _mm512_add_epi64(high, _mm512_and_si512(_mm512_srai_epi64::<63>(high), rest));
            Pair(
                _mm512_castsi512_pd(_mm512_andnot_si512(rest, low)),
                _mm512_castsi512_pd(_mm512_andnot_si512(rest, high)),
            )
        };
        fn where_zero_d(x: Pair, y: Pair, z: Pair) -> Pair = {
            let zero = _mm512_setzero_pd();
            Pair(
                _mm512_mask_mov_pd(z.0, _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(x.0, zero), y.0),
                _mm512_mask_mov_pd(z.1, _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(x.1, zero), y.1),
            )
        };
        fn widen(x: __m512) -> Pair = {
            let high = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(x));
            Pair(
                _mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                _mm512_cvtps_pd(_mm256_castpd_ps(high)),
            )
        };
        fn narrow(x: Pair) -> __m512 = {
            let low = _mm512_castps256_ps512(_mm512_cvtpd_ps(x.0));
            let high = _mm256_castps_pd(_mm512_cvtpd_ps(x.1));
            _mm512_castpd_ps(_mm512_insertf64x4::<1>(_mm512_castps_pd(low), high))
        };
        /// As to odd sums.
        fn narrow_odd(x: Pair) -> __m512 = {
            let [down, up] = [
                [_mm512_cvt_roundpd_ps::<DOWN>(x.0), _mm512_cvt_roundpd_ps::<DOWN>(x.1)],
                [_mm512_cvt_roundpd_ps::<UP>(x.0), _mm512_cvt_roundpd_ps::<UP>(x.1)],
            ]
            .map(|[low, high]| {
                let low = _mm512_castps_pd(_mm512_castps256_ps512(low));
                _mm512_castpd_ps(_mm512_insertf64x4::<1>(low, _mm256_castps_pd(high)))
            });
            let even = _mm512_testn_epi32_mask(_mm512_castps_si512(down), _mm512_set1_epi32(1));
            _mm512_mask_mov_ps(down, even, up)
        };
        fn int_to_d(x: __m512i) -> Pair = Pair(
            _mm512_cvtepi32_pd(_mm512_castsi512_si256(x)),
            _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64::<1>(x)),
        );
        /// Both directions of rounding are there.
        fn add_product_between(bounds: &mut [Pair; 2], a: Pair, b: Pair) = {
            let [low, high] = *bounds;
            *bounds = [
                Pair(
                    _mm512_fmadd_round_pd::<DOWN>(a.0, b.0, low.0),
                    _mm512_fmadd_round_pd::<DOWN>(a.1, b.1, low.1),
                ),
                Pair(
                    _mm512_fmadd_round_pd::<UP>(a.0, b.0, high.0),
                    _mm512_fmadd_round_pd::<UP>(a.1, b.1, high.1),
                ),
            ];
        };
        fn add_between(bounds: &mut [Pair; 2], y: Pair) = {
            let [low, high] = *bounds;
            *bounds = [
                Pair(
                    _mm512_add_round_pd::<DOWN>(low.0, y.0),
                    _mm512_add_round_pd::<DOWN>(low.1, y.1),
                ),
                Pair(
                    _mm512_add_round_pd::<UP>(high.0, y.0),
                    _mm512_add_round_pd::<UP>(high.1, y.1),
                ),
            ];
        };
        fn round_bounds(bounds: [Pair; 2], bits: i32) -> (Pair, bool) = {
            let [low, high] = bounds.map(|x| [_mm512_cvtpd_ps(x.0), _mm512_cvtpd_ps(x.1)]);
            let differ = |i: usize| _mm256_xor_ps(low[i], high[i]);
            let differ = _mm256_castps_si256(_mm256_or_ps(differ(0), differ(1)));
            let rounded = Pair(_mm512_cvtps_pd(high[0]), _mm512_cvtps_pd(high[1]));
            (rounded, _mm256_testz_si256(differ, _mm256_set1_epi32(bits)) != 0)
        };
    }
}

// SAFETY: the intrinsics need AVX512-VPOPCNTDQ as well, which `Platform::fma_down` asks for.
unsafe impl FmaDown for Avx512 {
    operations! {
        fn fma_down(x: __m512, y: __m512, z: __m512) -> __m512 = _mm512_fmadd_round_ps::<DOWN>(x, y, z);
        fn add_cut_small(x: __m512, y: __m512) -> __m512 = {
            let negative = _mm512_cmplt_epi32_mask(_mm512_castps_si512(y), _mm512_setzero_si512());
            _mm512_mask_add_round_ps::<UP>(_mm512_add_round_ps::<DOWN>(x, y), negative, x, y)
        };
        fn count_ones(x: __m512i) -> __m512i = _mm512_popcnt_epi32(x);
        fn add_b(x: __m512i, y: __m512i) -> __m512i = _mm512_add_epi8(x, y);
        fn max_signed_b(x: __m512i, y: __m512i) -> __m512i = _mm512_max_epi8(x, y);
    }
}

const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
const UP: i32 = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC;
