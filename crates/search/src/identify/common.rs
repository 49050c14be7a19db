//! Work that candidates under schedules share on the elements that all of them are tested on: operands, gathered once,
//! and the sums of chains.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::candidates::Candidate;
use crate::emu::schedule::SharedChains;
use crate::emu::{Arithmetic, Element, GatheredRows, Replay};
use crate::num::Format;

/// Formats of A, B and C.
type ReadAs = (Format, Format, Option<Format>);

/// For some elements of one D.
pub struct SharedWork<'e> {
    elements: &'e [Element],
    chains: Vec<(Arithmetic, SharedChains)>,
    operands: Mutex<HashMap<ReadAs, Arc<Vec<GatheredRows>>>>,
}

impl<'e> SharedWork<'e> {
    /// What these candidates may share on these elements. None of them has scales of its arithmetic's own.
    pub fn of(candidates: &[Candidate], elements: &'e [Element]) -> SharedWork<'e> {
        let mut chains: Vec<(Arithmetic, SharedChains)> = Vec::new();
        for candidate in candidates {
            let known = |(arithmetic, _): &(Arithmetic, _)| *arithmetic == candidate.arithmetic;
            if !chains.iter().any(known) {
                chains.push((candidate.arithmetic.clone(), SharedChains::default()));
            }
        }
        SharedWork {
            elements,
            chains,
            operands: Mutex::default(),
        }
    }

    /// Whether these elements are among those, and only operands decide them: no scales of an arithmetic's own do.
    pub fn knows(&self, replay: &Replay, part: &Range<usize>) -> bool {
        part.end <= self.elements.len() && replay.problem.scales.is_none()
    }

    /// [`Replay::elements`] of some of these elements.
    pub fn elements(&self, replay: &Replay, part: Range<usize>) -> Vec<u64> {
        let operands = self.operands(replay);
        let mut chains = self.chains.iter();
        let chains = chains.find(|(arithmetic, _)| arithmetic == replay.arithmetic);
        let kernel = replay.kernel.map(|kernel| match chains {
            Some((_, chains)) => kernel.sharing(chains),
            None => kernel,
        });
        let each = self.elements[part.clone()].iter().zip(&operands[part]);
        each.map(|(&at, operands)| {
            let alone = Replay {
                problem: operands.problem(),
                arithmetic: replay.arithmetic,
                convert_to: replay.convert_to,
                engine: replay.engine,
                kernel: None,
            };
            alone.alone(at, kernel)
        })
        .collect()
    }

    fn operands(&self, replay: &Replay) -> Arc<Vec<GatheredRows>> {
        let problem = &replay.problem;
        let format = |planes: crate::tensor::Planes| planes.tensor().format();
        let read = (format(problem.a), format(problem.b), problem.c.map(format));
        let mut known = self.operands.lock().expect("nobody panics with it");
        let gathered = known.entry(read).or_insert_with(|| {
            let one = |&Element { batch, row, column }: &Element| {
                let matrix = problem.matrix(batch);
                GatheredRows::of(&matrix.part(0..problem.m, column..column + 1), &[row])
            };
            Arc::new(self.elements.iter().map(one).collect())
        });
        Arc::clone(gathered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::{Conditions, Wanted, candidates, guesses};
    use crate::emu::schedule::Values;
    use crate::emu::{Catalogue, Problem};
    use crate::kernels::Platform;
    use crate::random::SplitMix64;
    use crate::tensor::Tensor;

    fn numbers(random: &mut SplitMix64, format: Format, shape: [usize; 2]) -> Tensor {
        let bits = format.width() + format.ignored_bits();
        let near_one = |word: u64| {
            let field = (format.bias() as u64 - 2) + word % 4;
            let fraction = word >> 8 & ((1 << format.fraction_bits()) - 1);
            let magnitude = field << format.fraction_bits() | fraction;
            magnitude << format.ignored_bits() | (word >> 63) << (bits - 1)
        };
        let codes: Vec<u64> = (0..shape[0] * shape[1])
            .map(|_| near_one(random.word()))
            .collect();
        Tensor::from_codes(format, shape.into(), &codes)
    }

    /// Every schedule that is searched, with chains in common and without, with C and without.
    #[test]
    fn no_element_changes() {
        let mut random = SplitMix64(9);
        let at = [(0, 0), (4, 3), (2, 5)].map(|(row, column)| Element {
            batch: 0,
            row,
            column,
        });
        for (format, result) in [(Format::Bf16, Format::Bf16), (Format::Tf32, Format::Fp32)] {
            let k = 456;
            let a = numbers(&mut random, format, [5, k]);
            let b = numbers(&mut random, format, [k, 6]);
            let c = numbers(&mut random, Format::Fp32, [5, 6]);
            for c in [None, Some(c.planes())] {
                let problem = Problem::new(a.planes(), b.planes(), c).unwrap();
                let conditions = Conditions {
                    blocks: false,
                    a: &|one| one == format,
                    b: &|one| one == format,
                    c: &|_| true,
                    d: &|_| true,
                    scale: &|scale| scale.is_none(),
                    k,
                };
                let mut base = candidates(Catalogue::builtin(), &conditions);
                base.retain(|one| one.arithmetic.accumulator == Format::Fp32);
                base.truncate(3);
                let mut all = Vec::new();
                for one in &base {
                    let list = guesses(&Wanted {
                        arithmetic: &one.arithmetic,
                        problem: &problem,
                        result,
                        scales: None,
                        zeros: true,
                        afford: &|_| true,
                    });
                    let under = list.into_iter().map(|guess| one.under(guess, result));
                    all.extend(under.step_by(7));
                }
                let common = SharedWork::of(&all, &at);
                let values = Values::default();
                let mut different = std::collections::HashSet::new();
                for candidate in &all {
                    let spec = &candidate.schedule.as_ref().unwrap().spec;
                    let engine = Platform::detect().unwrap().engine();
                    let replay = candidate.replay(problem, &values, engine);
                    let codes = replay.elements(&at);
                    assert_eq!(common.elements(&replay, 0..3), codes, "{spec:?}");
                    different.insert(codes);
                }
                // They are no one computation.
                assert!(all.len() > 60 && different.len() > 10);
            }
        }
    }
}
