//! One element of D: hypotheses about its chain. Only those that give exactly the bits of D are reported.

use serde::Serialize;

use crate::diagnose::element::{Change, Element};
use crate::diagnose::trial::Work;
use crate::diagnose::whole::computation::sum;
use crate::diagnose::{Found, Hypothesis, WORK};
use crate::emu::step::{Carried, Step};
use crate::emu::{self, Arithmetic, Catalogue, Replay};
use crate::num::{Format, Number, Rounding, Target, Value, convert_exact, quiet_nan, round_code};
use crate::tensor::parallel;

/// What was tried and what gave D.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Search {
    pub found: Vec<Found>,
    /// What was tried, whether it gave D or not.
    pub tried: Vec<&'static str>,
    /// What was not tried, and why.
    pub skipped: Vec<String>,
}

/// Searches whose cost grows with the square of K are limited to this K.
pub const MAX_SEARCHED_K: usize = 8192;

/// An element that differs.
pub struct Single<'a> {
    /// Of all of D.
    pub replay: &'a Replay<'a>,
    pub at: emu::Element,
    /// Its chain, if it has no schedule.
    pub chain: Option<Chain<'a>>,
    /// The element as the model has it, in D's format.
    pub reproduced: Number,
    pub given: Number,
}

/// The chain of an element, and its accumulators before every step and after the last.
#[derive(Clone, Copy)]
pub struct Chain<'a> {
    pub element: &'a Element,
    pub accumulators: &'a [Carried],
}

impl Single<'_> {
    /// Tries everything.
    pub fn search(&self) -> Search {
        let mut found = Vec::new();
        let mut skipped = Vec::new();
        let mut tried = Vec::new();
        if let Some(chain) = &self.chain {
            if chain.element.k() <= MAX_SEARCHED_K {
                found.extend(self.faults());
                tried.push("a chain that stopped early, a missing step or product, a product of the other sign");
            } else {
                skipped.push(format!(
                    "a chain that stopped early, a missing step, a missing or flipped product: K is {}; limit: \
                     {MAX_SEARCHED_K}",
                    chain.element.k()
                ));
            }
            found.extend(self.c_elsewhere());
            tried.push("C left out or added last");
        }
        found.extend(self.flipped_bit());
        found.extend(self.narrower());
        tried.push("a flipped bit, fewer bits");
        let work = Work::new(WORK);
        let mut note = |what, was: Result<(), &str>| match was {
            Ok(()) => tried.push(what),
            Err(why) => skipped.push(format!("{what}: {why}")),
        };
        note("a flipped bit of A or B", self.inputs(&mut found));
        // Where C is left out, some flip of its exponent fits, too.
        let omitted = |found: &Found| found.hypothesis == Hypothesis::COmitted;
        if self.replay.problem.c.is_some() && !found.iter().any(omitted) {
            found.extend(self.c_flipped());
            note("a flipped bit of C", Ok(()));
        }
        let neighbours = self.neighbours(&work, &mut found);
        note("rows and columns nearby", neighbours);
        if let Some(chain) = &self.chain {
            found.extend(self.references(chain));
            found.extend(self.other_models(chain));
            note("IEEE multiply-adds, the exact value, other models", Ok(()));
        }
        note("other schedules", self.schedules(&work, &mut found));
        Search {
            found,
            tried,
            skipped,
        }
    }

    /// Products that are missing, or that have the other sign.
    pub fn faults(&self) -> Vec<Found> {
        let Some(chain) = &self.chain else {
            return Vec::new();
        };
        let mut found = self.stopped_early(chain);
        found.extend(self.step_missing(chain));
        found.extend(self.products(chain));
        found.extend(self.known_fault(chain));
        found
    }

    /// The known fault of a unit's adder at a place where the model does not have it: one sum is minus one unit.
    fn known_fault(&self, chain: &Chain) -> Option<Found> {
        let element = chain.element;
        let fault = element.arithmetic.step.known_fault()?;
        let (bits, sums) = (fault.bits(), fault.sums());
        let all: Vec<[usize; 2]> = (0..element.steps())
            .flat_map(|step| (0..sums.len()).map(move |sum| [step, sum]))
            .collect();
        let at = parallel::filter(all.len(), &|i| {
            let [step, sum] = all[i];
            let first = element.range(step).start;
            let change = Change::KnownFault { step: first, sum };
            self.gives(element.finish_from(step, &chain.accumulators[step], Some(change)))
        });
        let [step, sum] = all[*at.first()?];
        let (phase, here) = &sums[sum];
        let before = element.range(step).start;
        let first = before + here.start;
        let end = (before + here.end).min(element.k());
        let more = match at.len() {
            1 => String::new(),
            n => format!(" (or another of {n} sums)"),
        };
        let text = format!(
            "the unit's known fault, at a place where the model does not have it: the sum of k {first} to {} in phase \
             {phase}{more} became -2^{bits} units",
            end - 1
        );
        Some(Found::new(Hypothesis::KnownFault, text).at([first, end, *phase]))
    }

    /// Whether a code of the accumulator's format becomes the given one.
    fn gives(&self, code: u64) -> bool {
        let ours = self.replay.arithmetic;
        self.converted(&ours.step, ours.accumulator, code) == Some(self.given.code)
    }

    fn converted(&self, step: &Step, from: Format, code: u64) -> Option<u64> {
        let to = self.given.format;
        if from == to {
            return Some(code);
        }
        let rounds = from == Format::Fp32 && matches!(to, Format::Fp16 | Format::Bf16);
        (rounds && step.rounds_results(to).is_some()).then(|| step.converted(from, code, to))
    }

    fn stopped_early(&self, chain: &Chain) -> Vec<Found> {
        let element = chain.element;
        let stops = stops(element, chain.accumulators, &|code| self.gives(code));
        let found = |(first, last)| {
            let text = match (first, last) {
                (0, 0) => "D equals C: no product was added".into(),
                (first, last) if first == last => format!(
                    "the chain stopped after {first} of {} products: k {first} and later are missing",
                    element.k()
                ),
                (first, last) => format!(
                    "the chain stopped after {first} to {last} of {} products: k {last} and later are missing",
                    element.k()
                ),
            };
            let at: Vec<usize> = (first..=last).collect();
            Found::new(Hypothesis::StoppedEarly, text).at(at)
        };
        let runs = runs(&stops).into_iter().take(MAX_NAMED);
        runs.map(found).collect()
    }

    fn step_missing(&self, chain: &Chain) -> Vec<Found> {
        let element = chain.element;
        // A chain without its last step, or its only one, stopped early.
        let steps = element.steps();
        let missing = parallel::filter(steps - 1, &|step| {
            let same_format = element.formats().addend == element.formats().accumulator;
            let mut carried = chain.accumulators[step].clone();
            let count = element.range(step).len();
            let model = &element.arithmetic.step;
            model.carry(element.formats(), &mut carried, count, &mut |c| c);
            let code = element.finish_from(step + 1, &carried, None);
            (step > 0 || same_format) && self.gives(code)
        });
        let found = |step| {
            let range = element.range(step);
            let (count, span) = (range.len(), element.span());
            let part = if count < span {
                format!(", the last {count} products of a step that takes {span}")
            } else {
                String::new()
            };
            let text = format!(
                "step {} is missing (k {} to {}{part})",
                step + 1,
                range.start,
                range.end - 1
            );
            Found::new(Hypothesis::StepMissing, text).at([step + 1])
        };
        let missing = missing.into_iter().take(MAX_NAMED);
        missing.map(found).collect()
    }

    fn products(&self, chain: &Chain) -> Vec<Found> {
        let element = chain.element;
        let mut found = Vec::new();
        for (hypothesis, what, change) in [
            (
                Hypothesis::ProductMissing,
                "is missing",
                Change::Missing as fn(usize) -> Change,
            ),
            (
                Hypothesis::ProductFlipped,
                "has the opposite sign",
                Change::Flipped,
            ),
        ] {
            let at = parallel::filter(element.k(), &|k| {
                let step = k / element.span();
                let before = &chain.accumulators[step];
                !element.product(k).is_zero()
                    && self.gives(element.finish_from(step, before, Some(change(k))))
            });
            if at.is_empty() {
                continue;
            }
            let names: Vec<_> = at.iter().take(MAX_NAMED).map(|k| k.to_string()).collect();
            let more = match at.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                n => format!(" or one of {n} others"),
            };
            let text = format!("the product at k {}{more} {what}", names.join(" or "));
            found.push(Found::new(hypothesis, text).at(at));
        }
        found
    }

    /// C left out or added last.
    pub fn c_elsewhere(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let Some(Chain { element, .. }) = self.chain else {
            return found;
        };
        let formats = element.formats();
        if Value::of(formats.addend, element.c).is_zero() {
            return found;
        }
        let without = element.finish_from(0, &element.start(0), None);
        if self.gives(without) {
            found.push(Found::new(Hypothesis::COmitted, "C was left out"));
        }
        let accumulator = formats.accumulator;
        let added = sum(
            (formats.addend, element.c),
            (accumulator, without),
            quiet_nan(accumulator),
        );
        if self.gives(added) {
            let text = "C was added at the end, to the finished sum of products (RNE)";
            found.push(Found::new(Hypothesis::CAddedLast, text));
        }
        found
    }

    fn flipped_bit(&self) -> Option<Found> {
        let Number { format, code } = self.given;
        let xor = self.reproduced.code ^ code;
        if xor.count_ones() != 1 {
            return None;
        }
        let bit = xor.trailing_zeros();
        let fraction = format.fraction_bits() + format.ignored_bits();
        let field = match bit {
            _ if xor == format.sign_mask() => "the sign".into(),
            _ if format.is_integer() => format!("of weight 2^{bit}"),
            _ if bit < fraction => "of the fraction".to_owned(),
            _ => "of the exponent".into(),
        };
        let text = format!("bit {bit} of the result is flipped ({field})");
        Some(Found::new(Hypothesis::BitFlipped, text).at([bit as usize]))
    }

    fn narrower(&self) -> Vec<Found> {
        let mut found = Vec::new();
        let Number { format, code } = self.reproduced;
        if format.is_integer() || self.reproduced.value().finite().is_none() {
            return found;
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
                let names = names.join(" or ");
                let text = format!("the result was rounded to {to} ({names}) and back");
                found.push(Found::new(Hypothesis::RoundedNarrower, text));
            }
        }
        found
    }

    fn references(&self, chain: &Chain) -> Vec<Found> {
        let mut found = Vec::new();
        if let Some((format, code)) = chain.element.ieee_chain()
            && self.converted(&self.replay.arithmetic.step, format, code) == Some(self.given.code)
        {
            let text = format!(
                "D is the result of a chain of IEEE {} multiply-adds, k ascending, RNE",
                format.name().to_uppercase()
            );
            found.push(Found::new(Hypothesis::IeeeChain, text));
        }
        let format = self.given.format;
        if !format.is_integer() {
            let target = Target::full(format, Rounding::NearestEven);
            let exact = chain.element.exact();
            let agrees = match exact {
                Value::Nan => self.given.value() == Value::Nan,
                _ => exact.round(target) == Some(self.given.code),
            };
            if agrees {
                let text = "D is the exact value, rounded once (RNE)";
                found.push(Found::new(Hypothesis::ExactValue, text));
            }
        }
        found
    }

    fn other_models(&self, chain: &Chain) -> Option<Found> {
        let element = chain.element;
        let position = (self.at.batch, self.at.row, self.at.column);
        let ours = &element.arithmetic;
        let digest = ours.sha256();
        let mut names: Vec<String> = Vec::new();
        for (architecture, instruction, rule) in Catalogue::builtin().rules() {
            if !rule.operands.contains(&[ours.a, ours.b]) || rule.scale != ours.scale {
                continue;
            }
            let other = Arithmetic::of(rule, [ours.a, ours.b]);
            let c_fits = !element.has_c || other.addend() == ours.addend();
            let long = other.longest_k().is_some_and(|most| element.k() > most);
            if !c_fits || long || other.sha256() == digest {
                continue;
            }
            let other = Element::new(&self.replay.problem, &other, position);
            let code = other.finish_from(0, &other.start(other.c), None);
            let accumulator = rule.accumulator;
            let step = &rule.step;
            if self.converted(step, accumulator, code) == Some(self.given.code) {
                let mut name = format!("{} {}", architecture.name, instruction.name);
                if accumulator != ours.accumulator {
                    name += &format!(" with {accumulator} accumulation");
                }
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let text = format!("D is the result of other models: {}", names.join(", "));
        (!names.is_empty()).then(|| Found::new(Hypothesis::OtherModel, text))
    }
}

/// After how many products a chain could have stopped.
pub fn stops(
    element: &Element,
    accumulators: &[Carried],
    gives: &(dyn Fn(u64) -> bool + Sync),
) -> Vec<usize> {
    parallel::filter(element.k(), &|count| {
        let step = count / element.span();
        let range = element.range(step);
        let partial = range.start..count;
        let code = match (partial.is_empty(), step) {
            // C has another format than D.
            (true, 0) if element.formats().addend != element.formats().accumulator => {
                return false;
            }
            (true, _) => element.code(step, &accumulators[step]),
            (false, _) => {
                let mut carried = accumulators[step].clone();
                element.advance(partial, &mut carried, None, &mut ());
                let step = &element.arithmetic.step;
                step.finish(element.formats(), &carried)
            }
        };
        gives(code)
    })
}

/// Most places of a kind that are named.
pub const MAX_NAMED: usize = 4;

/// Consecutive numbers, as first and last.
pub fn runs(numbers: &[usize]) -> Vec<(usize, usize)> {
    let runs = numbers.chunk_by(|x, y| x + 1 == *y);
    runs.map(|run| (run[0], run[run.len() - 1])).collect()
}
