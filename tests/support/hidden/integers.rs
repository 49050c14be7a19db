//! Units of integers with habits that no model of the library has, in plain 128-bit sums.

use super::number::Dice;

/// Operands of so many bits in two's complement, or without sign.
#[derive(Clone, Copy, Debug)]
pub struct Integers {
    pub bits: u32,
    pub signed: bool,
}

impl Integers {
    pub fn value(self, code: u64) -> i128 {
        let code = i128::from(code);
        if self.signed && code >> (self.bits - 1) & 1 == 1 {
            code - (1 << self.bits)
        } else {
            code
        }
    }
}

/// What becomes of a sum that a register cannot hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    Wrap,
    Clamp,
    /// Clamped to the same magnitude on both sides.
    Symmetric,
    /// Clamped above, wrapped below.
    OnlyAbove,
}

impl End {
    fn keep(self, sum: i128, bits: u32) -> i128 {
        let half = 1i128 << (bits - 1);
        let wrapped = (sum + half).rem_euclid(2 * half) - half;
        match self {
            End::Wrap => wrapped,
            End::Clamp => sum.clamp(-half, half - 1),
            End::Symmetric => sum.clamp(1 - half, half - 1),
            End::OnlyAbove if sum > half - 1 => half - 1,
            End::OnlyAbove => wrapped,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    Ascending,
    Descending,
    /// Group i has the products i, i + n, i + 2n, ...
    Strided,
    /// Of each group the products of odd k before those of even k, in two sums.
    EvenAndOdd,
    /// Positive products of a group first.
    PositiveFirst,
    /// One product after the other, C last.
    AddendLast,
}

/// Every register of a unit, and where it ends.
#[derive(Clone, Debug)]
pub struct Unit {
    pub operands: [Integers; 2],
    pub group: usize,
    pub end: End,
    /// Bits of the accumulator after each group, and of D at the end of K.
    pub accumulator: u32,
    pub order: Order,
    /// A register in which so many neighbouring products are added first: how many, its bits, its end.
    pub partial: Option<(usize, u32, End)>,
    pub accumulators: usize,
    /// Once a sum was clamped, it stays.
    pub sticky: bool,
    /// The sum is kept to so many significant bits, as in a floating-point register.
    pub significant: Option<u32>,
}

impl Unit {
    pub fn plain(operands: [Integers; 2], dice: &mut Dice) -> Unit {
        Unit {
            operands,
            group: dice.pick(&[1, 2, 3, 4, 8, 16, 24, 32, 64, 96, 128]),
            end: if dice.chance(4) {
                End::Wrap
            } else {
                End::Clamp
            },
            accumulator: 32,
            order: Order::Ascending,
            partial: None,
            accumulators: 1,
            sticky: false,
            significant: None,
        }
    }

    /// The code of a 32-bit result.
    pub fn dot(&self, a: &[u64], b: &[u64], c: u64) -> u64 {
        let [of_a, of_b] = self.operands;
        let products = a
            .iter()
            .zip(b)
            .map(|(&a, &b)| of_a.value(a) * of_b.value(b));
        let products: Vec<i128> = products.collect();
        let mut sums = vec![0; self.accumulators];
        let mut stuck = false;
        sums[0] = match self.order {
            Order::AddendLast => 0,
            _ => i128::from(c as u32 as i32),
        };
        for (step, group) in self.groups(&products).into_iter().enumerate() {
            for part in group {
                let sum = &mut sums[step % self.accumulators];
                let exact = *sum + self.partial_sums(&part);
                let kept = self.end.keep(exact, self.accumulator);
                if !stuck {
                    *sum = self.rounded(kept);
                }
                stuck |= self.sticky && kept != exact;
            }
        }
        let mut total: i128 = sums.iter().sum();
        if self.order == Order::AddendLast {
            total += i128::from(c as u32 as i32);
        }
        self.end.keep(total, self.accumulator.min(32)) as i32 as u32 as u64
    }

    /// Groups in their order, each in parts that are added one after the other.
    fn groups(&self, products: &[i128]) -> Vec<Vec<Vec<i128>>> {
        let n = products.len().div_ceil(self.group);
        let member = |i: usize| -> Vec<i128> {
            let strided = self.order == Order::Strided;
            let places = (0..self.group).map(|j| {
                if strided {
                    i + j * n
                } else {
                    i * self.group + j
                }
            });
            places.filter_map(|k| products.get(k).copied()).collect()
        };
        let order: Vec<usize> = match self.order {
            Order::Descending => (0..n).rev().collect(),
            _ => (0..n).collect(),
        };
        let parts = |group: Vec<i128>| -> Vec<Vec<i128>> {
            let split = |first: &dyn Fn(usize, i128) -> bool| {
                let all = group.iter().copied().enumerate();
                let (x, y): (Vec<_>, Vec<_>) = all.partition(|(i, v)| first(*i, *v));
                [x, y]
                    .map(|part| part.into_iter().map(|(_, v)| v).collect())
                    .into()
            };
            match self.order {
                Order::EvenAndOdd => split(&|i, _| i % 2 == 1),
                Order::PositiveFirst => split(&|_, v| v > 0),
                _ => vec![group],
            }
        };
        order.into_iter().map(|i| parts(member(i))).collect()
    }

    fn partial_sums(&self, part: &[i128]) -> i128 {
        match self.partial {
            None => part.iter().sum(),
            Some((n, bits, end)) => {
                let sums = part.chunks(n).map(|some| end.keep(some.iter().sum(), bits));
                sums.sum()
            }
        }
    }

    fn rounded(&self, sum: i128) -> i128 {
        let Some(bits) = self.significant else {
            return sum;
        };
        let length = 128 - sum.unsigned_abs().leading_zeros();
        let lost = length.saturating_sub(bits);
        let unit = 1i128 << lost;
        sum / unit * unit
    }
}
