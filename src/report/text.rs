//! The report for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::words::{
    classes, evidence, grouped, model_line, nothing, product_line, proves, range, sentence, title,
    touched,
};
use super::{Comparison, Exporter, KernelWords, Outcome, Report, Sampled, Tool, Verdict};
use crate::emu::{Evidence, shape_text};
use crate::io::escaped;

/// Text with colours; whoever owns the stream strips them where they are not wanted.
pub struct Text;

const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Good as far as it goes.
const PART: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default();
const QUIET: Style = Style::new().dimmed();

impl Report {
    /// The report for people, without colours.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        let written = Text.export(self, &mut text);
        written.expect("memory takes everything");
        String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned()
    }
}

impl Exporter for Text {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        headline(report, out)?;
        model(report, out)?;
        schedule(report, out)?;
        product(report, out)?;
        if let Outcome::Elements { comparison, .. } = &report.outcome
            && comparison.mismatches > 0
        {
            differences(report, comparison, out)?;
        }
        digests(report, out)?;
        again(report, out)
    }
}

/// How to repeat it, and what it proves.
fn again(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Tool { name, version } = &report.tool;
    writeln!(out)?;
    if let Some(command) = &report.command {
        row(out, "repeat", command)?;
    }
    row(out, "by", &format!("{name} {version}"))?;
    writeln!(out, "\n  {QUIET}{}{QUIET:#}", proves(report))
}

fn headline(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let style = match report.verdict {
        Verdict::Identical => GOOD,
        Verdict::IdenticalInPart => PART,
        Verdict::Different => BAD,
    };
    let title = title(report);
    let (word, rest) = title.split_at(report.verdict.title().len());
    let (word, sentence) = (word.to_uppercase(), sentence(report));
    writeln!(out, "{style}{word}{rest}{style:#}  {sentence}\n")
}

fn model(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let model = &report.model;
    row(out, "model", &model_line(report))?;
    row(out, "", &model.summary)?;
    let style = match model.evidence {
        Evidence::Hardware => Style::new(),
        _ => CAUTION,
    };
    styled(out, "evidence", style, &evidence(model))?;
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
    for [first, end] in &schedule.omitted_k {
        let last = end - 1;
        let text = format!("leaves out k {first} to {last}: D is no product of all of A and B");
        styled(out, "", CAUTION, &text)?;
    }
    if let Some(factors) = &schedule.factors {
        let (alpha, beta) = (&factors.alpha.value, &factors.beta.value);
        if [alpha, beta].iter().any(|value| *value != "1") {
            row(out, "", &format!("alpha = {alpha}, beta = {beta}"))?;
        }
        if let Some(scale) = &factors.scale_result {
            row(out, "", &format!("results times {}", scale.value))?;
        }
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
        "{}{given}; a D that agrees confirms it, one that differs may have another",
        schedule.evidence
    );
    styled(out, "", CAUTION, &text)?;
    match &schedule.kernel {
        Some(kernel) => said(kernel, out),
        None => Ok(()),
    }
}

/// What a library says of the kernel.
fn said(kernel: &KernelWords, out: &mut dyn Write) -> io::Result<()> {
    let place = kernel.place.as_ref().or(kernel.text.as_ref());
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    row(out, "kernel", &format!("{}{place}", kernel.kind))?;
    row(out, "", &format!("{}: {}", kernel.family, kernel.order))?;
    for (how, what) in kernel.lines() {
        let style = match how {
            "assumed" | "UNKNOWN" => CAUTION,
            _ => QUIET,
        };
        styled(out, "", style, &format!("{how}: {what}"))?;
    }
    match &kernel.defect {
        Some(defect) => styled(out, "defect", CAUTION, defect),
        None => Ok(()),
    }
}

fn product(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    row(out, "product", &product_line(report))?;
    if let Some(sample) = &report.reproduced.sample {
        sampled(sample, out)?;
    }
    for (name, input) in report.inputs.named() {
        if let Some(bits) = &input.tf32_low_bits
            && bits.elements > 0
        {
            let (style, done) = match bits.treatment.as_str() {
                "nearest" => (CAUTION, "rounded to TF32 (nearest, ties away)"),
                "parts" => (QUIET, "multiplied as a second part (see schedule)"),
                _ => (CAUTION, "ignored by the unit (low 13 bits of the register)"),
            };
            let text = format!(
                "{} elements of {name} had more bits than TF32: {done}",
                grouped(bits.elements as u64)
            );
            styled(out, "tf32", style, &text)?;
        }
    }
    Ok(())
}

fn differences(report: &Report, c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let format = report.reproduced.format;
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
    let kinds: Vec<_> = classes(c)
        .iter()
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    row(out, "how", &kinds.join(", "))?;
    if let Some(largest) = &c.largest {
        let text = format!("{:+} ulp at {:?}", largest.ulp, largest.index);
        row(out, "largest", &text)?;
    }
    histogram(c, out)?;
    for cause in &report.causes {
        row(out, "cause", &cause.sentence)?;
        if let Some(command) = &cause.command {
            row(out, "", command)?;
        }
    }
    if !report.tried.is_empty() {
        row(out, "no cause", &nothing(&report.tried))?;
    }
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
        let range = range(bucket);
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
        row(out, "  spec", &schedule.sha256)?;
    }
    if let Some(commitment) = &report.commitment {
        let about = format!("{}  {}", commitment.file_sha256, commitment.path);
        row(out, "  commit", &about)?;
    }
    for (name, input) in report.inputs.named() {
        let about = format!(
            "{} ({}, {}, {})",
            input.path,
            input.format,
            shape_text(&input.shape),
            input.descr
        );
        let file = format!("{}  {about}", input.file_sha256);
        row(out, &format!("  {name} file"), &file)?;
        row(out, &format!("  {name} data"), &input.payload_sha256)?;
    }
    if let Outcome::Digest {
        expected_payload_sha256,
    } = &report.outcome
    {
        row(out, "  wanted", expected_payload_sha256)?;
    }
    let reproduced = &report.reproduced;
    if let Some(tree) = &reproduced.tree {
        let about = format!(
            "{}  root of the reproduced D in blocks of {} rows ({}, {})",
            tree.root,
            tree.block_rows,
            reproduced.format,
            shape_text(&reproduced.shape)
        );
        return row(out, "  root", &about);
    }
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

fn sampled(sample: &Sampled, out: &mut dyn Write) -> io::Result<()> {
    let [rows, columns] = [sample.rows, sample.columns];
    let seed = sample
        .seed
        .map_or(String::new(), |seed| format!(", seed {seed}"));
    styled(
        out,
        if sample.seed.is_some() {
            "sample"
        } else {
            "part"
        },
        CAUTION,
        &format!(
            "{} of {} elements (rows {} to {}, columns {} to {}){seed}",
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
    match sample.caught_99_percent {
        Some(caught) => {
            let caught = grouped(caught);
            let text = format!("catches {caught} or more tampered elements with 99 % at least");
            row(out, "", &text)
        }
        None => Ok(()),
    }
}

fn row(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    styled(out, label, Style::new(), text)
}

/// One line, whatever the text holds: much of it comes from files and names.
fn styled(out: &mut dyn Write, label: &str, style: Style, text: &str) -> io::Result<()> {
    let text = escaped(text);
    // A label that fills its column still ends before the text.
    writeln!(out, "  {QUIET}{label:<9}{QUIET:#} {style}{text}{style:#}")
}
