//! One row of a result, operation by operation.

use std::io::{self, Write};

use serde::Serialize;

use super::deviation::{Deviation, deviation};
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
    /// Where a row that differs could have left its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Deviation>,
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
        let captured = self.y.as_ref().map(|y| {
            let planes = y.tensor.planes();
            let mut codes = vec![0; job.columns()];
            let plane = planes.plane(row / planes.rows());
            plane.read_row(row % planes.rows(), 0, &mut codes);
            codes
        });
        let given = captured.as_ref().map(|row| u64::from(row[column]));
        let same = given.map(|given| self.asked.policy().accepts(job.format, code, given));
        let deviation = match &captured {
            Some(given) if same == Some(false) => {
                Some(deviation(&job, row, (&events, &codes), given))
            }
            _ => None,
        };
        self.confirm_unchanged()?;
        Ok(OperationExplanation {
            schema: "tcverify.operation-explanation/1",
            operation: self.variant.rule.operation().to_owned(),
            variant: self.variant.name.clone(),
            about: job.about.clone(),
            index: index.to_vec(),
            reproduced: format!("{code:0width$x}"),
            reproduced_value: decimal(job.format, code),
            same,
            deviation,
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
                other if for_another(other, self.index.last()) => {}
                other => stage.push(other),
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
            (Some(given), Some(true)) => writeln!(out, "  given       0x{given}, the same")?,
            (Some(given), _) => writeln!(out, "  given       0x{given}, which differs")?,
            _ => {}
        }
        match &self.deviation {
            Some(deviation) => deviation.text(out),
            None => Ok(()),
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
        line(event, out)?;
    }
    Ok(())
}

/// Whether it is for an element of the row alone that is not asked for.
fn for_another(event: &Event, asked: Option<&usize>) -> bool {
    match event {
        Event::Operation { column, .. } | Event::Value { column, .. } => {
            column.is_some_and(|column| Some(&column) != asked)
        }
        Event::Stage { .. } => false,
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
