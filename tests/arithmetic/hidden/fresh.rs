//! Elements that no probe knows: exponents of the whole range, cancellation, sums near every end.

use crate::support::hidden::number::{Dice, FP32, Layout};

/// Products and C of one element.
#[derive(Clone, Debug)]
pub struct Element {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: u64,
}

/// A finite number whose exponent field lies in this range.
fn number(dice: &mut Dice, of: Layout, from: i32, to: i32) -> u64 {
    let largest = of.largest_field() as i32 - i32::from(!of.finite);
    let (from, to) = (from.clamp(0, largest), to.clamp(0, largest));
    let field = from + dice.below((to - from + 1) as usize) as i32;
    let all = (1u64 << of.fraction_bits) - 1;
    let mut fraction = match dice.below(4) {
        0 => 0,
        1 => all,
        _ => dice.next() & all,
    };
    if of.finite && field == of.largest_field() as i32 && fraction == all {
        fraction = 0;
    }
    of.code(dice.chance(2), field as u64, fraction)
}

pub fn element(dice: &mut Dice, operand: Layout, result: Layout) -> Element {
    let (bias, top) = (operand.bias(), operand.largest_field() as i32);
    let near = |middle: i32, spread: i32| (middle - spread, middle + spread);
    let (n, (from, to), c) = match dice.below(8) {
        // Any exponents at all, few terms.
        0 => (1 + dice.below(6), (0, top), (0, 254)),
        1 => (1 + dice.below(3), (0, top), near(127, 40)),
        // A dense sum of numbers of one size, of some sizes.
        2 => (48, near(bias, 1), near(127, 3)),
        3 => (64, near(bias, 8), near(127, 12)),
        // The largest and the smallest.
        4 => (1 + dice.below(20), (top - 3, top), (250, 254)),
        5 => (1 + dice.below(20), (0, 3), (0, 4)),
        // Products near the smallest results.
        6 => (1 + dice.below(8), near(bias - 63, 6), (0, 20)),
        _ => (2 + dice.below(30), (0, top), (0, 254)),
    };
    let mut a: Vec<u64> = (0..n).map(|_| number(dice, operand, from, to)).collect();
    let mut b: Vec<u64> = (0..n).map(|_| number(dice, operand, from, to)).collect();
    // Large terms that cancel leave the others.
    for _ in 0..dice.below(3).min(n / 2) {
        let (from, to) = (dice.below(n), dice.below(n));
        a[to] = a[from] ^ 1 << (operand.bits() - 1 + operand.unused);
        b[to] = b[from];
    }
    if dice.chance(60) {
        let at = dice.below(n);
        a[at] = match dice.below(4) {
            0 if !operand.finite => operand.infinity(dice.chance(2)),
            1 => operand.code(
                false,
                operand.largest_field(),
                (1 << operand.fraction_bits) - 1,
            ),
            _ => operand.code(dice.chance(2), 0, 0),
        };
    }
    let c = match dice.below(12) {
        0..3 => 0,
        3 => result.code(dice.chance(2), 0, 0),
        _ => {
            // Above and below one alike.
            let [from, to] = [c.0, c.1].map(|field| field - FP32.bias() + result.bias());
            number(dice, result, from, to)
        }
    };
    Element { a, b, c }
}
