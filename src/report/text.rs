//! The report for people.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::lines::wrapped;
use super::words::{
    chosen, classes, discrimination, evidence, grouped, model_line, nothing, product_line, proves,
    range, sentence, title, touched,
};
use super::{Cause, Comparison, Exporter, KernelWords, Outcome, Report, Sampled, Tool, Verdict};
use crate::emu::{Evidence, shape_text};
use crate::io::escaped;
use crate::num::Format;

/// Text with colours; whoever owns the stream strips them where they are not wanted. A line is as long as
/// what it says.
pub struct Text;

/// The same in so many columns: sentences go on under themselves. What is to be copied, commands and
/// digests, stays in one piece.
pub struct TextWithin(pub usize);

const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Good as far as it goes.
const PART: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const CAUTION: Style = AnsiColor::Yellow.on_default();
const QUIET: Style = Style::new().dimmed();

/// Fewer columns hold no sentence.
const LEAST: usize = 40;

/// Where the text of a row begins.
const INDENT: usize = 12;

/// Columns of the longest bar.
const BAR: usize = 30;

/// What is written to, and how wide it is.
pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
    width: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn Write, width: usize) -> Page<'a> {
        Page {
            out,
            width: width.max(LEAST),
        }
    }

    pub(super) fn write_fmt(&mut self, text: std::fmt::Arguments) -> io::Result<()> {
        self.out.write_fmt(text)
    }
}

impl Report {
    /// The report for people, without colours.
    pub fn text(&self) -> String {
        self.text_within(usize::MAX)
    }

    /// The same in so many columns.
    pub fn text_within(&self, width: usize) -> String {
        let mut text = Vec::new();
        let written = TextWithin(width).export(self, &mut text);
        written.expect("memory takes everything");
        String::from_utf8_lossy(&strip_ansi_escapes::strip(text)).into_owned()
    }
}

impl Report {
    /// The verdict in one line, with its model and how that is known.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn brief(&self, out: &mut dyn Write) -> io::Result<()> {
        let by = format!("{} ({})", model_line(self), self.model.evidence);
        briefly(self.verdict, (&title(self), &sentence(self), &by), out)
    }
}

/// Title, sentence and rule in one line.
pub(super) fn briefly(
    verdict: Verdict,
    (title, sentence, by): (&str, &str, &str),
    out: &mut dyn Write,
) -> io::Result<()> {
    let style = verdict_style(verdict);
    let (word, rest) = title.split_at(verdict.title().len());
    let (word, said) = (word.to_uppercase(), format!("{sentence}; {by}"));
    writeln!(out, "{style}{word}{rest}{style:#}  {}", escaped(&said))
}

fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Identical => GOOD,
        Verdict::IdenticalInPart => PART,
        Verdict::Different => BAD,
    }
}

impl Exporter for Text {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        TextWithin(usize::MAX).export(report, out)
    }
}

impl Exporter for TextWithin {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let out = &mut Page::new(out, self.0);
        headline(report.verdict, &title(report), &sentence(report), out)?;
        model(report, out)?;
        schedule(report, out)?;
        product(report, out)?;
        if let Outcome::Elements { comparison, .. } = &report.outcome
            && comparison.mismatches > 0
        {
            let found = (report.causes.as_slice(), report.tried.as_slice());
            differences(report.reproduced.format, found, comparison, out)?;
        }
        if let Some(text) = discrimination(report) {
            let told = report.discrimination.as_ref();
            let style = match told.is_some_and(|found| found.same.is_empty()) {
                true => Style::new(),
                false => CAUTION,
            };
            styled(out, "alike", style, &text)?;
        }
        digests(report, out)?;
        let command = report.command.as_deref();
        again(&report.tool, command, proves(report), out)
    }
}

/// How to repeat it, and what it proves.
pub(super) fn again(
    Tool { name, version }: &Tool,
    command: Option<&str>,
    proves: &str,
    out: &mut Page,
) -> io::Result<()> {
    writeln!(out)?;
    if let Some(command) = command {
        whole(out, "repeat", command)?;
    }
    row(out, "by", &format!("{name} {version}"))?;
    writeln!(out)?;
    for line in wrapped(proves, out.width.saturating_sub(2)) {
        writeln!(out, "  {QUIET}{line}{QUIET:#}")?;
    }
    Ok(())
}

pub(super) fn headline(
    verdict: Verdict,
    title: &str,
    sentence: &str,
    out: &mut Page,
) -> io::Result<()> {
    let style = verdict_style(verdict);
    let (word, rest) = title.split_at(verdict.title().len());
    let head = format!("{}{rest}", word.to_uppercase());
    // A head that leaves no room has a line of its own.
    let room = out.width.saturating_sub(head.chars().count() + 2);
    let (first, lines) = match room < LEAST && room < sentence.len() {
        true => ("\n  ", wrapped(sentence, out.width - 2)),
        false => ("  ", wrapped(sentence, room)),
    };
    let indent = match first {
        "  " => head.chars().count() + 2,
        _ => 2,
    };
    writeln!(
        out,
        "{style}{head}{style:#}{first}{}\n",
        lines.join(&format!("\n{:indent$}", ""))
    )
}

fn model(report: &Report, out: &mut Page) -> io::Result<()> {
    let model = &report.model;
    row(out, "model", &model_line(report))?;
    row(out, "", &model.summary)?;
    if let Some(chosen) = chosen(report) {
        styled(out, "chosen", CAUTION, &chosen)?;
    }
    let style = match model.evidence {
        Evidence::Captured => Style::new(),
        _ => CAUTION,
    };
    styled(out, "evidence", style, &evidence(model))?;
    if let Some(note) = &model.note {
        row(out, "", note)?;
    }
    Ok(())
}

fn schedule(report: &Report, out: &mut Page) -> io::Result<()> {
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
        if let Some(repeated) = factors.repeated() {
            row(out, "", &repeated)?;
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
fn said(kernel: &KernelWords, out: &mut Page) -> io::Result<()> {
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

fn product(report: &Report, out: &mut Page) -> io::Result<()> {
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

pub(super) fn differences(
    format: Format,
    (causes, tried): (&[Cause], &[Cow<'static, str>]),
    c: &Comparison,
    out: &mut Page,
) -> io::Result<()> {
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
    for cause in causes {
        row(out, "cause", &cause.sentence)?;
        if let Some(command) = &cause.command {
            whole(out, "", command)?;
        }
    }
    if !tried.is_empty() {
        row(out, "no cause", &nothing(tried))?;
    }
    if c.first.is_empty() {
        return Ok(());
    }

    listed(c, 2 + 2 * format.bytes(), out)?;
    let hidden = c.mismatches - c.first.len() as u64;
    if hidden > 0 {
        let text = format!("  ... and {} more (--max-mismatches)", grouped(hidden));
        writeln!(out, "{QUIET}{text}{QUIET:#}")?;
    }
    Ok(())
}

/// The first mismatches: a line each, or two where one is too long. A code has so many columns.
fn listed(c: &Comparison, width: usize, out: &mut Page) -> io::Result<()> {
    let rows = c.first.iter().map(|m| {
        let ulp = m.ulp.map_or("-".to_owned(), |ulp| format!("{ulp:+}"));
        let values = format!("{} -> {}", m.reproduced_value, m.given_value);
        (format!("{:?}", m.index), m, ulp, values)
    });
    let rows: Vec<_> = rows.collect();
    let index_width = rows.iter().map(|(index, ..)| index.len()).max();
    let index_width = index_width.unwrap_or(0).max(5);
    let values_width = rows.iter().map(|(.., values)| values.len()).max();
    let one_line = 2 + index_width + 3 * (2 + width) + 2 + 10 + 2 + values_width.unwrap_or(0);
    let narrow = one_line > out.width;
    let last = match narrow {
        true => format!("\n  {:index_width$}  values", ""),
        false => "         ulp  values".to_owned(),
    };
    writeln!(
        out,
        "\n  {:<index_width$}  {:<width$}  {:<width$}  {:<width$}{last}",
        "index", "reproduced", "given", "xor"
    )?;
    for (index, m, ulp, values) in &rows {
        let last = match narrow {
            true => format!("\n  {:index_width$}  {values}, {ulp} ulp", ""),
            false => format!("  {ulp:>10}  {values}"),
        };
        writeln!(
            out,
            "  {index:<index_width$}  0x{}  0x{}  0x{}{last}",
            m.reproduced, m.given, m.xor
        )?;
    }
    Ok(())
}

fn histogram(c: &Comparison, out: &mut Page) -> io::Result<()> {
    let rows = c.histogram.iter();
    let rows: Vec<_> = rows
        .map(|bucket| (range(bucket), grouped(bucket.count), bucket.count))
        .collect();
    let most = rows.iter().map(|(_, _, count)| *count).max().unwrap_or(0);
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let ranges = widest(&mut rows.iter().map(|(range, _, _)| range.len()));
    let counts = widest(&mut rows.iter().map(|(_, count, _)| count.len()));
    let room = out.width.saturating_sub(INDENT + ranges + counts + 4);
    let longest = room.clamp(1, BAR) as u64;
    for (i, (range, count, number)) in rows.iter().enumerate() {
        let bar =
            "#".repeat((u128::from(*number) * u128::from(longest)).div_ceil(most.into()) as usize);
        let label = if i == 0 { "ulps" } else { "" };
        whole(
            out,
            label,
            &format!("{range:>ranges$}  {count:>counts$}  {bar}"),
        )?;
    }
    Ok(())
}

fn digests(report: &Report, out: &mut Page) -> io::Result<()> {
    writeln!(out, "\n  SHA-256")?;
    digest(out, "  model", &report.model.sha256, "")?;
    if let Some(schedule) = &report.schedule {
        digest(out, "  spec", &schedule.sha256, "")?;
    }
    if let Some(commitment) = &report.commitment {
        digest(out, "  commit", &commitment.file_sha256, &commitment.path)?;
    }
    for (name, input) in report.inputs.named() {
        let about = format!(
            "{} ({}, {}, {})",
            input.path,
            input.format,
            shape_text(&input.shape),
            input.descr
        );
        digest(out, &format!("  {name} file"), &input.file_sha256, &about)?;
        digest(out, &format!("  {name} data"), &input.payload_sha256, "")?;
    }
    if let Outcome::Digest {
        expected_payload_sha256,
    } = &report.outcome
    {
        digest(out, "  wanted", expected_payload_sha256, "")?;
    }
    let reproduced = &report.reproduced;
    if let Some(tree) = &reproduced.tree {
        let about = format!(
            "root of the reproduced D in blocks of {} rows ({}, {})",
            tree.block_rows,
            reproduced.format,
            shape_text(&reproduced.shape)
        );
        return digest(out, "  root", &tree.root, &about);
    }
    let (sha256, about) = match (&reproduced.payload_sha256, &reproduced.sample) {
        (Some(sha256), _) => {
            let shape = shape_text(&reproduced.shape);
            let about = format!("reproduced D ({}, {shape})", reproduced.format);
            (sha256, about)
        }
        (None, Some(sample)) => {
            let count = grouped(sample.elements);
            let about = format!("{count} reproduced elements ({})", reproduced.format);
            (&sample.sha256, about)
        }
        (None, None) => return Ok(()),
    };
    digest(out, "  replay", sha256, &about)
}

/// A digest and what it is of, on a line of its own where one is too short.
pub(super) fn digest(out: &mut Page, label: &str, sha256: &str, about: &str) -> io::Result<()> {
    if about.is_empty() {
        return whole(out, label, sha256);
    }
    let line = format!("{sha256}  {about}");
    if INDENT + escaped(&line).chars().count() <= out.width {
        return whole(out, label, &line);
    }
    whole(out, label, sha256)?;
    row(out, "", about)
}

pub(super) fn sampled(sample: &Sampled, out: &mut Page) -> io::Result<()> {
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
        &format!("{} ({}){seed}", sample.compared(), sample.place()),
    )?;
    if let Some(from) = &sample.seed_from {
        let text = format!("the seed begins {}", from.draw_sha256);
        row(out, "", &text)?;
        row(
            out,
            "",
            &format!("of commitment {}", from.commitment_sha256),
        )?;
        row(out, "", &format!("and beacon {}", from.beacon))?;
    }
    if let Some(assumes) = &sample.assumes {
        row(out, "", &format!("if {assumes}:"))?;
    }
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

pub(super) fn row(out: &mut Page, label: &str, text: &str) -> io::Result<()> {
    styled(out, label, Style::new(), text)
}

/// No line ends within what the text holds: much of it comes from files and names.
pub(super) fn styled(out: &mut Page, label: &str, style: Style, text: &str) -> io::Result<()> {
    let text = escaped(text);
    // A label that fills its column still ends before the text.
    let room = out.width.saturating_sub(INDENT);
    for (i, line) in wrapped(&text, room).into_iter().enumerate() {
        let label = if i == 0 { label } else { "" };
        writeln!(out, "  {QUIET}{label:<9}{QUIET:#} {style}{line}{style:#}")?;
    }
    Ok(())
}

/// One line, however long: what is to be copied.
fn whole(out: &mut Page, label: &str, text: &str) -> io::Result<()> {
    let text = escaped(text);
    writeln!(out, "  {QUIET}{label:<9}{QUIET:#} {text}")
}
