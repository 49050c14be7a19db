//! The cases of a view: each opened to its own view, and bad ones in groups.

use std::io;

use super::phrase::counted;
use super::{Case, Tone, View};
use crate::Stored;
use tcverify_report::{Report, Verdict};

/// Cases that went wrong in the same way.
pub struct Group<'a> {
    pub heading: String,
    pub cases: Vec<&'a Case>,
}

impl From<Verdict> for Tone {
    fn from(verdict: Verdict) -> Tone {
        match verdict {
            Verdict::Identical => Tone::Good,
            Verdict::IdenticalInPart => Tone::Part,
            Verdict::Different => Tone::Bad,
        }
    }
}

impl Case {
    /// The view of its report, if it has one.
    ///
    /// # Errors
    /// Those of the file that holds it.
    pub fn opened(&self) -> io::Result<Option<View>> {
        let text = self.report.as_ref().map(Stored::text).transpose()?;
        let report = text.and_then(|text| serde_json::from_str::<Report>(&text).ok());
        let view = report.map(|report| View::of(&report));
        Ok(view.map(|view| view.then(self.next.iter().cloned().collect())))
    }

    /// The verdict, how much it covers, and what it accepts.
    pub fn title(&self) -> String {
        format!("{}{}", self.word, self.qualified)
    }

    /// Whether it differs, or has no verdict.
    pub fn is_bad(&self) -> bool {
        matches!(self.tone, Tone::Bad | Tone::Unsure)
    }
}

impl View {
    /// Bad cases, grouped by what they have in common: differing ones first, then the largest group first.
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
