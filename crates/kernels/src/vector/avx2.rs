//! 256-bit vectors of x86-64: AVX2 with FMA and F16C.

use std::arch::x86_64::*;

use super::{Vector, operations};

/// Eight lanes; needs the features `avx2`, `fma` and `f16c`.
pub struct Avx2;

/// Doubles of the lower lanes, and of the upper ones.
#[derive(Clone, Copy)]
pub struct Pair(__m256d, __m256d);

// SAFETY: the intrinsics need AVX2, FMA and F16C, which whoever calls a method has
// detected (see the trait); pointers are the caller's promise, and unaligned forms are used.
unsafe impl Vector for Avx2 {
    const LANES: usize = 8;
    const REGISTERS: usize = 16;
    type F = __m256;
    type I = __m256i;
    type D = Pair;
    type B = __m256i;

    operations! {
        fn splat_f(x: f32) -> __m256 = _mm256_set1_ps(x);
        fn load_f(from: *const f32) -> __m256 = _mm256_loadu_ps(from);
        fn store_f(to: *mut f32, x: __m256) = _mm256_storeu_ps(to, x);
        fn mul(x: __m256, y: __m256) -> __m256 = _mm256_mul_ps(x, y);
        fn add_f(x: __m256, y: __m256) -> __m256 = _mm256_add_ps(x, y);
        fn sub_f(x: __m256, y: __m256) -> __m256 = _mm256_sub_ps(x, y);
        fn some(x: __m256) -> __m256i =
            _mm256_castps_si256(_mm256_cmp_ps::<_CMP_NEQ_OQ>(x, _mm256_setzero_ps()));
        fn bits(x: __m256) -> __m256i = _mm256_castps_si256(x);
        fn from_bits(x: __m256i) -> __m256 = _mm256_castsi256_ps(x);
        fn truncate(x: __m256) -> __m256i = _mm256_cvttps_epi32(x);
        fn floor(x: __m256) -> __m256i = _mm256_cvttps_epi32(_mm256_floor_ps(x));
        fn round_toward_zero(x: __m256i) -> __m256 = {
            // See `toward_zero` of the portable vectors.
            let magnitude = _mm256_abs_epi32(x);
            let kept = _mm256_andnot_si256(_mm256_srli_epi32::<24>(magnitude), magnitude);
            _mm256_cvtepi32_ps(_mm256_sign_epi32(kept, x))
        };
        fn to_float(x: __m256i) -> __m256 = _mm256_cvtepi32_ps(x);
        fn through_half(x: __m256) -> __m256 = _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x));

        fn splat(x: i32) -> __m256i = _mm256_set1_epi32(x);
        fn load(from: *const i32) -> __m256i = _mm256_loadu_si256(from.cast());
        fn add(x: __m256i, y: __m256i) -> __m256i = _mm256_add_epi32(x, y);
        fn sub(x: __m256i, y: __m256i) -> __m256i = _mm256_sub_epi32(x, y);
        fn and(x: __m256i, y: __m256i) -> __m256i = _mm256_and_si256(x, y);
        fn or(x: __m256i, y: __m256i) -> __m256i = _mm256_or_si256(x, y);
        fn xor(x: __m256i, y: __m256i) -> __m256i = _mm256_xor_si256(x, y);
        fn max(x: __m256i, y: __m256i) -> __m256i = _mm256_max_epi32(x, y);
        fn min(x: __m256i, y: __m256i) -> __m256i = _mm256_min_epi32(x, y);
        fn min_unsigned(x: __m256i, y: __m256i) -> __m256i = _mm256_min_epu32(x, y);
        fn equal(x: __m256i, y: __m256i) -> __m256i = _mm256_cmpeq_epi32(x, y);
        fn greater(x: __m256i, y: __m256i) -> __m256i = _mm256_cmpgt_epi32(x, y);
        fn clear(x: __m256i, mask: __m256i) -> __m256i = _mm256_andnot_si256(mask, x);
        fn any_negative(x: __m256i) -> bool = _mm256_movemask_ps(_mm256_castsi256_ps(x)) != 0;

        fn splat_b(x: u32) -> __m256i = _mm256_set1_epi32(x as i32);
        fn load_b(from: *const u8) -> __m256i = _mm256_loadu_si256(from.cast());
        fn store_b(to: *mut u8, x: __m256i) = _mm256_storeu_si256(to.cast(), x);
        fn sub_saturating(x: __m256i, y: __m256i) -> __m256i = _mm256_subs_epu8(x, y);
        fn max_b(x: __m256i, y: __m256i) -> __m256i = _mm256_max_epu8(x, y);
        fn load_bytes(from: *const u8) -> __m256i = _mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()));
        fn load_pairs(from: *const u8) -> __m256i = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
        fn prefetch(at: *const u8) = _mm_prefetch::<_MM_HINT_T0>(at.cast());
        fn store_pairs(to: *mut u8, x: __m256i) = {
            let pairs = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
            _mm_storeu_si128(to.cast(), pairs);
        };
        fn load_halves(from: *const u8) -> __m256i = _mm256_loadu_si256(from.cast());
        fn load_bytes_as_halves(from: *const u8) -> __m256i = _mm256_cvtepu8_epi16(_mm_loadu_si128(from.cast()));
        fn store_halves_as_bytes(to: *mut u8, x: __m256i) = {
            let bytes = _mm_packus_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
            _mm_storeu_si128(to.cast(), bytes);
        };
        fn floats_of_halves(x: __m256i) -> [__m256; 2] = [
            _mm256_cvtph_ps(_mm256_castsi256_si128(x)),
            _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(x)),
        ];
        fn store_bytes(to: *mut u8, x: __m256i) = {
            let halves = _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
            _mm_storel_epi64(to.cast(), _mm_packus_epi16(halves, halves));
        };
        fn shift_left(x: __m256i, y: __m256i) -> __m256i = _mm256_sllv_epi32(x, y);
        fn fma(x: __m256, y: __m256, z: __m256) -> __m256 = _mm256_fmadd_ps(x, y, z);
        fn store(to: *mut i32, x: __m256i) = _mm256_storeu_si256(to.cast(), x);
        fn shift_right(x: __m256i, y: __m256i) -> __m256i = _mm256_srav_epi32(x, y);
        fn multiply_bytes(x: __m256i, y: __m256i) -> __m256i = _mm256_maddubs_epi16(x, y);
        fn add_halves(x: __m256i, y: __m256i) -> __m256i = _mm256_add_epi16(x, y);
        fn sub_halves(x: __m256i, y: __m256i) -> __m256i = _mm256_sub_epi16(x, y);
        fn min_halves(x: __m256i, y: __m256i) -> __m256i = _mm256_min_epu16(x, y);
        fn max_halves(x: __m256i, y: __m256i) -> __m256i = _mm256_max_epu16(x, y);
        fn equal_halves(x: __m256i, y: __m256i) -> __m256i = _mm256_cmpeq_epi16(x, y);
        // These shift by the lowest 64 bits.
        fn shift_left_halves(x: __m256i, y: __m256i) -> __m256i =
            _mm256_sll_epi16(x, _mm_and_si128(_mm256_castsi256_si128(y), _mm_cvtsi32_si128(15)));
        fn shift_right_halves(x: __m256i, y: __m256i) -> __m256i =
            _mm256_srl_epi16(x, _mm_and_si128(_mm256_castsi256_si128(y), _mm_cvtsi32_si128(15)));
        fn multiply_fractions(x: __m256i, y: __m256i) -> __m256i = _mm256_mulhrs_epi16(x, y);
        fn halve_4096(x: __m256i) -> __m256i = {
            // Both bytes of a half look up theirs: the low one x, the high one x + 8, or nothing from 16 on.
            let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(
                0, 0, 0, 0, 0, -128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0,
            ));
            let x = _mm256_min_epu16(x, _mm256_set1_epi16(15));
            let both = _mm256_or_si256(x, _mm256_slli_epi16::<8>(x));
            _mm256_shuffle_epi8(table, _mm256_add_epi16(both, _mm256_set1_epi16(0x7800)))
        };
        fn negate_halves(x: __m256i, sign: __m256i) -> __m256i = _mm256_sign_epi16(x, sign);
        fn transpose(from: *const u8, step: usize, to: *mut i32) = {
            // Squares of four lanes first, then both halves of a register.
            let mut fours = [_mm256_setzero_si256(); 8];
            for i in 0..2 {
                let mut rows = [_mm256_setzero_si256(); 4];
                for (j, row) in rows.iter_mut().enumerate() {
                    *row = _mm256_loadu_si256(from.add((4 * i + j) * step).cast());
                }
                let [a, b, c, d] = rows;
                let low = [_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d)];
                let high = [_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d)];
                fours[i] = _mm256_unpacklo_epi64(low[0], low[1]);
                fours[2 + i] = _mm256_unpackhi_epi64(low[0], low[1]);
                fours[4 + i] = _mm256_unpacklo_epi64(high[0], high[1]);
                fours[6 + i] = _mm256_unpackhi_epi64(high[0], high[1]);
            }
            for i in 0..4 {
                let [a, b] = [fours[2 * i], fours[2 * i + 1]];
                let [low, high] = [to.add(8 * i), to.add(8 * (4 + i))];
                _mm256_storeu_si256(low.cast(), _mm256_permute2x128_si256::<0x20>(a, b));
                _mm256_storeu_si256(high.cast(), _mm256_permute2x128_si256::<0x31>(a, b));
            }
        };
        fn truncate_d(x: Pair) -> Pair = Pair(
            _mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x.0),
            _mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x.1),
        );
        fn power_of_two(x: __m256i) -> Pair = {
            let field = _mm256_add_epi32(x, _mm256_set1_epi32(1023));
            let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(field));
            let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(field));
            Pair(
                _mm256_castsi256_pd(_mm256_slli_epi64::<52>(low)),
                _mm256_castsi256_pd(_mm256_slli_epi64::<52>(high)),
            )
        };
        fn multiply_pairs(x: __m256i, y: __m256i) -> __m256i = _mm256_madd_epi16(x, y);

        fn splat_d(x: f64) -> Pair = Pair(_mm256_set1_pd(x), _mm256_set1_pd(x));
        fn load_d(from: *const f64) -> Pair = Pair(_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4)));
        fn store_d(to: *mut f64, x: Pair) = {
            _mm256_storeu_pd(to, x.0);
            _mm256_storeu_pd(to.add(4), x.1);
        };
        fn add_d(x: Pair, y: Pair) -> Pair = Pair(_mm256_add_pd(x.0, y.0), _mm256_add_pd(x.1, y.1));
        fn sub_d(x: Pair, y: Pair) -> Pair = Pair(_mm256_sub_pd(x.0, y.0), _mm256_sub_pd(x.1, y.1));
        fn mul_d(x: Pair, y: Pair) -> Pair = Pair(_mm256_mul_pd(x.0, y.0), _mm256_mul_pd(x.1, y.1));
        fn fma_d(x: Pair, y: Pair, z: Pair) -> Pair =
            Pair(_mm256_fmadd_pd(x.0, y.0, z.0), _mm256_fmadd_pd(x.1, y.1, z.1));
        fn and_d(x: Pair, mask: u64) -> Pair = {
            let mask = _mm256_castsi256_pd(_mm256_set1_epi64x(mask as i64));
            Pair(_mm256_and_pd(x.0, mask), _mm256_and_pd(x.1, mask))
        };
        fn floor_d(x: Pair) -> Pair = Pair(_mm256_floor_pd(x.0), _mm256_floor_pd(x.1));
        fn floor_fraction_d(x: Pair, bits: u32) -> Pair = {
            let rest = _mm256_set1_epi64x((u64::MAX >> (12 + bits)) as i64);
            let zero = _mm256_setzero_si256();
            let [mut low, mut high] = [_mm256_castpd_si256(x.0), _mm256_castpd_si256(x.1)];
            // A negative number's magnitude is raised first.
            low = _mm256_add_epi64(low, _mm256_and_si256(_mm256_cmpgt_epi64(zero, low), rest));
            high = _mm256_add_epi64(high, _mm256_and_si256(_mm256_cmpgt_epi64(zero, high), rest));
            Pair(
                _mm256_castsi256_pd(_mm256_andnot_si256(rest, low)),
                _mm256_castsi256_pd(_mm256_andnot_si256(rest, high)),
            )
        };
        fn where_zero_d(x: Pair, y: Pair, z: Pair) -> Pair = {
            let zero = _mm256_setzero_pd();
            Pair(
                _mm256_blendv_pd(z.0, y.0, _mm256_cmp_pd::<_CMP_EQ_OQ>(x.0, zero)),
                _mm256_blendv_pd(z.1, y.1, _mm256_cmp_pd::<_CMP_EQ_OQ>(x.1, zero)),
            )
        };
        fn widen(x: __m256) -> Pair = Pair(
            _mm256_cvtps_pd(_mm256_castps256_ps128(x)),
            _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x)),
        );
        fn narrow(x: Pair) -> __m256 = {
            let low = _mm256_castps128_ps256(_mm256_cvtpd_ps(x.0));
            _mm256_insertf128_ps::<1>(low, _mm256_cvtpd_ps(x.1))
        };
        fn int_to_d(x: __m256i) -> Pair = Pair(
            _mm256_cvtepi32_pd(_mm256_castsi256_si128(x)),
            _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(x)),
        );
    }
}
