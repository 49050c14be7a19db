//! The report for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Comparison, Exporter, Outcome, Report, Sampled, Verdict};
use crate::emu::layout::Units;
use crate::emu::{Evidence, shape_text};
use crate::num::Format;

/// Text with colours; whoever owns the stream strips them where they are not wanted.
pub struct Text;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default();
const QUIET: Style = Style::new().dimmed();

impl Exporter for Text {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        headline(report, out)?;
        model(report, out)?;
        schedule(report, out)?;
        product(report, out)?;
        if let Outcome::Elements { comparison, .. } = &report.outcome
            && comparison.mismatches > 0
        {
            differences(comparison, report.reproduced.format, out)?;
        }
        digests(report, out)
    }
}

fn headline(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let (style, word) = match report.verdict {
        Verdict::Identical => (GOOD, "IDENTICAL"),
        Verdict::Different => (BAD, "DIFFERENT"),
    };
    let elements = match &report.reproduced.sample {
        None => "elements",
        Some(sample) if sample.seed.is_none() => "chosen elements",
        Some(_) => "sampled elements",
    };
    let sentence = match &report.outcome {
        Outcome::Digest { .. } if report.verdict == Verdict::Identical => {
            "the reproduced D has the expected digest".to_owned()
        }
        Outcome::Digest { .. } => "the reproduced D has another digest".to_owned(),
        Outcome::Elements { comparison, .. } if comparison.mismatches == 0 => format!(
            "all {} {elements} of D are reproduced{}",
            grouped(comparison.elements),
            accepted(comparison)
        ),
        Outcome::Elements { comparison, .. } => format!(
            "{} of {} {elements} of D differ ({} %){}",
            grouped(comparison.mismatches),
            grouped(comparison.elements),
            percent(comparison),
            accepted(comparison)
        ),
    };
    writeln!(out, "{style}{word}{style:#}  {sentence}\n")
}

fn percent(comparison: &Comparison) -> String {
    // Six decimals would show a lone mismatch among billions as none.
    match comparison.mismatch_percent {
        0.0 => "< 0.000001".to_owned(),
        percent => format!("{percent}"),
    }
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

fn model(report: &Report, out: &mut dyn Write) -> io::Result<()> {
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
    row(
        out,
        "model",
        &format!(
            "{} {}, {}*{}{scale}{addend} -> {}{conversion}",
            model.architecture,
            model.instruction,
            arithmetic.a,
            arithmetic.b,
            arithmetic.accumulator
        ),
    )?;
    row(out, "", &model.summary)?;
    let evidence = match model.evidence {
        Evidence::Hardware => "hardware: reproduces results captured on real GPUs".to_owned(),
        Evidence::Literature => {
            format!("{CAUTION}literature: published, but no captured result proves it{CAUTION:#}")
        }
        Evidence::Inferred => {
            format!("{CAUTION}inferred: neither published nor captured{CAUTION:#}")
        }
    };
    row(out, "evidence", &evidence)?;
    if let Some(note) = &model.note {
        row(out, "", note)?;
    }
    Ok(())
}

fn schedule(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Some(schedule) = &report.schedule else {
        return Ok(());
    };
    row(
        out,
        "schedule",
        &format!("{}: {}", schedule.name, schedule.title),
    )?;
    row(out, "", &schedule.summary)?;
    if let Some(factors) = &schedule.factors
        && [&factors.alpha, &factors.beta]
            .iter()
            .any(|factor| factor.value != "1")
    {
        let text = format!(
            "alpha = {}, beta = {}",
            factors.alpha.value, factors.beta.value
        );
        row(out, "", &text)?;
    }
    let given: std::collections::BTreeSet<_> = schedule
        .constants
        .iter()
        .filter_map(|c| c.given_by.as_deref())
        .collect();
    let given = match given.is_empty() {
        true => String::new(),
        false => format!(
            ", changed by {}",
            given.into_iter().collect::<Vec<_>>().join(" ")
        ),
    };
    let text = format!(
        "{CAUTION}{}{given}; a D that agrees confirms it, one that differs may have another{CAUTION:#}",
        schedule.evidence
    );
    row(out, "", &text)
}

fn product(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let p = &report.product;
    let batch = match p.batch.as_slice() {
        [] => String::new(),
        batch => format!("{} times ", shape_text(batch)),
    };
    let addend = match report.inputs.c {
        Some(_) => "C",
        None => "0",
    };
    let text = format!("{batch}{}x{} by {}x{}, plus {addend}", p.m, p.k, p.k, p.n);
    row(out, "product", &text)?;
    if let Some(sample) = &report.reproduced.sample {
        sampled(sample, out)?;
    }
    for (name, input) in report.inputs.named() {
        if let Some(bits) = &input.tf32_low_bits
            && bits.elements > 0
        {
            let done = match bits.treatment {
                "nearest" => "rounded to TF32 (nearest, ties away)",
                _ => "ignored by the unit (low 13 bits of the register)",
            };
            let text = format!(
                "{CAUTION}{} elements of {name} had more bits than TF32: {done}{CAUTION:#}",
                grouped(bits.elements as u64)
            );
            row(out, "tf32", &text)?;
        }
    }
    Ok(())
}

fn differences(c: &Comparison, format: Format, out: &mut dyn Write) -> io::Result<()> {
    row(
        out,
        "where",
        &format!(
            "{} of {} rows, {} of {} columns",
            grouped(c.rows_touched),
            grouped(c.rows),
            grouped(c.columns_touched),
            grouped(c.columns)
        ),
    )?;
    if let Some(units) = &c.units {
        row(out, "", &touched(units))?;
    }
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
    let kinds: Vec<_> = classes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    row(out, "how", &kinds.join(", "))?;
    if let Some(largest) = &c.largest {
        let text = format!("{:+} ulp at {:?}", largest.ulp, largest.index);
        row(out, "largest", &text)?;
    }
    histogram(c, out)?;
    if c.first.is_empty() {
        return Ok(());
    }

    let width = 2 + 2 * format.bytes();
    let index_width = c.first.iter().map(|m| format!("{:?}", m.index).len()).max();
    let index_width = index_width.unwrap_or(0).max(5);
    writeln!(
        out,
        "\n  {:<index_width$}  {:<width$}  {:<width$}  {:<width$}  {:>10}  values",
        "index", "reproduced", "given", "xor", "ulp"
    )?;
    for m in &c.first {
        let ulp = m.ulp.map_or("-".to_owned(), |ulp| format!("{ulp:+}"));
        writeln!(
            out,
            "  {:<index_width$}  0x{}  0x{}  0x{}  {ulp:>10}  {} -> {}",
            format!("{:?}", m.index),
            m.reproduced,
            m.given,
            m.xor,
            m.reproduced_value,
            m.given_value
        )?;
    }
    let hidden = c.mismatches - c.first.len() as u64;
    if hidden > 0 {
        let text = format!("  ... and {} more (--max-mismatches)", grouped(hidden));
        writeln!(out, "{QUIET}{text}{QUIET:#}")?;
    }
    Ok(())
}

fn histogram(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let most = c.histogram.iter().map(|b| b.count).max().unwrap_or(0);
    for (i, bucket) in c.histogram.iter().enumerate() {
        let range = match (bucket.from, bucket.to) {
            (from, to) if from == to => format!("{from}"),
            (from, to) => format!("{from} to {to}"),
        };
        let bar = "#".repeat((bucket.count * 30).div_ceil(most) as usize);
        let label = if i == 0 { "ulps" } else { "" };
        row(
            out,
            label,
            &format!("{range:>24}  {:>12}  {bar}", grouped(bucket.count)),
        )?;
    }
    Ok(())
}

fn digests(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n  SHA-256")?;
    row(out, "  model", &report.model.sha256)?;
    if let Some(schedule) = &report.schedule {
        row(out, "  recipe", &schedule.sha256)?;
    }
    for (name, input) in report.inputs.named() {
        let about = format!(
            "{} ({}, {}, {})",
            input.path,
            input.format,
            shape_text(&input.shape),
            input.descr
        );
        row(
            out,
            &format!("  {name} file"),
            &format!("{}  {about}", input.file_sha256),
        )?;
        row(out, &format!("  {name} data"), &input.payload_sha256)?;
    }
    if let Outcome::Digest {
        expected_payload_sha256,
    } = &report.outcome
    {
        row(out, "  wanted", expected_payload_sha256)?;
    }
    let reproduced = &report.reproduced;
    let about = match (&reproduced.payload_sha256, &reproduced.sample) {
        (Some(sha256), _) => format!(
            "{sha256}  reproduced D ({}, {})",
            reproduced.format,
            shape_text(&reproduced.shape)
        ),
        (None, Some(sample)) => format!(
            "{}  {} reproduced elements ({})",
            sample.sha256,
            grouped(sample.elements),
            reproduced.format
        ),
        (None, None) => return Ok(()),
    };
    row(out, "  replay", &about)
}

/// `3 of 32 lanes: lane 5 1,204, lane 9 12, ...`, if D is tiled plainly.
fn touched(units: &Units) -> String {
    const LISTED: usize = 4;
    let mut touched: Vec<_> = units
        .counts
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .collect();
    let (count, all) = (touched.len(), units.counts.len());
    let [m, n] = units.layout.tile();
    let unit = units.unit;
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

fn sampled(sample: &Sampled, out: &mut dyn Write) -> io::Result<()> {
    let [rows, columns] = [sample.rows, sample.columns];
    let seed = sample
        .seed
        .map_or(String::new(), |seed| format!(", seed {seed}"));
    row(
        out,
        "sample",
        &format!(
            "{CAUTION}{} of {} elements (rows {} to {}, columns {} to {}){seed}{CAUTION:#}",
            grouped(sample.elements),
            grouped(sample.population),
            rows[0],
            rows[1] - 1,
            columns[0],
            columns[1] - 1
        ),
    )?;
    let percent = |probability: f64| format!("{:.4} %", 100.0 * probability);
    let missed = sample.missed.iter().take_while(|m| m.probability >= 0.01);
    let missed: Vec<_> = missed
        .map(|m| format!("{} {}", grouped(m.tampered), percent(m.probability)))
        .collect();
    if !missed.is_empty() {
        let text = format!("misses tampered elements: {}", missed.join(", "));
        row(out, "", &text)?;
    }
    let caught = format!(
        "catches {} or more tampered elements with 99 % at least",
        grouped(sample.caught_99_percent)
    );
    row(out, "", &caught)
}

fn row(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {QUIET}{label:<10}{QUIET:#}{text}")
}

/// `1234567` as `1,234,567`.
fn grouped(n: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }
}
