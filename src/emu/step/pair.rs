//! Two FP8 products that share a lane of Vortex's dot-product unit are added before the lanes are.

use serde::{Deserialize, Serialize};

use crate::num::{Format, Unpacked};

/// A term of the sum, `(-1)^negative * magnitude * 2^(exponent - fraction bits)`.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    pub negative: bool,
    pub magnitude: u128,
    pub exponent: i32,
}

impl Lane {
    /// A lane without a product.
    pub(super) fn dead(zero_exponent: i32) -> Lane {
        Lane {
            negative: false,
            magnitude: 0,
            exponent: zero_exponent,
        }
    }
}

/// How two FP8 products become one lane, by the design that does it.
///
/// In all of them a product is an 8-bit integer `p` (E5M2 significands doubled to four bits) with
/// the exponent `e = ea + eb`, and the lane is `±|X ± Y|` for the leading product X and the other
/// one, Y, shifted right by the difference of their exponents. What Y loses is lost without sticky.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum PairRule {
    /// TFR since 20ad217d. The first product leads if the second is zero, or if it has not the
    /// smaller exponent, be it zero itself; a sum's last bit is dropped; equal opposite products of
    /// equal exponent leave a dead lane.
    #[serde(rename = "tfr")]
    Tfr,
    /// TFR 565bd0f1: a zero operand has one exponent less, and a dead lane is left by every pair
    /// that cancels once aligned.
    #[serde(rename = "tfr-565bd0f1")]
    TfrAligned,
    /// DRL 2aa61c1c: the first product leads if it has the greater exponent, zero or not; the shift
    /// has five bits; no bit is dropped; a lane whose leader is zero counts with the exponent of a
    /// zero lane, whatever it holds.
    #[serde(rename = "drl")]
    Drl,
}

/// One of the two products: `p * 2^(exponent - 6)`.
#[derive(Clone, Copy)]
struct Product {
    negative: bool,
    p: i64,
    exponent: i32,
}

/// Fraction bits of a lane's magnitude below the lane's exponent, which is the leader's plus one.
pub(super) const FRACTION_BITS: u32 = 22;

impl PairRule {
    /// The lane of two products.
    pub(super) fn add(
        self,
        format: Format,
        a: [Unpacked; 2],
        b: [Unpacked; 2],
        zero_exponent: i32,
    ) -> Lane {
        let products = [0, 1].map(|i| self.product(format, a[i], b[i]));
        match self {
            PairRule::Tfr | PairRule::TfrAligned => self.tfr(products, zero_exponent),
            PairRule::Drl => drl(products, zero_exponent),
        }
    }

    fn product(self, format: Format, a: Unpacked, b: Unpacked) -> Product {
        let exponent = |x: Unpacked| match self {
            // The exponent field of a zero is read as it stands, that of a subnormal as 1.
            PairRule::TfrAligned | PairRule::Drl if x.is_zero() => x.exponent - 1,
            _ => x.exponent,
        };
        let p = (a.significand * b.significand) << (6 - 2 * format.fraction_bits());
        Product {
            negative: a.negative != b.negative,
            p: p as i64,
            exponent: exponent(a) + exponent(b),
        }
    }

    fn tfr(self, [first, second]: [Product; 2], zero_exponent: i32) -> Lane {
        let valid = [first.p != 0, second.p != 0];
        let not_smaller = first.exponent >= second.exponent;
        let first_leads = (valid[0] && !valid[1]) || (valid[1] && not_smaller);
        let (leader, other) = in_order(first_leads, first, second);
        let distance = first.exponent.abs_diff(second.exponent);

        let x = leader.p << 16;
        let y = if distance < 32 {
            (other.p << 16) >> distance
        } else {
            0
        };
        let opposite = first.negative != second.negative;
        let sum = if opposite { x - y } else { x + y };

        let equal = match self {
            PairRule::TfrAligned => x == y,
            _ => first.exponent == second.exponent && first.p == second.p,
        };
        if valid == [false, false] || (opposite && equal) {
            return Lane::dead(zero_exponent);
        }
        Lane {
            negative: if sum < 0 {
                other.negative
            } else {
                leader.negative
            },
            magnitude: (sum.unsigned_abs() >> 1).into(),
            exponent: leader.exponent + 1,
        }
    }
}

fn drl([first, second]: [Product; 2], zero_exponent: i32) -> Lane {
    let (leader, other) = in_order(first.exponent > second.exponent, first, second);
    let distance = (leader.exponent - other.exponent) & 31;

    let x = leader.p << 15;
    let y = (other.p << 15) >> distance;
    let opposite = first.negative != second.negative;
    let sum = if opposite { x - y } else { x + y };
    Lane {
        negative: if sum < 0 {
            other.negative
        } else {
            leader.negative
        },
        magnitude: sum.unsigned_abs().into(),
        exponent: if leader.p == 0 {
            zero_exponent
        } else {
            leader.exponent + 1
        },
    }
}

fn in_order(first_leads: bool, first: Product, second: Product) -> (Product, Product) {
    if first_leads {
        (first, second)
    } else {
        (second, first)
    }
}
