//! C taken otherwise: with another sign, from other places, or where the chain starts.

use super::{Around, Variation, matrices};
use crate::diagnose::{Case, Hypothesis};
use crate::emu::schedule::AddendAt;
use crate::emu::{Element, Replay};
use crate::num::{Format, Rounding, convert_exact, result_code};

/// What reports call this test.
pub const TRIED: &str =
    "C subtracted, transposed, from one row or column, or not multiplied by beta";

/// Most elements of a C that is copied.
const MOST: usize = 1 << 21;

/// Where the C of an element is read: row and column.
type From = Box<dyn Fn([usize; 2]) -> [usize; 2] + Sync>;

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let replay = case.replay;
    let problem = replay.problem;
    let Some(c) = problem.c else {
        return Ok(Vec::new());
    };
    let format = c.tensor().format();
    let (m, n) = (problem.m, problem.n);
    if problem.batches() * m * n > MOST {
        return Err("C is large");
    }
    let reading = |what: &str, from: From, change: Box<dyn Fn(u64) -> u64 + Sync>| {
        let places = (0..problem.batches()).flat_map(|batch| (0..m * n).map(move |at| (batch, at)));
        let code = |(batch, at): (usize, usize)| {
            let [row, column] = from([at / n, at % n]);
            change(c.plane(batch).code(row, column))
        };
        let codes: Vec<u64> = places.map(code).collect();
        let one = Variation::new(case, Hypothesis::COtherwise, what);
        Variation {
            addend: Some(matrices(format, [m, n], &codes)),
            ..one
        }
    };
    let mut all = Vec::new();
    if let Some(kernel) = replay
        .kernel
        .filter(|k| k.spec.addend == AddendAt::Epilogue)
    {
        let neutral = kernel.values.has_bias() || kernel.spec.epilogue.function.is_some();
        if !neutral && replay.arithmetic.addend() == format && problem.scales.is_none() {
            let what = "C is where the chain starts, and is not multiplied by beta";
            let one = Variation::new(case, Hypothesis::COtherwise, what);
            all.push(Variation {
                around: Around::Nothing,
                ..one
            });
        }
    }
    all.extend(after_rounding(case));
    let sign = format.sign_mask();
    let negated = move |code: u64| {
        if format.is_integer() {
            code.wrapping_neg() & format.max_code()
        } else {
            code ^ sign
        }
    };
    let own: From = Box::new(|at| at);
    all.push(reading(
        "C is subtracted, not added",
        own,
        Box::new(negated),
    ));
    let same = || Box::new(|code: u64| code);
    if m > 1 && n > 1 {
        let (what, from): (&str, From) = if m == n {
            (
                "C is taken transposed",
                Box::new(|[row, column]| [column, row]),
            )
        } else {
            let by_columns = move |[row, column]: [usize; 2]| {
                let position = column * m + row;
                [position / n, position % n]
            };
            (
                "C's memory was read column by column, as if its columns lay one after another",
                Box::new(by_columns),
            )
        };
        all.push(reading(what, from, same()));
        all.push(reading(
            "every row adds the first row of C",
            Box::new(|[_, column]| [0, column]),
            same(),
        ));
        all.push(reading(
            "every column adds the first column of C",
            Box::new(|[row, _]| [row, 0]),
            same(),
        ));
    }
    Ok(all)
}

/// C added to the product that was rounded to D's format before, as a residual is added by a kernel of its own.
fn after_rounding<'a>(case: &Case<'a>) -> Option<Variation<'a>> {
    let replay = case.replay;
    let c = replay.problem.c?;
    let format = replay.format();
    let narrow = matches!(format, Format::Bf16 | Format::Fp16);
    let plain = replay
        .kernel
        .is_none_or(|kernel| kernel.values.is_neutral() && kernel.spec.epilogue.function.is_none());
    if !narrow || !plain || replay.arithmetic.accumulator != Format::Fp32 {
        return None;
    }
    let of_c = c.tensor().format();
    let what = format!(
        "the product is rounded to {format} before C is added, and the sum is rounded again (two operations)"
    );
    let one = Variation::new(case, Hypothesis::COtherwise, what);
    Some(Variation {
        without_c: true,
        ..one.ending(move |replay: &Replay, at: &[Element]| {
            let products = replay.elements(at).into_iter().zip(at);
            let sum = |(product, at): (u64, &Element)| {
                let code = c.plane(at.batch).code(at.row, at.column);
                let product = convert_exact(format, product, Format::Fp32).unwrap_or(0);
                let c = convert_exact(of_c, code, Format::Fp32).unwrap_or(0);
                let [product, c] = [product, c].map(|code| f32::from_bits(code as u32));
                let code = u64::from((product + c).to_bits());
                result_code(Format::Fp32, code, format, Rounding::NearestEven)
            };
            products.map(sum).collect()
        })
    })
}
