//! Lanes as plain arrays, for vectors that have no registers or instructions of their own for some work.

#[inline(always)]
pub fn map<T: Copy, U: Copy + Default, const N: usize>(x: [T; N], f: impl Fn(T) -> U) -> [U; N] {
    let mut out = [U::default(); N];
    for i in 0..N {
        out[i] = f(x[i]);
    }
    out
}

#[inline(always)]
pub fn zip<T: Copy, U: Copy + Default, const N: usize>(
    x: [T; N],
    y: [T; N],
    f: impl Fn(T, T) -> U,
) -> [U; N] {
    let mut out = [U::default(); N];
    for i in 0..N {
        out[i] = f(x[i], y[i]);
    }
    out
}

#[inline(always)]
pub fn zip3<T: Copy + Default, const N: usize>(
    x: [T; N],
    y: [T; N],
    z: [T; N],
    f: impl Fn(T, T, T) -> T,
) -> [T; N] {
    let mut out = [T::default(); N];
    for i in 0..N {
        out[i] = f(x[i], y[i], z[i]);
    }
    out
}

/// 2^x, of exponents of normal doubles.
#[inline(always)]
pub fn power(x: i32) -> f64 {
    f64::from_bits(((i64::from(x) + 1023) as u64) << 52)
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
    let [low, high] = [product(0) + product(1), product(2) + product(3)];
    i32::from(low as u16) | i32::from(high) << 16
}

/// The methods of [`super::Vector`] that need nothing but these, for `D = [f64; LANES]`.
macro_rules! plain_doubles {
    () => {
        operations! {
            fn splat_d(x: f64) -> Self::D = [x; Self::LANES];
            fn load_d(from: *const f64) -> Self::D = from.cast::<Self::D>().read_unaligned();
            fn store_d(to: *mut f64, x: Self::D) = to.cast::<Self::D>().write_unaligned(x);
            fn add_d(x: Self::D, y: Self::D) -> Self::D = arrays::zip(x, y, |x, y| x + y);
            fn sub_d(x: Self::D, y: Self::D) -> Self::D = arrays::zip(x, y, |x, y| x - y);
            fn mul_d(x: Self::D, y: Self::D) -> Self::D = arrays::zip(x, y, |x, y| x * y);
            fn fma_d(x: Self::D, y: Self::D, z: Self::D) -> Self::D =
                arrays::zip3(x, y, z, f64::mul_add);
            fn and_d(x: Self::D, mask: u64) -> Self::D =
                arrays::map(x, |x| f64::from_bits(x.to_bits() & mask));
            fn floor_d(x: Self::D) -> Self::D = arrays::map(x, f64::floor);
            fn truncate_d(x: Self::D) -> Self::D = arrays::map(x, f64::trunc);
            fn floor_fraction_d(x: Self::D, bits: u32) -> Self::D =
                arrays::map(x, |x| arrays::floor_fraction(x, bits));
            fn where_zero_d(x: Self::D, y: Self::D, z: Self::D) -> Self::D =
                arrays::zip3(x, y, z, |x, y, z| if x == 0.0 { y } else { z });
        }
    };
}
pub(super) use plain_doubles;
