//! Where a D that the model does not compute may come from: cheap suppositions, each tried bit for
//! bit. What gives exactly D is reported, and nothing else.

use rayon::prelude::*;
use serde::Serialize;

use super::element::{Change, Element, quiet_nan};
use super::{Number, Value};
use crate::emu::{Arithmetic, Catalogue, Problem};
use crate::num::{Class, Format, Rounding, Target, Unpacked, convert_exact, fma, round_code};

/// What was tried and what gave D.
#[derive(Clone, Debug, Serialize)]
pub struct Search {
    pub found: Vec<Found>,
    /// What was not tried, and why.
    pub skipped: Vec<String>,
}

/// A supposition that gives exactly D.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Found {
    pub hypothesis: Hypothesis,
    /// A sentence.
    pub text: String,
    /// Where: numbers of products, steps (from 1), k or bits, as the hypothesis says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hypothesis {
    /// `at`: how many products were added.
    StoppedEarly,
    /// `at`: the step.
    StepMissing,
    /// `at`: its k.
    ProductMissing,
    /// `at`: its k.
    ProductFlipped,
    COmitted,
    CAddedLast,
    /// `at`: the bit, 0 being the lowest.
    BitFlipped,
    RoundedNarrower,
    OtherModel,
    IeeeChain,
    ExactValue,
}

/// Above this many k, what costs K for every k is not tried.
pub const LONGEST: usize = 8192;

/// Everything that a supposition needs.
pub struct Case<'a> {
    pub problem: &'a Problem<'a>,
    pub position: (usize, usize, usize),
    pub element: &'a Element,
    pub accumulators: &'a [u64],
    /// The element as the model has it, in D's format.
    pub reproduced: Number,
    pub given: Number,
}

impl Case<'_> {
    /// Tries everything.
    pub fn search(&self) -> Search {
        let mut found = Vec::new();
        let mut skipped = Vec::new();
        if self.element.k() <= LONGEST {
            self.stopped_early(&mut found);
            self.step_missing(&mut found);
            self.products(&mut found);
        } else {
            skipped.push(format!(
                "a chain that stopped early, a missing step, a missing or flipped product: K is {}, \
                 and they are tried up to {LONGEST}",
                self.element.k()
            ));
        }
        self.c_elsewhere(&mut found);
        self.flipped_bit(&mut found);
        self.narrower(&mut found);
        self.references(&mut found);
        self.other_models(&mut found);
        Search { found, skipped }
    }

    /// Whether a code of the accumulator's format ends as D.
    fn gives(&self, code: u64) -> bool {
        self.converted(self.element.formats().accumulator, code) == Some(self.given.code)
    }

    fn converted(&self, from: Format, code: u64) -> Option<u64> {
        let to = self.given.format;
        if from == to {
            return Some(code);
        }
        // All bits ones but the sign: what NVIDIA's conversions return (PTX ISA, `cvt`).
        let nan = to.sign_mask() - 1;
        let rounds = from == Format::Fp32 && matches!(to, Format::Fp16 | Format::Bf16);
        rounds.then(|| round_code(from, code, to, Rounding::NearestEven, nan))
    }

    fn stopped_early(&self, found: &mut Vec<Found>) {
        let element = self.element;
        let stops: Vec<usize> = (0..element.k())
            .into_par_iter()
            .filter(|&count| {
                let step = count / element.span();
                let range = element.range(step);
                let before = self.accumulators[step];
                let partial = range.start..count;
                let code = match (partial.is_empty(), step) {
                    // C of another format is no D.
                    (true, 0) if element.formats().addend != element.formats().accumulator => {
                        return false;
                    }
                    (true, _) => before,
                    (false, _) => element.advance(partial, before, None, &mut ()),
                };
                self.gives(code)
            })
            .collect();
        for (first, last) in runs(&stops).into_iter().take(MOST) {
            let text = match (first, last) {
                (0, 0) => "D is C: nothing was added to it".into(),
                (first, last) if first == last => format!(
                    "the chain stopped after {first} of {} products: k {first} and later are missing",
                    element.k()
                ),
                (first, last) => format!(
                    "the chain stopped after {first} to {last} of {} products: k {last} and later are missing",
                    element.k()
                ),
            };
            found.push(Found {
                hypothesis: Hypothesis::StoppedEarly,
                text,
                at: (first..=last).collect(),
            });
        }
    }

    fn step_missing(&self, found: &mut Vec<Found>) {
        let element = self.element;
        // Without the last step the chain has stopped early; without the only one too.
        let steps = element.steps();
        let missing: Vec<usize> = (0..steps - 1)
            .into_par_iter()
            .filter(|&step| {
                let same_format = element.formats().addend == element.formats().accumulator;
                let code = element.finish_from(step + 1, self.accumulators[step], None);
                (step > 0 || same_format) && self.gives(code)
            })
            .collect();
        for &step in missing.iter().take(MOST) {
            let range = element.range(step);
            found.push(Found {
                hypothesis: Hypothesis::StepMissing,
                text: format!(
                    "step {} is missing (k {} to {})",
                    step + 1,
                    range.start,
                    range.end - 1
                ),
                at: vec![step + 1],
            });
        }
    }

    fn products(&self, found: &mut Vec<Found>) {
        let element = self.element;
        for (hypothesis, what, change) in [
            (
                Hypothesis::ProductMissing,
                "is missing",
                Change::Missing as fn(usize) -> Change,
            ),
            (
                Hypothesis::ProductFlipped,
                "has the other sign",
                Change::Flipped,
            ),
        ] {
            let at: Vec<usize> = (0..element.k())
                .into_par_iter()
                .filter(|&k| {
                    let step = k / element.span();
                    let before = self.accumulators[step];
                    !element.product(k).is_zero()
                        && self.gives(element.finish_from(step, before, Some(change(k))))
                })
                .collect();
            if at.is_empty() {
                continue;
            }
            let names: Vec<_> = at.iter().take(MOST).map(|k| k.to_string()).collect();
            let more = match at.len().saturating_sub(MOST) {
                0 => String::new(),
                n => format!(" or one of {n} others"),
            };
            found.push(Found {
                hypothesis,
                text: format!("the product at k {}{more} {what}", names.join(" or ")),
                at,
            });
        }
    }

    fn c_elsewhere(&self, found: &mut Vec<Found>) {
        let element = self.element;
        let formats = element.formats();
        let c = Value::of(formats.addend, element.c);
        if c.is_zero() {
            return;
        }
        let without = element.finish_from(0, 0, None);
        if self.gives(without) {
            found.push(Found {
                hypothesis: Hypothesis::COmitted,
                text: "C was left out".into(),
                at: Vec::new(),
            });
        }
        let accumulator = formats.accumulator;
        let added = if accumulator.is_integer() {
            u64::from((without as u32).wrapping_add(element.c as u32))
        } else {
            let one = Unpacked {
                class: Class::Finite,
                negative: false,
                significand: 1 << accumulator.fraction_bits(),
                exponent: 0,
            };
            fma(
                ([accumulator; 2], accumulator.unpack(without), one),
                (formats.addend, formats.addend.unpack(element.c)),
                Target::full(accumulator, Rounding::NearestEven),
                quiet_nan(accumulator),
            )
        };
        if self.gives(added) {
            found.push(Found {
                hypothesis: Hypothesis::CAddedLast,
                text: "C was added at the end, to the finished sum of products (RNE)".into(),
                at: Vec::new(),
            });
        }
    }

    fn flipped_bit(&self, found: &mut Vec<Found>) {
        let Number { format, code } = self.given;
        let xor = self.reproduced.code ^ code;
        if xor.count_ones() != 1 {
            return;
        }
        let bit = xor.trailing_zeros();
        let fraction = format.fraction_bits() + format.ignored_bits();
        let field = match bit {
            _ if xor == format.sign_mask() => "the sign".into(),
            _ if format.is_integer() => format!("of weight 2^{bit}"),
            _ if bit < fraction => "of the fraction".to_owned(),
            _ => "of the exponent".into(),
        };
        found.push(Found {
            hypothesis: Hypothesis::BitFlipped,
            text: format!("bit {bit} of the result is flipped ({field})"),
            at: vec![bit as usize],
        });
    }

    fn narrower(&self, found: &mut Vec<Found>) {
        let Number { format, code } = self.reproduced;
        if format.is_integer() || self.reproduced.value().finite().is_none() {
            return;
        }
        let narrower = [
            Format::Fp32,
            Format::Tf32,
            Format::Fp16,
            Format::Bf16,
            Format::E5m2,
        ];
        for to in narrower {
            if to.fraction_bits() >= format.fraction_bits() {
                continue;
            }
            let modes = [Rounding::NearestEven, Rounding::TowardZero];
            let giving = modes.iter().filter(|&&mode| {
                let rounded = round_code(format, code, to, mode, 0);
                convert_exact(to, rounded, format) == Ok(self.given.code)
            });
            let names: Vec<_> = giving.map(Rounding::to_string).collect();
            if !names.is_empty() {
                found.push(Found {
                    hypothesis: Hypothesis::RoundedNarrower,
                    text: format!(
                        "the result was rounded to {to} ({}) and back",
                        names.join(" or ")
                    ),
                    at: Vec::new(),
                });
            }
        }
    }

    fn references(&self, found: &mut Vec<Found>) {
        if let Some((format, code)) = self.element.ieee_chain()
            && self.converted(format, code) == Some(self.given.code)
        {
            found.push(Found {
                hypothesis: Hypothesis::IeeeChain,
                text: format!(
                    "D is that of a chain of IEEE {} multiply-adds, k ascending, RNE",
                    format.name().to_uppercase()
                ),
                at: Vec::new(),
            });
        }
        let format = self.given.format;
        if !format.is_integer() {
            let target = Target::full(format, Rounding::NearestEven);
            let exact = self.element.exact();
            let agrees = match exact {
                Value::Nan => self.given.value() == Value::Nan,
                _ => exact.round(target) == Some(self.given.code),
            };
            if agrees {
                found.push(Found {
                    hypothesis: Hypothesis::ExactValue,
                    text: "D is the exact value, rounded once (RNE)".into(),
                    at: Vec::new(),
                });
            }
        }
    }

    fn other_models(&self, found: &mut Vec<Found>) {
        let element = self.element;
        let ours = &element.arithmetic;
        let digest = ours.sha256();
        let mut names: Vec<String> = Vec::new();
        for architecture in Catalogue::builtin().architectures() {
            for instruction in &architecture.instructions {
                for rule in &instruction.rules {
                    if !rule.operands.contains(&[ours.a, ours.b]) || rule.scale != ours.scale {
                        continue;
                    }
                    let other = Arithmetic::of(rule, [ours.a, ours.b]);
                    let c_fits = !element.has_c || other.addend() == ours.addend();
                    let long = other.longest_k().is_some_and(|most| element.k() > most);
                    if !c_fits || long || other.sha256() == digest {
                        continue;
                    }
                    let other = Element::new(self.problem, &other, self.position);
                    let code = other.finish_from(0, other.c, None);
                    let accumulator = rule.accumulator;
                    if self.converted(accumulator, code) == Some(self.given.code) {
                        let mut name = format!("{} {}", architecture.name, instruction.name);
                        if accumulator != ours.accumulator {
                            name += &format!(" with {accumulator} accumulation");
                        }
                        if !names.contains(&name) {
                            names.push(name);
                        }
                    }
                }
            }
        }
        if !names.is_empty() {
            found.push(Found {
                hypothesis: Hypothesis::OtherModel,
                text: format!("D is that of other models: {}", names.join(", ")),
                at: Vec::new(),
            });
        }
    }
}

/// How many places of a kind are named.
const MOST: usize = 4;

/// Consecutive numbers, as first and last.
pub fn runs(numbers: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    runs
}
