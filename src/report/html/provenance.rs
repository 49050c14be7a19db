//! What judged, what was judged, and how to check it.

use std::io::{self, Write};

use super::facts::{Row, card, constants, digest, fact, judged, proven, sources};
use super::markup::{escaped, section};
use crate::emu::shape_text;
use crate::report::words::{chosen, discrimination, evidence, proves};
use crate::report::{Factor, KernelWords, Report, Scheduled};
use crate::role::Role;

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let told = discrimination(report);
    proven(
        [Some(proves(report)), told.as_deref()],
        report.command.as_deref(),
        out,
    )?;
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
        let given = report.inputs.get(&Role::D).map(|d| &d.payload_sha256);
        if given == Some(sha256) {
            fact("", "the same digest as the data of D", out)?;
        }
    }
    judged(&report.outcome, reproduced.sample.as_ref(), "D", out)?;
    out.write_all(b"</dl>\n")
}
