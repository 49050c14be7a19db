//! Machines that differ in one constant from units that are known, or in where a sum keeps guard, round and sticky
//! bits; and sums that are exact. None may get a wrong name.
//!
//! A run looks at a share of them, of every kind some; with `TCVERIFY_HIDDEN_MACHINES=all` at each.

use rayon::prelude::*;
use tcverify::num::{Format, Rounding};

use super::fresh::Element;
use super::{FORMATS, Outcome, elements, judge};
use crate::support::exact::{Fraction, nearest_code};
use crate::support::hidden::machine::{Cut, Machine, Seen};
use crate::support::hidden::number::{BF16, FP16, Layout, Meaning, TF32};

/// A run of these of the machines; all if the environment says so.
fn of_a_run(all: usize, share: usize) -> Vec<usize> {
    let given = std::env::var("TCVERIFY_HIDDEN_MACHINES").unwrap_or_default();
    let first = given.parse().unwrap_or(0) % share;
    if given == "all" {
        (0..all).collect()
    } else {
        (first..all).step_by(share).collect()
    }
}

/// What is said of each of these: none may be wrong. Returns how many were found.
fn none_wrong<M: Dot + Sync>(what: &str, machines: &[(Format, M)], share: usize) -> (usize, usize) {
    let outcomes: Vec<(usize, Outcome)> = of_a_run(machines.len(), share)
        .into_par_iter()
        .map(|i| {
            let (format, machine) = &machines[i];
            let dot = |element: &Element| machine.dot(element);
            (
                i,
                judge(*format, machine.operand(), &dot, i as u64, elements()),
            )
        })
        .collect();
    let found = |outcome: &&(usize, Outcome)| outcome.1 == Outcome::Found;
    let found = outcomes.iter().filter(found).count();
    let wrong: Vec<String> = outcomes
        .iter()
        .filter_map(|(i, outcome)| match outcome {
            Outcome::Wrong(n, how) => {
                Some(format!("{i}: {n} differ\n  {:?}\n  {how}", machines[*i].1))
            }
            _ => None,
        })
        .collect();
    println!(
        "{what}: {found} of {} found, {} wrong",
        outcomes.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    (found, outcomes.len())
}

trait Dot: std::fmt::Debug {
    fn operand(&self) -> Layout;
    fn dot(&self, element: &Element) -> u64;
}

impl Dot for Machine {
    fn operand(&self) -> Layout {
        self.operand
    }

    fn dot(&self, element: &Element) -> u64 {
        Machine::dot(self, &element.a, &element.b, element.c)
    }
}

/// A sum of which the rounding sees some leading bits, or loses some of the lowest; what is below is cut, floored,
/// remembered as sticky bit, or rounded a first time.
#[test]
#[ignore = "long"]
fn guard_and_sticky_bits() {
    let mut machines = Vec::new();
    for (format, operand) in FORMATS {
        for group in [4, 8, 16, 32, 1, 2] {
            for fraction in [23, 24, 25, 27] {
                for cut in [Cut::Truncate, Cut::Floor, Cut::Jam, Cut::Nearest] {
                    let leading = (24..fraction + 6).map(|bits| Seen::Leading(bits, cut));
                    let above = (1..4).map(|bits| Seen::Above(bits, cut));
                    machines.extend(leading.chain(above).map(|seen| {
                        let machine = Machine {
                            seen,
                            nearest: true,
                            ..Machine::ordinary(operand, group, fraction)
                        };
                        (format, machine)
                    }));
                }
            }
        }
    }
    none_wrong("guard and sticky bits", &machines, 401);
}

/// The machines of the catalogue's kind, each with one constant one off, and with two.
#[test]
fn constants_one_off() {
    let mut machines = Vec::new();
    for (format, operand) in FORMATS {
        for group in [3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33] {
            for fraction in [12, 13, 14, 22, 23, 24, 25, 26] {
                for precision in [13, 14, 15, 23, 24] {
                    for nearest in [false, true] {
                        let machine = Machine {
                            precision,
                            nearest,
                            ..Machine::ordinary(operand, group, fraction)
                        };
                        machines.push((format, machine));
                    }
                }
            }
        }
    }
    let (found, all) = none_wrong("constants one off", &machines, 797);
    assert!(2 * found > all, "machines of a known kind are found");
}

/// C and some products, added exactly and rounded once.
#[derive(Clone, Copy, Debug)]
struct Exact {
    operand: Layout,
    group: usize,
    rounding: Rounding,
    minus_zero: bool,
}

impl Dot for Exact {
    fn operand(&self) -> Layout {
        self.operand
    }

    fn dot(&self, element: &Element) -> u64 {
        let pairs: Vec<(u64, u64)> = element
            .a
            .iter()
            .copied()
            .zip(element.b.iter().copied())
            .collect();
        pairs
            .chunks(self.group)
            .fold(element.c, |c, step| self.step(step, c))
    }
}

impl Exact {
    fn step(&self, step: &[(u64, u64)], c: u64) -> u64 {
        const NAN: u64 = 0x7fff_ffff;
        let infinity = |negative: bool| 0x7f80_0000 | u64::from(negative) << 31;
        let mut signs = [false; 2];
        let mut sum = Fraction::zero();
        let c = f64::from(f32::from_bits(c as u32));
        let terms = step.iter().map(|&(a, b)| {
            let [a, b] = [a, b].map(|code| self.number(code));
            (a, b)
        });
        for (a, b) in terms.chain([(c, 1.0)]) {
            let product = a * b;
            if a.is_nan() || b.is_nan() || (a.is_infinite() || b.is_infinite()) && product.is_nan()
            {
                return NAN;
            }
            if a.is_infinite() || b.is_infinite() {
                signs[usize::from(product < 0.0)] = true
            } else {
                sum = &sum + &(&Fraction::of(a) * &Fraction::of(b))
            }
        }
        match signs {
            [true, true] => return NAN,
            [false, false] => {}
            [_, negative] => return infinity(negative),
        }
        let code = nearest_code(Format::Fp32, 24, self.rounding, sum.is_negative(), &sum);
        if code == 1 << 31 && !self.minus_zero {
            0
        } else {
            code
        }
    }

    fn number(&self, code: u64) -> f64 {
        match self.operand.read(code) {
            Meaning::Nan => f64::NAN,
            Meaning::Infinite { negative: true } => f64::NEG_INFINITY,
            Meaning::Infinite { negative: false } => f64::INFINITY,
            Meaning::Finite(n) => {
                let magnitude = n.significand as f64 * 2f64.powi(n.last);
                if n.negative { -magnitude } else { magnitude }
            }
        }
    }
}

/// Sums without any loss are found, whatever the sign of what vanishes.
#[test]
#[ignore = "long"]
fn exact_sums() {
    let mut machines = Vec::new();
    for (format, operand) in [
        (Format::Bf16, BF16),
        (Format::Tf32, TF32),
        (Format::Fp16, FP16),
    ] {
        for group in [32, 1, 4, 2, 8, 16] {
            for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
                for minus_zero in [false, true] {
                    let exact = Exact {
                        operand,
                        group,
                        rounding,
                        minus_zero,
                    };
                    machines.push((format, exact));
                }
            }
        }
    }
    let (found, all) = none_wrong("exact sums", &machines, 17);
    assert_eq!(found, all, "exact sums are found");
}

/// One product a step: what is cut of C shows beside it alone.
#[test]
fn chains_of_one_product() {
    let mut machines = Vec::new();
    for (format, operand) in FORMATS {
        for fraction in 22..29 {
            for nearest in [false, true] {
                let machine = Machine {
                    nearest,
                    ..Machine::ordinary(operand, 1, fraction)
                };
                machines.push((format, machine));
            }
        }
    }
    none_wrong("chains of one product", &machines, 23);
}
