//! Sentences that several forms share.

use super::OperationReport;
use crate::emu::{Evidence, shape_text};
use crate::report::words::{accepted, grouped, percent};
use crate::report::{Outcome, Verdict};

impl OperationReport {
    /// The verdict; of a rule that no captured result proves, it says so.
    pub fn title(&self) -> String {
        let under = match (self.verdict, self.operation.evidence) {
            (Verdict::Different, _) | (_, Evidence::Hardware) => "",
            (_, Evidence::Literature) => " under a published rule",
            (_, Evidence::Inferred) => " under an inferred rule",
            (_, Evidence::Claimed) => " under a claimed rule",
        };
        let mut title = format!("{}{under}", self.verdict.title());
        if let Outcome::Elements { comparison, .. } = &self.outcome
            && comparison.accepted > 0
        {
            title += &format!(", {} let pass", grouped(comparison.accepted));
        }
        title
    }

    /// What came out, without the verdict itself.
    pub fn sentence(&self) -> String {
        let what = match self.reproduced.output.as_str() {
            "y" => "elements of the result".to_owned(),
            other => format!("elements of {other}"),
        };
        match &self.outcome {
            Outcome::Digest { .. } if self.verdict == Verdict::Identical => {
                "the reproduced result has the expected digest".to_owned()
            }
            Outcome::Digest { .. } => "the reproduced result has another digest".to_owned(),
            Outcome::Elements { comparison: c, .. } if c.mismatches == 0 => {
                format!(
                    "all {} {what} are reproduced{}",
                    grouped(c.elements),
                    accepted(c)
                )
            }
            Outcome::Elements { comparison: c, .. } => format!(
                "{} of {} {what} differ ({} %){}",
                grouped(c.mismatches),
                grouped(c.elements),
                percent(c),
                accepted(c)
            ),
        }
    }

    /// Operation, variant and formats.
    pub fn rule_line(&self) -> String {
        let o = &self.operation;
        format!(
            "{} {} ({}, {}) -> {}",
            o.name, o.variant, o.library, o.versions, self.reproduced.format
        )
    }

    /// Shapes.
    pub fn about_line(&self) -> String {
        let shape = shape_text(&self.reproduced.shape);
        format!(
            "{} {shape}: {}",
            self.reproduced.output, self.operation.about
        )
    }

    /// How the rule is known.
    pub fn evidence_line(&self) -> String {
        match (self.operation.evidence, &self.operation.file) {
            (Evidence::Hardware, _) => {
                "hardware: numbers published of real GPUs would refute it".into()
            }
            (Evidence::Literature, _) => {
                "literature: published, but no captured result proves it".into()
            }
            (Evidence::Inferred, _) => {
                "inferred: a part of it is neither published nor captured".into()
            }
            (Evidence::Claimed, Some(file)) => {
                format!(
                    "claimed: from {}; the file itself says {}",
                    file.path, file.says
                )
            }
            (Evidence::Claimed, None) => "claimed: by a file".into(),
        }
    }

    /// What the verdict proves, and what it does not.
    pub fn proves(&self) -> &'static str {
        match (self.verdict, self.operation.evidence) {
            (Verdict::Different, _) => {
                "The result was not computed from these arrays by the rule named above. Another version of the \
                 library, another launch or a damaged result differ in the same way."
            }
            (_, Evidence::Hardware) => {
                "These bits follow from these arrays by the rule named above. That does not prove that a GPU \
                 computed them, nor that no other rule gives the same bits."
            }
            _ => {
                "These bits follow from these arrays by the rule named above, which no captured result proves: that \
                 they agree is evidence for it. That does not prove that a GPU computed them, nor that no other rule \
                 gives the same bits."
            }
        }
    }
}
