//! What judged, what was judged, and how to check it.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::markup::{escaped, section};
use crate::emu::shape_text;
use crate::report::words::{chosen, discrimination, evidence, grouped, proves};
use crate::report::{Factor, Input, KernelWords, Outcome, Report, Sampled, Scheduled};

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    section("proves", "What this proves", out, |out| {
        writeln!(out, "<p>{}</p>", escaped(proves(report)))?;
        if let Some(text) = discrimination(report) {
            writeln!(out, "<p>{}</p>", escaped(&text))?;
        }
        if let Some(command) = &report.command {
            writeln!(
                out,
                "<p class=\"hint\">The same again:</p><pre class=\"command\" tabindex=\"0\">{}</pre>",
                escaped(command)
            )?;
        }
        Ok(())
    })?;
    section("model", "The model", out, |out| model(report, out))?;
    if let Some(scheduled) = &report.schedule {
        section("schedule", "The kernel's schedule", out, |out| {
            schedule(scheduled, out)
        })?;
    }
    section("inputs", "Inputs", out, |out| inputs(report, out))?;
    section("replay", "The reproduced D", out, |out| {
        reproduced(report, out)
    })
}

fn model(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let model = &report.model;
    write!(
        out,
        "<p>{}</p>\n<dl class=\"facts\">\n",
        escaped(&model.summary)
    )?;
    fact(
        "Architecture",
        &format!("{} ({})", model.title, model.architecture),
        out,
    )?;
    if let Some(chosen) = chosen(report) {
        fact("Chosen", &chosen, out)?;
    }
    fact("Instruction", &model.instruction, out)?;
    fact("Evidence", &evidence(model), out)?;
    if let Some(note) = &model.note {
        fact("Note", note, out)?;
    }
    digest("SHA-256", &model.sha256, out)?;
    out.write_all(b"</dl>\n")?;
    constants(
        model.constants.iter().map(|constant| Row {
            name: &constant.name,
            value: &constant.value,
            tag: constant.evidence.to_string(),
            source: &constant.source,
            note: constant.note.as_deref(),
        }),
        out,
    )?;
    sources(&model.sources, out)
}

/// How the kernel chained the instruction.
fn schedule(schedule: &Scheduled, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<p>{}</p>\n<dl class=\"facts\">\n",
        escaped(&schedule.summary)
    )?;
    let name = format!("{} ({})", schedule.title, schedule.name);
    fact("Schedule", &name, out)?;
    fact("Evidence", &schedule.evidence.to_string(), out)?;
    if let Some(factors) = &schedule.factors {
        let text = |factor: &Factor| format!("{} (0x{})", factor.value, factor.code);
        fact("Alpha", &text(&factors.alpha), out)?;
        fact("Beta", &text(&factors.beta), out)?;
        if let Some(scale) = &factors.scale_result {
            fact("Scale of results", &text(scale), out)?;
        }
        if let Some(repeated) = factors.repeated() {
            fact("Scales", &repeated, out)?;
        }
    }
    for [first, end] in &schedule.omitted_k {
        let last = end - 1;
        let text = format!("k {first} to {last}: D is no product of all of A and B");
        fact("Leaves out", &text, out)?;
    }
    digest("SHA-256", &schedule.sha256, out)?;
    out.write_all(b"</dl>\n")?;
    if let Some(kernel) = &schedule.kernel {
        said(kernel, out)?;
    }
    constants(
        schedule.constants.iter().map(|constant| Row {
            name: &constant.name,
            value: &constant.value,
            tag: constant.evidence.map_or("given".into(), |e| e.to_string()),
            source: &constant.source,
            note: constant.given_by.as_deref().or(constant.note.as_deref()),
        }),
        out,
    )?;
    sources(&schedule.sources, out)
}

/// What the library says of the kernel, and which part of it was stated, given, assumed.
fn said(kernel: &KernelWords, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<dl class=\"facts\">\n")?;
    let place = kernel.place.as_ref().or(kernel.text.as_ref());
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    fact("Kernel", &format!("{}{place}", kernel.kind), out)?;
    let order = format!("{}: {}", kernel.family, kernel.order);
    fact("Order of the sums", &order, out)?;
    for (how, what) in kernel.lines() {
        let mut name = how.to_owned();
        name[..1].make_ascii_uppercase();
        fact(&name, &what, out)?;
    }
    if let Some(defect) = &kernel.defect {
        fact("Defect", defect, out)?;
    }
    out.write_all(b"</dl>\n")
}

/// A constant and how it is known.
pub(super) struct Row<'a> {
    pub name: &'a str,
    pub value: &'a serde_json::Value,
    pub tag: String,
    pub source: &'a [String],
    pub note: Option<&'a str>,
}

pub(super) fn constants<'a>(
    rows: impl Iterator<Item = Row<'a>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Constants\">\n<table class=\"constants\">\
        <caption>Constants, and how each is known</caption>\n<thead><tr><th scope=\"col\">constant</th><th scope=\"col\">value</th>\
        <th scope=\"col\">evidence</th><th scope=\"col\">source</th><th scope=\"col\">note</th></tr></thead>\n<tbody>\n")?;
    for row in rows {
        let value = row.value.to_string();
        writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td><code>{}</code></td><td><span class=\"tag {}\">{}</span></td><td>{}</td><td>{}</td></tr>",
            escaped(row.name),
            escaped(value.trim_matches('"')),
            row.tag,
            row.tag,
            escaped(&row.source.join(", ")),
            escaped(row.note.unwrap_or_default())
        )?;
    }
    out.write_all(b"</tbody></table></div>\n")
}

pub(super) fn sources(sources: &BTreeMap<String, String>, out: &mut dyn Write) -> io::Result<()> {
    if sources.is_empty() {
        return Ok(());
    }
    out.write_all(b"<details><summary>Sources</summary>\n<dl class=\"facts\">\n")?;
    for (key, citation) in sources {
        fact(key, citation, out)?;
    }
    out.write_all(b"</dl></details>\n")
}

pub(super) fn fact(name: &str, value: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<div><dt>{}</dt><dd>{}</dd></div>",
        escaped(name),
        escaped(value)
    )
}

pub(super) fn digest(name: &str, value: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<div><dt>{}</dt><dd><code class=\"digest\">{}</code></dd></div>",
        escaped(name),
        escaped(value)
    )
}

fn inputs(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<div class=\"cards\">\n")?;
    for (name, input) in report.inputs.named() {
        let turned = match name {
            "A" => report.product.transpose_a,
            "B" => report.product.transpose_b,
            _ => false,
        };
        card(name, turned, input, out)?;
    }
    out.write_all(b"</div>\n")?;
    let Some(commitment) = &report.commitment else {
        return Ok(());
    };
    write!(
        out,
        "<h3>Commitment <span class=\"path\">{}</span></h3>\n<p class=\"hint\">Operands, model and D are the committed ones.</p>\n\
         <dl class=\"facts\">\n",
        escaped(&commitment.path)
    )?;
    digest("File", &commitment.file_sha256, out)?;
    digest("Root of D", &commitment.root, out)?;
    out.write_all(b"</dl>\n")
}

/// What is said of one array.
pub(super) fn card(name: &str, turned: bool, input: &Input, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<article><h3>{} <span class=\"path\">{}</span></h3>\n<dl class=\"facts\">\n",
        escaped(name),
        escaped(&input.path)
    )?;
    let order = if input.fortran_order {
        ", Fortran order"
    } else {
        ""
    };
    let turned = if turned { ", taken transposed" } else { "" };
    fact(
        "Contents",
        &format!(
            "{} {}{turned} (stored as {}{order})",
            shape_text(&input.shape),
            input.format,
            input.descr
        ),
        out,
    )?;
    if let Some(bits) = &input.tf32_low_bits
        && bits.elements > 0
    {
        let text = format!(
            "{} elements had bits that {} lacks: {}",
            grouped(bits.elements as u64),
            input.format,
            bits.treatment
        );
        fact("Low bits", &text, out)?;
    }
    digest("File", &input.file_sha256, out)?;
    digest("Data", &input.payload_sha256, out)?;
    out.write_all(b"</dl></article>\n")
}

fn reproduced(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let reproduced = &report.reproduced;
    out.write_all(b"<dl class=\"facts\">\n")?;
    fact(
        "Contents",
        &format!("{} {}", shape_text(&reproduced.shape), reproduced.format),
        out,
    )?;
    if let Some(c) = &reproduced.conversion {
        let text = format!(
            "from {} to {}, {}, once for every element",
            c.from, c.to, c.rounding
        );
        fact("Rounded", &text, out)?;
    }
    if let Some(sha256) = &reproduced.payload_sha256 {
        digest("Data", sha256, out)?;
        let given = report.inputs.d.as_ref().map(|d| &d.payload_sha256);
        if given == Some(sha256) {
            fact("", "the same digest as the data of D", out)?;
        }
    }
    match &report.outcome {
        Outcome::Digest {
            expected_payload_sha256,
        } => digest("Wanted", expected_payload_sha256, out)?,
        Outcome::Elements { nan, zero, .. } => {
            fact(
                "NaN",
                &policy(nan, "any NaN counts as any other", "every bit counts"),
                out,
            )?;
            fact(
                "Zero",
                &policy(zero, "either zero counts as the other", "signs count"),
                out,
            )?;
        }
    }
    if let Some(sample) = &reproduced.sample {
        sampled(sample, out)?;
    }
    out.write_all(b"</dl>\n")
}

fn policy(name: &str, any: &str, exact: &str) -> String {
    format!("{name}: {}", if name == "any" { any } else { exact })
}

fn sampled(sample: &Sampled, out: &mut dyn Write) -> io::Result<()> {
    let ([rows, columns], seed) = ([sample.rows, sample.columns], sample.seed);
    let seed = seed.map_or(String::new(), |seed| format!(", drawn with seed {seed}"));
    let text = format!(
        "{} of {} elements of rows {} to {}, columns {} to {}{seed}. The rest of D was not looked at.",
        grouped(sample.elements),
        grouped(sample.population),
        rows[0],
        rows[1] - 1,
        columns[0],
        columns[1] - 1
    );
    fact("Compared", &text, out)?;
    digest("Their codes", &sample.sha256, out)?;
    if let Some(from) = &sample.seed_from {
        digest("Drawn by commitment", &from.commitment_sha256, out)?;
        fact("And beacon", &from.beacon, out)?;
    }
    match sample.caught_99_percent {
        Some(caught) => {
            let caught = grouped(caught);
            let assumes = sample.assumes.as_deref().unwrap_or_default();
            let text =
                format!("{caught} or more tampered elements with 99 % at least, if {assumes}");
            fact("Catches", &text, out)
        }
        None => Ok(()),
    }
}
