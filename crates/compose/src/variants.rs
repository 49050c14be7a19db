//! Which other variants would give a result that differs.

use super::{Diagnosed, read_commitment};
use crate::check::{CheckError, Part, Subject};
use crate::deadline;
use crate::diagnose::known;
use crate::forms::grouped;
use crate::operation::{Operation, PreparedOperation, compute, row_of};
use crate::ops::{self, BoundOp, Variant};
use crate::report::{Cause, Comparator, Comparison};
use crate::sample::Region;

/// Rows that a variant is tried on before it is tried on all.
const ROWS: usize = 64;
/// Elements up to which a variant that fits those is tried on all.
const WHOLE: usize = 1 << 24;

/// What a variant makes of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It gives all of it.
    Whole,
    /// It gives the tested elements, of this number.
    Tested(usize),
    Differs,
    /// It does not compute such arrays.
    Impossible,
}

impl Fit {
    /// Whether nothing differs.
    pub fn is_whole(&self) -> bool {
        matches!(self, Fit::Whole | Fit::Tested(_))
    }
}

impl std::fmt::Display for Fit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fit::Whole => f.pad("identical"),
            Fit::Tested(n) => write!(f, "fits {} tested", grouped(*n as u64)),
            Fit::Differs => f.pad("different"),
            Fit::Impossible => f.pad("does not take these arrays"),
        }
    }
}

/// Every variant of the operation, and what it makes of the captured result.
///
/// # Errors
/// If there is none, or a file has changed.
pub fn identify(prepared: &PreparedOperation) -> Result<Vec<(&'static Variant, Fit)>, CheckError> {
    if prepared.given().is_none() {
        return Err(CheckError::request(
            "y",
            "`y` is missing: there is nothing to identify",
        ));
    }
    let all = ops::of(prepared.bound().variant().rule.operation());
    let all = all.map_err(|reason| CheckError::request("operation", reason))?;
    // Whatever it commits to: the draw is its.
    let drawn_by = match &prepared.bound().request().seed_from {
        Some(path) => Some(
            read_commitment(path)
                .map_err(CheckError::file("seed_from"))?
                .1,
        ),
        None => None,
    };
    let region = Region::of(&prepared.shape());
    let part = prepared.bound().request().selection()?;
    let part = part.part_of(&region, drawn_by.as_deref())?;
    let fit = |variant: &'static Variant| {
        let fits = prepared.by(variant, |job| {
            let elements: usize = job.shape.iter().product();
            match fits(prepared, job, None, part.as_ref()) {
                Some(tested) if tested == elements => Fit::Whole,
                Some(tested) => Fit::Tested(tested),
                None => Fit::Differs,
            }
        });
        fits.unwrap_or(Fit::Impossible)
    };
    let found = all
        .into_iter()
        .map(|variant| (variant, fit(variant)))
        .collect();
    prepared.confirm_unchanged()?;
    Ok(found)
}

/// Variants, and of attention other tiles, that give the result, and what was tried.
pub fn other_variants(
    prepared: &PreparedOperation,
    comparison: &Comparison,
    part: Option<&Part>,
) -> Diagnosed {
    let first = comparison.first.first().map(|m| &m.index);
    // The number of elements, and how many were tested if all of those fit.
    let tested = |job: &BoundOp| (job.shape.iter().product(), fits(prepared, job, first, part));
    let mut found = Diagnosed::default();
    let mut told = |kind: &str, what: String, (all, fits): (usize, Option<usize>), request| {
        found.tried.push(what.into());
        let (Some(elements), (sentence, request)): (_, (String, Operation)) = (fits, request)
        else {
            return;
        };
        let of = match part {
            None if elements == all => format!("all {} elements", grouped(all as u64)),
            Some(part) if elements as u64 == part.elements() => {
                format!("all {} compared elements", grouped(elements as u64))
            }
            _ => format!("all {} tested elements", grouped(elements as u64)),
        };
        found.causes.push(Cause {
            kind: kind.to_owned(),
            sentence: format!("{sentence}. It gives {of}, bit for bit."),
            at: Vec::new(),
            mismatches: comparison.mismatches,
            area: None,
            command: request.check_command(),
        });
    };
    let own = prepared.bound().request();
    for variant in others(prepared) {
        let Some(tested) = prepared.by(variant, tested) else {
            continue;
        };
        let request = Operation {
            variant: Some(variant.name.clone()),
            variant_file: None,
            ..own.clone()
        };
        let sentence = format!(
            "Another variant fits: {} ({}; {}){}",
            variant.name,
            variant.title,
            variant.evidence,
            known(&format!("variant {}", variant.name), "")
        );
        let what = format!("variant {}", variant.name);
        told("variant", what, tested, (sentence, request));
    }
    for [m, n] in other_tiles(prepared) {
        let Some(tested) = prepared.in_tile([m, n], tested) else {
            continue;
        };
        let tile = format!("{m}x{n}");
        let request = Operation {
            tile: Some(tile.clone()),
            ..own.clone()
        };
        let sentence = format!(
            "Another kernel of this variant fits, with tiles of {tile}: it runs for other numbers of queries, other \
             masks or on another GPU{}",
            known(&format!("tile of {}", prepared.variant().name), "")
        );
        told("tile", format!("tile {tile}"), tested, (sentence, request));
    }
    found
}

/// Of attention, the tiles of its rule, without the one that judges.
fn other_tiles(prepared: &PreparedOperation) -> Vec<[usize; 2]> {
    let ops::Rule::Attention(rule) = &prepared.bound().variant().rule else {
        return Vec::new();
    };
    let about = prepared.about();
    let mut tiles: Vec<_> = rule.tiles.iter().map(|tile| tile.tile).collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles.retain(|[m, n]| !about.contains(&format!("blocks of {m} by {n} keys")));
    tiles
}

/// The operation's other variants.
fn others(prepared: &PreparedOperation) -> Vec<&'static Variant> {
    let all = ops::of(prepared.bound().variant().rule.operation()).unwrap_or_default();
    all.into_iter()
        .filter(|other| other.rule != prepared.bound().variant().rule)
        .collect()
}

/// How many elements were compared, if all of them are as given.
fn fits(
    prepared: &PreparedOperation,
    job: &BoundOp,
    first: Option<&Vec<usize>>,
    part: Option<&Part>,
) -> Option<usize> {
    let y = prepared.given()?;
    if job.shape != y.shape() || job.format != y.format() {
        return None;
    }
    let tolerance = prepared.tolerance();
    let mut differ = Comparator::new(y, tolerance, 0);
    if let Some(part) = part {
        compute(part, job, &(), &mut |elements, codes| {
            differ.compare_some(elements, codes);
        });
        let compared = differ.finish();
        return (compared.mismatches == 0).then_some(compared.elements as usize);
    }
    let (rows, columns) = (job.rows(), job.columns());
    // The row of the first mismatch, and some all over.
    let named = first.map(|index| {
        let leading = index
            .iter()
            .zip(&job.shape)
            .take(job.shape.len().saturating_sub(1));
        leading.fold(0, |at, (i, n)| at * n + i)
    });
    let step = rows.div_ceil(ROWS).max(1);
    let accepts =
        |(code, given): (u32, u32)| tolerance.accepts(job.format, code.into(), given.into());
    for row in named.into_iter().chain((0..rows).step_by(step)) {
        if !job.row(row).into_iter().zip(row_of(y, row)).all(accepts) {
            return None;
        }
    }
    if rows * columns > WHOLE {
        return Some(rows.div_ceil(step) * columns);
    }
    job.run(&deadline::unheard, |band| differ.compare(&band));
    (differ.finish().mismatches == 0).then_some(rows * columns)
}
