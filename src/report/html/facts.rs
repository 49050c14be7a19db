//! What pages on products and on operations say in the same way.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::markup::{escaped, section};
use crate::emu::shape_text;
use crate::report::words::grouped;
use crate::report::{Input, Outcome, Sampled};

/// What a verdict proves, in paragraphs, and the command that asks for it again.
pub(super) fn proven<'a>(
    said: impl IntoIterator<Item = Option<&'a str>>,
    command: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    section("proves", "What this proves", out, |out| {
        for text in said.into_iter().flatten() {
            writeln!(out, "<p>{}</p>", escaped(text))?;
        }
        match command {
            Some(command) => writeln!(
                out,
                "<p class=\"hint\">The same again:</p><pre class=\"command\" tabindex=\"0\">{}</pre>",
                escaped(command)
            ),
            None => Ok(()),
        }
    })
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

fn policy(name: &str, any: &str, exact: &str) -> String {
    format!("{name}: {}", if name == "any" { any } else { exact })
}

/// Which bits need not agree.
fn forgiven(nan: &str, zero: &str, out: &mut dyn Write) -> io::Result<()> {
    fact(
        "NaN",
        &policy(nan, "any NaN counts as any other", "every bit counts"),
        out,
    )?;
    fact(
        "Zero",
        &policy(zero, "either zero counts as the other", "signs count"),
        out,
    )
}

/// The part that was compared of a result, and what that proves.
fn sampled(sample: &Sampled, result: &str, out: &mut dyn Write) -> io::Result<()> {
    let seed = sample
        .seed
        .map_or(String::new(), |seed| format!(", drawn with seed {seed}"));
    let text = format!(
        "{} of {}{seed}. The rest of {result} was not looked at.",
        sample.compared(),
        sample.place()
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

/// What was given as a digest or forgiven, and the part that was compared.
pub(super) fn judged(
    outcome: &Outcome,
    sample: Option<&Sampled>,
    result: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    match outcome {
        Outcome::Digest {
            expected_payload_sha256,
        } => digest("Wanted", expected_payload_sha256, out)?,
        Outcome::Elements { nan, zero, .. } => forgiven(nan, zero, out)?,
    }
    sample.map_or(Ok(()), |sample| sampled(sample, result, out))
}
