//! The explanation for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::chain_text::{CAUTION, QUIET, STRONG, entries, exactly, row, shown};
use super::document::Explanation;
use super::kernel_text::events;
use crate::diagnose::Search;
use crate::emu::shape_text;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
/// Writes it with colours; whoever owns the stream strips them where they are not wanted.
///
/// # Errors
/// Those of the writer.
pub fn write(explanation: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    header(explanation, out)?;
    if let Some(search) = &explanation.search {
        suppositions(search, out)?;
    }
    if let Some(kernel) = &explanation.kernel {
        return events(explanation, kernel, out);
    }
    entries(explanation, &explanation.chain, out)
}

fn header(e: &Explanation, out: &mut dyn Write) -> io::Result<()> {
    let reproduced = e.converted.unwrap_or(e.computed);
    let index = format!("D{:?}", e.index);
    match &e.given {
        None => writeln!(out, "{STRONG}COMPUTED{STRONG:#}  {index}\n")?,
        Some(given) if given.same => {
            writeln!(
                out,
                "{GOOD}IDENTICAL{GOOD:#}  {index} equals the model's result\n"
            )?;
        }
        Some(_) => {
            writeln!(
                out,
                "{BAD}DIFFERENT{BAD:#}  {index} differs from the model's result\n"
            )?;
        }
    }
    let model = &e.model;
    let arithmetic = &model.arithmetic;
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
            "{} {}, {}*{}{scale}{addend} -> {}",
            model.architecture,
            model.instruction,
            arithmetic.a,
            arithmetic.b,
            arithmetic.accumulator
        ),
    )?;
    row(out, "", &model.summary)?;
    if let Some(kernel) = &e.kernel {
        let schedule = &kernel.schedule;
        row(
            out,
            "schedule",
            &format!("{}: {}", schedule.name, schedule.title),
        )?;
        row(out, "", &schedule.summary)?;
        for [first, end] in &schedule.omitted_k {
            let last = end - 1;
            let text = format!("omits k {first} to {last}: D is not the product of all of A and B");
            row(out, "", &format!("{CAUTION}{text}{CAUTION:#}"))?;
        }
        if let Some(said) = &schedule.kernel {
            let place = said.place.as_ref().or(said.text.as_ref());
            let place = place.map_or(String::new(), |place| format!(" ({place})"));
            row(out, "kernel", &format!("{}{place}", said.kind))?;
            for (how, what) in said.lines() {
                row(out, "", &format!("{QUIET}{how}: {what}{QUIET:#}"))?;
            }
            if let Some(defect) = &said.defect {
                row(out, "defect", &format!("{CAUTION}{defect}{CAUTION:#}"))?;
            }
        }
    }
    let p = &e.product;
    let mut shape = p.batch.clone();
    shape.extend([p.m, p.n]);
    let steps = match e.steps {
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    };
    let element = format!(
        "{:?} of {}, K = {} in {steps}",
        e.index,
        shape_text(&shape),
        p.k
    );
    row(out, "element", &element)?;
    if let Some(place) = &e.place {
        row(out, "", &format!("{place}, if the kernel tiles D plainly"))?;
    }
    row(out, "C", &shown(&e.c))?;
    row(out, "computed", &exactly(&e.computed))?;
    if let Some(converted) = &e.converted {
        let text = format!("{}  rounded RNE to {}", shown(converted), converted.format);
        row(out, "", &text)?;
    }
    if let Some(given) = &e.given {
        let away = match given.ulp {
            _ if given.same => "the same bits".to_owned(),
            Some(ulp) => format!("{ulp:+} ulp"),
            None => format!("bits 0x{:x} differ", given.number.code ^ reproduced.code),
        };
        row(out, "given", &format!("{}  {away}", exactly(&given.number)))?;
    }
    if let Some(chain) = &e.ieee_chain {
        let text = format!(
            "{}  chain of IEEE multiply-adds, k ascending, RNE",
            shown(chain)
        );
        row(out, "IEEE", &text)?;
    }
    let Some(exact) = &e.exact else {
        return Ok(());
    };
    row(out, "exact", &exact.value.to_string())?;
    if let Some(rounded) = &exact.rounded
        && !rounded.format.is_integer()
    {
        row(out, "", &format!("{}  rounded once, RNE", shown(rounded)))?;
    }
    Ok(())
}

fn suppositions(search: &Search, out: &mut dyn Write) -> io::Result<()> {
    let [heading, caution] = match search.found.is_empty() {
        true => ["No hypothesis tried gives exactly this D", ""],
        false => [
            "These give exactly this D",
            " (a hint only: one element proves little)",
        ],
    };
    writeln!(out, "\n  {STRONG}{heading}{STRONG:#}{caution}")?;
    for found in &search.found {
        writeln!(out, "  {CAUTION}*{CAUTION:#} {}", found.text)?;
    }
    if search.found.is_empty() {
        let tried = search.tried.join(", ");
        writeln!(out, "  tried: {tried}")?;
    }
    for skipped in &search.skipped {
        writeln!(out, "  {QUIET}not tried: {skipped}{QUIET:#}")?;
    }
    Ok(())
}
