//! What a model answers to a case.

use super::Case;
use crate::emu::Arithmetic;
use crate::emu::step::{Carried, Formats, Step};
use crate::num::{Format, Unpacked};

/// A case taken apart once, to be replayed by many models.
#[derive(Clone, Debug)]
pub struct Prepared {
    a: Vec<Unpacked>,
    b: Vec<Unpacked>,
    c: u64,
    /// All products from here on are +0 times +0.
    active: usize,
}

impl Prepared {
    pub fn new(a: Format, b: Format, case: &Case) -> Prepared {
        let used = case.a.iter().zip(&case.b).rposition(|(a, b)| a | b != 0);
        Prepared {
            a: case.a.iter().map(|&code| a.unpack(code)).collect(),
            b: case.b.iter().map(|&code| b.unpack(code)).collect(),
            c: case.c,
            active: used.map_or(0, |k| k + 1),
        }
    }

    /// The code of the accumulator's format that `step` returns.
    pub fn answer(&self, formats: Formats, step: &Step) -> u64 {
        let mut carried = step.start(formats, self.c);
        if let Carried::Exact(_) = carried {
            // Only a sum: zeros add nothing.
            step.run(
                formats,
                &self.a[..self.active],
                &self.b[..self.active],
                &mut carried,
            );
            return step.finish(formats, &carried);
        }
        let (k, span) = (self.a.len(), step.span());
        let mut start = 0;
        while start < k {
            let before = step.finish(formats, &carried);
            let end = k.min(start + span);
            let (a, b) = (&self.a[start..end], &self.b[start..end]);
            step.run(formats, a, b, &mut carried);
            // A step of zeros that changes nothing will change nothing the next time either.
            if start >= self.active && step.finish(formats, &carried) == before {
                break;
            }
            start = end;
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
