//! The view of many checks, and what groups of cases have in common.

use super::phrase::{counted, grouped};
use super::{Case, Fact, Section, Tone, View};
use crate::io::escaped_name;
use crate::report::{Batch, BatchCase, CaseVerdict, Chain, Covered, Verdict};

/// Cases that went wrong in the same way.
pub struct Group<'a> {
    pub heading: String,
    pub cases: Vec<&'a Case>,
}

impl Batch {
    /// What it says. `page` names the page of a case that has one, beside the one of all.
    pub fn view(&self, page: &dyn Fn(usize) -> Option<String>) -> View {
        let totals = &self.totals;
        let (tone, word) = match (self.verdict, totals.different) {
            (CaseVerdict::Unjudged, 0) => (Tone::Unsure, "Not all could be judged"),
            (CaseVerdict::Unjudged, _) => (Tone::Bad, CaseVerdict::Different.title()),
            // Of products that ran and were not recorded nothing is known.
            (CaseVerdict::IdenticalInPart, _) if self.missed() > 0 => {
                (Tone::Unsure, CaseVerdict::IdenticalInPart.title())
            }
            (verdict, _) => (verdict.into(), verdict.title()),
        };
        let policy = self.policy.iter().map(|policy| {
            let text = format!("{} (sha256 {})", policy.name, policy.sha256);
            Fact::new("policy", text)
        });
        let left_out: Vec<String> = self.coverage.iter().flat_map(Covered::lines).collect();
        let out = Fact::several("left out", left_out.iter().cloned());
        let layer = self.chain.iter().flat_map(Chain::sentences);
        let facts = policy
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
            test: ["tcverify".to_owned(), "tcverify".to_owned(), String::new()],
            ..View::default()
        }
    }
}

impl Batch {
    /// Products that are not a case: what a test that could not run to its end is to a CI server, or one that was skipped.
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

impl From<Verdict> for Tone {
    fn from(verdict: Verdict) -> Tone {
        CaseVerdict::from(verdict).into()
    }
}

fn shown(case: &BatchCase, page: Option<String>) -> Case {
    let word = case.verdict.title();
    let qualified = case.title().strip_prefix(word).unwrap_or_default();
    let summary = case.summary.as_ref();
    let cause = summary.and_then(|summary| summary.cause.clone());
    let group = match case.verdict {
        CaseVerdict::Unjudged => case.sentence().to_owned(),
        _ => match &cause {
            Some(cause) => cause.kind.replace('_', " "),
            None => "no cause was found".to_owned(),
        },
    };
    Case {
        name: escaped_name(&case.name),
        tone: case.verdict.into(),
        state: case.verdict.name().to_owned(),
        word: word.to_owned(),
        qualified: qualified.to_owned(),
        said: case.sentence().to_owned(),
        by: case.model().to_owned(),
        class: match case.model() {
            "" => "tcverify".to_owned(),
            model => format!("tcverify.{model}"),
        },
        group,
        cause: cause.map(|cause| cause.sentence),
        next: summary.and_then(|summary| summary.next.clone()),
        page,
        report: case.report.clone(),
        ..Case::default()
    }
}

impl Case {
    /// The verdict, how much it covers, and what it accepts.
    pub fn title(&self) -> String {
        format!("{}{}", self.word, self.qualified)
    }

    /// Whether something is wrong with it.
    pub fn is_bad(&self) -> bool {
        matches!(self.tone, Tone::Bad | Tone::Unsure)
    }
}

impl View {
    /// Cases that went wrong, by what they have in common: differing ones first, the largest group first.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group> = Vec::new();
        for case in self.cases.iter().filter(|case| case.is_bad()) {
            let like = |group: &&mut Group| {
                let first = group.cases[0];
                (first.tone, &first.group) == (case.tone, &case.group)
            };
            match groups.iter_mut().find(like) {
                Some(group) => group.cases.push(case),
                None => groups.push(Group {
                    heading: String::new(),
                    cases: vec![case],
                }),
            }
        }
        groups.sort_by_key(|group| {
            (
                group.cases[0].tone == Tone::Unsure,
                std::cmp::Reverse(group.cases.len()),
            )
        });
        for group in &mut groups {
            group.heading = heading(&group.cases, self.noun);
        }
        groups
    }
}

/// `18 cases different: bit flipped`
fn heading(cases: &[&Case], noun: &str) -> String {
    let first = cases[0];
    let word = first.word.to_lowercase();
    let same = |of: fn(&Case) -> Option<&str>| {
        let text = of(first);
        text.filter(|_| cases.iter().all(|case| of(case) == text))
    };
    let group = (first.group != word).then_some(&*first.group);
    let why = same(|case| case.cause.as_deref()).or(group);
    let why = why.or_else(|| same(|case| Some(&case.said)));
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    format!("{} {word}{why}", counted(cases.len() as u64, noun))
}
