//! Plain Rust on small arrays; compilers turn it into whatever vectors the target has.

use super::arrays::{self, map, plain_doubles, zip};
use super::{Vector, operations};
use tcverify_num::{Format, Rounding, convert_exact, round_code};

/// Eight lanes of plain Rust.
pub struct Portable;

const N: usize = 8;

type F = [f32; N];
type I = [i32; N];
type B = [u8; 4 * N];

/// The halves of a lane, the lower first.
#[inline(always)]
fn halves(x: i32) -> [u16; 2] {
    [x as u16, (x >> 16) as u16]
}

#[inline(always)]
pub(super) fn by_halves(x: [i32; N], y: [i32; N], f: impl Fn(u16, u16) -> u16) -> [i32; N] {
    zip(x, y, |x, y| {
        let [[x, high_x], [y, high_y]] = [halves(x), halves(y)];
        i32::from(f(x, y)) | i32::from(f(high_x, high_y)) << 16
    })
}

#[inline(always)]
fn mask(yes: bool) -> i32 {
    -i32::from(yes)
}

/// `x` as a float, toward zero, by a conversion to nearest.
///
/// If the magnitude has 24 + d bits, d of them are cut off, and the highest of those is at the place
/// of the leading bit of `magnitude >> 24`. Clearing what that has in common with the magnitude
/// touches only bits that are cut off, and leaves less than half a unit of them.
#[inline(always)]
fn toward_zero(x: i32) -> f32 {
    let magnitude = x.unsigned_abs();
    let kept = (magnitude & !(magnitude >> 24)) as i32;
    // -2^31 is its own negative.
    (if x < 0 { kept.wrapping_neg() } else { kept }) as f32
}

#[cfg(test)]
#[test]
fn toward_zero_never_goes_away_from_it() {
    let near = |bit: u32| (-200i64..200).map(move |d| (1i64 << bit) + d);
    let all = (0..31).flat_map(near).chain([i64::from(i32::MAX)]);
    for x in all.filter(|&x| x <= i64::from(i32::MAX)) {
        for x in [x as i32, -(x as i32)] {
            let exact = f64::from(x);
            let float = f64::from(toward_zero(x));
            let next = f64::from(f32::from_bits((toward_zero(x)).to_bits() + 1));
            assert!(
                float.abs() <= exact.abs() && exact.abs() < next.abs(),
                "{x}"
            );
        }
    }
    assert_eq!(toward_zero(i32::MIN), -2f32.powi(31));
}

// SAFETY: nothing here needs a feature; only loads and stores are unsafe, and their
// pointers are the caller's promise.
unsafe impl Vector for Portable {
    const LANES: usize = N;
    const REGISTERS: usize = 16;
    const FEW_INSTANCES: bool = true;
    type F = F;
    type I = I;
    type D = [f64; N];
    type B = B;

    plain_doubles!();

    operations! {
        fn splat_f(x: f32) -> F = [x; N];
        fn load_f(from: *const f32) -> F = from.cast::<F>().read_unaligned();
        fn store_f(to: *mut f32, x: F) = to.cast::<F>().write_unaligned(x);
        fn mul(x: F, y: F) -> F = zip(x, y, |x, y| x * y);
        fn add_f(x: F, y: F) -> F = zip(x, y, |x, y| x + y);
        fn sub_f(x: F, y: F) -> F = zip(x, y, |x, y| x - y);
        fn fma(x: F, y: F, z: F) -> F = arrays::zip3(x, y, z, f32::mul_add);
        fn bits(x: F) -> I = map(x, |x| x.to_bits() as i32);
        fn from_bits(x: I) -> F = map(x, |x| f32::from_bits(x as u32));
        fn truncate(x: F) -> I = map(x, |x| x as i32);
        fn round_toward_zero(x: I) -> F = map(x, toward_zero);
        fn to_float(x: I) -> F = map(x, |x| x as f32);
        fn through_half(x: F) -> F = map(x, |x| {
            let (code, rounding) = (u64::from(x.to_bits()), Rounding::NearestEven);
            let half = round_code(Format::Fp32, code, Format::Fp16, rounding, 0x7fff);
            let back = convert_exact(Format::Fp16, half, Format::Fp32);
            f32::from_bits(back.expect("every half is a float") as u32)
        });

        fn splat(x: i32) -> I = [x; N];
        fn load(from: *const i32) -> I = from.cast::<I>().read_unaligned();
        fn store(to: *mut i32, x: I) = to.cast::<I>().write_unaligned(x);
        fn add(x: I, y: I) -> I = zip(x, y, i32::wrapping_add);
        fn sub(x: I, y: I) -> I = zip(x, y, i32::wrapping_sub);
        fn and(x: I, y: I) -> I = zip(x, y, |x, y| x & y);
        fn or(x: I, y: I) -> I = zip(x, y, |x, y| x | y);
        fn xor(x: I, y: I) -> I = zip(x, y, |x, y| x ^ y);
        fn max(x: I, y: I) -> I = zip(x, y, i32::max);
        fn min(x: I, y: I) -> I = zip(x, y, i32::min);
        fn min_unsigned(x: I, y: I) -> I = zip(x, y, |x, y| (x as u32).min(y as u32) as i32);
        fn equal(x: I, y: I) -> I = zip(x, y, |x, y| mask(x == y));
        fn greater(x: I, y: I) -> I = zip(x, y, |x, y| mask(x > y));
        fn clear(x: I, mask: I) -> I = zip(x, mask, |x, mask| x & !mask);
        fn any_negative(x: I) -> bool = x.into_iter().any(|x| x < 0);
        fn shift_left(x: I, y: I) -> I = zip(x, y, |x, y| x << y);
        fn shift_right(x: I, y: I) -> I = zip(x, y, |x, y| x >> y);
        fn multiply_pairs(x: I, y: I) -> I = zip(x, y, |x, y| {
            let low = i32::from(x as i16) * i32::from(y as i16);
            low.wrapping_add((x >> 16) * (y >> 16))
        });
        fn multiply_bytes(x: I, y: I) -> I = zip(x, y, arrays::multiply_bytes);
        fn add_halves(x: I, y: I) -> I = by_halves(x, y, u16::wrapping_add);
        fn sub_halves(x: I, y: I) -> I = by_halves(x, y, u16::wrapping_sub);
        fn min_halves(x: I, y: I) -> I = by_halves(x, y, u16::min);
        fn max_halves(x: I, y: I) -> I = by_halves(x, y, u16::max);
        fn equal_halves(x: I, y: I) -> I = by_halves(x, y, |x, y| mask(x == y) as u16);
        fn shift_left_halves(x: I, y: I) -> I = by_halves(x, y, |x, y| x << y);
        fn shift_right_halves(x: I, y: I) -> I = by_halves(x, y, |x, y| x >> y);
        fn multiply_fractions(x: I, y: I) -> I = by_halves(x, y, |x, y| {
            let product = i32::from(x as i16) * i32::from(y as i16);
            ((product + (1 << 14)) >> 15) as u16
        });

        fn splat_b(x: u32) -> B = [x as u8; 4 * N];
        fn load_b(from: *const u8) -> B = from.cast::<B>().read_unaligned();
        fn store_b(to: *mut u8, x: B) = to.cast::<B>().write_unaligned(x);
        fn sub_saturating(x: B, y: B) -> B = zip(x, y, u8::saturating_sub);
        fn max_b(x: B, y: B) -> B = zip(x, y, u8::max);
        fn load_bytes(from: *const u8) -> I = map(from.cast::<[u8; N]>().read_unaligned(), i32::from);
        fn load_pairs(from: *const u8) -> I = {
            let pairs = from.cast::<[[u8; 2]; N]>().read_unaligned();
            map(pairs, |pair| u16::from_le_bytes(pair).into())
        };
        fn store_bytes(to: *mut u8, x: I) = to.cast::<[u8; N]>().write_unaligned(map(x, |x| x as u8));
        fn store_pairs(to: *mut u8, x: I) =
            to.cast::<[[u8; 2]; N]>().write_unaligned(x.map(|x| (x as u16).to_le_bytes()));
        fn load_halves(from: *const u8) -> I =
            from.cast::<[[u8; 4]; N]>().read_unaligned().map(i32::from_le_bytes);
        fn load_bytes_as_halves(from: *const u8) -> I = {
            let pairs = from.cast::<[[u8; 2]; N]>().read_unaligned();
            map(pairs, |[low, high]| i32::from(low) | i32::from(high) << 16)
        };
        fn store_halves_as_bytes(to: *mut u8, x: I) = {
            let bytes = x.map(|x| halves(x).map(|half| half.min(255) as u8));
            to.cast::<[[u8; 2]; N]>().write_unaligned(bytes)
        };
        fn floats_of_halves(x: I) -> [F; 2] = {
            let halves = x.map(halves);
            let lane = |i: usize| i32::from(halves[i / 2][i % 2]);
            [0, N].map(|first| Self::floats_of_lanes(std::array::from_fn(|i| lane(first + i))))
        };

        fn power_of_two(x: I) -> [f64; N] = map(x, arrays::power);
        fn widen(x: F) -> [f64; N] = map(x, f64::from);
        fn narrow(x: [f64; N]) -> F = map(x, |x| x as f32);
        fn int_to_d(x: I) -> [f64; N] = map(x, f64::from);
    }
}
