//! Functions of every element in f64, and their inverses.

use crate::diagnose::Hypothesis;

/// A function that kernels apply to every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Relu,
    Relu6,
    Gelu,
    GeluTanh,
    Silu,
    Sigmoid,
    Tanh,
    /// `x * sigmoid(1.702 x)`
    QuickGelu,
    /// The square of ReLU.
    SquaredRelu,
    /// Negative numbers are multiplied by so many hundredths.
    LeakyRelu(u8),
    Magnitude,
    /// `c * tanh(x / c)`
    SoftCap(u8),
}

const EVERYTHING: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

impl Function {
    /// The commonest first.
    pub const ALL: [Function; 16] = [
        Function::Relu,
        Function::Relu6,
        Function::Gelu,
        Function::GeluTanh,
        Function::Silu,
        Function::Sigmoid,
        Function::Tanh,
        Function::QuickGelu,
        Function::SquaredRelu,
        Function::LeakyRelu(1),
        Function::LeakyRelu(10),
        Function::LeakyRelu(20),
        Function::Magnitude,
        Function::SoftCap(30),
        Function::SoftCap(50),
        Function::SoftCap(20),
    ];

    /// The first so many are tried together with numbers to be found.
    pub const TOGETHER: usize = 7;

    pub fn name(self) -> &'static str {
        match self {
            Function::Relu => "ReLU",
            Function::Relu6 => "ReLU6",
            Function::Gelu => "GELU (of the error function)",
            Function::GeluTanh => "GELU (of tanh)",
            Function::Silu => "SiLU",
            Function::Sigmoid => "the sigmoid",
            Function::Tanh => "tanh",
            Function::QuickGelu => "GELU (of the sigmoid of 1.702 x)",
            Function::SquaredRelu => "the square of ReLU",
            Function::LeakyRelu(1) => "leaky ReLU (slope 0.01)",
            Function::LeakyRelu(10) => "leaky ReLU (slope 0.1)",
            Function::LeakyRelu(_) => "leaky ReLU (slope 0.2)",
            Function::Magnitude => "the absolute value",
            Function::SoftCap(30) => "a soft cap of 30 (30 tanh(x / 30))",
            Function::SoftCap(50) => "a soft cap of 50 (50 tanh(x / 50))",
            Function::SoftCap(_) => "a soft cap of 20 (20 tanh(x / 20))",
        }
    }

    pub fn hypothesis(self) -> Hypothesis {
        match self {
            Function::Relu => Hypothesis::Relu,
            Function::Relu6 => Hypothesis::Relu6,
            Function::Gelu => Hypothesis::Gelu,
            Function::GeluTanh => Hypothesis::GeluTanh,
            Function::Silu => Hypothesis::Silu,
            _ => Hypothesis::Activation,
        }
    }

    /// The result, if every implementation gives the same bits.
    pub fn exactly(self, x: f32) -> Option<f32> {
        let relu = if x > 0.0 { x } else { 0.0 };
        match self {
            Function::Relu => Some(relu),
            Function::Relu6 => Some(relu.min(6.0)),
            Function::SquaredRelu => Some(relu * relu),
            Function::LeakyRelu(_) if x > 0.0 => Some(x),
            Function::LeakyRelu(slope) => Some(x * (f32::from(slope) / 100.0)),
            Function::Magnitude => Some(x.abs()),
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
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Function::Tanh => x.tanh(),
            Function::QuickGelu => x / (1.0 + (-1.702 * x).exp()),
            Function::SquaredRelu => x.max(0.0) * x.max(0.0),
            Function::LeakyRelu(_) if x > 0.0 => x,
            Function::LeakyRelu(slope) => x * f64::from(slope) / 100.0,
            Function::Magnitude => x.abs(),
            Function::SoftCap(cap) => f64::from(cap) * (x / f64::from(cap)).tanh(),
        }
    }

    /// The range of arguments with values in this range; none if there is none. It may be too wide.
    pub fn before(self, [low, high]: [f64; 2]) -> Option<[f64; 2]> {
        match self {
            Function::Relu | Function::Relu6 | Function::SquaredRelu => {
                let top = if self == Function::Relu6 {
                    6.0
                } else {
                    f64::INFINITY
                };
                let root = |x: f64| match self {
                    Function::SquaredRelu => x.sqrt(),
                    _ => x,
                };
                let from = if low <= 0.0 {
                    f64::NEG_INFINITY
                } else {
                    root(low)
                };
                let to = if high >= top {
                    f64::INFINITY
                } else {
                    root(high)
                };
                (high >= 0.0 && low <= top).then_some([from, to])
            }
            Function::Magnitude => (high >= 0.0).then_some([-high, high]),
            Function::LeakyRelu(slope) => {
                let slope = f64::from(slope) / 100.0;
                Some([low, high].map(|x| if x > 0.0 { x } else { x / slope }))
            }
            Function::Sigmoid => limited([low, high], [0.0, 1.0], |x| (x / (1.0 - x)).ln()),
            Function::Tanh => limited([low, high], [-1.0, 1.0], f64::atanh),
            Function::SoftCap(cap) => {
                let cap = f64::from(cap);
                limited([low, high], [-cap, cap], |x| cap * (x / cap).atanh())
            }
            _ if high < self.least().1 => None,
            // Below zero two arguments have the same value.
            _ if low <= 0.0 => Some(EVERYTHING),
            _ => Some([self.inverse(low), self.inverse(high)]),
        }
    }

    /// The range of arguments near this one, if the function falls before it rises: one of both.
    pub fn before_near(self, [low, high]: [f64; 2], near: f64) -> Option<[f64; 2]> {
        /// About the bottom both branches are possible.
        const BOTTOM: f64 = 0.05;
        let (bottom, least) = self.least();
        let falls = matches!(
            self,
            Function::Gelu | Function::GeluTanh | Function::Silu | Function::QuickGelu
        );
        if !falls || low > 0.0 || (near - bottom).abs() < BOTTOM {
            return self.before([low, high]);
        }
        let rises = near > bottom;
        let end = |value: f64| {
            let (mut from, mut to) = if rises {
                (bottom, value.max(0.0) + 0.3)
            } else {
                (-80.0, bottom)
            };
            for _ in 0..60 {
                let middle = (from + to) / 2.0;
                if (self.value(middle) < value) == rises {
                    from = middle
                } else {
                    to = middle
                }
            }
            from
        };
        if high < least {
            return None;
        }
        let at_low = if low <= least { bottom } else { end(low) };
        let at_high = match rises {
            true => end(high),
            false if high >= 0.0 => f64::NEG_INFINITY,
            false => end(high),
        };
        Some(if rises {
            [at_low, at_high]
        } else {
            [at_high, at_low]
        })
    }

    /// Where it is the least, and a lower bound of its values.
    fn least(self) -> (f64, f64) {
        match self {
            Function::Silu => (-1.278_464_5, -0.278_465),
            Function::QuickGelu => (-0.751_154, -0.163_62),
            _ => (-0.752, -0.1702),
        }
    }

    /// The positive argument with this value. It is larger than the value, by less than 0.3.
    fn inverse(self, value: f64) -> f64 {
        let (mut low, mut high) = (value, value + 0.3);
        for _ in 0..52 {
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

/// The arguments of a function that rises from one limit to the other.
fn limited(
    [low, high]: [f64; 2],
    [least, most]: [f64; 2],
    inverse: impl Fn(f64) -> f64,
) -> Option<[f64; 2]> {
    let from = if low <= least {
        f64::NEG_INFINITY
    } else {
        inverse(low.min(most))
    };
    let to = if high >= most {
        f64::INFINITY
    } else {
        inverse(high)
    };
    (high >= least && low <= most).then_some([from, to])
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
    // The larger the argument, the sooner the fraction converges.
    let terms = (400.0 / (x * x)).clamp(8.0, 80.0) as u32;
    let tail = (1..=terms)
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
            if function == Function::Magnitude {
                assert_eq!(function.before([1.0, 2.0]), Some([-2.0, 2.0]));
                continue;
            }
            for x in [0.25, 1.0, 3.5] {
                let y = function.value(x);
                let [low, high] = function.before([y - 1e-9, y + 1e-9]).unwrap();
                assert!(
                    low <= x && x <= high && high - low < 1e-6,
                    "{function:?} {x}"
                );
            }
            if !matches!(function, Function::LeakyRelu(_) | Function::SoftCap(_)) {
                assert_eq!(function.before([-3.0, -2.0]), None, "{function:?}");
            }
        }
        assert_eq!(Function::Relu6.before([6.5, 6.6]), None);
        let [_, high] = Function::Relu.before([0.0, 1e-30]).unwrap();
        assert_eq!(high, 1e-30);
    }

    /// A function that falls before it rises has two arguments for a negative value: the nearer one counts.
    #[test]
    fn a_branch_is_chosen_by_what_is_near() {
        for function in [
            Function::Gelu,
            Function::GeluTanh,
            Function::Silu,
            Function::QuickGelu,
        ] {
            for x in [-3.0, -2.0, -0.25, 0.25, 2.0] {
                let y = function.value(x);
                let [low, high] = function
                    .before_near([y - 1e-9, y + 1e-9], x + 0.01)
                    .unwrap();
                assert!(
                    low <= x && x <= high && high - low < 1e-5,
                    "{function:?} {x}: {low} {high}"
                );
            }
            assert_eq!(function.before_near([-3.0, -2.0], 1.0), None);
        }
    }
}
