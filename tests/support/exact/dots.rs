//! Rounded dot products, from Arm's pseudocode: every operation is a sum of fractions, and its rounding a choice between
//! the two numbers beside it.

use tcverify::emu::Arithmetic;
use tcverify::emu::step::{Direction, RoundedDot};
use tcverify::num::{Format, Rounding};

use super::model::special;
use super::{Fraction, nearest_code, value};

/// How a sum becomes a number.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    pub format: Format,
    pub direction: Direction,
    /// Whether subnormal numbers count as zeros.
    pub flush: bool,
    pub nan: u64,
    /// What an overflow gives, if not what IEEE 754 has for the direction: infinity, or the largest number.
    pub infinite: Option<bool>,
}

impl Rounds {
    pub fn of(step: &RoundedDot, format: Format) -> Rounds {
        Rounds {
            format,
            direction: step.rounding,
            flush: step.flush,
            nan: step.nan.0,
            infinite: step.fpmr.is_some_and(|fpmr| fpmr.osm).then_some(false),
        }
    }

    /// The products of pairs, times two to a power, and other numbers, added and rounded.
    pub fn sum(&self, pairs: &[(f64, f64)], power: i32, others: &[f64]) -> u64 {
        let others: Vec<(f64, f64)> = others.iter().map(|&x| (self.seen(x), 1.0)).collect();
        let pairs: Vec<(f64, f64)> = pairs
            .iter()
            .map(|&(a, b)| (self.seen(a), self.seen(b)))
            .collect();
        let all = [pairs.clone(), others.clone()].concat();
        if let Some(decided) = special(self.format, self.nan, &all, 0.0) {
            return decided;
        }
        let product = |&(a, b): &(f64, f64)| &Fraction::of(a) * &Fraction::of(b);
        let added = |all: &[(f64, f64)]| {
            all.iter()
                .map(product)
                .fold(Fraction::zero(), |x, y| &x + &y)
        };
        let scaled = &added(&pairs) * &Fraction::power_of_two(power);
        let sum = &scaled + &added(&others);
        let minus = all
            .iter()
            .map(|(a, b)| a.is_sign_negative() != b.is_sign_negative());
        let minus: Vec<bool> = minus.collect();
        if sum.is_zero() {
            let one_sign = minus.iter().all(|&sign| sign == minus[0]);
            let negative = if one_sign {
                minus[0]
            } else {
                self.direction == Direction::Down
            };
            return if negative { self.format.sign_mask() } else { 0 };
        }
        self.number(&sum)
    }

    /// A number as an operation sees it.
    fn seen(&self, x: f64) -> f64 {
        let normal = 2f64.powi(self.format.min_exponent());
        if self.flush && x.abs() < normal {
            0f64.copysign(x)
        } else {
            x
        }
    }

    fn number(&self, x: &Fraction) -> u64 {
        let (format, negative) = (self.format, x.is_negative());
        let sign = if negative { format.sign_mask() } else { 0 };
        let size = x.abs();
        if self.flush && size < Fraction::power_of_two(format.min_exponent()) {
            return sign;
        }
        let precision = format.fraction_bits() + 1;
        let of = |rounding| nearest_code(format, precision, rounding, false, &size);
        let infinity = format.infinity(false).expect("a format with infinities");
        let too_large = size >= Fraction::power_of_two(format.max_exponent() + 1);
        let below = of(Rounding::TowardZero).min(infinity - 1);
        let exact = Fraction::of(value(format, below)) == size;
        let above = below + u64::from(!exact);
        let code = match self.direction {
            Direction::NearestEven => of(Rounding::NearestEven),
            Direction::TowardZero if too_large && self.infinite == Some(true) => infinity,
            Direction::TowardZero => below,
            Direction::Up => {
                if negative {
                    below
                } else {
                    above
                }
            }
            Direction::Down => {
                if negative {
                    above
                } else {
                    below
                }
            }
            Direction::Odd if too_large => infinity,
            Direction::Odd => {
                if below % 2 == 1 {
                    below
                } else {
                    above
                }
            }
        };
        let code = if code == infinity && self.infinite == Some(false) {
            infinity - 1
        } else {
            code
        };
        sign | code
    }
}

/// `c` plus the products of one step; those that are missing are +0 times +0.
pub fn step(arithmetic: &Arithmetic, step: &RoundedDot, a: &[u64], b: &[u64], c: u64) -> u64 {
    let format = arithmetic.accumulator;
    let rounds = Rounds::of(step, format);
    let power = step.fpmr.map_or(0, |fpmr| -(fpmr.lscale as i32));
    let product = |k: usize| match (a.get(k), b.get(k)) {
        (Some(&a), Some(&b)) => (a, b),
        _ => (0, 0),
    };
    let values = |(a, b)| (value(arithmetic.a, a), value(arithmetic.b, b));
    let own = |(a, b)| [(arithmetic.a, a), (arithmetic.b, b)];
    let all: Vec<(u64, u64)> = (0..step.group).map(product).collect();
    let added = |part: &[(u64, u64)], c: Option<u64>| {
        if step.payloads {
            // One product an operation.
            let [a, b] = own(part[0]);
            let nans = [c.map(|c| (format, c)), Some(a), Some(b)];
            if let Some(nan) = passed_on(format, step.nan.0, nans) {
                return nan;
            }
        }
        let pairs: Vec<(f64, f64)> = part.iter().copied().map(values).collect();
        let others: Vec<f64> = c.iter().map(|&c| value(format, c)).collect();
        rounds.sum(&pairs, power, &others)
    };
    let sum = |x: u64, y: u64| {
        let nans = [Some((format, x)), Some((format, y)), None];
        let nan = step
            .payloads
            .then(|| passed_on(format, step.nan.0, nans))
            .flatten();
        nan.unwrap_or_else(|| rounds.sum(&[], 0, &[value(format, x), value(format, y)]))
    };
    if step.with_c {
        return added(&all, Some(c));
    }
    let sums = all.chunks(step.fused).map(|part| added(part, None));
    let total = sums.reduce(sum).expect("at least one product");
    sum(c, total)
}

/// FPProcessNaNs3: the first signalling NaN, made quiet, or else the first quiet one.
fn passed_on(to: Format, default: u64, operands: [Option<(Format, u64)>; 3]) -> Option<u64> {
    let there: Vec<(Format, u64)> = operands.into_iter().flatten().collect();
    let is_nan = |&(of, code): &(Format, u64)| value(of, code).is_nan();
    let quiet = |of: Format| 1u64 << (of.fraction_bits() - 1);
    let nans: Vec<(Format, u64)> = there.iter().copied().filter(is_nan).collect();
    let signalling = nans.iter().find(|(of, code)| code & quiet(*of) == 0);
    if let ([(of_c, c), (of_a, a), (of_b, b)], None) = (&there[..], signalling)
        && value(*of_c, *c).is_nan()
        && (value(*of_a, *a) * value(*of_b, *b)).is_nan()
        && !value(*of_a, *a).is_nan()
        && !value(*of_b, *b).is_nan()
    {
        return Some(default);
    }
    let &(of, code) = signalling.or(nans.first())?;
    let fraction = code & ((1 << of.fraction_bits()) - 1);
    let payload = fraction << (to.fraction_bits() - of.fraction_bits());
    let sign = if code & of.sign_mask() == 0 {
        0
    } else {
        to.sign_mask()
    };
    Some(sign | to.infinity(false).expect("it has one") | quiet(to) | payload)
}
