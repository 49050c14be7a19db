//! What steps trace: every product once, each term with its number.

use super::*;
use crate::num::{Format, Rounding, round_code};
use crate::{Arithmetic, Catalogue, Rule};

/// Everything that a step traces.
#[derive(Default)]
struct Recorder {
    /// The sum that the last step ended with.
    sum: Option<f64>,
    /// The products of each stage, and its terms.
    stages: Vec<(Option<Vec<usize>>, Vec<TermTrace>)>,
}

impl Recorder {
    fn current_stage(&mut self) -> &mut (Option<Vec<usize>>, Vec<TermTrace>) {
        if self.stages.is_empty() {
            self.stages.push((None, Vec::new()));
        }
        self.stages.last_mut().expect("there is one")
    }
}

impl TraceObserver for Recorder {
    fn stage(&mut self, _: &'static str, k: impl FnOnce() -> Vec<usize>) {
        self.stages.push((Some(k()), Vec::new()));
    }

    fn sum(&mut self, sum: i128, lsb: i32, _: bool) {
        self.sum = Some(sum as f64 * f64::from(lsb).exp2());
    }

    fn term(&mut self, term: impl FnOnce() -> TermTrace) {
        self.current_stage().1.push(term());
    }
}

/// Every rule of the catalogue.
fn rules() -> impl Iterator<Item = &'static Rule> {
    let instructions = Catalogue::builtin().architectures().iter();
    let instructions = instructions.flat_map(|architecture| &architecture.instructions);
    instructions.flat_map(|instruction| &instruction.rules)
}

/// A block-scaled dot-add of the catalogue, and its formats.
fn block_dot() -> (BlockDot, Formats) {
    let found = rules().find_map(|rule| match &rule.step {
        Step::BlockDot(step) => {
            let formats = Arithmetic::of(rule, rule.operands[0]).formats();
            Some((step.clone(), formats))
        }
        _ => None,
    });
    found.expect("block-scaled formats")
}

fn code(format: Format, number: i64) -> u64 {
    let int32 = u64::from(number as i32 as u32);
    if format.is_integer() {
        int32 & format.max_code()
    } else {
        round_code(Format::Int32, int32, format, Rounding::NearestEven, 0)
    }
}

/// A term as a number, for tests.
fn value(term: &TermTrace) -> f64 {
    let magnitude = term.magnitude as f64 * f64::from(term.lsb).exp2();
    if term.negative { -magnitude } else { magnitude }
}

/// Products of ones and twos, some negative, and a C of three, by every rule of the catalogue.
#[test]
fn terms_are_the_products_and_c() {
    let (mut steps, mut terms, mut wrong) = (0, 0, Vec::new());
    for rule in rules() {
        let arithmetic = Arithmetic::of(rule, rule.operands[0]);
        let formats = arithmetic.formats();
        // A whole step, and one that lacks two products.
        let span = arithmetic.step.span().min(64);
        for (count, sign) in [(span, 1), (span, -1), (span.max(3) - 2, 1)] {
            let number = |k: usize| sign * [1, 2, -1, 1, -2][k % 5];
            let other = |k: usize| [2, -1, 1][k % 3];
            let unpacked = |format: Format, number: &dyn Fn(usize) -> i64| -> Vec<_> {
                let codes = (0..count).map(|k| code(format, number(k)));
                codes.map(|code| format.unpack(code)).collect()
            };
            let (a, b) = (unpacked(formats.a, &number), unpacked(formats.b, &other));
            let one = arithmetic
                .scale
                .map(|scale| vec![code(scale.format, 1) as u8; count]);
            let scales = if arithmetic.step.scales_operands() {
                None
            } else {
                one.as_ref().map(|one| [&one[..], &one[..]])
            };
            let mut recorder = Recorder::default();
            let mut carried = arithmetic.step.start(formats, code(formats.addend, 3));
            let step = &arithmetic.step;
            step.run_observed(formats, &a, &b, scales, &mut carried, &mut recorder);
            // C is added last, or to every group of products.
            let halves = matches!(
                &arithmetic.step,
                Step::FusedHalves(_)
                    | Step::ComplementDot(_)
                    | Step::FlooredPairs(_)
                    | Step::OrderedFma(_)
                    | Step::RoundedDot(_)
                    | Step::Sliced(_)
            );
            // Slices of these small numbers are all in the first phase, and a tile is gone over once more in each other.
            let sliced = matches!(arithmetic.step, Step::Sliced(_));
            let product = |k: usize| (number(k) * other(k)) as f64;
            let (mut seen, mut by_stage) = (vec![0; count], Vec::new());
            for (k, stage_terms) in &recorder.stages {
                let at = |i: usize| k.as_ref().map_or(i, |k| k[i]);
                by_stage.extend(k.iter().flatten().copied());
                for term in stage_terms {
                    terms += 1;
                    let wanted = match term.source {
                        Source::Product(i) => {
                            if sliced && term.magnitude == 0 {
                                continue;
                            }
                            seen[at(i)] += 1;
                            product(at(i))
                        }
                        // Their products came one by one.
                        Source::Products { .. } if sliced => continue,
                        Source::Products { first, count } if halves => {
                            let first = at(first);
                            (first..first + count).map(product).sum()
                        }
                        Source::Products { first, count } => {
                            (first..first + count).for_each(|i| seen[at(i)] += 1);
                            (first..first + count).map(|i| product(at(i))).sum()
                        }
                        Source::AllProducts => (0..a.len()).map(product).sum(),
                        // That of a half or a group may be what came before it.
                        Source::Addend if halves => continue,
                        Source::Addend => 3.0,
                        Source::Missing => 0.0,
                    };
                    if value(term) != wanted {
                        let kind = arithmetic.canonical_json();
                        wrong.push(format!("{term:?} is not {wanted}: {kind}"));
                    }
                }
            }
            let all: f64 = (0..count).map(product).sum();
            let whole = !halves && recorder.sum.is_some_and(|sum| sum != all + 3.0);
            if whole {
                wrong.push(format!(
                    "{:?}: {}",
                    recorder.sum,
                    arithmetic.canonical_json()
                ));
            }
            // None of them, or each once.
            let traced = seen.iter().any(|&times| times > 0);
            if seen.iter().any(|&times| times != usize::from(traced)) {
                wrong.push(format!("{seen:?}: {}", arithmetic.canonical_json()));
            }
            by_stage.retain(|&k| k < count);
            by_stage.sort_unstable();
            by_stage.dedup();
            if !by_stage.is_empty() && by_stage.iter().copied().ne(0..count) {
                wrong.push(format!("{by_stage:?}: {}", arithmetic.canonical_json()));
            }
            if let Step::HalfChain(_) = arithmetic.step {
                assert_eq!(recorder.stages.len(), count + 1);
            }
            steps += 1;
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(steps > 100 && terms > 5 * steps, "{steps} {terms}");
}

/// A step in one go is its beginning, its run and its end, whatever it carries between.
#[test]
fn adding_is_running_once() {
    for rule in rules().filter(|rule| rule.scale.is_none()) {
        let arithmetic = Arithmetic::of(rule, rule.operands[0]);
        let formats = arithmetic.formats();
        let count = arithmetic.step.span().min(5);
        let numbers = |format: Format| -> Vec<_> {
            let codes = (0..count).map(|k| code(format, [3, -1, 2, 1, -2][k]));
            codes.map(|code| format.unpack(code)).collect()
        };
        let (a, b) = (numbers(formats.a), numbers(formats.b));
        let c = code(formats.addend, 5);
        let mut carried = arithmetic.step.start(formats, c);
        arithmetic.step.run(formats, &a, &b, &mut carried);
        let run = arithmetic.step.finish(formats, &carried);
        let products = Products {
            formats,
            a: &a,
            b: &b,
            scales: None,
        };
        let added = arithmetic.step.add(products, c, &mut ());
        assert_eq!(added, run, "{}", arithmetic.canonical_json());
        // Of numbers as small as these all but the first slices are zero.
        let sliced = matches!(arithmetic.step, Step::Sliced(_) | Step::SlicedIntegers(_));
        assert!(sliced || added != c);
    }
}

/// Zeros show where C may lie below what is kept beside them, or has more bits than that.
#[test]
fn steps_that_notice_zeros() {
    let (block_dot, formats) = block_dot();
    let lowest = formats.accumulator.min_exponent();
    let fused = Catalogue::builtin().find("volta").expect("it is there");
    let fused = &fused.instructions[0].rules[0].step;
    for (zero_exponent, fraction_bits, precision, notices) in [
        (lowest, 24, 24, false),
        (lowest, 23, 24, false),
        (lowest, 22, 24, true),
        (lowest + 1, 24, 24, true),
        (lowest + 9, 24, 24, true),
        (lowest - 1, 24, 24, false),
    ] {
        let constants = format!("{zero_exponent} {fraction_bits} {precision}");
        let step = BlockDot {
            zero_exponent,
            fraction_bits,
            precision,
            ..block_dot.clone()
        };
        assert_eq!(step.notices_zeros(formats), notices, "{constants}");
        let Step::Fused(step) = fused else {
            panic!("Volta's is a fused dot-add");
        };
        let step = Fused {
            zero_exponent,
            fraction_bits,
            precision,
            minus_zero: false,
            ..step.clone()
        };
        assert_eq!(step.notices_zeros(formats), notices, "{constants}");
    }
}

/// What is missing in a group counts as zeros, whose exponent cuts the others; a full group has none.
#[test]
fn zeros_of_a_block_dot() {
    let (step, formats) = block_dot();
    // Zeros are as large as 2^12, of which three bits are kept.
    let step = BlockDot {
        zero_exponent: 12,
        fraction_bits: 3,
        alignment: Rounding::TowardZero,
        ..step
    };
    let one = formats.a.unpack(code(formats.a, 1));
    let scale = code(formats.scale.expect("scales").format, 1) as u8;
    let sum = |count: usize| {
        let (ones, scales) = (vec![one; count], vec![scale; count]);
        let products = Products {
            formats,
            a: &ones,
            b: &ones,
            scales: Some([&scales, &scales]),
        };
        step.add(products, code(formats.addend, 1), &mut ())
    };
    let whole = step.group as i64;
    assert_ne!(sum(step.group), code(formats.accumulator, 0));
    assert_ne!(sum(step.group), sum(step.group - step.part));
    assert_eq!(sum(step.group - step.part), code(formats.accumulator, 0));
    assert!(whole < 1 << 9);
}
