//! Sentences about a result, its arrays and what its verdict proves.

use super::phrase::{counted, grouped, of, percent, share};
use super::{Card, Digest, Fact};
use tcverify_emu::shape_text;
use tcverify_num::Format;
use tcverify_report::{Comparison, Input, Missed, NonFinite, Report, Sampled, Verdict};

/// How many elements an array of this shape has.
pub fn all(shape: &[usize]) -> u64 {
    shape.iter().map(|&n| n as u64).product()
}

/// What sentences call the result.
pub(super) fn called(report: &Report) -> &str {
    match report.reproduced.output.as_deref() {
        None => "D",
        Some("y") => "the result",
        Some(other) => other,
    }
}

/// How much of a result the verdict covers, and what it accepts; follows the verdict.
pub(super) fn qualified(report: &Report) -> String {
    let mut title = String::new();
    let Some(comparison) = report.comparison() else {
        return title;
    };
    if report.reproduced.sample.is_some() {
        let part = share(comparison.elements, all(&report.reproduced.shape));
        title += &format!(", {part} of {} compared", called(report));
    }
    if comparison.accepted > 0 {
        let accepted = counted(comparison.accepted, "element");
        title += &format!(", {accepted} accepted by tolerance");
    }
    title
}

/// The outcome as a sentence, without the verdict.
pub(super) fn sentence(report: &Report) -> String {
    let result = called(report);
    let Some(comparison) = report.comparison() else {
        let what = if report.verdict == Verdict::Identical {
            "the expected"
        } else {
            "a different"
        };
        return format!("the reproduced {} has {what} digest", bare(result));
    };
    let (which, whose) = match &report.reproduced.sample {
        None => ("", format!("of {result}")),
        Some(sample) => {
            let drawn = if sample.seed.is_none() {
                "chosen "
            } else {
                "sampled "
            };
            let all = grouped(all(&report.reproduced.shape));
            (drawn, format!("of the {all} of {result}"))
        }
    };
    match (comparison.mismatches, comparison.elements) {
        (0, 1) => format!(
            "the one {which}element {whose} is reproduced{}",
            accepted(comparison)
        ),
        (0, n) => format!(
            "all {} {which}elements {whose} are reproduced{}",
            grouped(n),
            accepted(comparison)
        ),
        (_, 1) => format!("the one {which}element {whose} differs"),
        (mismatches, elements) => format!(
            "{} {which}elements {whose} differ ({}){}",
            of(mismatches, elements),
            percent(comparison.mismatch_percent),
            accepted(comparison)
        ),
    }
}

/// `the result` as `result`
pub(super) fn bare(result: &str) -> &str {
    result.strip_prefix("the ").unwrap_or(result)
}

fn accepted(comparison: &Comparison) -> String {
    match comparison.accepted {
        0 if comparison.mismatches == 0 => ", bit for bit".to_owned(),
        0 => String::new(),
        n if comparison.mismatches == 0 => {
            format!(", {} of them only as --nan or --zero allow", grouped(n))
        }
        n => format!(
            "; {} more differ in ways that --nan or --zero accept",
            grouped(n)
        ),
    }
}

/// The card of an array.
pub fn card(name: &str, transposed: bool, input: &Input) -> Card {
    let order = if input.fortran_order {
        ", Fortran order"
    } else {
        ""
    };
    let transposed = if transposed { ", taken transposed" } else { "" };
    let contents = format!(
        "{} {}{transposed} (stored as {}{order})",
        shape_text(&input.shape),
        input.format,
        input.descr
    );
    let file = Digest::new(name, &input.file_sha256).part("file");
    let data = Digest::new(name, &input.payload_sha256).part("data");
    Card {
        name: name.to_owned(),
        path: input.path.clone(),
        digests: vec![file.about(format!("{}: {contents}", input.path)), data],
        facts: vec![Fact::detail("contents", contents)],
        ..Card::default()
    }
}

/// A file of integers whose words are taken as codes of another format, as no other sign would tell.
pub fn integers(name: &str, input: &Input) -> Option<Fact> {
    let bits = match input.descr.trim_start_matches(['<', '>', '=', '|']) {
        "i1" => 8,
        "i2" => 16,
        "i4" => 32,
        "i8" => 64,
        _ => return None,
    };
    let format = input.format;
    let is_float = ![Format::Int32, Format::Int8, Format::Int4].contains(&format)
        && ![Format::Uint8, Format::Uint4].contains(&format);
    let format = format.name().to_uppercase();
    let text = format!(
        "{name} is an int{bits} file; its words were read as {format} codes, not as numbers"
    );
    is_float.then(|| Fact::caution("codes", text))
}

/// NaN and infinities of the operands, where the result has one too many or too few.
pub fn nonfinite<'a>(inputs: impl Iterator<Item = (&'a str, &'a Input)>) -> Option<Fact> {
    let inputs = inputs.filter_map(|(name, input)| Some((name, input.nonfinite.as_ref()?)));
    let inputs: Vec<_> = inputs.collect();
    let kinds = |of: &NonFinite| {
        let nan = (of.nan, "NaN", of.first_nan.clone());
        [
            nan,
            (of.infinite, "infinite number", of.first_infinite.clone()),
        ]
    };
    let mut lines = Vec::new();
    for (name, of) in &inputs {
        for (count, what, first) in kinds(of) {
            let at = first.map_or(String::new(), |index| format!(" at {index:?}"));
            match count {
                0 => {}
                1 => lines.push(format!("{name} holds 1 {what}{at}")),
                n => {
                    let plural = if what == "NaN" { "" } else { "s" };
                    lines.push(format!(
                        "{name} holds {} {what}{plural}, the first{at}",
                        grouped(n)
                    ));
                }
            }
        }
    }
    if lines.is_empty() && !inputs.is_empty() {
        let names: Vec<_> = inputs.iter().map(|(name, _)| *name).collect();
        lines.push(format!("{} hold finite numbers alone", names.join(", ")));
    }
    Fact::several("operands", lines)
}

/// That no element of a result is a finite number.
pub fn nothing_finite(name: &str, input: &Input) -> Option<Fact> {
    let of = input.nonfinite.as_ref()?;
    let text = format!(
        "no element of {name} is finite ({} infinite, {} NaN): rules that overflow alike give the same bits",
        grouped(of.infinite),
        grouped(of.nan)
    );
    Some(Fact::caution("finite", text))
}

/// Bits of FP32 registers that TF32 does not have.
pub fn low_bits(name: &str, input: &Input) -> Option<Fact> {
    let bits = input
        .tf32_low_bits
        .as_ref()
        .filter(|bits| bits.elements > 0)?;
    let done = match bits.treatment.as_str() {
        "nearest" => "rounded to TF32 (nearest, ties away)",
        "parts" => "multiplied as a second part (see schedule)",
        _ => "ignored by the unit (low 13 bits of the register)",
    };
    let count = grouped(bits.elements as u64);
    let text = format!("{count} elements of {name} had more bits than TF32: {done}");
    Some(Fact::new("tf32", text).caution_if(bits.treatment != "parts"))
}

/// Which part of a result was compared, and what that proves.
pub fn sampled(sample: &Sampled, result: &str) -> Fact {
    let (label, seed) = match sample.seed {
        Some(seed) => ("sample", format!(", seed {seed}")),
        None => ("part", String::new()),
    };
    let ([top, bottom], [left, right]) = (sample.rows, sample.columns);
    let place = format!(
        "{} elements of rows {top} to {}, columns {left} to {}{seed}. The rest of {result} was not examined.",
        of(sample.elements, sample.population),
        bottom - 1,
        right - 1
    );
    let mut lines = Vec::new();
    if let Some(from) = &sample.seed_from {
        lines.push(format!("the seed begins {}", from.draw_sha256));
        lines.push(format!("of commitment {}", from.commitment_sha256));
        lines.push(format!("and beacon {}", from.beacon));
    }
    lines.extend(
        sample
            .assumes
            .as_ref()
            .map(|assumes| format!("if {assumes}:")),
    );
    let missed = odds(&sample.missed);
    if !missed.is_empty() {
        lines.push(format!("misses tampered elements: {missed}"));
    }
    lines.extend(sample.caught_99_percent.map(|caught| {
        format!(
            "detects {} or more tampered elements with at least 99 %",
            grouped(caught)
        )
    }));
    Fact::caution(label, place).and(lines)
}

/// How likely a draw misses numbers of elements, down to 1 %.
pub fn odds(missed: &[Missed]) -> String {
    let missed = missed.iter().take_while(|m| m.probability >= 0.01);
    let missed: Vec<_> = missed
        .map(|m| format!("{} {:.4} %", grouped(m.tampered), 100.0 * m.probability))
        .collect();
    missed.join(", ")
}

/// What a verdict proves, and what it does not. `drawn` is whether the elements were drawn, `proven` whether captured
/// results prove the rule, `explained` whether causes are named for all that differs.
pub fn proves(verdict: Verdict, drawn: bool, proven: bool, explained: bool) -> String {
    let unproven = if proven {
        ""
    } else {
        ", which no captured result proves: the agreement is evidence for the rule"
    };
    match verdict {
        Verdict::Identical => format!(
            "These bits follow from these inputs by the rule named above{unproven}. That does not prove that a GPU \
             computed them, nor that no other rule gives the same bits. Data that needs no rounding agrees with \
             every rule."
        ),
        Verdict::IdenticalInPart => {
            let others = if drawn {
                "the odds of the draw are the only evidence, and only if nobody could predict the draw"
            } else {
                "this verdict says nothing"
            };
            format!(
                "The compared elements follow from these inputs by the rule named above{unproven}. About the others, \
                 {others}."
            )
        }
        Verdict::Different if explained => "The result was not computed from these inputs by the rule named above, in \
                                            this order. What is named as a cause gives its bits where it was tested; \
                                            something else may give them, too."
            .to_owned(),
        Verdict::Different => "The result was not computed from these inputs by the rule named above, in this order. \
                               The cause may be another order of sums, another unit, another version of a library or \
                               a damaged result."
            .to_owned(),
    }
}
