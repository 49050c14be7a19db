//! One row of a result, operation by operation.

use std::io::{self, Write};

use serde::Serialize;

use super::{OperationJudged, PreparedOperation, fail};
use crate::check::error::CheckError;
use crate::emu::shape_text;
use crate::io::escaped;
use crate::num::decimal;
use crate::ops::float32::Event;
use crate::report::{Html, Outcome};

/// How one element comes about: every operation of its row.
#[derive(Clone, Debug, Serialize)]
pub struct OperationExplanation {
    pub schema: &'static str,
    pub operation: String,
    pub variant: String,
    pub about: String,
    pub index: Vec<usize>,
    /// Codes in hexadecimal.
    pub reproduced: String,
    pub reproduced_value: String,
    pub given: Option<String>,
    /// Whether the captured result has these bits.
    pub same: Option<bool>,
    pub events: Vec<Event>,
    /// Operations after those.
    pub not_listed: u64,
}

/// Operations that are listed.
const ROOM: usize = 100_000;
/// Of a stage, for people: so many at its begin and at its end.
const SHOWN: usize = 6;

impl PreparedOperation {
    /// How the row of an element comes about.
    ///
    /// # Errors
    /// If the result has no such element.
    pub fn explain(&self, index: &[usize]) -> Result<OperationExplanation, CheckError> {
        let job = self.job()?;
        let inside =
            index.len() == job.shape.len() && index.iter().zip(&job.shape).all(|(i, n)| i < n);
        if !inside {
            let shape = shape_text(&job.shape);
            let reason = format!("the result is {shape} and has no element {index:?}");
            return Err(fail("y", reason));
        }
        let position = index
            .iter()
            .zip(&job.shape)
            .fold(0, |at, (i, n)| at * n + i);
        let (row, column) = (position / job.columns(), position % job.columns());
        let (events, not_listed, codes) = job.trace(row, ROOM);
        let code = u64::from(codes[column]);
        let width = 2 * job.format.bytes();
        let given = self.y.as_ref().map(|y| {
            let planes = y.tensor.planes();
            planes
                .plane(row / planes.rows())
                .code(row % planes.rows(), column)
        });
        self.confirm_unchanged()?;
        Ok(OperationExplanation {
            schema: "tcverify.operation-explanation/1",
            operation: self.variant.rule.operation().to_owned(),
            variant: self.variant.name.clone(),
            about: job.about.clone(),
            index: index.to_vec(),
            reproduced: format!("{code:0width$x}"),
            reproduced_value: decimal(job.format, code),
            same: given.map(|given| self.asked.policy().accepts(job.format, code, given)),
            given: given.map(|given| format!("{given:0width$x}")),
            events,
            not_listed,
        })
    }
}

impl PreparedOperation {
    /// The page on a verdict: its map, and the first mismatch operation by operation.
    ///
    /// # Errors
    /// If a file has changed.
    pub fn page(&self, judged: &OperationJudged) -> Result<Html, CheckError> {
        let first = match &judged.report.outcome {
            Outcome::Elements { comparison, .. } => comparison.first.first(),
            Outcome::Digest { .. } => None,
        };
        let trace = first.map(|first| {
            let mut text = Vec::new();
            let written = self.explain(&first.index)?.text(&mut text);
            written.expect("memory takes everything");
            Ok(String::from_utf8_lossy(&text).into_owned())
        });
        Ok(Html {
            trace: trace.transpose()?,
            map: judged.map.clone(),
            ..Html::default()
        })
    }
}

impl OperationExplanation {
    /// The text for people.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (operation, variant) = (escaped(&self.operation), escaped(&self.variant));
        writeln!(
            out,
            "{operation}, {variant}: element {:?}\n  {}\n",
            self.index, self.about
        )?;
        let mut stage: Vec<&Event> = Vec::new();
        for event in &self.events {
            match event {
                Event::Stage { text } => {
                    operations(&stage, out)?;
                    stage.clear();
                    writeln!(out, "  {text}")?;
                }
                Event::Operation { .. } => stage.push(event),
            }
        }
        operations(&stage, out)?;
        if self.not_listed > 0 {
            writeln!(out, "  ... and {} more operations", self.not_listed)?;
        }
        writeln!(
            out,
            "\n  reproduced  0x{}  {}",
            self.reproduced, self.reproduced_value
        )?;
        match (&self.given, self.same) {
            (Some(given), Some(true)) => writeln!(out, "  given       0x{given}, the same"),
            (Some(given), _) => writeln!(out, "  given       0x{given}, which differs"),
            _ => Ok(()),
        }
    }
}

fn operations(all: &[&Event], out: &mut dyn Write) -> io::Result<()> {
    for (i, event) in all.iter().enumerate() {
        if i == SHOWN && all.len() > 2 * SHOWN + 1 {
            writeln!(out, "    ... {} more ...", all.len() - 2 * SHOWN)?;
        }
        if (SHOWN..all.len() - SHOWN.min(all.len())).contains(&i) && all.len() > 2 * SHOWN + 1 {
            continue;
        }
        if let Event::Operation {
            name,
            operands,
            result,
            value,
        } = event
        {
            writeln!(
                out,
                "    {name:<14} {:<28} = {result}  {value}",
                operands.join(" ")
            )?;
        }
    }
    Ok(())
}
