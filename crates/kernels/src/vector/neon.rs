//! 128-bit vectors of 64-bit ARM: NEON, which every such processor has.
//!
//! Elsewhere the same code is compiled for the tests alone, over an emulation of the instructions.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;

#[cfg(not(target_arch = "aarch64"))]
use super::neon_emulated::*;

use super::arrays::{self, plain_doubles};
use super::{Vector, operations};

/// Four lanes.
pub struct Neon;

#[inline(always)]
fn lanes(x: int32x4_t) -> [i32; 4] {
    let mut lanes = [0; 4];
    // SAFETY: four lanes; NEON is there, or its emulation.
    unsafe { vst1q_s32(lanes.as_mut_ptr(), x) }
    lanes
}

// SAFETY: every aarch64 target with a standard library has NEON, and the emulation
// needs no feature; pointers are the caller's promise, and these loads and stores need only the
// alignment of an element.
unsafe impl Vector for Neon {
    const LANES: usize = 4;
    const REGISTERS: usize = 32;
    type F = float32x4_t;
    type I = int32x4_t;
    type D = [f64; 4];
    type B = uint8x16_t;

    plain_doubles!();

    operations! {
        fn splat_f(x: f32) -> float32x4_t = vdupq_n_f32(x);
        fn load_f(from: *const f32) -> float32x4_t = vld1q_f32(from);
        fn store_f(to: *mut f32, x: float32x4_t) = vst1q_f32(to, x);
        fn mul(x: float32x4_t, y: float32x4_t) -> float32x4_t = vmulq_f32(x, y);
        fn add_f(x: float32x4_t, y: float32x4_t) -> float32x4_t = vaddq_f32(x, y);
        fn sub_f(x: float32x4_t, y: float32x4_t) -> float32x4_t = vsubq_f32(x, y);
        fn bits(x: float32x4_t) -> int32x4_t = vreinterpretq_s32_f32(x);
        fn from_bits(x: int32x4_t) -> float32x4_t = vreinterpretq_f32_s32(x);
        fn truncate(x: float32x4_t) -> int32x4_t = {
            // FCVTZS: saturates where x86 gives -2^31; no kernel uses such a lane.
            vcvtq_s32_f32(x)
        };
        fn round_toward_zero(x: int32x4_t) -> float32x4_t = {
            // See `toward_zero` of the portable vectors.
            let magnitude = vabsq_s32(x);
            let high = vshrq_n_u32::<24>(vreinterpretq_u32_s32(magnitude));
            let kept = vbicq_s32(magnitude, vreinterpretq_s32_u32(high));
            let sign = vshrq_n_s32::<31>(x);
            vcvtq_f32_s32(vsubq_s32(veorq_s32(kept, sign), sign))
        };
        fn to_float(x: int32x4_t) -> float32x4_t = vcvtq_f32_s32(x);
        fn through_half(x: float32x4_t) -> float32x4_t = {
            // FCVTN and FCVTL would do, but their intrinsics are younger than the oldest Rust that this
            // crate builds with. A number of exponent e plus 2^(e + 13) is rounded to units of
            // 2^(e - 10), an even number of which are added and taken off again. From -14 down a half's
            // units are the same, and from 2^16 up (where e stops here) it is infinite.
            let magnitude = vandq_s32(vreinterpretq_s32_f32(x), vdupq_n_s32(i32::MAX));
            let sign = veorq_s32(vreinterpretq_s32_f32(x), magnitude);
            let field = vandq_s32(magnitude, vdupq_n_s32(0x7f80_0000));
            let field = vmaxq_s32(field, vdupq_n_s32((127 - 14) << 23));
            let field = vminq_s32(field, vdupq_n_s32((127 + 16) << 23));
            let raised = vreinterpretq_f32_s32(vaddq_s32(field, vdupq_n_s32(13 << 23)));
            let magnitude = vreinterpretq_f32_s32(magnitude);
            let rounded = vsubq_f32(vaddq_f32(magnitude, raised), raised);
            // A NaN is no such number, and stays one.
            let infinite = vcgeq_f32(rounded, vdupq_n_f32(65536.0));
            let half = vbslq_f32(infinite, vdupq_n_f32(f32::INFINITY), rounded);
            vreinterpretq_f32_s32(vorrq_s32(vreinterpretq_s32_f32(half), sign))
        };

        fn splat(x: i32) -> int32x4_t = vdupq_n_s32(x);
        fn load(from: *const i32) -> int32x4_t = vld1q_s32(from);
        fn add(x: int32x4_t, y: int32x4_t) -> int32x4_t = vaddq_s32(x, y);
        fn sub(x: int32x4_t, y: int32x4_t) -> int32x4_t = vsubq_s32(x, y);
        fn and(x: int32x4_t, y: int32x4_t) -> int32x4_t = vandq_s32(x, y);
        fn or(x: int32x4_t, y: int32x4_t) -> int32x4_t = vorrq_s32(x, y);
        fn xor(x: int32x4_t, y: int32x4_t) -> int32x4_t = veorq_s32(x, y);
        fn max(x: int32x4_t, y: int32x4_t) -> int32x4_t = vmaxq_s32(x, y);
        fn min(x: int32x4_t, y: int32x4_t) -> int32x4_t = vminq_s32(x, y);
        fn min_unsigned(x: int32x4_t, y: int32x4_t) -> int32x4_t = {
            let least = vminq_u32(vreinterpretq_u32_s32(x), vreinterpretq_u32_s32(y));
            vreinterpretq_s32_u32(least)
        };
        fn equal(x: int32x4_t, y: int32x4_t) -> int32x4_t = vreinterpretq_s32_u32(vceqq_s32(x, y));
        fn greater(x: int32x4_t, y: int32x4_t) -> int32x4_t = vreinterpretq_s32_u32(vcgtq_s32(x, y));
        fn clear(x: int32x4_t, mask: int32x4_t) -> int32x4_t = vbicq_s32(x, mask);
        fn any_negative(x: int32x4_t) -> bool = vminvq_s32(x) < 0;

        fn splat_b(x: u32) -> uint8x16_t = vreinterpretq_u8_u32(vdupq_n_u32(x));
        fn load_b(from: *const u8) -> uint8x16_t = vld1q_u8(from);
        fn store_b(to: *mut u8, x: uint8x16_t) = vst1q_u8(to, x);
        fn sub_saturating(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t = vqsubq_u8(x, y);
        fn max_b(x: uint8x16_t, y: uint8x16_t) -> uint8x16_t = vmaxq_u8(x, y);
        fn load_bytes(from: *const u8) -> int32x4_t = {
            // The first byte in the lowest bits, as lane 0.
            let bytes = u32::from_le_bytes(from.cast::<[u8; 4]>().read());
            let halves = vmovl_u8(vcreate_u8(u64::from(bytes)));
            vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(halves)))
        };
        fn load_pairs(from: *const u8) -> int32x4_t = {
            let halves = u64::from_le_bytes(from.cast::<[u8; 8]>().read());
            vreinterpretq_s32_u32(vmovl_u16(vcreate_u16(halves)))
        };
        fn store_bytes(to: *mut u8, x: int32x4_t) = {
            let bytes = lanes(x).map(|lane| lane as u8);
            to.cast::<[u8; 4]>().write(bytes)
        };
        fn floats_of_halves(x: int32x4_t) -> [float32x4_t; 2] = {
            let halves = vreinterpretq_u16_s32(x);
            [vget_low_u16(halves), vget_high_u16(halves)]
                .map(|half| Self::floats_of_lanes(vreinterpretq_s32_u32(vmovl_u16(half))))
        };
        fn store_pairs(to: *mut u8, x: int32x4_t) = {
            let pairs = lanes(x).map(|lane| (lane as u16).to_le_bytes());
            to.cast::<[[u8; 2]; 4]>().write(pairs)
        };
        fn load_halves(from: *const u8) -> int32x4_t = vld1q_s32(from.cast());
        fn load_bytes_as_halves(from: *const u8) -> int32x4_t = {
            let bytes = u64::from_le_bytes(from.cast::<[u8; 8]>().read());
            vreinterpretq_s32_u16(vmovl_u8(vcreate_u8(bytes)))
        };
        fn store_halves_as_bytes(to: *mut u8, x: int32x4_t) = vst1_u8(to, vqmovn_u16(vreinterpretq_u16_s32(x)));
        fn shift_left(x: int32x4_t, y: int32x4_t) -> int32x4_t = vshlq_s32(x, y);
        fn fma(x: float32x4_t, y: float32x4_t, z: float32x4_t) -> float32x4_t = vfmaq_f32(z, x, y);
        fn store(to: *mut i32, x: int32x4_t) = vst1q_s32(to, x);
        fn shift_right(x: int32x4_t, y: int32x4_t) -> int32x4_t = vshlq_s32(x, vnegq_s32(y));
        fn multiply_bytes(x: int32x4_t, y: int32x4_t) -> int32x4_t = {
            let (x, y) = (lanes(x), lanes(y));
            let product = |i: usize| arrays::multiply_bytes(x[i], y[i]);
            vld1q_s32([product(0), product(1), product(2), product(3)].as_ptr())
        };
        fn add_halves(x: int32x4_t, y: int32x4_t) -> int32x4_t =
            vreinterpretq_s32_s16(vaddq_s16(vreinterpretq_s16_s32(x), vreinterpretq_s16_s32(y)));
        fn sub_halves(x: int32x4_t, y: int32x4_t) -> int32x4_t =
            vreinterpretq_s32_u16(vsubq_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y)));
        fn min_halves(x: int32x4_t, y: int32x4_t) -> int32x4_t =
            vreinterpretq_s32_u16(vminq_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y)));
        fn max_halves(x: int32x4_t, y: int32x4_t) -> int32x4_t =
            vreinterpretq_s32_u16(vmaxq_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y)));
        fn equal_halves(x: int32x4_t, y: int32x4_t) -> int32x4_t =
            vreinterpretq_s32_u16(vceqq_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y)));
        fn shift_left_halves(x: int32x4_t, y: int32x4_t) -> int32x4_t =
            vreinterpretq_s32_u16(vshlq_u16(vreinterpretq_u16_s32(x), vreinterpretq_s16_s32(y)));
        fn shift_right_halves(x: int32x4_t, y: int32x4_t) -> int32x4_t = {
            let left = vnegq_s16(vreinterpretq_s16_s32(y));
            vreinterpretq_s32_u16(vshlq_u16(vreinterpretq_u16_s32(x), left))
        };
        fn multiply_fractions(x: int32x4_t, y: int32x4_t) -> int32x4_t = vreinterpretq_s32_s16(
            vqrdmulhq_s16(vreinterpretq_s16_s32(x), vreinterpretq_s16_s32(y))
        );
        fn power_of_two(x: int32x4_t) -> [f64; 4] = arrays::map(lanes(x), arrays::power);
        fn multiply_pairs(x: int32x4_t, y: int32x4_t) -> int32x4_t = {
            let (x, y) = (vreinterpretq_s16_s32(x), vreinterpretq_s16_s32(y));
            let low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
            let high = vmull_s16(vget_high_s16(x), vget_high_s16(y));
            vpaddq_s32(low, high)
        };
        fn widen(x: float32x4_t) -> [f64; 4] = {
            let mut lanes = [0.0; 4];
            vst1q_f32(lanes.as_mut_ptr(), x);
            arrays::map(lanes, f64::from)
        };
        fn narrow(x: [f64; 4]) -> float32x4_t = vld1q_f32(arrays::map(x, |x| x as f32).as_ptr());
        fn int_to_d(x: int32x4_t) -> [f64; 4] = arrays::map(lanes(x), f64::from);
    }
}

#[cfg(test)]
mod tests {
    use super::super::portable::Portable;
    use super::*;

    fn both(x: u32) -> (u32, u32) {
        let (mut mine, mut portable) = ([0f32; 4], [0f32; 8]);
        // SAFETY: four and eight lanes, of NEON or its emulation and of plain Rust.
        unsafe {
            let x = x as i32;
            let half = Neon::through_half(Neon::from_bits(Neon::splat(x)));
            Neon::store_f(mine.as_mut_ptr(), half);
            let half = Portable::through_half(Portable::from_bits(Portable::splat(x)));
            Portable::store_f(portable.as_mut_ptr(), half);
        }
        (mine[0].to_bits(), portable[0].to_bits())
    }

    /// Every half, what lies half-way to the next, and their neighbours.
    #[test]
    fn halves_are_rounded_to_nearest_even() {
        for code in 0..0x7d00u32 {
            let field = code >> 10;
            let half = if field == 0 {
                (code as f32 / 16_777_216.0).to_bits()
            } else {
                (field + 112) << 23 | (code & 1023) << 13
            };
            let unit = if field == 0 {
                // To the next half of a subnormal unit.
                ((2 * code + 1) as f32 / 33_554_432.0).to_bits() - half
            } else {
                1 << 12
            };
            for x in [
                half.max(1) - 1,
                half,
                half + 1,
                half + unit - 1,
                half + unit,
                half + unit + 1,
            ] {
                for x in [x, x ^ 1 << 31] {
                    let (mine, portable) = both(x);
                    assert_eq!(mine, portable, "{x:#x}");
                }
            }
        }
        for x in [0x7f7f_ffff, 0x7f80_0000, 0xff80_0000, 1, 0x8000_0001] {
            let (mine, portable) = both(x);
            assert_eq!(mine, portable, "{x:#x}");
        }
        assert!(f32::from_bits(both(0x7fc0_0000).0).is_nan());
    }
}
