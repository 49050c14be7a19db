//! The view of many checks, and what groups of cases have in common.

use super::said::grouped;
use super::{Case, Fact, Section, Tone, View};
use crate::report::{Batch, BatchCase, CaseVerdict, Covered};

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
            (verdict, _) => (verdict.tone(), verdict.title()),
        };
        // Of what ran and was not recorded nothing is known.
        let missed = self.missed() > 0;
        let tone = match tone {
            Tone::Good | Tone::Part if missed => Tone::Unsure,
            tone => tone,
        };
        let mut facts = Vec::new();
        if let Some(covered) = &self.coverage {
            facts.push(Fact::caution("products", covered.sentence()).and(covered.lines()));
        }
        facts.extend(self.policy.as_ref().map(|policy| {
            Fact::new(
                "policy",
                format!("{} (sha256 {})", policy.name, policy.sha256),
            )
        }));
        if let Some(chain) = &self.chain {
            let lines = chain.sentences();
            facts.push(Fact {
                lines,
                ..Fact::new("layer", "")
            });
        }
        let figures = [
            ("cases", totals.cases),
            ("identical", totals.identical),
            ("identical in part", totals.identical_in_part),
            ("different", totals.different),
            ("unjudged", totals.unjudged),
        ];
        let figures = figures
            .into_iter()
            .filter(|(name, count)| *count > 0 || *name == "different");
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
            cases: {
                let unseen = self.coverage.as_ref().filter(|_| missed).map(unseen);
                let cases = self.cases.iter().enumerate();
                let cases = cases.map(|(i, case)| shown(case, page(i)));
                unseen.into_iter().chain(cases).collect()
            },
            noun: "case",
            test: ["tcverify".to_owned(), "tcverify".to_owned(), String::new()],
            ..View::default()
        }
    }
}

impl CaseVerdict {
    fn tone(self) -> Tone {
        match self {
            CaseVerdict::Identical => Tone::Good,
            CaseVerdict::IdenticalInPart => Tone::Part,
            CaseVerdict::Different => Tone::Bad,
            CaseVerdict::Unjudged => Tone::Unsure,
        }
    }
}

/// Products that ran and were not recorded: a test that could not run to its end.
fn unseen(covered: &Covered) -> Case {
    let lines: Vec<String> = covered.lines().collect();
    Case {
        name: "products that ran".to_owned(),
        tone: Tone::Unsure,
        state: "not_recorded".to_owned(),
        word: "Not recorded".to_owned(),
        said: format!("{}; {}", covered.sentence(), lines.join("; ")),
        class: "tcverify".to_owned(),
        group: "not recorded".to_owned(),
        ..Case::default()
    }
}

fn shown(case: &BatchCase, page: Option<String>) -> Case {
    let word = case.verdict.title();
    let summary = case.summary.as_ref();
    let cause = summary.and_then(|summary| summary.cause.clone());
    let group = match case.verdict {
        CaseVerdict::Unjudged => case.said().to_owned(),
        _ => cause
            .as_ref()
            .map_or("no cause was found".to_owned(), |cause| cause.kind.clone()),
    };
    Case {
        name: case.name.clone(),
        tone: case.verdict.tone(),
        state: case.verdict.name().to_owned(),
        word: word.to_owned(),
        qualified: case.title()[word.len()..].to_owned(),
        said: case.said().to_owned(),
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
    let s = if cases.len() == 1 { "" } else { "s" };
    let word = first.word.to_lowercase();
    let same = |of: fn(&Case) -> Option<&str>| {
        let said = of(first);
        said.filter(|_| cases.iter().all(|case| of(case) == said))
    };
    let group = first.group.replace('_', " ");
    let why = same(|case| case.cause.as_deref()).or((group != word).then_some(&group));
    let why = why.or_else(|| same(|case| Some(&case.said)));
    let why = why.map_or(String::new(), |why| format!(": {why}"));
    format!("{} {noun}{s} {word}{why}", grouped(cases.len() as u64))
}
