//! Where a row may deviate: single operations whose result, moved to the next number, gives the captured row.

use std::io::{self, Write};

use serde::Serialize;

use crate::ops::BoundOp;
use crate::ops::float32::Event;
use crate::tensor::parallel;

/// What one number more or less in one operation explains.
#[derive(Clone, Debug, Serialize)]
pub struct Deviation {
    /// Elements of the row that differ.
    pub differing: usize,
    /// Operations that were tried, each with the next number away from zero and toward it.
    pub tried: u64,
    /// Operations that were not, for want of time.
    pub untried: u64,
    /// How many of them give the whole captured row.
    pub fit: u64,
    /// The first that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Step>,
}

/// An operation with another result.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Among all operations, counted from 0.
    pub operation: u64,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// As it was computed; absent if it is beyond those that are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    /// The next number away from zero; otherwise toward it.
    pub away_from_zero: bool,
}

/// Operations and products of all trials together.
const BUDGET: u64 = 1 << 31;

/// Tries what could lead to `given`, of a row whose operations are `events`.
pub fn deviation(
    job: &BoundOp,
    row: usize,
    (events, codes): (&[Event], &[u32]),
    given: &[u32],
) -> Deviation {
    let wrong: Vec<usize> = (0..given.len()).filter(|&i| codes[i] != given[i]).collect();
    let (_, count) = job.bumped(row, u64::MAX, true);
    // An operation for one element alone explains no other.
    let only = match wrong[..] {
        [only] => Some(only),
        _ => None,
    };
    let mut columns = events.iter().filter_map(|event| match event {
        Event::Operation { column, .. } => Some(*column),
        _ => None,
    });
    let candidates: Vec<u64> = (0..count)
        .filter(|_| columns.next().flatten().is_none_or(|c| Some(c) == only))
        .collect();
    // A product takes longer than an operation: its operands are gathered.
    let cost = 2 * (count + 2 * job.products()).max(1);
    let most = usize::try_from(BUDGET / cost).unwrap_or(usize::MAX);
    let tried = &candidates[..candidates.len().min(most)];
    let fits = |at: u64, up: bool| job.bumped(row, at, up).0 == given;
    let found = parallel::map(tried.len(), |i| {
        let up = [true, false].into_iter().find(|&up| fits(tried[i], up));
        up.map(|up| (tried[i], up))
    });
    let mut found: Vec<(u64, bool)> = found.into_iter().flatten().collect();
    found.sort_unstable();
    Deviation {
        differing: wrong.len(),
        tried: tried.len() as u64,
        untried: (candidates.len() - tried.len()) as u64,
        fit: found.len() as u64,
        first: found.first().map(|&(at, up)| step(events, at, up)),
    }
}

fn step(events: &[Event], at: u64, away_from_zero: bool) -> Step {
    let (mut stage, mut left) = (None, at);
    for event in events {
        match event {
            Event::Stage { text } => stage = Some(text.clone()),
            Event::Operation { .. } if left == 0 => {
                return Step {
                    operation: at,
                    stage,
                    event: Some(event.clone()),
                    away_from_zero,
                };
            }
            Event::Operation { .. } => left -= 1,
            Event::Value { .. } => {}
        }
    }
    Step {
        operation: at,
        stage: None,
        event: None,
        away_from_zero,
    }
}

impl Deviation {
    /// The text for people.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let tried = crate::forms::grouped(self.tried);
        writeln!(
            out,
            "\n  elements of the row that differ: {}",
            self.differing
        )?;
        let Some(first) = &self.first else {
            writeln!(
                out,
                "  Changing the result of a single operation to the next number never gives the captured row \
                ({tried} were tried)."
            )?;
            return self.rest(out);
        };
        writeln!(
            out,
            "  {} of {tried} operations give the whole captured row if their result is changed to the next number. \
             The first of them:",
            crate::forms::grouped(self.fit)
        )?;
        if let Some(stage) = &first.stage {
            writeln!(out, "  {stage}")?;
        }
        match &first.event {
            Some(event) => line(event, out)?,
            None => writeln!(out, "    operation {}", first.operation)?,
        }
        let toward = if first.away_from_zero {
            "away from"
        } else {
            "toward"
        };
        writeln!(out, "    ... if it were the next number {toward} zero")?;
        self.rest(out)
    }

    fn rest(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.untried {
            0 => Ok(()),
            untried => writeln!(
                out,
                "  {} later operations were not tried: there are too many.",
                crate::forms::grouped(untried)
            ),
        }
    }
}

/// One operation or value.
pub(super) fn line(event: &Event, out: &mut dyn Write) -> io::Result<()> {
    match event {
        Event::Stage { .. } => Ok(()),
        Event::Operation {
            name,
            operands,
            result,
            value,
            ..
        } => {
            let operands = operands.join(" ");
            writeln!(out, "    {name:<14} {operands:<28} = {result}  {value}")
        }
        Event::Value {
            text,
            result,
            value,
            ..
        } => writeln!(out, "    {text:<43} = {result}  {value}"),
    }
}
