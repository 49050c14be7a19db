//! The answers of a model to cases.

use std::iter::repeat_n;

use super::Case;
use crate::emu::Arithmetic;
use crate::emu::step::{Carried, Formats, Step, scaled};
use crate::num::{Class, Format, Unpacked};

/// A case unpacked once, for replays by many models.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Up to the last that is not +0 times +0, or has scales other than 1.
    pub(super) a: Vec<Unpacked>,
    pub(super) b: Vec<Unpacked>,
    pub(super) scales: Option<Scales>,
    pub(super) c: u64,
    /// K, zeros included.
    pub(super) k: usize,
}

/// Scales of operands.
#[derive(Clone, Debug)]
pub(super) struct Scales {
    /// Codes, one an operand.
    pub codes: [Vec<u8>; 2],
    /// The operands with the exponents that powers of two give them; none where scales have significands.
    pub moved: [Vec<Unpacked>; 2],
}

impl Prepared {
    pub fn new(formats: Formats, case: &Case) -> Prepared {
        let used = case.a.iter().zip(&case.b).rposition(|(a, b)| a | b != 0);
        let active = used.map_or(0, |k| k + 1);
        // The end of the last block that is scaled by another number than one.
        let scaled_to = formats.scale.and_then(|scale| {
            let other = |&code: &u64| {
                let x = scale.format.unpack(code);
                let hidden = 1 << scale.format.fraction_bits();
                x.class != Class::Finite || x.exponent != 0 || x.significand != hidden
            };
            let last = |codes: &Vec<u64>| codes.iter().rposition(other);
            let last = case.scales.iter().filter_map(last).max();
            last.map(|block| case.a.len().min((block + 1) * scale.block))
        });
        let active = active.max(scaled_to.unwrap_or(0));
        // One an operand, if operands have some.
        let codes = formats.scale.map(|scale| {
            let of = |codes: &Vec<u64>| -> Vec<u8> {
                let by_block = codes.iter().map(|&code| code as u8);
                by_block
                    .flat_map(|code| repeat_n(code, scale.block))
                    .take(active)
                    .collect()
            };
            case.scales.each_ref().map(of)
        });
        let of = |format: Format, codes: &[u64]| -> Vec<Unpacked> {
            let codes = codes[..active].iter();
            codes.map(|&code| format.unpack(code)).collect()
        };
        let (a, b) = (of(formats.a, &case.a), of(formats.b, &case.b));
        let scales = codes.zip(formats.scale).map(|(codes, scale)| {
            let moved = |numbers: &[Unpacked], codes: &[u8]| {
                let both = numbers.iter().zip(codes);
                let both = both.filter(|_| scale.format == Format::Ue8m0);
                both.map(|(&x, &code)| scaled(x, scale.format.unpack(code.into())))
                    .collect()
            };
            Scales {
                moved: [moved(&a, &codes[0]), moved(&b, &codes[1])],
                codes,
            }
        });
        Prepared {
            a,
            b,
            scales,
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
        let moved = self.scales.as_ref().filter(|_| step.scales_operands());
        let [a, b] = match moved {
            Some(scales) => [&scales.moved[0], &scales.moved[1]],
            None => [&self.a, &self.b],
        };
        let codes = self.scales.as_ref().filter(|_| moved.is_none());
        let span = step.span();
        let mut start = 0;
        while start < self.k {
            let before = step.finish(formats, &carried);
            // A step takes missing products as +0 times +0.
            let given = start.min(active)..active.min(start + span);
            let scales = codes.map(|scales| {
                let [of_a, of_b] = &scales.codes;
                [&of_a[given.clone()], &of_b[given.clone()]]
            });
            let (a, b) = (&a[given.clone()], &b[given]);
            step.run_scaled(formats, a, b, scales, &mut carried);
            // A step of zeros that changes nothing never will.
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
    let prepared = cases.iter().map(|case| Prepared::new(formats, case));
    prepared
        .map(|case| case.answer(formats, &arithmetic.step))
        .collect()
}
