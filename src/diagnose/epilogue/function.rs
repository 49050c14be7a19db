//! Functions of every element in f64, and their inverses.

use super::super::Hypothesis;

/// A function that kernels apply to every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Relu,
    Relu6,
    Gelu,
    GeluTanh,
    Silu,
}

impl Function {
    pub const ALL: [Function; 5] = [
        Function::Relu,
        Function::Relu6,
        Function::Gelu,
        Function::GeluTanh,
        Function::Silu,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Function::Relu => "ReLU",
            Function::Relu6 => "ReLU6",
            Function::Gelu => "GELU (of the error function)",
            Function::GeluTanh => "GELU (of tanh)",
            Function::Silu => "SiLU",
        }
    }

    pub fn hypothesis(self) -> Hypothesis {
        match self {
            Function::Relu => Hypothesis::Relu,
            Function::Relu6 => Hypothesis::Relu6,
            Function::Gelu => Hypothesis::Gelu,
            Function::GeluTanh => Hypothesis::GeluTanh,
            Function::Silu => Hypothesis::Silu,
        }
    }

    /// The result, if every implementation gives the same bits.
    pub fn exactly(self, x: f32) -> Option<f32> {
        let relu = if x > 0.0 { x } else { 0.0 };
        match self {
            Function::Relu => Some(relu),
            Function::Relu6 => Some(relu.min(6.0)),
            _ => None,
        }
    }

    pub fn value(self, x: f64) -> f64 {
        match self {
            Function::Relu => x.max(0.0),
            Function::Relu6 => x.clamp(0.0, 6.0),
            Function::Gelu => x * 0.5 * erfc(-x / std::f64::consts::SQRT_2),
            Function::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
                x / (1.0 + (-2.0 * inner).exp())
            }
            Function::Silu => x / (1.0 + (-x).exp()),
        }
    }

    /// The range of arguments with values in this range; none if there is none. It may be too wide.
    pub fn before(self, [low, high]: [f64; 2]) -> Option<[f64; 2]> {
        let everything = [f64::NEG_INFINITY, f64::INFINITY];
        match self {
            Function::Relu | Function::Relu6 => {
                let top = if self == Function::Relu6 {
                    6.0
                } else {
                    f64::INFINITY
                };
                let low = if low <= 0.0 { f64::NEG_INFINITY } else { low };
                let above = if high >= top { f64::INFINITY } else { high };
                (high >= 0.0 && low <= top).then_some([low, above])
            }
            _ if high < self.least() => None,
            // Below zero two arguments have the same value.
            _ if low <= 0.0 => Some(everything),
            _ => Some([self.inverse(low), self.inverse(high)]),
        }
    }

    /// A lower bound of its values.
    fn least(self) -> f64 {
        match self {
            Function::Silu => -0.2786,
            _ => -0.1702,
        }
    }

    /// The positive argument with this value.
    fn inverse(self, value: f64) -> f64 {
        let (mut low, mut high) = (0.0, 2.0 * value + 4.0);
        for _ in 0..80 {
            let middle = (low + high) / 2.0;
            if self.value(middle) < value {
                low = middle
            } else {
                high = middle
            }
        }
        low
    }
}

/// The complementary error function: near 0 by the series of the error function, else by the continued fraction.
fn erfc(x: f64) -> f64 {
    let root = std::f64::consts::PI.sqrt();
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            let n = f64::from(n);
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        return 1.0 - 2.0 / root * sum;
    }
    let tail = (1..=80)
        .rev()
        .fold(x, |rest, n| x + f64::from(n) / 2.0 / rest);
    (-x * x).exp() / root / tail
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of tables.
    #[test]
    fn the_error_function() {
        for (x, expected) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.0, 0.157_299_207_050_285_13),
            (2.0, 0.004_677_734_981_047_266),
            (3.0, 2.209_049_699_858_544e-5),
            (-1.0, 1.842_700_792_949_715),
        ] {
            assert!(
                (erfc(x) - expected).abs() <= 1e-13 * expected,
                "{x}: {}",
                erfc(x)
            );
        }
    }

    #[test]
    fn what_a_function_makes_of_a_range() {
        for function in Function::ALL {
            for x in [0.25, 1.0, 3.5] {
                let y = function.value(x);
                let [low, high] = function.before([y - 1e-9, y + 1e-9]).unwrap();
                assert!(
                    low <= x && x <= high && high - low < 1e-7,
                    "{function:?} {x}"
                );
            }
            assert_eq!(function.before([-3.0, -2.0]), None);
        }
        assert_eq!(Function::Relu6.before([6.5, 6.6]), None);
        let [_, high] = Function::Relu.before([0.0, 1e-30]).unwrap();
        assert_eq!(high, 1e-30);
    }
}
