//! Units that add a few products to C at a time, as AMD's RDNA does, in arithmetic of their own: one with a habit is of no
//! kind that the library has.

use super::number::{BF16, Dice, FP16, FP32, Layout, Meaning, Number};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    None,
    /// Terms of the other sign than C's as two's complements.
    TwosComplement,
    /// One's complements in the frame of the positive sign, whatever C's.
    PositiveFrame,
    /// Zero products count nothing, whatever their sign.
    ZerosLeftOut,
    /// Pairs are cut toward zero.
    TowardZero,
    /// Every product is cut on the common grid, none in a pair.
    NoPairs,
    /// A C of less than one unit counts -1 if it is negative, at any grid.
    TinyCounts,
    /// Results are cut.
    ResultCut,
    /// BF16 results are rounded to nearest.
    Nearest16,
    /// C is added after all products.
    AddendLast,
    /// Two accumulators take groups in turn.
    TwoAccumulators,
    /// C's NaN before those of operands.
    AddendNanFirst,
    /// Exponents saturate: infinite results are the largest number.
    Saturate,
    /// A shift of more than 31 places takes its low five bits alone.
    ShiftModulo,
}

pub const HABITS: [Habit; 14] = [
    Habit::None,
    Habit::TwosComplement,
    Habit::PositiveFrame,
    Habit::ZerosLeftOut,
    Habit::TowardZero,
    Habit::NoPairs,
    Habit::TinyCounts,
    Habit::ResultCut,
    Habit::Nearest16,
    Habit::AddendLast,
    Habit::TwoAccumulators,
    Habit::AddendNanFirst,
    Habit::Saturate,
    Habit::ShiftModulo,
];

#[derive(Clone, Debug)]
pub struct Unit {
    pub operand: Layout,
    pub result: Layout,
    /// One's complements, or floored pairs.
    pub complement: bool,
    pub size: usize,
    pub order: Vec<usize>,
    pub product_bits: i32,
    pub leading_bits: i32,
    /// The least that C's highest bit counts as.
    pub least: i32,
    pub flush_operands: bool,
    pub flush_sums: bool,
    /// Of a NaN operand, and of infinity times zero.
    pub nans: [u64; 2],
    pub habit: Habit,
}

/// A product, exactly, with the sum of its factors' exponents.
#[derive(Clone, Copy)]
struct Term {
    negative: bool,
    significand: i128,
    last: i32,
    sum: i32,
}

const NOTHING: i32 = -5000;

impl Unit {
    /// As AMD's units are, of either rule, any formats and one of the orders that they have, now and then with another width.
    pub fn plain(dice: &mut Dice) -> Unit {
        let operand = dice.pick(&[FP16, BF16]);
        let short = dice.chance(3);
        let result = if short { operand } else { FP32 };
        let complement = dice.chance(2);
        let (size, order) = if complement {
            (2, (0..8).collect())
        } else {
            (4, dice.pick(&[[0, 1, 2, 3], [0, 2, 1, 3]]).to_vec())
        };
        let half = result == FP16;
        let least = match (half, complement) {
            (true, _) => -14,
            (false, true) => NOTHING,
            (false, false) => -126,
        };
        let other = dice.chance(3);
        let near = |dice: &mut Dice, right: i32| {
            if other {
                right - 1 + dice.below(3) as i32
            } else {
                right
            }
        };
        let top = result.largest_field() << result.fraction_bits;
        let sign = 1u64 << (result.bits() - 1);
        let nan = |payload: u64| sign | top | 1 << (result.fraction_bits - 1) | payload;
        Unit {
            operand,
            result,
            complement,
            size,
            order,
            product_bits: near(dice, 24),
            leading_bits: near(dice, 26),
            least,
            flush_operands: complement && operand == BF16,
            flush_sums: complement && !half,
            nans: [nan(if result == FP32 { 0xa3d } else { 0x3d }), nan(0)],
            habit: Habit::None,
        }
    }

    pub fn dot(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        let span = self.size * self.order.len();
        let get = |codes: &[u64], k: usize| codes.get(k).copied().unwrap_or(0);
        let mut sums = [c, 0];
        if self.habit == Habit::AddendLast {
            sums[0] = 0;
        }
        let mut turn = 0;
        for first in (0..a.len()).step_by(span) {
            for group in &self.order {
                let from = first + group * self.size;
                let pairs: Vec<_> = (from..from + self.size)
                    .map(|k| (get(a, k), get(b, k)))
                    .collect();
                let which = match self.habit {
                    Habit::TwoAccumulators => turn % 2,
                    _ => 0,
                };
                sums[which] = self.group(&pairs, sums[which]);
                turn += 1;
            }
        }
        match self.habit {
            Habit::AddendLast => self.sum_of(sums[0], c),
            Habit::TwoAccumulators => self.sum_of(sums[1], sums[0]),
            _ => sums[0],
        }
    }

    /// The sum of two results; of what lies far apart the smaller one vanishes.
    fn sum_of(&self, x: u64, y: u64) -> u64 {
        match (self.result.read(x), self.result.read(y)) {
            (Meaning::Finite(a), Meaning::Finite(b)) => {
                let last = a.last.max(b.last) - 60;
                let kept = |n: &Number| n.last >= last;
                match (kept(&a), kept(&b)) {
                    (false, _) => return y,
                    (_, false) => return x,
                    _ => {}
                }
                let last = a.last.min(b.last);
                let of = |n: Number| {
                    let units = (n.significand << (n.last - last)) as i128;
                    if n.negative { -units } else { units }
                };
                self.rounded(of(a) + of(b), last)
            }
            (Meaning::Finite(_), _) => y,
            _ => x,
        }
    }

    fn group(&self, pairs: &[(u64, u64)], c: u64) -> u64 {
        let read = |code: u64| match self.operand.read(code) {
            Meaning::Finite(n) if self.flush_operands && n.subnormal => Meaning::Finite(Number {
                significand: 0,
                ..n
            }),
            other => other,
        };
        let factors: Vec<_> = pairs.iter().map(|&(a, b)| (read(a), read(b))).collect();
        if let Some(code) = self.special(&factors, c) {
            return code;
        }
        let terms: Vec<Term> = factors
            .iter()
            .map(|pair| match pair {
                (Meaning::Finite(x), Meaning::Finite(y)) => Term {
                    negative: x.negative != y.negative,
                    significand: (x.significand * y.significand) as i128,
                    last: x.last + y.last,
                    sum: x.exponent + y.exponent,
                },
                _ => unreachable!("finite"),
            })
            .collect();
        let Meaning::Finite(addend) = self.result.read(c) else {
            unreachable!("finite");
        };
        let flushed = self.flush_sums && addend.subnormal;
        let addend = Term {
            negative: addend.negative,
            significand: if flushed {
                0
            } else {
                addend.significand as i128
            },
            last: addend.last,
            sum: addend.exponent,
        };
        let (total, grid) = if self.complement {
            self.complemented(&terms, addend)
        } else {
            self.paired(&terms, addend)
        };
        self.rounded(total, grid)
    }

    fn special(&self, factors: &[(Meaning, Meaning)], c: u64) -> Option<u64> {
        let addend = self.result.read(c);
        let quiet = c | 1 << (self.result.fraction_bits - 1);
        if self.habit == Habit::AddendNanFirst && matches!(addend, Meaning::Nan) {
            return Some(quiet);
        }
        let mut signs = [false; 2];
        let mut invalid = false;
        for pair in factors {
            match pair {
                (Meaning::Nan, _) | (_, Meaning::Nan) => return Some(self.nans[0]),
                (Meaning::Infinite { negative: x }, Meaning::Infinite { negative: y }) => {
                    signs[usize::from(x != y)] = true;
                }
                (Meaning::Infinite { negative }, Meaning::Finite(n))
                | (Meaning::Finite(n), Meaning::Infinite { negative }) => {
                    invalid |= n.significand == 0;
                    signs[usize::from(*negative != n.negative)] = true;
                }
                _ => {}
            }
        }
        if invalid || signs == [true; 2] {
            return Some(self.nans[1]);
        }
        if matches!(addend, Meaning::Nan) {
            return Some(quiet);
        }
        if let Meaning::Infinite { negative } = addend {
            signs[usize::from(negative)] = true;
        }
        match signs {
            [false, false] => None,
            [true, true] => Some(self.nans[1]),
            [_, negative] => Some(self.result.infinity(negative)),
        }
    }

    /// `n` places down, or some of them.
    fn places(&self, n: i32) -> u32 {
        match self.habit {
            Habit::ShiftModulo if n > 31 => (n % 32) as u32,
            _ => n.min(126) as u32,
        }
    }

    /// Units of the grid, toward zero.
    fn cut(&self, term: Term, grid: i32) -> i128 {
        match grid > term.last {
            true => term.significand >> self.places(grid - term.last),
            false if term.significand == 0 => 0,
            false => term.significand << (term.last - grid),
        }
    }

    /// The same toward minus infinity.
    fn floored(&self, value: i128, last: i32, grid: i32) -> i128 {
        let down = match grid > last {
            true => self.places(grid - last),
            false if value == 0 => return 0,
            false => return value << (last - grid),
        };
        match self.habit {
            Habit::TowardZero if value < 0 => -(-value >> down),
            _ => value >> down,
        }
    }

    fn complemented(&self, terms: &[Term], addend: Term) -> (i128, i32) {
        let sums = terms.iter().filter(|t| t.significand != 0).map(|t| t.sum);
        let sum = sums.max().unwrap_or(NOTHING);
        let all = terms.iter().chain([&addend]);
        let leads = all.filter(|t| t.significand != 0).map(lead);
        let Some(lead) = leads.max() else {
            return (0, 0);
        };
        let grid = (sum - self.product_bits).max(lead.max(self.least) - self.leading_bits);
        let frame = addend.negative && self.habit != Habit::PositiveFrame;
        let mut total = 0;
        for term in terms.iter().chain([&addend]) {
            let units = self.cut(*term, grid);
            let empty = term.significand == 0 && self.habit == Habit::ZerosLeftOut;
            total += match (term.negative == frame, self.habit) {
                (true, _) => units,
                (false, Habit::TwosComplement) => -units,
                (false, _) if empty => 0,
                (false, _) => -units - 1,
            };
        }
        (if frame { -total } else { total }, grid)
    }

    fn paired(&self, terms: &[Term], addend: Term) -> (i128, i32) {
        let largest = |some: &[Term]| {
            let sums = some.iter().filter(|t| t.significand != 0).map(|t| t.sum);
            sums.max()
        };
        let lead = match addend.significand {
            0 => self.least,
            _ => lead(&addend).max(self.least),
        };
        let by_c = lead - self.leading_bits;
        let grid = largest(terms).map_or(by_c, |sum| by_c.max(sum - self.product_bits));
        let signed = |t: &Term| {
            if t.negative {
                -t.significand
            } else {
                t.significand
            }
        };
        let mut total = 0;
        for pair in terms.chunks(2) {
            let Some(sum) = largest(pair) else { continue };
            let own = match self.habit {
                Habit::NoPairs => grid,
                _ => sum - self.product_bits,
            };
            let both: i128 = pair
                .iter()
                .map(|t| self.floored(signed(t), t.last, own))
                .sum();
            total += self.floored(both, own, grid);
        }
        let vanishes = self.cut(addend, grid) == 0 && (self.least < -14 || grid > self.least);
        if !vanishes || self.habit == Habit::TinyCounts {
            total += self.floored(signed(&addend), addend.last, grid);
        }
        (total, grid)
    }

    /// To nearest even, in the result's format; of BF16 the upper half of FP32.
    fn rounded(&self, total: i128, last: i32) -> u64 {
        let through = if self.result == BF16 {
            FP32
        } else {
            self.result
        };
        let magnitude = total.unsigned_abs();
        if magnitude == 0 {
            return 0;
        }
        let fraction = through.fraction_bits as i32;
        let smallest = 1 - through.bias();
        let top = last + magnitude.ilog2() as i32;
        let nearest = |unit: i32| -> u128 {
            if unit <= last {
                return magnitude << (last - unit);
            }
            let down = (unit - last).min(126) as u32;
            let (kept, lost) = (magnitude >> down, magnitude & ((1 << down) - 1));
            let half = 1u128 << (down - 1);
            let up = lost > half || lost == half && kept & 1 == 1;
            kept + u128::from(up && self.habit != Habit::ResultCut)
        };
        if self.flush_sums {
            let free = nearest(top - fraction);
            if top + i32::from(free >> (fraction + 1) != 0) < smallest {
                return 0;
            }
        }
        let exponent = top.max(smallest);
        let units = nearest(exponent - fraction);
        // A carry counts in the field, and a subnormal has no hidden bit there.
        let code = ((exponent - smallest) as u64) << fraction;
        let infinity = through.infinity(false);
        let mut code = (code + units as u64).min(infinity);
        if self.habit == Habit::Saturate && code == infinity {
            code -= 1;
        }
        if code == 0 {
            return 0;
        }
        if self.result == BF16 {
            let up = self.habit == Habit::Nearest16 && code < infinity;
            let lost = code & 0xffff;
            code >>= 16;
            code += u64::from(up && (lost > 0x8000 || lost == 0x8000 && code & 1 == 1));
        }
        u64::from(total < 0) << (self.result.bits() - 1) | code
    }
}

fn lead(term: &Term) -> i32 {
    term.last + term.significand.ilog2() as i32
}
