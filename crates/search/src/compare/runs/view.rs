//! The view of a comparison of two runs.

use crate::compare::runs::document::{
    ComparedRuns, ComparedStep, Explanations, LinkedBy, RunCompared, RunsVerdict, StepResult,
};
use crate::forms::view::phrase::{counted, grouped, of, percent, some};
use crate::forms::view::{Case, Fact, Section, Tone, View};

/// How many names of steps are shown.
const SHOWN: usize = 5;

impl ComparedRuns {
    /// Two runs as every form shows them.
    pub fn view(&self) -> View {
        let (tone, word) = match self.verdict {
            RunsVerdict::Equal => (Tone::Good, "Equal"),
            RunsVerdict::Different => (Tone::Bad, "Different"),
            RunsVerdict::Incomplete => (Tone::Unsure, "Not all could be compared"),
        };
        let count = |result| grouped(self.count(result) as u64);
        View {
            schema: self.schema.to_owned(),
            tone,
            word: word.to_owned(),
            sentence: self.sentence(),
            about: vec![format!(
                "{} (left) and {} (right)",
                self.left.path, self.right.path
            )],
            figures: vec![
                ("steps of both".to_owned(), grouped(self.steps.len() as u64)),
                ("equal".to_owned(), count(StepResult::Equal)),
                ("begin a difference".to_owned(), count(StepResult::Begins)),
                ("inherit one".to_owned(), count(StepResult::Inherits)),
            ],
            sections: std::iter::once(self.runs())
                .chain(self.explained())
                .collect(),
            cases: self.steps.iter().map(ComparedStep::case).collect(),
            noun: "step",
            proves: self.proves().to_owned(),
            test: ["tcverify", "tcverify.compare", ""].map(str::to_owned),
            ..View::default()
        }
    }

    fn sentence(&self) -> String {
        let steps = self.steps.len() as u64;
        let Some(first) = self.first.map(|at| (at, &self.steps[at])) else {
            let alone = self.left.alone.len() + self.right.alone.len();
            return match (self.verdict, alone) {
                (RunsVerdict::Equal, _) if steps == 1 => {
                    "the one step has the same bits".to_owned()
                }
                (RunsVerdict::Equal, _) => {
                    format!("all {} steps have the same bits", grouped(steps))
                }
                (RunsVerdict::Different, _) => format!(
                    "no common step differs, but {} {} in only one run",
                    counted(alone as u64, "step"),
                    if alone == 1 { "occurs" } else { "occur" }
                ),
                (RunsVerdict::Incomplete, _) => format!(
                    "{} steps have the same bits",
                    of(self.count(StepResult::Equal) as u64, steps)
                ),
            };
        };
        let (at, step) = first;
        let before = &self.steps[..at];
        let equal = before
            .iter()
            .filter(|step| step.result == StepResult::Equal);
        let equal = equal.count();
        let operands = match step.result {
            StepResult::Begins => "its operands are equal",
            _ => "so do its operands",
        };
        let before = match at {
            0 => "it is the first step".to_owned(),
            1 if equal == 1 => "the step before it is equal".to_owned(),
            _ => {
                let equal = of(equal as u64, at as u64);
                format!("{equal} steps before it are equal")
            }
        };
        format!(
            "{} is the first that differs{}; {operands}; {before}",
            step.name,
            step.share()
        )
    }

    /// Which runs these are, and what follows from the first difference.
    fn runs(&self) -> Section {
        let mut facts = Vec::new();
        for (side, run) in [("left", &self.left), ("right", &self.right)] {
            facts.push(Fact::new(
                side,
                format!("{}: {}", run.path, counted(run.steps as u64, "step")),
            ));
            facts.extend(run.alone(side));
            if run.missed > 0 {
                let missed = format!(
                    "{} that ran on the {side} were not recorded, so nothing is known about them",
                    counted(run.missed, "product")
                );
                facts.push(Fact::caution("missing", missed));
            }
        }
        let by_operands = self
            .steps
            .iter()
            .filter(|step| step.linked_by == LinkedBy::Operands);
        match by_operands.count() {
            0 => {}
            n => facts.push(Fact::new(
                "linked",
                format!(
                    "{} by their operands, because their names differ",
                    counted(n as u64, "step")
                ),
            )),
        }
        facts.extend(self.follows());
        Section {
            id: "runs",
            heading: "The runs".to_owned(),
            facts,
            ..Section::default()
        }
    }

    /// How the steps after the first difference compare.
    fn follows(&self) -> Option<Fact> {
        let first = self.first?;
        let later = &self.steps[first + 1..];
        let of_result = |result| later.iter().filter(move |step| step.result == result);
        let mut lines = Vec::new();
        for (result, what) in [
            (
                StepResult::Inherits,
                "with different operands and a different result",
            ),
            (StepResult::Equal, "with the same bits"),
        ] {
            let steps = of_result(result).count() as u64;
            if steps > 0 {
                lines.push(format!("{} {what}", counted(steps, "step")));
            }
        }
        let begins = of_result(StepResult::Begins).map(|step| step.name.clone());
        let begins: Vec<String> = begins.collect();
        if !begins.is_empty() {
            lines.push(format!(
                "{} with the same operands but a different result: {}",
                counted(begins.len() as u64, "step"),
                some(&begins, SHOWN)
            ));
        }
        Fact::several("after it", lines)
    }

    /// What gives the results of steps that were searched.
    fn explained(&self) -> Vec<Section> {
        let explained = self.steps.iter().filter_map(|step| {
            let found = step.explanations.as_ref()?;
            let of_step = Fact::new("step", step.name.clone());
            let facts: Vec<Fact> = match found {
                Explanations::Product(found) => {
                    let view = found.view();
                    let title = format!("{}  {}", view.title().to_uppercase(), view.sentence);
                    let answers = view.differences.iter().flat_map(|_| found.answers());
                    let answers: Vec<Fact> = answers.collect();
                    let facts = view.sections.into_iter().flat_map(|section| section.facts);
                    std::iter::once(Fact::new("result", title))
                        .chain(answers)
                        .chain(facts)
                        .collect()
                }
                Explanations::Variants([left, right]) => {
                    let given = |all: &[String]| match all {
                        [] => "no variant in the catalogue gives it".to_owned(),
                        all => format!("given by {}", all.join(", ")),
                    };
                    vec![
                        Fact::new("left", given(left)),
                        Fact::new("right", given(right)),
                    ]
                }
            };
            Some(Section {
                id: "difference",
                heading: format!("What gives {}", step.name),
                facts: std::iter::once(of_step).chain(facts).collect(),
                ..Section::default()
            })
        });
        explained.collect()
    }

    fn proves(&self) -> &'static str {
        match self.verdict {
            RunsVerdict::Equal => {
                "Every recorded step of one run has the same bits as its counterpart. That does not show that they \
                 are correct: 'tcverify batch' replays them."
            }
            RunsVerdict::Incomplete => "Nothing is known about steps that were not compared.",
            RunsVerdict::Different => {
                "A difference begins at a step with equal operands and a different result. A step with different \
                 operands may only pass it on, or may add to it."
            }
        }
    }
}

impl RunCompared {
    fn alone(&self, side: &str) -> Option<Fact> {
        let text = format!(
            "{} only in the {side} run: {}",
            counted(self.alone.len() as u64, "step"),
            some(&self.alone, SHOWN)
        );
        (!self.alone.is_empty()).then(|| Fact::caution("alone", text))
    }
}

impl ComparedStep {
    /// `: 26 % of its elements`
    fn share(&self) -> String {
        match &self.differences {
            None => String::new(),
            Some(d) => {
                let count = of(d.mismatches, d.elements);
                format!(": {count} elements ({})", percent(d.mismatch_percent))
            }
        }
    }

    fn described(&self) -> String {
        let mut text = match (self.result, &self.differences) {
            (StepResult::Equal, _) => "the same bits".to_owned(),
            (StepResult::Unknown, _) => "not compared".to_owned(),
            (_, Some(d)) => format!(
                "{} elements differ ({})",
                of(d.mismatches, d.elements),
                percent(d.mismatch_percent)
            ),
            (_, None) => "the results have other digests".to_owned(),
        };
        let list = |what: &str, all: &[String]| match all {
            [] => String::new(),
            all => format!("; {what} differ: {}", all.join(", ")),
        };
        if self.result.begins() {
            text.push_str("; its operands are equal");
        }
        text.push_str(&list("operands", &self.differing_operands));
        text.push_str(&list("fields", &self.differing_fields));
        for more in self.from.iter().chain(&self.reason) {
            text = format!("{text}; {more}");
        }
        text
    }

    fn case(&self) -> Case {
        let (tone, word) = match self.result {
            StepResult::Equal => (Tone::Good, "Equal"),
            StepResult::Begins => (Tone::Bad, "Begins to differ"),
            StepResult::Inherits => (Tone::Bad, "Differs, and so do its operands"),
            StepResult::Unknown => (Tone::Unsure, "Not compared"),
        };
        let name = match &self.right_name {
            None => self.name.clone(),
            Some(right) => format!("{} ({right} on the right)", self.name),
        };
        Case {
            name,
            tone,
            state: self.result.name().to_owned(),
            word: word.to_owned(),
            said: self.described(),
            by: self.kind.clone(),
            class: format!("tcverify.{}", self.kind),
            group: word.to_lowercase(),
            ..Case::default()
        }
    }
}
