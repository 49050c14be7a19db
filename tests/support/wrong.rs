//! Models that are wrong in one constant. What they fail on is what a correct model is proven by.

use tcverify::emu::Arithmetic;
use tcverify::emu::step::{Fused, FusedHalves, Step};
use tcverify::num::Rounding;

/// A change to one constant.
pub type Change = fn(&mut Arithmetic);

/// `arithmetic` with a change.
pub fn changed(arithmetic: &Arithmetic, change: impl Fn(&mut Arithmetic)) -> Arithmetic {
    let mut changed = arithmetic.clone();
    change(&mut changed);
    assert_ne!(&changed, arithmetic, "the change changes nothing");
    changed
}

/// The fused dot-add of a model: all of it, or its halves.
pub fn fused(arithmetic: &mut Arithmetic) -> &mut Fused {
    match &mut arithmetic.step {
        Step::Fused(step) => step,
        Step::FusedHalves(step) => &mut step.half,
        other => panic!("no fused dot-add: {}", other.summary()),
    }
}

pub fn halves(arithmetic: &mut Arithmetic) -> &mut FusedHalves {
    match &mut arithmetic.step {
        Step::FusedHalves(step) => step,
        _ => panic!("only FP8 through mma.sync has two halves"),
    }
}

pub fn one_bit_less(arithmetic: &mut Arithmetic) {
    fused(arithmetic).fraction_bits -= 1;
}

pub fn one_bit_more(arithmetic: &mut Arithmetic) {
    fused(arithmetic).fraction_bits += 1;
}

pub fn half_group(arithmetic: &mut Arithmetic) {
    fused(arithmetic).group /= 2;
}

pub fn double_group(arithmetic: &mut Arithmetic) {
    fused(arithmetic).group *= 2;
}

pub fn align_to_nearest(arithmetic: &mut Arithmetic) {
    fused(arithmetic).alignment = Rounding::NearestEven;
}

pub fn align_down(arithmetic: &mut Arithmetic) {
    fused(arithmetic).alignment = Rounding::Down;
}

pub fn round_to_nearest(arithmetic: &mut Arithmetic) {
    fused(arithmetic).rounding = Rounding::NearestEven;
}

pub fn round_away(arithmetic: &mut Arithmetic) {
    fused(arithmetic).rounding = Rounding::NearestAway;
}

pub fn round_down(arithmetic: &mut Arithmetic) {
    fused(arithmetic).rounding = Rounding::Down;
}

pub fn round_to_zero(arithmetic: &mut Arithmetic) {
    fused(arithmetic).rounding = Rounding::TowardZero;
}

/// The exponent of the smallest normal number of f32, which some emulators give to zeros.
pub fn zeros_at_minus_126(arithmetic: &mut Arithmetic) {
    fused(arithmetic).zero_exponent = -126;
}

pub fn one_bit_less_of_result(arithmetic: &mut Arithmetic) {
    fused(arithmetic).precision -= 1;
}

pub fn one_bit_more_of_result(arithmetic: &mut Arithmetic) {
    fused(arithmetic).precision += 1;
}

pub fn quarter_group(arithmetic: &mut Arithmetic) {
    fused(arithmetic).group /= 4;
}
