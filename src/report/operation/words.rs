//! Sentences that several forms share.

use super::OperationReport;
use crate::emu::{Evidence, shape_text};
use crate::report::words::{compared, qualified};
use crate::report::{Outcome, Verdict};

impl OperationReport {
    /// The verdict; of a rule that no captured result proves, it says so.
    pub fn title(&self) -> String {
        let under = match (self.verdict, self.operation.evidence) {
            (Verdict::Different, _) | (_, Evidence::Captured) => "",
            (_, Evidence::Published | Evidence::Compared) => " under a published rule",
            (_, Evidence::Inferred) => " under an inferred rule",
            (_, Evidence::Claimed) => " under a claimed rule",
        };
        let reproduced = &self.reproduced;
        let sample = reproduced.sample.as_ref();
        format!(
            "{}{under}{}",
            self.verdict.title(),
            qualified(&self.outcome, sample, &reproduced.shape, self.result())
        )
    }

    /// What its elements are called those of.
    pub(in crate::report) fn result(&self) -> &str {
        match self.reproduced.output.as_str() {
            "y" => "the result",
            other => other,
        }
    }

    /// What came out, without the verdict itself.
    pub fn sentence(&self) -> String {
        let reproduced = &self.reproduced;
        match &self.outcome {
            Outcome::Digest { .. } if self.verdict == Verdict::Identical => {
                "the reproduced result has the expected digest".to_owned()
            }
            Outcome::Digest { .. } => "the reproduced result has another digest".to_owned(),
            Outcome::Elements { comparison, .. } => compared(
                comparison,
                reproduced.sample.as_ref(),
                &reproduced.shape,
                self.result(),
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
            (Evidence::Captured, _) => {
                "captured: numbers published of real GPUs would refute it".into()
            }
            (Evidence::Compared, _) => {
                "compared: gives the bits of another's program, but no captured result proves it"
                    .into()
            }
            (Evidence::Published, _) => "published: no captured result proves it".into(),
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
        let sample = self.reproduced.sample.as_ref();
        let drawn = sample.is_some_and(|part| part.seed.is_some());
        match (self.verdict, self.operation.evidence) {
            (Verdict::IdenticalInPart, Evidence::Captured) if drawn => {
                "The elements that were compared follow from these arrays by the rule named above. Of the others \
                 only the odds of the draw say something, if nobody could know it when the result was made."
            }
            (Verdict::IdenticalInPart, Evidence::Captured) => {
                "The elements that were compared follow from these arrays by the rule named above. Of the others \
                 nothing is said."
            }
            (Verdict::IdenticalInPart, _) if drawn => {
                "The elements that were compared follow from these arrays by the rule named above, which no captured \
                 result proves: that they agree is evidence for it. Of the others only the odds of the draw say \
                 something, if nobody could know it when the result was made."
            }
            (Verdict::IdenticalInPart, _) => {
                "The elements that were compared follow from these arrays by the rule named above, which no captured \
                 result proves: that they agree is evidence for it. Of the others nothing is said."
            }
            (Verdict::Different, _) => {
                "The result was not computed from these arrays by the rule named above. Another version of the \
                 library, another launch or a damaged result differ in the same way."
            }
            (_, Evidence::Captured) => {
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
