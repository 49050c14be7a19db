//! Infinities and NaNs. The kernel takes them for zeros; what they make of an element of D does
//! not depend on the arithmetic: NaN for any NaN term, infinity times zero, or infinities of both
//! signs, in whatever steps they occur, and otherwise the infinity among the terms.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::context::{Context, Flags};
use tcverify_num::{Class, Format, Formats, SpecialTerms, Unpacked};
use tcverify_tensor::{Plane, parallel};

/// Corrects the elements of a slab of D whose row, column or C has a special value.
pub fn resolve(
    context: &Context,
    batch: usize,
    rows: Range<usize>,
    flags: &Flags,
    nan: u64,
    out: &mut [u64],
) {
    let problem = context.work.problem;
    let n = problem.n;
    let a = problem.a.plane(batch);
    let b = problem.b.transposed().plane(batch);
    let scales = problem.scales;
    let (a_format, b_format) = (context.work.formats.a, context.work.formats.b);

    let flagged = |column: &usize| flags.columns[*column].load(Ordering::Relaxed);
    let flagged: Vec<usize> = (0..n).filter(flagged).collect();
    let columns = parallel::map(flagged.len(), |i| {
        let scales = scales.map(|s| s.b.transposed().plane(batch));
        let column = flagged[i];
        (
            column,
            LineSpecials::of(b_format, b, scales, column, context),
        )
    });
    parallel::chunks_mut(out, n, &|index, out| {
        let row = rows.start + index;
        if flags.rows[index].load(Ordering::Relaxed) {
            let scales = scales.map(|s| s.a.plane(batch));
            let mine = LineSpecials::of(a_format, a, scales, row, context);
            let mut others = columns.iter().peekable();
            for (column, out) in out.iter_mut().enumerate() {
                let other = others.next_if(|(c, _)| *c == column).map(|(_, s)| s);
                let place = (row, column);
                element(context, batch, place, [Some(&mine), other], nan, out);
            }
        } else {
            for (column, specials) in &columns {
                let (place, out) = ((row, *column), &mut out[*column]);
                element(context, batch, place, [None, Some(specials)], nan, out);
            }
        }
    });
}

/// The special values of a row: whether there is a NaN, and where the infinities are.
struct LineSpecials {
    nan: bool,
    infinities: Vec<(usize, Unpacked)>,
}

impl LineSpecials {
    /// A NaN among the scales is one too.
    fn of(
        format: Format,
        plane: Plane,
        scales: Option<Plane>,
        row: usize,
        context: &Context,
    ) -> LineSpecials {
        let scale = context.work.formats.scale;
        let nan = |scales: Plane| {
            let format = scale.expect("scales have a format").format;
            let mut codes = (0..scales.columns).map(|block| scales.code(row, block));
            codes.any(|code| format.unpack(code).is_nan())
        };
        let mut specials = LineSpecials {
            nan: scales.is_some_and(nan),
            infinities: Vec::new(),
        };
        for k in 0..plane.columns {
            let x = format.unpack(plane.code(row, k));
            match x.class {
                Class::Finite => {}
                Class::Infinite => specials.infinities.push((k, x)),
                Class::Nan => specials.nan = true,
            }
        }
        specials
    }
}

fn element(
    context: &Context,
    batch: usize,
    (row, column): (usize, usize),
    [of_row, of_column]: [Option<&LineSpecials>; 2],
    nan: u64,
    out: &mut u64,
) {
    let Formats {
        accumulator,
        addend,
        ..
    } = context.work.formats;
    let mut terms = SpecialTerms::default();
    if let Some(c) = context.work.problem.c {
        let c = addend.unpack(c.plane(batch).code(row, column));
        terms.add(c.class, c.negative);
    }
    if [of_row, of_column].into_iter().flatten().any(|s| s.nan) {
        terms.add(Class::Nan, false);
    }

    let a = context.work.problem.a.plane(batch);
    let b = context.work.problem.b.transposed().plane(batch);
    for (k, x) in of_row.into_iter().flat_map(|s| &s.infinities) {
        if terms.sum().0 == Class::Nan {
            break;
        }
        terms.add_product(x, &context.work.formats.b.unpack(b.code(column, *k)));
    }
    for (k, x) in of_column.into_iter().flat_map(|s| &s.infinities) {
        if terms.sum().0 == Class::Nan {
            break;
        }
        terms.add_product(&context.work.formats.a.unpack(a.code(row, *k)), x);
    }

    let overflowed = accumulator.unpack(*out).class != Class::Finite;
    match terms.sum() {
        (Class::Finite, _) => {}
        // The finite terms alone reach infinity as well: now the order matters.
        _ if overflowed => *out = context.element(batch, row, column),
        (Class::Nan, _) => *out = nan,
        (Class::Infinite, negative) => {
            let infinity = accumulator.infinity(negative);
            *out = infinity.expect("checked when the model was read");
        }
    }
}
