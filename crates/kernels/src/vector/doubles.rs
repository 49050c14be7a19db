//! Lanes as plain arrays, for vectors that have no registers or instructions of their own for some
//! work: doubles, and bytes.

#[inline(always)]
pub fn map<const N: usize>(x: [f64; N], f: impl Fn(f64) -> f64) -> [f64; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = f(x[i]);
    }
    out
}

#[inline(always)]
pub fn zip<const N: usize>(x: [f64; N], y: [f64; N], f: impl Fn(f64, f64) -> f64) -> [f64; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = f(x[i], y[i]);
    }
    out
}

#[inline(always)]
pub fn fma<const N: usize>(x: [f64; N], y: [f64; N], z: [f64; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = x[i].mul_add(y[i], z[i]);
    }
    out
}

#[inline(always)]
pub fn where_zero<const N: usize>(x: [f64; N], y: [f64; N], z: [f64; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = if x[i] == 0.0 { y[i] } else { z[i] };
    }
    out
}

#[inline(always)]
pub fn widen<const N: usize>(x: [f32; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = x[i].into();
    }
    out
}

#[inline(always)]
pub fn narrow<const N: usize>(x: [f64; N]) -> [f32; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = x[i] as f32;
    }
    out
}

#[inline(always)]
pub fn from_integers<const N: usize>(x: [i32; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = x[i].into();
    }
    out
}

#[inline(always)]
pub fn powers<const N: usize>(x: [i32; N]) -> [f64; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = f64::from_bits(((i64::from(x[i]) + 1023) as u64) << 52);
    }
    out
}

/// Toward minus infinity to so many fraction bits. A carry out of the fraction is one of the exponent.
#[inline(always)]
pub fn floor_fraction(x: f64, bits: u32) -> f64 {
    let rest = u64::MAX >> (12 + bits);
    let up = if x.to_bits() >> 63 == 1 { rest } else { 0 };
    f64::from_bits((x.to_bits() + up) & !rest)
}

#[cfg(test)]
#[test]
fn fractions_are_floored() {
    for (x, floored) in [
        (1.75, 1.5),
        (-1.5, -1.5),
        (-1.75, -2.0),
        (3.99, 3.0),
        (-3.99, -4.0),
        (-3.0, -3.0),
        (-3.01, -4.0),
        (0.0, 0.0),
        (f64::MIN_POSITIVE, f64::MIN_POSITIVE),
    ] {
        assert_eq!(floor_fraction(x, 1), floored, "{x}");
    }
}

/// Four bytes, unsigned and signed: products of neighbours in two halves.
#[inline(always)]
pub fn multiply_bytes(x: i32, y: i32) -> i32 {
    let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
    let product = |i: usize| i16::from(x[i]) * i16::from(y[i] as i8);
    halves(product(0) + product(1), product(2) + product(3))
}

/// Signed: `x * y / 2^15`, to nearest, ties up.
#[inline(always)]
pub fn multiply_fractions(x: u16, y: u16) -> u16 {
    let product = i32::from(x as i16) * i32::from(y as i16);
    ((product + (1 << 14)) >> 15) as u16
}

#[inline(always)]
pub fn add_halves(x: i32, y: i32) -> i32 {
    let high = (x >> 16) as i16;
    halves(
        (x as i16).wrapping_add(y as i16),
        high.wrapping_add((y >> 16) as i16),
    )
}

#[inline(always)]
fn halves(low: i16, high: i16) -> i32 {
    i32::from(low as u16) | i32::from(high) << 16
}

/// The methods of [`super::Vector`] that need nothing but these, for `D = [f64; LANES]`.
macro_rules! plain_doubles {
    () => {
        operations! {
            fn splat_d(x: f64) -> Self::D = [x; Self::LANES];
            fn load_d(from: *const f64) -> Self::D = from.cast::<Self::D>().read_unaligned();
            fn store_d(to: *mut f64, x: Self::D) = to.cast::<Self::D>().write_unaligned(x);
            fn add_d(x: Self::D, y: Self::D) -> Self::D = doubles::zip(x, y, |x, y| x + y);
            fn sub_d(x: Self::D, y: Self::D) -> Self::D = doubles::zip(x, y, |x, y| x - y);
            fn mul_d(x: Self::D, y: Self::D) -> Self::D = doubles::zip(x, y, |x, y| x * y);
            fn fma_d(x: Self::D, y: Self::D, z: Self::D) -> Self::D = doubles::fma(x, y, z);
            fn and_d(x: Self::D, mask: u64) -> Self::D =
                doubles::map(x, |x| f64::from_bits(x.to_bits() & mask));
            fn floor_d(x: Self::D) -> Self::D = doubles::map(x, f64::floor);
            fn truncate_d(x: Self::D) -> Self::D = doubles::map(x, f64::trunc);
            fn floor_fraction_d(x: Self::D, bits: u32) -> Self::D =
                doubles::map(x, |x| doubles::floor_fraction(x, bits));
            fn where_zero_d(x: Self::D, y: Self::D, z: Self::D) -> Self::D =
                doubles::where_zero(x, y, z);
        }
    };
}
pub(super) use plain_doubles;
