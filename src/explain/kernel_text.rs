//! A schedule's chains and operations for people.

use std::io::{self, Write};

use super::chain_text::{CAUTION, QUIET, STRONG, entries, exactly, shown, signed};
use super::document::{Explanation, KernelTrace};
use super::kernel::{Chain, Event, Operation};
use super::{Dyadic, Number};
use crate::num::Format;

/// Operations that are all shown; of more, the first and the last ones.
const MAX_EVENTS: usize = 400;

pub fn events(e: &Explanation, kernel: &KernelTrace, out: &mut dyn Write) -> io::Result<()> {
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
                loss(off)
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
    let loss = match operation.result.format {
        Format::Int32 => wrapped(&operation.off),
        _ => loss(&operation.off),
    };
    writeln!(
        out,
        "  {:<12} {text}  ->  {}{}",
        operation.stage,
        shown(&operation.result),
        loss
    )
}

/// What modulo 2^32 took off an integer.
fn wrapped(off: &Option<Dyadic>) -> String {
    match off {
        Some(off) if !off.is_zero() => {
            format!("  {CAUTION}modulo 2^32: off by {}{CAUTION:#}", signed(off))
        }
        _ => String::new(),
    }
}

fn loss(off: &Option<Dyadic>) -> String {
    match off {
        Some(off) if off.is_zero() => String::new(),
        Some(off) => format!("  {CAUTION}off by {}{CAUTION:#}", signed(off)),
        None => String::new(),
    }
}
