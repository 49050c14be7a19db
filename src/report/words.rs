//! Sentences that several forms of a report share.

use super::{Alike, Bucket, Comparison, Model, Outcome, Report, Reproduced, Sampled, Verdict};
use crate::emu::layout::Units;
use crate::emu::{Evidence, shape_text};
use crate::role::Role;

/// A sentence that begins one.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The verdict, how much of D it is about, and what it lets pass.
pub fn title(report: &Report) -> String {
    let mut title = report.verdict.title().to_owned();
    if report.chosen.is_some() {
        title += ", model chosen to fit D";
    }
    let all = &report.reproduced.shape;
    title + &qualified(&report.outcome, report.reproduced.sample.as_ref(), all, "D")
}

/// How much of a result a verdict is about, and what it lets pass, to follow it.
pub(super) fn qualified(
    outcome: &Outcome,
    sample: Option<&Sampled>,
    shape: &[usize],
    result: &str,
) -> String {
    let mut title = String::new();
    let Outcome::Elements { comparison, .. } = outcome else {
        return title;
    };
    if sample.is_some() {
        let all = shape.iter().map(|&n| n as u64).product();
        title += &format!(", {} of {result} compared", share(comparison.elements, all));
    }
    if comparison.accepted > 0 {
        let elements = if comparison.accepted == 1 {
            "element"
        } else {
            "elements"
        };
        let n = grouped(comparison.accepted);
        title += &format!(", {n} {elements} let pass");
    }
    title
}

/// A part in percent; less than all is never 100, more than nothing never 0.
fn share(part: u64, all: u64) -> String {
    if part == all {
        return "100 %".to_owned();
    }
    let percent = 100.0 * part as f64 / all as f64;
    let decimals = [1, 2, 3, 4, 5, 6].into_iter().find(|&decimals| {
        let unit = 10f64.powi(-decimals);
        percent >= 10.0 * unit
    });
    let Some(decimals) = decimals else {
        return "less than 0.00001 %".to_owned();
    };
    let unit = 10f64.powi(decimals);
    format!(
        "{:.*} %",
        decimals as usize,
        (percent * unit).floor() / unit
    )
}

/// What came out, without the verdict itself.
pub fn sentence(report: &Report) -> String {
    let Reproduced { shape, sample, .. } = &report.reproduced;
    match &report.outcome {
        Outcome::Digest { .. } if report.verdict == Verdict::Identical => {
            "the reproduced D has the expected digest".to_owned()
        }
        Outcome::Digest { .. } => "the reproduced D has another digest".to_owned(),
        Outcome::Elements { comparison, .. } => compared(comparison, sample.as_ref(), shape, "D"),
    }
}

/// What came out of a comparison of all of a result, or of a part of it.
pub(super) fn compared(
    comparison: &Comparison,
    sample: Option<&Sampled>,
    shape: &[usize],
    result: &str,
) -> String {
    let all = grouped(shape.iter().map(|&n| n as u64).product());
    let (which, whose) = match sample {
        None => ("", format!("of {result}")),
        Some(sample) if sample.seed.is_none() => {
            ("chosen ", format!("of {all} that {result} has,"))
        }
        Some(_) => ("sampled ", format!("of {all} that {result} has,")),
    };
    match (comparison.mismatches, comparison.elements) {
        (0, elements) => {
            let accepted = accepted(comparison);
            match elements {
                1 => format!("the one {which}element {whose} is reproduced{accepted}"),
                n => format!(
                    "all {} {which}elements {whose} are reproduced{accepted}",
                    grouped(n)
                ),
            }
        }
        (_, 1) => format!("the one {which}element {whose} differs"),
        (mismatches, elements) => format!(
            "{} of {} {which}elements {whose} differ ({} %){}",
            grouped(mismatches),
            grouped(elements),
            percent(comparison),
            accepted(comparison)
        ),
    }
}

pub(super) fn percent(comparison: &Comparison) -> String {
    // Six decimals would show a lone mismatch among billions as none.
    match comparison.mismatch_percent {
        0.0 => "< 0.000001".to_owned(),
        percent => format!("{percent}"),
    }
}

pub(super) fn accepted(comparison: &Comparison) -> String {
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

/// What the verdict proves, and what it does not.
pub fn proves(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Identical => {
            "These bits of D follow from these inputs by the arithmetic named above. That does not prove that a \
             GPU computed them, nor that no other arithmetic gives the same bits; data that needs no rounding \
             agrees with every model."
        }
        Verdict::IdenticalInPart
            if report
                .reproduced
                .sample
                .as_ref()
                .is_some_and(|part| part.seed.is_some()) =>
        {
            "The elements that were compared follow from these inputs by the arithmetic named above. Of the \
             others only the odds of the draw say something, if nobody could know it when D was made."
        }
        Verdict::IdenticalInPart => {
            "The elements that were compared follow from these inputs by the arithmetic named above. Of the \
             others nothing is said."
        }
        Verdict::Different => {
            "D was not computed from these inputs by the arithmetic named above, in this order. Another order of \
             the sum, another unit or a damaged result differ in the same way."
        }
    }
}

/// Which other arithmetics these data do not tell from the one that judged.
pub fn discrimination(report: &Report) -> Option<String> {
    const NAMED: usize = 4;
    let found = report.discrimination.as_ref()?;
    let own = format!("{} {}", report.model.architecture, report.model.instruction);
    let (others, same) = (found.others, found.same.len() as u64);
    let elements = grouped(found.elements);
    let looked = match found.elements {
        1 => "one element that was".to_owned(),
        _ => format!("{elements} elements that were"),
    };
    if others == 0 {
        return Some(format!(
            "The catalogue has no other arithmetic for these operands than {own}'s."
        ));
    }
    if same == 0 {
        let all = match others {
            1 => "the 1 other arithmetic".to_owned(),
            n => format!("all {n} other arithmetics"),
        };
        return Some(format!(
            "These data tell {own} from {all} of the catalogue for these operands: each gives other bits \
             somewhere among the {looked} looked at."
        ));
    }
    let name = |alike: &Alike| match alike.accumulator == report.model.arithmetic.accumulator {
        true => format!("{} {}", alike.architecture, alike.instruction),
        false => format!(
            "{} {} (-> {})",
            alike.architecture, alike.instruction, alike.accumulator
        ),
    };
    let mut names: Vec<String> = found.same.iter().take(NAMED).map(name).collect();
    if found.same.len() > NAMED {
        names.push(format!("{} others", found.same.len() - NAMED));
    }
    let names = match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    };
    let told = match others - same {
        0 => "That is every other arithmetic".to_owned(),
        n => format!("They tell it from {n} of {others} arithmetics"),
    };
    Some(format!(
        "These data do not tell {own} from {names}: all give the same bits on the {looked} looked at. \
         {told} of the catalogue for these operands."
    ))
}

/// How the model is known, in words.
pub fn evidence(model: &Model) -> String {
    match (model.evidence, &model.file) {
        (Evidence::Captured, _) => "captured: reproduces results captured on real GPUs".to_owned(),
        (Evidence::Compared, _) => {
            "compared: gives the bits of a published emulator or simulator, but no captured result proves it".to_owned()
        }
        (Evidence::Published, _) => "published: no captured result proves it".to_owned(),
        (Evidence::Inferred, _) => "inferred: neither published nor captured".to_owned(),
        (Evidence::Claimed, Some(file)) => format!(
            "claimed: from {}, not the catalogue; the file itself says {}",
            file.path, file.says
        ),
        (Evidence::Claimed, None) => "claimed: by a file, not the catalogue".to_owned(),
    }
}

/// How the model was chosen, if nobody claimed one.
pub fn chosen(report: &Report) -> Option<String> {
    /// As many as a line holds.
    const NAMED: usize = 6;
    let chosen = report.chosen.as_ref()?;
    let (fits, all) = (&chosen.fits, chosen.fits.len());
    let named = fits[..all.min(NAMED)].join(", ");
    let more = match all.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let untested = match chosen.untested {
        0 => String::new(),
        n => format!(" ({} were not)", grouped(n as u64)),
    };
    let which = match all {
        1 => "one gives".to_owned(),
        _ => format!("{} give", grouped(all as u64)),
    };
    Some(format!(
        "nobody named a unit (--arch auto): 'identify' tested {} models{untested}, of which {which} this D: {named}{more}; \
         this report is by {} {}",
        grouped(chosen.tested as u64),
        report.model.architecture,
        report.model.instruction
    ))
}

/// Architecture, instruction and formats.
pub fn model_line(report: &Report) -> String {
    let model = &report.model;
    let arithmetic = &model.arithmetic;
    let conversion = match &report.reproduced.conversion {
        Some(c) => format!(", rounded {} to {}", c.rounding, c.to),
        None => String::new(),
    };
    let scale = arithmetic
        .scale
        .map_or(String::new(), |scale| format!(", scales {scale}"));
    let addend = arithmetic
        .addend
        .map_or(String::new(), |addend| format!(", C {addend}"));
    format!(
        "{} {}, {}*{}{scale}{addend} -> {}{conversion}",
        model.architecture, model.instruction, arithmetic.a, arithmetic.b, arithmetic.accumulator
    )
}

/// The kernel's schedule, if there is one.
pub fn schedule_line(report: &Report) -> Option<String> {
    let schedule = report.schedule.as_ref()?;
    Some(format!("{}: {}", schedule.name, schedule.summary))
}

/// What was multiplied.
pub fn product_line(report: &Report) -> String {
    let p = &report.product;
    let batch = match p.batch.as_slice() {
        [] => String::new(),
        batch => format!("{} times ", shape_text(batch)),
    };
    let addend = match report.inputs.get(&Role::C) {
        Some(_) => "C",
        None => "0",
    };
    format!("{batch}{}x{} by {}x{}, plus {addend}", p.m, p.k, p.k, p.n)
}

/// Mismatches by class, in words; classes without any are left out.
pub fn classes(c: &Comparison) -> Vec<(u64, &'static str)> {
    let classes = [
        (c.classes.zero_sign, "only in the sign of zero"),
        (c.classes.nan_payload, "only in the NaN's bits"),
        (c.classes.nan_against_number, "NaN against a number"),
        (c.classes.infinity_against_finite, "infinite against finite"),
        (c.classes.infinity_sign, "in the sign of infinity"),
        (c.classes.sign, "in sign"),
        (c.classes.exponent, "in exponent"),
        (c.classes.significand, "in significand only"),
    ];
    classes
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .collect()
}

/// The distances of a bucket.
pub fn range(bucket: &Bucket) -> String {
    match (bucket.from, bucket.to) {
        (from, to) if from == to => format!("{from}"),
        (from, to) => format!("{from} to {to}"),
    }
}

/// `3 of 32 lanes: lane 5 1,204, lane 9 12, ...`, if D is tiled plainly.
pub fn touched(units: &Units) -> String {
    const LISTED: usize = 4;
    let mut touched: Vec<_> = units
        .counts
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .collect();
    let (count, all) = (touched.len(), units.counts.len());
    let [m, n] = units.layout.tile();
    let unit = &units.unit;
    let mut text = format!("{count} of {all} {unit}s of the instruction ({m}x{n} tiles)");
    if count < all {
        touched.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        let named = touched.iter().take(LISTED);
        let named: Vec<_> = named
            .map(|(i, n)| format!("{unit} {i}: {}", grouped(**n)))
            .collect();
        text += &format!(", {}", named.join(", "));
        if count > LISTED {
            text += ", ...";
        }
    }
    text
}

/// `1234567` as `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What is said where nothing that was tried gives D.
pub fn nothing(tried: &[std::borrow::Cow<str>]) -> String {
    format!("nothing that was tried gives this D: {}", tried.join("; "))
}

#[cfg(test)]
mod tests {
    use super::{grouped, share};

    #[test]
    fn less_than_all_is_never_all() {
        assert_eq!(share(4_096_000, 16_777_216), "24.4 %");
        assert_eq!(share(16_777_215, 16_777_216), "99.9 %");
        assert_eq!(share(1, 16_777_216), "less than 0.00001 %");
        assert_eq!(share(100_000, 1 << 26), "0.14 %");
        assert_eq!(share(3, 3), "100 %");
        assert_eq!(share(1, 1_000_000), "0.00010 %");
    }

    #[test]
    fn thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }
}
