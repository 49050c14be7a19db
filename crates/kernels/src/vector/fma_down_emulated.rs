//! Additions that round down, in plain Rust: tests run the kernel that needs them on every machine.

use super::arrays::{map, zip};
use super::portable::Portable;
use super::{FmaDown, Vector, operations};

type F = <Portable as Vector>::F;
type I = <Portable as Vector>::I;
type B = <Portable as Vector>::B;

// SAFETY: plain Rust.
unsafe impl FmaDown for Portable {
    operations! {
        fn fma_down(x: F, y: F, z: F) -> F = {
            // 48 bits: exact.
            std::array::from_fn(|i| down(z[i], f64::from(x[i]) * f64::from(y[i])))
        };
        fn add_cut_small(x: F, y: F) -> F = zip(x, y, |x, y| {
            if y.is_sign_negative() { -down(-x, -f64::from(y)) } else { down(x, y.into()) }
        });
        fn count_ones(x: I) -> I = map(x, |x| x.count_ones() as i32);
        fn add_b(x: B, y: B) -> B = zip(x, y, u8::wrapping_add);
        fn max_signed_b(x: B, y: B) -> B = zip(x, y, |x, y| (x as i8).max(y as i8) as u8);
    }
}

/// `x + y`, toward minus infinity.
fn down(x: f32, y: f64) -> f32 {
    let x = f64::from(x);
    let sum = x + y;
    // Knuth's two-sum: what rounding to nearest has lost, exactly.
    let virtual_y = sum - x;
    let lost = (x - (sum - virtual_y)) + (y - virtual_y);
    let near = sum as f32;
    let above = f64::from(near) > sum || f64::from(near) == sum && lost < 0.0;
    if above { near.next_down() } else { near }
}

#[test]
fn sums_round_down() {
    assert_eq!(down(1.0, 2f64.powi(-300)), 1.0);
    assert_eq!(down(1.0, -(2f64.powi(-300))), 1.0f32.next_down());
    assert_eq!(down(8_388_620.0, 2.75), 8_388_622.0);
    assert_eq!(down(8_388_620.0, -0.25), 8_388_619.0);
    let one = |x| [x; <Portable as Vector>::LANES];
    // SAFETY: plain Rust.
    let cut = |y| unsafe { Portable::add_cut_small(one(8_388_620.0), one(y))[0] };
    let found = [2.75, 2.0, 0.0, -0.0, -0.25, -2.75].map(cut);
    let right = [2.0, 2.0, 0.0, 0.0, 0.0, -2.0].map(|cut| 8_388_620.0 + cut);
    assert_eq!(found, right);
}
