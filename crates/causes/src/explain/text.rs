//! The explanation for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::chain_text::{CAUTION, QUIET, STRONG, entries, exactly, row, shown, signed};
use super::document::{Explanation, KernelTrace};
use super::kernel::{Chain, Event, Operation};
use super::{Dyadic, Number};
use crate::diagnose::Search;
use crate::emu::shape_text;
use crate::forms::InWords as _;
use crate::forms::view::{kernel_lines, model_line};
use crate::num::Format;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Writes it with colours; whoever owns the stream strips them where they are not wanted.
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
    let (style, verdict, comparison) = match &e.given {
        None => (STRONG, "COMPUTED", ""),
        Some(given) if given.same => (GOOD, "IDENTICAL", " equals the model's result"),
        Some(_) => (BAD, "DIFFERENT", " differs from the model's result"),
    };
    writeln!(out, "{style}{verdict}{style:#}  {index}{comparison}\n")?;
    let model = &e.model;
    row(out, "model", &model_line(model, None))?;
    row(out, "", &model.summary)?;
    if let Some(kernel) = &e.kernel {
        let schedule = &kernel.schedule;
        row(
            out,
            "schedule",
            &format!("{}: {}", schedule.name, schedule.title),
        )?;
        row(out, "", &schedule.spec.in_words())?;
        for [first, end] in &schedule.omitted_k {
            let last = end - 1;
            let text = format!("omits k {first} to {last}: D is not the product of all of A and B");
            row(out, "", &format!("{CAUTION}{text}{CAUTION:#}"))?;
        }
        if let Some(kernel_text) = &schedule.kernel {
            let place = kernel_text.place.as_ref().or(kernel_text.text.as_ref());
            let place = place.map_or(String::new(), |place| format!(" ({place})"));
            row(out, "kernel", &format!("{}{place}", kernel_text.kind))?;
            for (how, what) in kernel_lines(kernel_text) {
                row(out, "", &format!("{QUIET}{how}: {what}{QUIET:#}"))?;
            }
            if let Some(defect) = &kernel_text.defect {
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
    let [heading, caution] = if search.found.is_empty() {
        ["No hypothesis tried gives exactly this D", ""]
    } else {
        [
            "These give exactly this D",
            " (a hint only: one element proves little)",
        ]
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
        writeln!(out, "  {QUIET}not decided: {skipped}{QUIET:#}")?;
    }
    Ok(())
}

/// Operations that are all shown; of more, the first and the last ones.
const MAX_EVENTS: usize = 400;

fn events(e: &Explanation, kernel: &KernelTrace, out: &mut dyn Write) -> io::Result<()> {
    let events = &kernel.events;
    for (i, event) in events.iter().enumerate() {
        let hidden = events.len() > MAX_EVENTS
            && (MAX_EVENTS / 2..events.len() - MAX_EVENTS / 2).contains(&i);
        if hidden {
            if i == MAX_EVENTS / 2 {
                let count = events.len() - MAX_EVENTS;
                writeln!(
                    out,
                    "\n  {QUIET}... {count} more (the JSON has all){QUIET:#}"
                )?;
            }
            continue;
        }
        match event {
            Event::Partial { index, count } => {
                writeln!(out, "\n{STRONG}partial sum {index} of {count}{STRONG:#}")?;
            }
            Event::Chain(chain) => self::chain(e, chain, out)?,
            Event::Operation(operation) => self::operation(operation, out)?,
            Event::Rounded { from, to, off } => writeln!(
                out,
                "  {:<12} {} to {}  ->  {}{}",
                "rounded",
                from.decimal(),
                to.format,
                shown(to),
                loss(off, "")
            )?,
        }
    }
    writeln!(out, "\n  D  {}", exactly(&e.computed))
}

fn chain(e: &Explanation, chain: &Chain, out: &mut dyn Write) -> io::Result<()> {
    let steps = match chain.steps {
        None => "no products".to_owned(),
        Some([first, last]) if first == last => format!("step {first}"),
        Some([first, last]) => format!("steps {first} to {last}"),
    };
    write!(
        out,
        "\n{STRONG}chain{STRONG:#} over {} ({steps})",
        chain.products
    )?;
    if chain.start.code != 0 {
        write!(out, " from {}", shown(&chain.start))?;
    }
    writeln!(out, "  ->  {}", exactly(&chain.result))?;
    if chain.first_k.is_none() && !chain.chain.is_empty() {
        writeln!(
            out,
            "  {QUIET}k below counts the products of this chain{QUIET:#}"
        )?;
    }
    entries(e, &chain.chain, out)
}

fn operation(operation: &Operation, out: &mut dyn Write) -> io::Result<()> {
    let numbers: Vec<_> = operation.operands.iter().map(Number::decimal).collect();
    let text = match (operation.operation, numbers.as_slice()) {
        ("mul", [x, y]) => format!("{x} * {y}"),
        ("sub", [x, y]) => format!("{x} - {y}"),
        ("fma", [x, y, z]) => format!("fma({x}, {y}, {z})"),
        ("add", numbers) => numbers.join(" + "),
        (name, numbers) => format!("{name}({})", numbers.join(", ")),
    };
    let how = match operation.result.format {
        Format::Int32 => "modulo 2^32: ",
        _ => "",
    };
    writeln!(
        out,
        "  {:<12} {text}  ->  {}{}",
        operation.stage,
        shown(&operation.result),
        loss(&operation.off, how)
    )
}

/// What an operation lost.
fn loss(off: &Option<Dyadic>, how: &str) -> String {
    match off {
        Some(off) if !off.is_zero() => {
            format!("  {CAUTION}{how}off by {}{CAUTION:#}", signed(off))
        }
        _ => String::new(),
    }
}
