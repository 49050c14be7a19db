//! One row of a result, operation by operation.

use std::io::{self, Write};

use serde::Serialize;

use super::deviation::{Deviation, line};
use crate::io::escaped;
use crate::ops::float32::Event;

/// How one element is computed: every operation of its row.
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

/// Operations that the text shows at a stage's begin, and as many at its end.
const SHOWN: usize = 6;

impl OperationExplanation {
    /// The text for people.
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
    let (begin, end) = match all.len() {
        // What is left out has a line, too.
        count if count > 2 * SHOWN + 1 => (SHOWN, count - SHOWN),
        count => (count, count),
    };
    for event in &all[..begin] {
        line(event, out)?;
    }
    if begin < end {
        writeln!(out, "    ... {} more ...", end - begin)?;
    }
    for event in &all[end..] {
        line(event, out)?;
    }
    Ok(())
}

/// Whether it is for an element of the row alone that was not requested.
fn for_another(event: &Event, requested: Option<&usize>) -> bool {
    match event {
        Event::Operation { column, .. } | Event::Value { column, .. } => {
            column.is_some_and(|column| Some(&column) != requested)
        }
        Event::Stage { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explanation(count: usize, not_listed: u64) -> OperationExplanation {
        let stage = |text: &str| Event::Stage { text: text.into() };
        let value = |i: usize, column: Option<usize>| Event::Value {
            text: format!("value {i}"),
            result: format!("0x{i:04x}"),
            value: i.to_string(),
            column,
        };
        let mut events = vec![stage("first")];
        events.extend((0..count).map(|i| value(i, None)));
        events.extend([stage("second"), value(90, Some(3)), value(91, Some(2))]);
        OperationExplanation {
            schema: "",
            operation: "norm".into(),
            variant: "some".into(),
            about: "a row".into(),
            index: vec![1, 2],
            reproduced: "3f80".into(),
            reproduced_value: "1".into(),
            given: None,
            same: None,
            deviation: None,
            events,
            not_listed,
        }
    }

    fn text(explanation: &OperationExplanation) -> Vec<String> {
        let mut text = Vec::new();
        explanation.text(&mut text).expect("memory");
        let text = String::from_utf8(text).expect("text");
        let lines = text.lines().map(|line| line.trim().to_owned());
        lines.collect()
    }

    /// Of a long stage the begin and the end, and how many are between; of a shorter one all.
    #[test]
    fn long_stages_are_cut() {
        for count in [0, 1, 12, 13, 14, 20] {
            let lines = text(&explanation(count, 0));
            let listed: Vec<usize> = (0..count)
                .filter(|i| {
                    lines
                        .iter()
                        .any(|line| line.starts_with(&format!("value {i} ")))
                })
                .collect();
            let cut: Vec<&String> = lines.iter().filter(|line| line.contains("more")).collect();
            if count <= 13 {
                assert_eq!(listed, (0..count).collect::<Vec<_>>());
                assert_eq!(cut, [""; 0]);
            } else {
                let shown = (0..6).chain(count - 6..count);
                assert_eq!(listed, shown.collect::<Vec<_>>());
                assert_eq!(cut, [&format!("... {} more ...", count - 12)]);
            }
            // The stage after it, without what is for another element.
            assert!(lines.iter().any(|line| line.starts_with("value 91")));
            assert!(!lines.iter().any(|line| line.starts_with("value 90")));
        }
        let lines = text(&explanation(3, 7));
        assert!(lines.contains(&"... and 7 more operations".to_owned()));
    }

    #[test]
    fn what_was_given() {
        let mut explanation = explanation(1, 0);
        let given = |of: &OperationExplanation| {
            text(of)
                .into_iter()
                .filter(|line| line.starts_with("given"))
                .collect::<Vec<_>>()
        };
        assert_eq!(given(&explanation), [""; 0]);
        explanation.given = Some("3f81".into());
        explanation.same = Some(false);
        assert_eq!(given(&explanation), ["given       0x3f81, which differs"]);
        explanation.same = Some(true);
        assert_eq!(given(&explanation), ["given       0x3f81, the same"]);
    }
}
