//! The view of many checks.

use super::{Baseline, Batch, BatchCase, CaseVerdict, Chain, Covered, LeftOut, Totals};
use crate::forms::in_brackets;
use crate::forms::view::phrase::some;
use crate::forms::view::{Case, Fact, Section, Tone, View, counted, grouped};
use crate::io::escaped_name;

impl Batch {
    /// The view. `page` names the file of a case's own page, if it has one.
    pub fn view(&self, page: &dyn Fn(usize) -> Option<String>) -> View {
        let totals = &self.totals;
        let (tone, word) = match (self.verdict, totals.different) {
            (CaseVerdict::Unjudged, 0) => (Tone::Unsure, "Not all could be judged"),
            (CaseVerdict::Unjudged, _) => (Tone::Bad, CaseVerdict::Different.title()),
            // Products that were not recorded may differ.
            (CaseVerdict::IdenticalInPart, _) if self.missed() > 0 => {
                (Tone::Unsure, CaseVerdict::IdenticalInPart.title())
            }
            (CaseVerdict::Different, _) if self.surprises() == 0 && self.missed() > 0 => {
                (Tone::Unsure, CaseVerdict::Different.title())
            }
            (CaseVerdict::Different, _) if self.surprises() == 0 => {
                (Tone::Part, CaseVerdict::Different.title())
            }
            (verdict, _) if self.surprises() > 0 => (Tone::Bad, verdict.title()),
            (verdict, _) => (verdict.into(), verdict.title()),
        };
        let qualified = match self.surprises() {
            _ if !self.has_expectations() || self.verdict == CaseVerdict::Unjudged => "",
            0 if self.verdict == CaseVerdict::Different => ", as expected",
            0 => "",
            _ => ", not as expected",
        };
        let policy = self.policy.iter().map(|policy| {
            let text = format!("{} (sha256 {})", policy.name, policy.sha256);
            Fact::new("policy", text)
        });
        let left_out: Vec<String> = self.coverage.iter().flat_map(Covered::lines).collect();
        let out = Fact::several("left out", left_out.iter().cloned());
        let made = Fact::several("made with", self.terms());
        let layer = self.chain.iter().flat_map(Chain::sentences);
        let facts = policy
            .chain(self.baseline.iter().flat_map(Baseline::facts))
            .chain(made)
            .chain(out.map(|fact| fact.caution_if(true)))
            .chain(Fact::several("layer", layer))
            .collect();
        let figures = [
            ("cases", totals.cases),
            ("identical", totals.identical),
            ("identical in part", totals.identical_in_part),
            ("different", totals.different),
            ("unjudged", totals.unjudged),
        ];
        let figures = figures.into_iter();
        let figures = figures.filter(|(name, count)| *count > 0 || *name == "different");
        let cases = self.cases.iter().enumerate();
        View {
            schema: self.schema.to_string(),
            tone,
            word: word.to_owned(),
            qualified: qualified.to_owned(),
            sentence: self.sentence(),
            figures: figures
                .map(|(name, count)| (name.to_owned(), grouped(count)))
                .collect(),
            sections: vec![Section {
                id: "batch",
                heading: "The batch".to_owned(),
                facts,
                ..Section::default()
            }],
            cases: cases.map(|(i, case)| shown(case, page(i))).collect(),
            noun: "case",
            uncovered: self.uncovered(&left_out),
            test: ["tcverify", "tcverify", ""].map(str::to_owned),
            ..View::default()
        }
    }

    /// What results are made of beside their operands: a line each, with the number of cases.
    fn terms(&self) -> Vec<String> {
        let mut counts = std::collections::BTreeMap::<&str, u64>::new();
        let summaries = self.cases.iter().filter_map(|case| case.summary.as_ref());
        for term in summaries.flat_map(|summary| &summary.terms) {
            *counts.entry(term).or_default() += 1;
        }
        let line = |(term, count)| format!("{term}: {}", counted(count, "case"));
        counts.into_iter().map(line).collect()
    }

    /// The totals as a sentence.
    fn sentence(&self) -> String {
        let Totals {
            cases,
            identical,
            identical_in_part,
            different,
            unjudged,
        } = self.totals;
        let part = match identical_in_part {
            0 => String::new(),
            n => format!("{} identical in part, ", grouped(n)),
        };
        let covered = self
            .coverage
            .as_ref()
            .map(|covered| covered.sentence() + "; ");
        let expected = match self.surprises() {
            _ if !self.has_expectations() => String::new(),
            0 => "; every verdict is as expected".to_owned(),
            1 => "; 1 case is not as expected".to_owned(),
            n => format!("; {} cases are not as expected", grouped(n)),
        };
        format!(
            "{}{}: {} identical, {part}{} different, {} could not be judged{expected}",
            covered.unwrap_or_default(),
            counted(cases, "case"),
            grouped(identical),
            grouped(different),
            grouped(unjudged)
        )
    }

    /// Products that are not among the cases. To a CI server they are a test that failed to run, or was skipped.
    fn uncovered(&self, left_out: &[String]) -> Option<Case> {
        let covered = self.coverage.as_ref().filter(|_| !left_out.is_empty())?;
        let (tone, state) = match self.missed() {
            0 => (Tone::Part, "skipped"),
            _ => (Tone::Unsure, "not_recorded"),
        };
        Some(Case {
            name: "products that ran".to_owned(),
            class: "tcverify".to_owned(),
            tone,
            state: state.to_owned(),
            word: "Not all were judged".to_owned(),
            said: format!("{}: {}", covered.sentence(), left_out.join("; ")),
            ..Case::default()
        })
    }
}

impl Baseline {
    fn facts(&self) -> Vec<Fact> {
        let Baseline { path, sha256, gone } = self;
        let names: Vec<_> = gone.iter().map(|name| escaped_name(name)).collect();
        let gone = (!gone.is_empty()).then(|| {
            let line = format!(
                "{}: {}",
                counted(gone.len() as u64, "case"),
                some(&names, 20)
            );
            Fact::caution("gone", line)
        });
        let baseline = Fact::new("baseline", format!("{path} (sha256 {sha256})"));
        std::iter::once(baseline).chain(gone).collect()
    }
}

impl Covered {
    /// `24 of 25 products judged`.
    fn sentence(&self) -> String {
        let seen = counted(self.seen, "product");
        format!("{} of {seen} judged", grouped(self.judged))
    }

    /// What was left out, one line each.
    fn lines(&self) -> impl Iterator<Item = String> {
        let absent = (self.absent > 0).then(|| {
            let absent = counted(self.absent, "product");
            format!("recorded, but not among the cases: {absent}")
        });
        let left_out = self.left_out.iter().map(|one| {
            let LeftOut {
                op, module, why, ..
            } = one;
            let word = if one.on_request {
                "left out on request"
            } else {
                "not recorded"
            };
            let calls = match one.calls {
                1 => String::new(),
                n => format!(" ({} calls)", grouped(n)),
            };
            let place = match module.as_str() {
                "" => String::new(),
                module => format!(" in {module}"),
            };
            format!("{word}: {op}{calls}{place}: {why}")
        });
        left_out.chain(absent)
    }
}

impl Chain {
    /// One sentence for the links, and one for each kind of step.
    fn sentences(&self) -> Vec<String> {
        let linked = format!(
            "{} of other steps; {} identical",
            match self.links.len() {
                1 => "1 array is a result".to_owned(),
                n => format!("{} arrays are results", grouped(n as u64)),
            },
            match self.identical.len() {
                1 => "1 linked step is".to_owned(),
                n => format!("{} linked steps are", grouped(n as u64)),
            }
        );
        let others = [
            (
                "compared only in part, and identical there",
                &self.identical_in_part,
            ),
            ("differs first", &self.first_different),
            (
                "also differ, after a step that differs or was not judged",
                &self.different_after,
            ),
            ("not judged", &self.unjudged),
        ];
        let others = others.into_iter().filter(|(_, names)| !names.is_empty());
        let others = others.map(|(what, names)| format!("{what}: {}", names.join(", ")));
        std::iter::once(linked).chain(others).collect()
    }
}

impl From<CaseVerdict> for Tone {
    fn from(verdict: CaseVerdict) -> Tone {
        match verdict {
            CaseVerdict::Identical => Tone::Good,
            CaseVerdict::IdenticalInPart => Tone::Part,
            CaseVerdict::Different => Tone::Bad,
            CaseVerdict::Unjudged => Tone::Unsure,
        }
    }
}

fn shown(case: &BatchCase, page: Option<String>) -> Case {
    let word = case.verdict.title();
    let qualified = case.title().strip_prefix(word).unwrap_or_default();
    let summary = case.summary.as_ref();
    let terms = summary.map_or(&[][..], |summary| &summary.terms);
    let cause = summary.and_then(|summary| summary.cause.clone());
    let group = match case.verdict {
        CaseVerdict::Unjudged => case.sentence().to_owned(),
        _ if case.surprises() && case.verdict != CaseVerdict::Different => {
            let expected = case.expected.map(CaseVerdict::words);
            format!("expected to be {}", expected.unwrap_or_default())
        }
        _ => match &cause {
            Some(cause) => cause.kind.replace('_', " "),
            None => "no cause was found".to_owned(),
        },
    };
    let (tone, more) = match case.expected {
        None => (case.verdict.into(), String::new()),
        Some(_) if case.verdict == CaseVerdict::Unjudged => (Tone::Unsure, String::new()),
        Some(expected) if case.surprises() => {
            (Tone::Bad, format!(", expected to be {}", expected.words()))
        }
        Some(CaseVerdict::Different) => (Tone::Part, ", as expected".to_owned()),
        Some(_) => (case.verdict.into(), String::new()),
    };
    Case {
        name: escaped_name(&case.name),
        tone,
        state: case.verdict.name().to_owned(),
        word: word.to_owned(),
        qualified: format!("{qualified}{more}"),
        said: case.sentence().to_owned(),
        by: in_brackets(case.model(), terms),
        class: "tcverify".to_owned(),
        group,
        cause: cause.map(|cause| cause.sentence),
        next: summary.and_then(|summary| summary.next.clone()),
        page,
        report: case.report.clone(),
        ..Case::default()
    }
}
