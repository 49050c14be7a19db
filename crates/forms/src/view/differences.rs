//! Which elements differ, how, and which group of mismatches each belongs to.

use super::phrase::{grouped, largest as largest_distance, of, signed};
use super::{Cause, Differences, Fact, Mark, Tried};
use crate::map::{Gathered, largest};
use tcverify_emu::layout::Units;
use tcverify_num::Format;
use tcverify_report::{Comparison, Kind, Mismatch};

/// So few mismatches are marked one by one.
const FEW: u64 = 8;

/// The differences of a comparison, if there are any.
pub fn of_comparison(
    c: &Comparison,
    (causes, places): (&[tcverify_report::Cause], &[tcverify_report::Place]),
    (result, format, shape): (&str, Format, &[usize]),
) -> Option<Differences> {
    if c.mismatches == 0 {
        return None;
    }
    let areas = areas(causes, places);
    let classes = classes(c);
    let named = classes.iter();
    let named: Vec<_> = named
        .map(|(what, count)| format!("{} {what}", grouped(*count)))
        .collect();
    let mut how = named.join(", ");
    if let Some(largest) = &c.largest {
        let distance = largest_distance(largest.ulp, format);
        how += &format!("; largest {distance} at {:?}", largest.index);
    }
    let how = vec![Fact::new("how", how)];
    let (rows, columns) = (of(c.rows_touched, c.rows), of(c.columns_touched, c.columns));
    let lines = places.iter().map(|place| place.sentence.clone());
    let mut place = vec![Fact::new("where", format!("{rows} rows, {columns} columns")).and(lines)];
    place.extend(
        c.units
            .as_ref()
            .map(|units| Fact::new("tiles", touched(units))),
    );
    let distances = c.histogram.iter().map(|bucket| {
        let range = match (bucket.from, bucket.to) {
            (from, to) if from == to => thousands(from),
            (from, to) => format!("{} to {}", thousands(from), thousands(to)),
        };
        (range, bucket.count)
    });
    let first = c.first.iter();
    let first = first.map(|m| (group_of(m, shape, &areas), m.clone()));
    Some(Differences {
        result: result.to_owned(),
        names: ["reproduced", "given"],
        format,
        how,
        place,
        classes,
        distances: distances.collect(),
        first: first.collect(),
        count: c.mismatches,
        map: None,
        marks: marks(&areas, c, shape),
    })
}

/// How many elements were compared, how many differ, and in how many rows and columns.
pub fn counts(c: &Comparison) -> Vec<(String, String)> {
    let mut figures = vec![
        figure("elements compared", grouped(c.elements)),
        figure("differ", grouped(c.mismatches)),
    ];
    if c.mismatches > 0 {
        figures.push(figure("rows touched", of(c.rows_touched, c.rows)));
        figures.push(figure("columns touched", of(c.columns_touched, c.columns)));
    }
    figures
}

/// A distance; only the largest of FP64 has more than 64 bits.
fn thousands(n: u128) -> String {
    u64::try_from(n).map_or(n.to_string(), grouped)
}

fn figure(name: &str, value: String) -> (String, String) {
    (name.to_owned(), value)
}

/// Figures of an outcome.
pub fn figures(compared: Option<&Comparison>, computed: u64) -> Vec<(String, String)> {
    let Some(c) = compared else {
        return vec![figure("elements reproduced", grouped(computed))];
    };
    let mut figures = counts(c);
    if let Some(largest) = &c.largest {
        figures.push(figure("largest, in ulps", signed(largest.ulp)));
    }
    if c.accepted > 0 {
        figures.push(figure("accepted by tolerance", grouped(c.accepted)));
    }
    figures
}

/// Causes with the numbers of their groups.
pub fn causes(causes: &[tcverify_report::Cause]) -> Vec<Cause> {
    let areas = areas(causes, &[]);
    let group = |cause: &tcverify_report::Cause| {
        let area = cause.area.as_ref()?;
        let area = [area.rows, area.columns];
        areas.iter().position(|other| *other == area).map(|i| i + 1)
    };
    let cause = |cause: &tcverify_report::Cause| Cause {
        group: group(cause),
        sentence: cause.sentence.clone(),
        command: cause.command.clone(),
    };
    causes.iter().map(cause).collect()
}

/// What was refuted and what was not decided, if nothing gives the result.
pub fn nothing(
    tried: &[std::borrow::Cow<str>],
    untried: &[std::borrow::Cow<str>],
    result: &str,
) -> Option<Tried> {
    let this = match result {
        "D" => "this D",
        _ => "this result",
    };
    let (refuted, open) = (tried.join("; "), untried.join("; "));
    let all = match (tried, untried) {
        ([], []) => return None,
        ([], _) => format!("not decided: {open}"),
        (_, []) => format!("none of the hypotheses tried gives {this}: {refuted}"),
        _ => format!("none of the hypotheses tried gives {this}: {refuted}. Not decided: {open}"),
    };
    let open = match untried.len() as u64 {
        0 => String::new(),
        n => format!(", {} not decided", grouped(n)),
    };
    let short = match tried.len() as u64 {
        0 => {
            return Some(Tried {
                short: all.clone(),
                all,
            });
        }
        n => format!("none of {} hypotheses tried gives {this}{open}", grouped(n)),
    };
    let short = format!("{short} (--verbose lists them)");
    Some(Tried { short, all })
}

/// Mismatches by class, described; classes without any are left out.
fn classes(c: &Comparison) -> Vec<(String, u64)> {
    let all = Kind::ALL.map(|kind| (described(kind).to_owned(), c.classes.of(kind)));
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// In which way elements of a class differ.
fn described(kind: Kind) -> &'static str {
    match kind {
        Kind::ZeroSign => "only in the sign of zero",
        Kind::NanPayload => "only in the NaN's bits",
        Kind::NanAgainstNumber => "NaN against a number",
        Kind::InfinityAgainstFinite => "infinity against a finite number",
        Kind::InfinitySign => "in the sign of infinity",
        Kind::Sign => "in sign",
        Kind::Exponent => "in exponent",
        Kind::Significand => "in significand only",
    }
}

/// `3 of 32 lanes of the instruction (16x8 tiles), lane 5: 1,204, lane 9: 12, ...`, and its condition.
fn touched(units: &Units) -> String {
    const LISTED: usize = 4;
    let counts = &units.counts;
    let count = counts.iter().filter(|n| **n > 0).count();
    let all = counts.len();
    let [m, n] = units.layout.tile();
    let unit = &units.unit;
    let mut text = format!("{count} of {all} {unit}s of the instruction ({m}x{n} tiles)");
    if count < all {
        let named = largest(counts, LISTED).into_iter();
        let named: Vec<_> = named
            .map(|i| format!("{unit} {i}: {}", grouped(counts[i])))
            .collect();
        text += &format!(", {}", named.join(", "));
        if count > LISTED {
            text += ", ...";
        }
    }
    text + ", if the kernel tiles D in the usual way"
}

/// `480 of 500 mismatches lie at row mod 8 = 3`
pub fn described_period(gathered: &Gathered, mismatches: u64) -> String {
    let counts = &gathered.counts;
    let mut named = largest(counts, gathered.period);
    named.retain(|&i| counts[i] * gathered.period as u64 >= 4 * mismatches);
    let listed: Vec<_> = named.iter().take(4).map(usize::to_string).collect();
    let more = if named.len() > 4 { ", \u{2026}" } else { "" };
    format!(
        "{} mismatches lie at {} mod {} = {}{more}",
        of(gathered.held, mismatches),
        ["row", "column"][gathered.side],
        gathered.period,
        listed.join(", ")
    )
}

/// A mark for each group with a known place; if there is none, few mismatches are marked by their indices.
fn marks(areas: &[[[usize; 2]; 2]], c: &Comparison, shape: &[usize]) -> Vec<Mark> {
    if !areas.is_empty() || c.mismatches > FEW || c.mismatches != c.first.len() as u64 {
        let numbered = areas.iter().enumerate();
        return numbered
            .map(|(i, &[rows, columns])| Mark {
                label: (i + 1).to_string(),
                rows,
                columns,
            })
            .collect();
    }
    let elements = c.first.iter().map(|mismatch| {
        let [row, column] = place(mismatch, shape);
        Mark {
            label: format!("{:?}", mismatch.index),
            rows: [row, row + 1],
            columns: [column, column + 1],
        }
    });
    elements.collect()
}

/// The number, from 1, of the smallest group around a mismatch.
fn group_of(mismatch: &Mismatch, shape: &[usize], areas: &[[[usize; 2]; 2]]) -> Option<usize> {
    let at = place(mismatch, shape);
    let around = areas.iter().enumerate().filter(|(_, sides)| {
        let inside = |(at, [from, to]): (usize, &[usize; 2])| *from <= at && at < *to;
        at.into_iter().zip(*sides).all(inside)
    });
    let size = |[rows, columns]: &[[usize; 2]; 2]| {
        (rows[1] - rows[0]).saturating_mul(columns[1] - columns[0])
    };
    around
        .min_by_key(|(_, sides)| size(sides))
        .map(|(i, _)| i + 1)
}

/// Every rectangle that a cause or a place names, once.
fn areas(
    causes: &[tcverify_report::Cause],
    places: &[tcverify_report::Place],
) -> Vec<[[usize; 2]; 2]> {
    let mut areas = Vec::new();
    let known = causes.iter().filter_map(|cause| cause.area.as_ref());
    for area in known.chain(places.iter().map(|place| &place.area)) {
        let area = [area.rows, area.columns];
        if !areas.contains(&area) {
            areas.push(area);
        }
    }
    areas
}

/// The row, counted on from matrix to matrix, and the column.
fn place(mismatch: &Mismatch, shape: &[usize]) -> [usize; 2] {
    let Some((column, rows)) = mismatch.index.split_last() else {
        return [0, 0];
    };
    let row = rows
        .iter()
        .zip(shape)
        .fold(0, |row, (at, length)| row * length + at);
    [row, *column]
}
