//! FP64 products by slices once more, in plain words: numbers as wide integers, digits of base 256, and the wrong rules
//! that vectors state.

/// What is done otherwise.
#[derive(Clone, Copy, PartialEq)]
pub enum Rule {
    Right,
    MostSignificantFirst,
    BetaFused,
    NoFma,
    AlphaOnce,
    CLast,
    NoSpareBit,
}

/// A product of FP64 numbers, A and C by rows, B by columns.
pub struct Product<'a> {
    pub a: &'a [f64],
    pub b: &'a [f64],
    pub c: Option<&'a [f64]>,
    pub k: usize,
    pub alpha: f64,
    pub beta: f64,
    pub slices: usize,
}

/// `x * 2^power`, rounded once at the most.
fn times(x: f64, power: i32) -> f64 {
    x * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
}

fn shift(line: &[f64], spare: bool) -> i32 {
    let largest = line
        .iter()
        .fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let bits = largest.to_bits();
    let exponent = (bits >> 52) as i32 - 1022;
    7 - exponent - i32::from(spare && bits >> 46 & 63 == 63)
}

/// Digits of base 256, between -128 and 127, the most significant first.
fn digits(x: f64, shift: i32, count: usize) -> Vec<i64> {
    let field = (x.to_bits() >> 52 & 2047) as i32;
    let fraction = (x.to_bits() & ((1 << 52) - 1)) as i128;
    let (significand, lsb) = match field {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, field - 1075),
    };
    let up = lsb + shift + 8 * (count as i32 - 1);
    let magnitude = if up >= 0 {
        significand << up
    } else {
        significand >> (-up).min(127)
    };
    let mut rest = if x < 0.0 { -magnitude } else { magnitude };
    let mut all = vec![0; count];
    for digit in all.iter_mut().rev() {
        *digit = (rest + 128).rem_euclid(256) as i64 - 128;
        rest = (rest - i128::from(*digit)) / 256;
    }
    all
}

impl Product<'_> {
    /// The codes of D, row by row.
    pub fn by(&self, rule: Rule) -> Vec<u64> {
        let spare = rule != Rule::NoSpareBit;
        let lines = |all: &[f64]| {
            let lines = all.chunks(self.k).map(|line| {
                let shift = shift(line, spare);
                let each = line.iter().map(|&x| digits(x, shift, self.slices));
                (shift, each.collect::<Vec<_>>())
            });
            lines.collect::<Vec<_>>()
        };
        let (rows, columns) = (lines(self.a), lines(self.b));
        let mut d = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let c = self.c.map_or(0.0, |c| c[i * columns.len() + j]);
                let mut sums: Vec<f64> = (0..self.slices)
                    .rev()
                    .map(|g| {
                        let pairs = row.1.iter().zip(&column.1);
                        let dot = |(a, b): (&Vec<i64>, &Vec<i64>)| {
                            (0..=g).map(|t| a[t] * b[g - t]).sum::<i64>()
                        };
                        let sum = pairs.map(dot).sum::<i64>() as i32;
                        times(sum.into(), -8 * g as i32 - row.0 - column.0)
                    })
                    .collect();
                if rule == Rule::MostSignificantFirst {
                    sums.reverse();
                }
                d.push(self.added(&sums, c, rule).to_bits());
            }
        }
        d
    }

    fn added(&self, sums: &[f64], c: f64, rule: Rule) -> f64 {
        let (alpha, beta) = (self.alpha, self.beta);
        if rule == Rule::AlphaOnce {
            let sum = sums.iter().fold(0.0, |sum, d| sum + d);
            return alpha.mul_add(sum, beta * c);
        }
        if rule == Rule::CLast {
            let sum = sums.iter().fold(0.0, |sum, &d| alpha.mul_add(d, sum));
            return beta * c + sum;
        }
        let mut d = c;
        for (i, &sum) in sums.iter().enumerate() {
            let factor = if i == 0 { beta } else { 1.0 };
            d = match rule {
                Rule::BetaFused => factor.mul_add(d, alpha * sum),
                Rule::NoFma => alpha * sum + factor * d,
                _ => alpha.mul_add(sum, factor * d),
            };
        }
        d
    }
}
