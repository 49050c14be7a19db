//! Sentences about results that views of products and of operations share.

use super::{Card, Constant, Digest, Fact, Weight};
use crate::emu::{Evidence, shape_text};
use crate::report::{
    self, Comparison, Input, Missed, ModelFile, Outcome, Report, Sampled, Verdict,
};

/// A sentence that begins one.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// `1 model`, `1,024 models`.
pub fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(count as u64))
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

/// With a sign and thousands.
pub fn signed(n: i128) -> String {
    let sign = if n < 0 { '\u{2212}' } else { '+' };
    let n = n.unsigned_abs();
    // More than 64 bits no distance of a format has.
    let digits = u64::try_from(n).map_or(n.to_string(), grouped);
    sign.to_string() + &digits
}

/// `3 of 1,024`
pub fn of(part: u64, all: u64) -> String {
    format!("{} of {}", grouped(part), grouped(all))
}

/// The share of elements that differ, if any do.
pub fn percent(percent: f64) -> String {
    // Six decimals would show a lone mismatch among billions as none.
    match percent {
        0.0 => "< 0.000001 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

/// How many elements an array of this shape has.
pub fn all(shape: &[usize]) -> u64 {
    shape.iter().map(|&n| n as u64).product()
}

/// A part in percent; less than all is never 100, more than nothing never 0.
fn share(part: u64, all: u64) -> String {
    if part == all {
        return "100 %".to_owned();
    }
    let percent = 100.0 * part as f64 / all as f64;
    let decimals = (1..=6).find(|&decimals| percent >= 10.0 * 10f64.powi(-decimals));
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

impl Report {
    /// How much of a result the verdict is about, and what it lets pass, to follow it.
    pub(super) fn qualified(&self) -> String {
        let mut title = String::new();
        let Outcome::Elements { comparison, .. } = &self.outcome else {
            return title;
        };
        if self.reproduced.sample.is_some() {
            let part = share(comparison.elements, all(&self.reproduced.shape));
            title += &format!(", {part} of {} compared", self.called());
        }
        match comparison.accepted {
            0 => {}
            1 => title += ", 1 element accepted by tolerance",
            n => title += &format!(", {} elements accepted by tolerance", grouped(n)),
        }
        title
    }

    /// What came out, without the verdict itself.
    pub(super) fn sentence(&self) -> String {
        let result = self.called();
        let comparison = match &self.outcome {
            Outcome::Digest { .. } => {
                let what = if self.verdict == Verdict::Identical {
                    "the expected"
                } else {
                    "a different"
                };
                return format!("the reproduced {} has {what} digest", bare(result));
            }
            Outcome::Elements { comparison, .. } => comparison,
        };
        let (which, whose) = match &self.reproduced.sample {
            None => ("", format!("of {result}")),
            Some(sample) => {
                let drawn = if sample.seed.is_none() {
                    "chosen "
                } else {
                    "sampled "
                };
                let all = grouped(all(&self.reproduced.shape));
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

/// How a rule is known, in words; `of` says where a file is not.
pub fn evidence_of_rule(evidence: Evidence, file: Option<&ModelFile>, proven: &str) -> String {
    match (evidence, file) {
        (Evidence::Captured, _) => format!("captured: {proven}"),
        (Evidence::Published, _) => "published: no captured result proves it".to_owned(),
        (Evidence::Compared, _) => {
            "compared: gives the same bits as an independent program, but no captured result proves it"
                .to_owned()
        }
        (Evidence::Inferred, _) => "inferred: neither published nor captured".to_owned(),
        (Evidence::Claimed, Some(file)) => format!(
            "claimed: from {}, not the catalogue; the file itself says {}",
            file.path, file.says
        ),
        (Evidence::Claimed, None) => "claimed: by a file, not the catalogue".to_owned(),
    }
}

/// The same as a fact: a caution, unless hardware proves it.
pub fn evidence_fact(evidence: Evidence, words: String) -> Fact {
    Fact {
        weight: match evidence {
            Evidence::Captured => Weight::Plain,
            _ => Weight::Caution,
        },
        ..Fact::new("evidence", words)
    }
}

/// What is known of one array.
pub fn card(name: &str, turned: bool, input: &Input) -> Card {
    let order = if input.fortran_order {
        ", Fortran order"
    } else {
        ""
    };
    let turned = if turned { ", taken transposed" } else { "" };
    let contents = format!(
        "{} {}{turned} (stored as {}{order})",
        shape_text(&input.shape),
        input.format,
        input.descr
    );
    let digest = |part, sha256: &str, about| Digest {
        of: name.to_owned(),
        part,
        sha256: sha256.to_owned(),
        about,
    };
    Card {
        name: name.to_owned(),
        path: input.path.clone(),
        facts: vec![Fact::detail("contents", contents.clone())],
        digests: vec![
            digest(
                "file",
                &input.file_sha256,
                format!("{}: {contents}", input.path),
            ),
            digest("data", &input.payload_sha256, String::new()),
        ],
        ..Card::default()
    }
}

/// Bits of FP32 registers that TF32 does not have.
pub fn low_bits(name: &str, input: &Input) -> Option<Fact> {
    let bits = input
        .tf32_low_bits
        .as_ref()
        .filter(|bits| bits.elements > 0)?;
    let (weight, done) = match bits.treatment.as_str() {
        "nearest" => (Weight::Caution, "rounded to TF32 (nearest, ties away)"),
        "parts" => (Weight::Plain, "multiplied as a second part (see schedule)"),
        _ => (
            Weight::Caution,
            "ignored by the unit (low 13 bits of the register)",
        ),
    };
    let count = grouped(bits.elements as u64);
    let text = format!("{count} elements of {name} had more bits than TF32: {done}");
    Some(Fact {
        weight,
        ..Fact::new("tf32", text)
    })
}

/// The part that was compared of a result, and what that proves.
pub fn sampled(sample: &Sampled, result: &str) -> Fact {
    let (label, seed) = match sample.seed {
        Some(seed) => ("sample", format!(", seed {seed}")),
        None => ("part", String::new()),
    };
    let mut lines = vec![format!(
        "{} elements of {}{seed}. The rest of {result} was not examined.",
        of(sample.elements, sample.population),
        sample.place()
    )];
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
    Fact {
        label: label.into(),
        lines,
        weight: Weight::Caution,
    }
}

/// How likely a draw misses so many elements, as far as that is likely.
pub fn odds(missed: &[Missed]) -> String {
    let missed = missed.iter().take_while(|m| m.probability >= 0.01);
    let missed: Vec<_> = missed
        .map(|m| format!("{} {:.4} %", grouped(m.tampered), 100.0 * m.probability))
        .collect();
    missed.join(", ")
}

/// The reproduced result: what it is, its digests, and which bits need not agree.
pub fn reproduced(
    (name, contents): (&str, &str),
    sha256: Option<&String>,
    outcome: &Outcome,
    sample: Option<&Sampled>,
) -> (Vec<Fact>, Vec<Digest>) {
    let mut facts = vec![Fact::detail("contents", contents)];
    let digest = |of: &str, sha256: &str, about: String| Digest {
        of: of.to_owned(),
        part: "",
        sha256: sha256.to_owned(),
        about,
    };
    let mut digests = Vec::new();
    match outcome {
        Outcome::Digest {
            expected_payload_sha256,
        } => {
            digests.push(digest("wanted", expected_payload_sha256, String::new()));
        }
        Outcome::Elements { nan, zero, .. } => {
            let rule = |name: &str, any, exact| {
                format!("{name}: {}", if name == "any" { any } else { exact })
            };
            facts.push(Fact::detail(
                "NaN",
                rule(nan, "all NaNs count as equal", "every bit counts"),
            ));
            facts.push(Fact::detail(
                "zero",
                rule(zero, "+0 and -0 count as equal", "signs count"),
            ));
        }
    }
    if let Some(sha256) = sha256 {
        digests.push(digest(
            "replay",
            sha256,
            format!("reproduced {name} ({contents})"),
        ));
    }
    if let Some(sample) = sample {
        let about = format!("{} reproduced elements of {name}", grouped(sample.elements));
        digests.push(digest("replay", &sample.sha256, about));
    }
    (facts, digests)
}

/// Constants of a report as rows.
pub fn constants(constants: &[report::Constant]) -> Vec<Constant> {
    let row = |constant: &report::Constant| Constant {
        name: constant.name.clone(),
        value: value(&constant.value),
        known: constant.evidence.to_string(),
        source: constant.source.join(", "),
        note: constant.note.clone().unwrap_or_default(),
    };
    constants.iter().map(row).collect()
}

/// A constant's value as people write it.
pub fn value(value: &serde_json::Value) -> String {
    value.to_string().trim_matches('"').to_owned()
}

/// Some names, and how many more there are.
pub fn some(names: &[String], most: usize) -> String {
    let shown = names[..names.len().min(most)].join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {} more", grouped(more as u64)),
    }
}

/// What a verdict proves, and what it does not, of a rule that captured results prove or not; `drawn` of elements that
/// nobody chose.
pub fn proves(verdict: Verdict, drawn: bool, proven: bool) -> String {
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
            let others = if drawn { "the odds of the draw are the only evidence, and only if nobody could predict the draw" } else { "this verdict says nothing" };
            format!(
                "The compared elements follow from these inputs by the rule named above{unproven}. About the others, \
                 {others}."
            )
        }
        Verdict::Different => "The result was not computed from these inputs by the rule named above, in this order. \
                               The cause may be another order of sums, another unit, another version of a library or \
                               a damaged result."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, share, signed};

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
        assert_eq!(signed(-1_234_567), "\u{2212}1,234,567");
        assert_eq!(signed(1), "+1");
    }
}
