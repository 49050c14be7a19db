//! What a model answers to a case.

use super::Case;
use crate::emu::Arithmetic;
use crate::emu::step::{Carried, Formats, Step};
use crate::num::{Format, Unpacked};

/// A case taken apart once, to be replayed by many models.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Up to the last that is not +0 times +0.
    a: Vec<Unpacked>,
    b: Vec<Unpacked>,
    c: u64,
    /// K, zeros included.
    k: usize,
}

impl Prepared {
    pub fn new(a: Format, b: Format, case: &Case) -> Prepared {
        let used = case.a.iter().zip(&case.b).rposition(|(a, b)| a | b != 0);
        let active = used.map_or(0, |k| k + 1);
        let of = |format: Format, codes: &[u64]| {
            let codes = codes[..active].iter();
            codes.map(|&code| format.unpack(code)).collect()
        };
        Prepared {
            a: of(a, &case.a),
            b: of(b, &case.b),
            c: case.c,
            k: case.a.len(),
        }
    }

    /// The code of the accumulator's format that `step` returns.
    pub fn answer(&self, formats: Formats, step: &Step) -> u64 {
        let mut carried = step.start(formats, self.c);
        let active = self.a.len();
        if let Carried::Exact(_) = carried {
            // Only a sum: zeros add nothing.
            step.run(formats, &self.a, &self.b, &mut carried);
            return step.finish(formats, &carried);
        }
        let span = step.span();
        let mut start = 0;
        while start < self.k {
            let before = step.finish(formats, &carried);
            // What a step is not given is +0 times +0.
            let given = start.min(active)..active.min(start + span);
            step.run(
                formats,
                &self.a[given.clone()],
                &self.b[given],
                &mut carried,
            );
            // A step of zeros that changes nothing will change nothing the next time either.
            if start >= active && step.finish(formats, &carried) == before {
                break;
            }
            start += span;
        }
        step.finish(formats, &carried)
    }
}

/// The answers of a model to some cases.
pub fn answers(arithmetic: &Arithmetic, cases: &[Case]) -> Vec<u64> {
    let formats = arithmetic.formats();
    let prepared = cases
        .iter()
        .map(|case| Prepared::new(arithmetic.a, arithmetic.b, case));
    prepared
        .map(|case| case.answer(formats, &arithmetic.step))
        .collect()
}
