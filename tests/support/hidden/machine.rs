//! Machines with habits that no model of the library has, in arithmetic of their own.

use super::number::{Dice, FP32, Layout, Meaning, Number};

/// How far a term is shifted whose exponent lies a distance below the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distance {
    Whole,
    /// Only the low bits of the distance reach the shifter.
    Modulo(u32),
    /// No term is shifted farther.
    Clamped(u32),
}

/// What becomes of the bits that alignment shifts out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    Truncate,
    /// Two's complement: toward minus infinity.
    Floor,
    /// The last bit kept is set if any was lost.
    Jam,
    Nearest,
}

impl Cut {
    /// A magnitude moved down by so many bits.
    fn shifted(self, magnitude: u128, negative: bool, down: u32) -> i128 {
        if down == 0 {
            return magnitude as i128;
        }
        let kept = (magnitude >> down) as i128;
        let lost = magnitude & ((1u128 << down) - 1);
        let half = 1u128 << (down - 1);
        match self {
            Cut::Truncate => kept,
            Cut::Floor => kept + i128::from(negative && lost != 0),
            Cut::Jam => kept | i128::from(lost != 0),
            Cut::Nearest => kept + i128::from(lost > half || lost == half && kept & 1 == 1),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Ascending,
    /// Groups from the end of K to its beginning.
    Descending,
    /// Group i has the products i, i + n, i + 2n, ...
    Strided,
    /// Neighbours are added first, each sum rounded, C last.
    Tree,
    /// C is added to the finished sum of a group.
    AddendLast,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub operand: Layout,
    pub group: usize,
    pub fraction: u32,
    pub distance: Distance,
    pub cut: Cut,
    /// Subnormal operands, a subnormal C, and subnormal results count as zero.
    pub flush: [bool; 3],
    pub saturate: bool,
    pub nearest: bool,
    pub precision: u32,
    pub accumulators: usize,
    /// Bits that the accumulator has beyond `precision` until the end of K.
    pub extra: u32,
    /// Bits of the sum above the grid, after which it wraps around.
    pub wrap: Option<u32>,
    pub order: Order,
    /// A negative result too small for the format is -0.
    pub minus_zero: bool,
    /// What the rounding of the result sees of the sum.
    pub seen: Seen,
}

/// Where a sum ends before it is rounded, and what becomes of the bits below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    All,
    /// So many bits from the leading one on.
    Leading(u32, Cut),
    /// All but so many of the lowest of the sum's register.
    Above(u32, Cut),
}

/// What the chain carries: a special code, or a number of any precision and exponent.
#[derive(Clone, Copy, Debug)]
enum Sum {
    Nan,
    Infinite { negative: bool },
    Finite(Number),
}

const NAN: u64 = 0x7fff_ffff;

impl Machine {
    /// An ordinary tensor core, which the library has a kind for.
    pub fn plain(operand: Layout, dice: &mut Dice) -> Machine {
        // As FP8 is added on Ada and Hopper, or as everything else is.
        let short = operand.bits() == 8 && dice.chance(2);
        let group = dice.pick(&[4, 8, 16, 32]);
        let fraction = if short { 13 } else { dice.pick(&[23, 24, 25]) };
        Machine {
            nearest: dice.chance(4),
            precision: if short { 14 } else { 24 },
            ..Machine::ordinary(operand, group, fraction)
        }
    }

    /// One that adds so many products at a time, cut to so many bits, with nothing peculiar.
    pub fn ordinary(operand: Layout, group: usize, fraction: u32) -> Machine {
        Machine {
            operand,
            group,
            fraction,
            distance: Distance::Whole,
            cut: Cut::Truncate,
            flush: [false; 3],
            saturate: false,
            nearest: false,
            precision: 24,
            accumulators: 1,
            extra: 0,
            wrap: None,
            order: Order::Ascending,
            minus_zero: false,
            seen: Seen::All,
        }
    }

    /// The code of an FP32 result.
    pub fn dot(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        let terms: Vec<Meaning> = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| self.product(self.operand.read(a), self.operand.read(b)))
            .collect();
        let zero = Sum::Finite(Number::default());
        let mut sums = vec![zero; self.accumulators];
        sums[0] = match FP32.read(c) {
            Meaning::Nan => Sum::Nan,
            Meaning::Infinite { negative } => Sum::Infinite { negative },
            Meaning::Finite(n) if self.flush[1] && n.subnormal => zero,
            Meaning::Finite(n) => Sum::Finite(n),
        };
        let steps = terms.len().div_ceil(self.group);
        for step in 0..steps {
            let index = match self.order {
                Order::Descending => steps - 1 - step,
                _ => step,
            };
            let all = terms.len();
            let group: Vec<Meaning> = (0..self.group)
                .map(|i| match self.order {
                    Order::Strided => index + i * steps,
                    _ => index * self.group + i,
                })
                .filter(|&k| k < all)
                .map(|k| terms[k])
                .collect();
            let sum = &mut sums[step % self.accumulators];
            *sum = self.step(group, *sum);
        }
        let total = match sums[..] {
            [one] => one,
            [one, other] => self.add(vec![other.meaning()], one),
            _ => unreachable!("one or two accumulators"),
        };
        self.code(total)
    }

    fn product(&self, a: Meaning, b: Meaning) -> Meaning {
        let flushed = |x: Meaning| match x {
            Meaning::Finite(n) if self.flush[0] && n.subnormal => Meaning::Finite(Number {
                significand: 0,
                ..n
            }),
            other => other,
        };
        let zero = |n: Number| n.significand == 0;
        match (flushed(a), flushed(b)) {
            (Meaning::Nan, _) | (_, Meaning::Nan) => Meaning::Nan,
            (Meaning::Infinite { negative: x }, Meaning::Infinite { negative: y }) => {
                Meaning::Infinite { negative: x != y }
            }
            (Meaning::Infinite { negative }, Meaning::Finite(n))
            | (Meaning::Finite(n), Meaning::Infinite { negative }) => {
                if zero(n) {
                    Meaning::Nan
                } else {
                    Meaning::Infinite {
                        negative: negative != n.negative,
                    }
                }
            }
            (Meaning::Finite(x), Meaning::Finite(y)) => Meaning::Finite(Number {
                negative: x.negative != y.negative,
                significand: x.significand * y.significand,
                last: x.last + y.last,
                exponent: x.exponent + y.exponent,
                subnormal: false,
            }),
        }
    }

    fn step(&self, group: Vec<Meaning>, c: Sum) -> Sum {
        let zero = Sum::Finite(Number::default());
        match self.order {
            Order::Tree => {
                let mut level = group;
                while level.len() > 1 {
                    let pairs = level.chunks(2);
                    level = pairs
                        .map(|pair| self.add(pair.to_vec(), zero).meaning())
                        .collect();
                }
                self.add(level, c)
            }
            Order::AddendLast => {
                let sum = self.add(group, zero).meaning();
                self.add(vec![sum], c)
            }
            _ => self.add(group, c),
        }
    }

    /// All at once: aligned to the largest, cut, added, rounded.
    fn add(&self, mut terms: Vec<Meaning>, c: Sum) -> Sum {
        terms.push(c.meaning());
        let (mut signs, mut numbers) = ([false; 2], Vec::new());
        for term in terms {
            match term {
                Meaning::Nan => return Sum::Nan,
                Meaning::Infinite { negative } => signs[usize::from(negative)] = true,
                Meaning::Finite(n) if n.significand != 0 => numbers.push(n),
                Meaning::Finite(_) => {}
            }
        }
        match signs {
            [true, true] => return Sum::Nan,
            [false, false] => {}
            [_, negative] => return Sum::Infinite { negative },
        }
        // Nothing counts as larger than a zero, but for what lies far below every result.
        let floor = -108 - self.fraction as i32;
        let largest = numbers.iter().map(|n| n.exponent).fold(floor, i32::max);
        let grid = largest - self.fraction as i32;
        let total = numbers.iter().map(|n| self.align(n, largest, grid)).sum();
        let total: i128 = match self.wrap {
            Some(bits) => {
                let shift = 128 - (bits + self.fraction);
                total << shift >> shift
            }
            None => total,
        };
        let down = match self.seen {
            Seen::All => return self.round(total < 0, total.unsigned_abs(), grid, self.extra),
            Seen::Leading(bits, _) => {
                (u128::BITS - total.unsigned_abs().leading_zeros()).saturating_sub(bits)
            }
            Seen::Above(bits, _) => bits,
        };
        let (Seen::Leading(_, cut) | Seen::Above(_, cut)) = self.seen else {
            unreachable!("all is seen");
        };
        let kept = cut.shifted(total.unsigned_abs(), total < 0, down);
        let magnitude = kept.unsigned_abs();
        self.round(total < 0, magnitude, grid + down as i32, self.extra)
    }

    fn align(&self, n: &Number, largest: i32, grid: i32) -> i128 {
        let whole = (largest - n.exponent) as u32;
        let distance = match self.distance {
            Distance::Whole => whole,
            Distance::Modulo(m) => whole % m,
            Distance::Clamped(most) => whole.min(most),
        };
        // The significand as it lies at its own exponent, moved down by the distance.
        let up = n.last - n.exponent + self.fraction as i32 - distance as i32;
        let _ = grid;
        let magnitude = if up >= 0 {
            (n.significand << up) as i128
        } else {
            self.cut
                .shifted(n.significand, n.negative, up.unsigned_abs().min(127))
        };
        if n.negative { -magnitude } else { magnitude }
    }

    /// To `precision + extra` bits, with gradual underflow unless bits are extra.
    fn round(&self, negative: bool, magnitude: u128, last: i32, extra: u32) -> Sum {
        if magnitude == 0 {
            return Sum::Finite(Number::default());
        }
        let leading = last + magnitude.ilog2() as i32;
        let exponent = if extra > 0 {
            leading
        } else {
            leading.max(1 - FP32.bias())
        };
        let unit = exponent - (self.precision + extra) as i32 + 1;
        let (mut kept, mut weight) = (magnitude, last);
        if unit > last {
            let down = ((unit - last) as u32).min(127);
            let lost = magnitude & ((1u128 << down) - 1);
            let half = 1u128 << (down - 1);
            kept = magnitude >> down;
            kept += u128::from(self.nearest && (lost > half || lost == half && kept & 1 == 1));
            weight = last + down as i32;
        }
        if kept == 0 {
            return Sum::Finite(Number {
                negative: negative && self.minus_zero,
                ..Number::default()
            });
        }
        let leading = weight + kept.ilog2() as i32;
        if leading > FP32.bias() && extra == 0 {
            return if self.saturate {
                Sum::Finite(Number {
                    negative,
                    significand: (1 << 24) - 1,
                    last: FP32.bias() - 23,
                    exponent: FP32.bias(),
                    subnormal: false,
                })
            } else {
                Sum::Infinite { negative }
            };
        }
        let subnormal = extra == 0 && leading < 1 - FP32.bias();
        if subnormal && self.flush[2] {
            return Sum::Finite(Number {
                negative: negative && self.minus_zero,
                ..Number::default()
            });
        }
        Sum::Finite(Number {
            negative,
            significand: kept,
            last: weight,
            exponent: if extra > 0 {
                leading
            } else {
                leading.max(1 - FP32.bias())
            },
            subnormal,
        })
    }

    fn code(&self, sum: Sum) -> u64 {
        let sum = match sum {
            Sum::Finite(n) if self.extra > 0 => self.round(n.negative, n.significand, n.last, 0),
            other => other,
        };
        match sum {
            Sum::Nan => NAN,
            Sum::Infinite { negative } => FP32.infinity(negative),
            Sum::Finite(n) if n.significand == 0 => FP32.code(n.negative, 0, 0),
            Sum::Finite(n) => {
                let exponent = (n.last + n.significand.ilog2() as i32).max(1 - FP32.bias());
                let shift = n.last - (exponent - 23);
                let significand = if shift >= 0 {
                    n.significand << shift
                } else {
                    n.significand >> -shift
                } as u64;
                let field = match significand >> 23 {
                    0 => 0,
                    _ => (exponent + FP32.bias()) as u64,
                };
                FP32.code(n.negative, field, significand & ((1 << 23) - 1))
            }
        }
    }
}

impl Sum {
    fn meaning(self) -> Meaning {
        match self {
            Sum::Nan => Meaning::Nan,
            Sum::Infinite { negative } => Meaning::Infinite { negative },
            Sum::Finite(n) => Meaning::Finite(n),
        }
    }
}
