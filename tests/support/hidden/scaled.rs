//! Units that multiply blocks by scales, some with habits that no model of the library has. Numbers are
//! integers times powers of two; nothing is shared with the library.

use super::narrow::{Narrow, Read, Term, Top, exact, product};
use super::number::Dice;

/// What codes of scales are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scales {
    /// Eight bits of exponent; the last code is NaN.
    Powers,
    /// Four bits of exponent, three of fraction; the eighth bit means nothing.
    Floats,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Habit {
    None,
    /// NaN is one more power of two, or a larger number.
    NoNan,
    /// A NaN scale of nothing but zeros is not looked at.
    NanOfZeros,
    /// Sums of the scales' exponents end.
    ExponentsClamped(i32),
    /// The scale with the least exponent is zero; subnormal ones are.
    LeastIsZero,
    /// What is scaled, a product or a sum of some, is cut to three bits before.
    RoundedBeforeScales,
    /// The scale belongs to blocks of half the size.
    HalfBlocks,
    /// Terms are aligned by their own leading bits.
    Normalised,
    /// Shifts take six bits of a distance.
    ShiftModulo64,
    /// Bits that are shifted out leave a trace.
    Jam,
    /// Groups from the end of K to its beginning.
    Descending,
    /// C is added to what a group gave.
    AddendLast,
    /// Results below the normal range are zero.
    Flushed,
    /// The scales' significands are multiplied to four bits.
    ShortScales,
    /// B's scales are not looked at beyond the first.
    FirstOfB,
}

pub const HABITS: [Habit; 16] = [
    Habit::None,
    Habit::NoNan,
    Habit::NanOfZeros,
    Habit::ExponentsClamped(127),
    Habit::ExponentsClamped(12),
    Habit::LeastIsZero,
    Habit::RoundedBeforeScales,
    Habit::HalfBlocks,
    Habit::Normalised,
    Habit::ShiftModulo64,
    Habit::Jam,
    Habit::Descending,
    Habit::AddendLast,
    Habit::Flushed,
    Habit::ShortScales,
    Habit::FirstOfB,
];

#[derive(Clone, Debug)]
pub struct Unit {
    pub operands: [Narrow; 2],
    pub scales: Scales,
    pub block: usize,
    pub group: usize,
    /// Products that are added exactly, then scaled; or each by itself, its exponents added up.
    pub part: Option<usize>,
    pub fraction: i32,
    pub zero_exponent: i32,
    pub nearest: bool,
    pub habit: Habit,
}

const NAN: u64 = 0x7fff_ffff;

impl Unit {
    pub fn plain(operands: [Narrow; 2], scales: Scales, dice: &mut Dice) -> Unit {
        let short = operands.iter().all(|f| f.bits() == 4);
        let parts = short && (scales == Scales::Floats || dice.chance(2));
        let block = match scales {
            Scales::Powers => 32,
            Scales::Floats => 16,
        };
        let fraction = if parts {
            dice.pick(&[25, 30, 34, 35, 37])
        } else {
            dice.pick(&[23, 24, 25, 28])
        };
        Unit {
            operands,
            scales,
            block,
            group: if parts {
                dice.pick(&[16, 32, 64])
            } else {
                dice.pick(&[8, 16, 32])
            },
            part: parts.then(|| dice.pick(&[4, 8, 16])),
            fraction,
            zero_exponent: -108 - fraction,
            nearest: dice.chance(3),
            habit: Habit::None,
        }
    }

    /// The code of an FP32 result; scales one a block.
    pub fn dot(&self, a: &[u64], b: &[u64], c: u64, scales: [&[u64]; 2]) -> u64 {
        let mut sum = c;
        let steps = a.len().div_ceil(self.group);
        for step in 0..steps {
            let step = match self.habit {
                Habit::Descending => steps - 1 - step,
                _ => step,
            };
            let places = step * self.group..((step + 1) * self.group).min(a.len());
            sum = self.step(places, a, b, sum, scales);
        }
        sum
    }

    fn scale(&self, codes: &[u64], k: usize, side: usize) -> Option<Term> {
        let block = match self.habit {
            Habit::HalfBlocks => self.block / 2,
            _ => self.block,
        };
        let at = if self.habit == Habit::FirstOfB && side == 1 {
            0
        } else {
            k / block
        };
        let code = codes[at.min(codes.len() - 1)];
        let number = |significand: u128, exponent: i32, bits: i32| Term {
            negative: false,
            significand,
            last: exponent - bits,
            exponent,
        };
        match self.scales {
            Scales::Powers if code == 255 && self.habit != Habit::NoNan => None,
            Scales::Powers if code == 0 && self.habit == Habit::LeastIsZero => {
                Some(number(0, -127, 0))
            }
            Scales::Powers => Some(number(1, code as i32 - 127, 0)),
            Scales::Floats => {
                let (field, fraction) = (code >> 3 & 15, code & 7);
                if (field, fraction) == (15, 7) && self.habit != Habit::NoNan {
                    return None;
                }
                let hidden = if field == 0 { 0 } else { 8 };
                if field == 0 && self.habit == Habit::LeastIsZero {
                    return Some(number(0, -6, 3));
                }
                Some(number(
                    (hidden | fraction).into(),
                    field.max(1) as i32 - 7,
                    3,
                ))
            }
        }
    }

    /// The product of two scales.
    fn both(&self, k: usize, scales: [&[u64]; 2]) -> Option<Term> {
        let (x, y) = (self.scale(scales[0], k, 0)?, self.scale(scales[1], k, 1)?);
        let mut significand = x.significand * y.significand;
        if self.habit == Habit::ShortScales && significand > 15 {
            let lost = significand.ilog2() - 3;
            significand = significand >> lost << lost;
        }
        let whole = x.exponent + y.exponent;
        let exponent = match self.habit {
            Habit::ExponentsClamped(most) => whole.clamp(-most, most),
            _ => whole,
        };
        Some(Term {
            negative: false,
            significand,
            last: x.last + y.last + exponent - whole,
            exponent,
        })
    }

    fn step(
        &self,
        places: std::ops::Range<usize>,
        a: &[u64],
        b: &[u64],
        c: u64,
        scales: [&[u64]; 2],
    ) -> u64 {
        let wide = Narrow {
            exponent_bits: 8,
            fraction_bits: 23,
            top: Top::Infinity,
        };
        let (mut nan, mut infinite) = (false, [false; 2]);
        let mut note = |read: Read| match read {
            Read::Nan => nan = true,
            Read::Infinite(negative) => infinite[usize::from(negative)] = true,
            Read::Number(_) => {}
        };
        let addend = wide.read(c);
        note(addend);
        let mut terms = Vec::new();
        let length = self.part.unwrap_or(1);
        for start in places.clone().step_by(length) {
            let mut parts = Vec::new();
            for k in start..(start + length).min(places.end) {
                let (x, y) = (self.operands[0].read(a[k]), self.operands[1].read(b[k]));
                let product = product(x, y);
                note(product);
                if let Read::Number(number) = product {
                    parts.push(number);
                }
            }
            let zeros = parts.iter().all(|term| term.significand == 0);
            let Some(scale) = self.both(start, scales) else {
                if !(zeros && self.habit == Habit::NanOfZeros) {
                    note(Read::Nan);
                }
                continue;
            };
            let mut term = exact(&parts);
            if self.habit == Habit::RoundedBeforeScales && term.significand > 0 {
                let lost = (term.significand.ilog2() + 1).saturating_sub(3);
                term.significand = term.significand >> lost << lost;
            }
            term.significand *= scale.significand;
            term.last += scale.last;
            term.exponent = match self.part {
                Some(_) => scale.exponent,
                None => term.exponent + scale.exponent,
            };
            if zeros || scale.significand == 0 {
                term.exponent = self.zero_exponent;
                term.significand = 0;
            }
            terms.push((term, zeros || scale.significand == 0));
        }
        if places.len() < self.group {
            let zero = Term {
                exponent: self.zero_exponent,
                ..Term::default()
            };
            terms.push((zero, true));
        }
        if nan || infinite == [true; 2] {
            return NAN;
        }
        if infinite != [false; 2] {
            return if infinite[1] {
                0xff80_0000
            } else {
                0x7f80_0000
            };
        }
        let Read::Number(mut addend) = addend else {
            unreachable!("special ones were noted")
        };
        let zero = addend.significand == 0;
        if zero {
            addend.exponent = self.zero_exponent;
        }
        if self.habit == Habit::AddendLast {
            let inner = self.add(&terms);
            let Read::Number(mut inner) = wide.read(inner) else {
                return inner;
            };
            let zero_sum = inner.significand == 0;
            if zero_sum {
                inner.exponent = self.zero_exponent;
            }
            return self.add(&[(inner, zero_sum), (addend, zero)]);
        }
        terms.push((addend, zero));
        self.add(&terms)
    }

    fn add(&self, terms: &[(Term, bool)]) -> u64 {
        let own = |term: &Term| match self.habit {
            Habit::Normalised if term.significand > 0 => {
                term.last + term.significand.ilog2() as i32
            }
            _ => term.exponent,
        };
        let largest = terms
            .iter()
            .map(|(term, _)| own(term))
            .max()
            .expect("C is there");
        let grid = largest - self.fraction;
        let mut sum = 0i128;
        for (term, _) in terms {
            let distance = largest - own(term);
            let distance = match self.habit {
                Habit::ShiftModulo64 => distance % 64,
                _ => distance,
            };
            let up = term.last - own(term) + self.fraction - distance;
            let kept = match up >= 0 {
                // Zeros may lie anywhere.
                _ if term.significand == 0 => 0,
                true => term.significand << up,
                false => {
                    let down = up.unsigned_abs().min(127);
                    let kept = term.significand >> down;
                    let lost = kept << down != term.significand;
                    kept | u128::from(lost && self.habit == Habit::Jam)
                }
            } as i128;
            sum += if term.negative { -kept } else { kept };
        }
        self.round(sum < 0, sum.unsigned_abs(), grid)
    }

    fn round(&self, negative: bool, magnitude: u128, last: i32) -> u64 {
        if magnitude == 0 {
            return 0;
        }
        let exponent = (last + magnitude.ilog2() as i32).max(-126);
        let down = exponent - 23 - last;
        let mut kept = match down {
            ..=0 => magnitude << -down,
            1..=126 => magnitude >> down,
            _ => 0,
        };
        if self.nearest && (1..=126).contains(&down) {
            let lost = magnitude & ((1 << down) - 1);
            let half = 1u128 << (down - 1);
            kept += u128::from(lost > half || lost == half && kept & 1 == 1);
        }
        if kept == 0 || self.habit == Habit::Flushed && kept < 1 << 23 {
            return 0;
        }
        // A carry counts in the exponent; a subnormal has no hidden bit there.
        let code = (((exponent + 126) as u64) << 23) + kept as u64;
        u64::from(negative) << 31 | code.min(0x7f80_0000)
    }
}
