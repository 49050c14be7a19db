//! What a report says, in the order in which people need it. Every form renders a view; none reads a report.

pub mod differences;
mod groups;
pub mod phrase;
mod report;
mod rule;
pub mod sentences;

use crate::Stored;
use crate::map::MismatchMap;
use tcverify_num::Format;
use tcverify_report::Mismatch;

pub use differences::described_period;
pub use groups::Group;
pub use phrase::{capital, counted, distance, grouped, in_brackets, in_ulps, of, signed};
pub use rule::{
    evidence_fact, evidence_in_words, kernel_lines, model_line, model_section, product_line,
    schedule_section,
};
pub use sentences::{odds, proves};

/// Everything that a form may show.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub schema: String,
    pub tone: Tone,
    /// The verdict in a word or two, which every title begins with.
    pub word: String,
    /// How much of the result the verdict covers, and which differences it accepts; follows the word.
    pub qualified: String,
    /// The outcome as a sentence, without capital and full stop.
    pub sentence: String,
    /// The rule, and what it was applied to.
    pub about: Vec<String>,
    /// How the rule is known, in a word.
    pub evidence: String,
    pub causes: Vec<Cause>,
    /// What was tried, if none of it gives the result.
    pub tried: Option<Tried>,
    /// The SHA-256 of what was reproduced, and of what was given if that is another.
    pub reproduced: Vec<String>,
    /// Commands that show more.
    pub next: Vec<String>,
    /// Numbers at a glance.
    pub figures: Vec<(String, String)>,
    pub differences: Option<Differences>,
    /// The first mismatch in full.
    pub trace: Option<Trace>,
    pub sections: Vec<Section>,
    /// Which other rules give the same bits.
    pub ambiguity: Option<Fact>,
    /// What the verdict proves, and what it does not.
    pub proves: String,
    /// The command that repeats the check.
    pub repeat: Option<String>,
    /// The cases of a batch, the steps of a run, or the GPUs of a fleet.
    pub cases: Vec<Case>,
    /// What one of them is called.
    pub noun: &'static str,
    /// Products that ran, but are not among the cases.
    pub uncovered: Option<Case>,
    /// The page of which this is one case.
    pub within: Option<PageOf>,
    /// What a CI server calls the suite and its one case: suite, class, name.
    pub test: [String; 3],
}

/// How good an outcome is, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    Bad,
    /// Unknown.
    #[default]
    Unsure,
    /// Good, but in part or under conditions.
    Part,
    Good,
}

/// A label, and lines about it.
#[derive(Clone, Debug)]
pub struct Fact {
    pub label: String,
    pub lines: Vec<String>,
    pub weight: Weight,
}

/// Where and how a fact is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Plain,
    /// What limits the verdict.
    Caution,
    /// On pages alone.
    Detail,
}

impl Fact {
    pub fn new(label: impl Into<String>, line: impl Into<String>) -> Fact {
        Fact {
            label: label.into(),
            lines: vec![line.into()],
            weight: Weight::Plain,
        }
    }

    pub fn caution(label: impl Into<String>, line: impl Into<String>) -> Fact {
        Fact {
            weight: Weight::Caution,
            ..Fact::new(label, line)
        }
    }

    pub fn detail(label: impl Into<String>, line: impl Into<String>) -> Fact {
        Fact {
            weight: Weight::Detail,
            ..Fact::new(label, line)
        }
    }

    /// A fact of several lines; none if there are no lines.
    pub fn several(
        label: impl Into<String>,
        lines: impl IntoIterator<Item = String>,
    ) -> Option<Fact> {
        let mut lines = lines.into_iter();
        let first = lines.next()?;
        Some(Fact::new(label, first).and(lines))
    }

    /// The fact, as a caution if `limits` is true.
    #[must_use]
    pub fn caution_if(self, limits: bool) -> Fact {
        let weight = if limits { Weight::Caution } else { self.weight };
        Fact { weight, ..self }
    }

    /// The fact with more lines.
    #[must_use]
    pub fn and(mut self, lines: impl IntoIterator<Item = String>) -> Fact {
        self.lines.extend(lines);
        self
    }
}

/// The SHA-256 of something.
#[derive(Clone, Debug)]
pub struct Digest {
    /// `A`, `model`
    pub of: String,
    /// `file`, `data`; empty if there is only one.
    pub part: &'static str,
    pub sha256: String,
    /// What else is known of it.
    pub about: String,
}

impl Digest {
    /// A digest without a part or a description.
    pub fn new(of: &str, sha256: &str) -> Digest {
        Digest {
            of: of.to_owned(),
            part: "",
            sha256: sha256.to_owned(),
            about: String::new(),
        }
    }

    /// What it is of, with its part.
    pub fn name(&self) -> String {
        let name = format!("{} {}", self.of, self.part);
        name.trim_end().to_owned()
    }

    /// The digest with a description.
    #[must_use]
    pub fn about(self, about: impl Into<String>) -> Digest {
        let about = about.into();
        Digest { about, ..self }
    }

    /// The digest as that of one part.
    #[must_use]
    pub fn part(self, part: &'static str) -> Digest {
        Digest { part, ..self }
    }
}

/// Facts that belong together.
#[derive(Clone, Debug, Default)]
pub struct Section {
    pub id: &'static str,
    pub heading: String,
    pub facts: Vec<Fact>,
    pub digests: Vec<Digest>,
    /// Lines with others under them.
    pub outline: Vec<Item>,
    /// One thing each: an array, a file, a GPU.
    pub cards: Vec<Card>,
    pub constants: Vec<Constant>,
    /// Citations by key.
    pub sources: Vec<(String, String)>,
}

/// A line, and the lines under it.
#[derive(Clone, Debug)]
pub struct Item {
    pub text: String,
    pub weight: Weight,
    /// Whether it is a command to copy.
    pub command: bool,
    pub under: Vec<Item>,
}

impl Item {
    pub fn new(text: impl Into<String>) -> Item {
        Item {
            text: text.into(),
            weight: Weight::Plain,
            command: false,
            under: Vec::new(),
        }
    }

    pub fn caution(text: impl Into<String>) -> Item {
        Item {
            weight: Weight::Caution,
            ..Item::new(text)
        }
    }

    pub fn command(text: impl Into<String>) -> Item {
        Item {
            command: true,
            ..Item::new(text)
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Card {
    pub name: String,
    pub path: String,
    pub facts: Vec<Fact>,
    pub digests: Vec<Digest>,
    pub pictures: Vec<Picture>,
}

/// A constant, and its evidence.
#[derive(Clone, Debug)]
pub struct Constant {
    pub name: String,
    pub value: String,
    pub known: String,
    pub source: String,
    pub note: String,
}

/// Hypotheses of which none gives the result.
#[derive(Clone, Debug)]
pub struct Tried {
    /// How many were tried, in a few words.
    pub short: String,
    /// Each one.
    pub all: String,
}

/// What would give a result that differs.
#[derive(Clone, Debug)]
pub struct Cause {
    /// The number of its group on the map and in the list.
    pub group: Option<usize>,
    pub sentence: String,
    /// The command that tests it on the whole result.
    pub command: Option<String>,
}

/// The first mismatch, as a command explains it.
#[derive(Clone, Debug)]
pub struct Trace {
    pub text: String,
    pub how: &'static str,
    pub command: &'static str,
}

/// Which elements differ, and how.
#[derive(Clone, Debug)]
pub struct Differences {
    /// What sentences call the result.
    pub result: String,
    /// What the two codes of an element are called.
    pub names: [&'static str; 2],
    pub format: Format,
    /// By class, and the largest distance.
    pub how: Vec<Fact>,
    pub place: Vec<Fact>,
    /// Counts by class and by distance in ulps.
    pub classes: Vec<(String, u64)>,
    pub distances: Vec<(String, u64)>,
    /// The first ones, with the number of their group.
    pub first: Vec<(Option<usize>, Mismatch)>,
    /// How many mismatches there are.
    pub count: u64,
    pub map: Option<MismatchMap>,
    pub marks: Vec<Mark>,
}

impl Differences {
    /// How many mismatches are not shown, if `shown` of them are.
    pub fn hidden(&self, shown: usize) -> u64 {
        self.count.saturating_sub(shown as u64)
    }
}

/// A rectangle that the map points at: first, and one past the last; rows count on from matrix to matrix.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Mark {
    pub label: String,
    pub rows: [usize; 2],
    pub columns: [usize; 2],
}

/// Counts as a small drawing.
#[derive(Clone, Debug)]
pub enum Picture {
    /// A cell a number.
    Cells {
        caption: String,
        what: &'static str,
        counts: Vec<u64>,
    },
    /// Bits of results: ones that should be zeros, and zeros that should be ones.
    Bits {
        caption: String,
        counts: Vec<[u64; 2]>,
    },
}

/// One of many: a case, a step or a GPU.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub name: String,
    /// A shorter name, where there is one.
    pub short: Option<String>,
    pub tone: Tone,
    /// The state as a word of documents: `different`.
    pub state: String,
    pub word: String,
    pub qualified: String,
    pub said: String,
    pub by: String,
    /// What a CI server files it under.
    pub class: String,
    /// What it is grouped with others by: a kind of cause, or what went wrong.
    pub group: String,
    pub cause: Option<String>,
    pub next: Option<String>,
    /// The file of its own page.
    pub page: Option<String>,
    /// What else is known of it.
    pub card: Option<Card>,
    /// Its report as JSON.
    pub report: Option<Stored>,
}

/// Which case a page is of.
#[derive(Clone, Debug)]
pub struct PageOf {
    pub case: String,
    /// The file of the page that lists all cases.
    pub index: String,
}

/// What a page shows beyond the report; computed from the arrays.
#[derive(Clone, Debug, Default)]
pub struct Pictured {
    /// Where mismatches lie, if there are any.
    pub map: Option<MismatchMap>,
    /// The first mismatch step by step, as plain text.
    pub trace: Option<String>,
}

impl View {
    /// The verdict, how much it covers, and what it accepts.
    pub fn title(&self) -> String {
        format!("{}{}", self.word, self.qualified)
    }

    /// The view, with what is not in the report.
    #[must_use]
    pub fn pictured(mut self, with: &Pictured) -> View {
        if let Some(differences) = &mut self.differences {
            differences.map = with.map.clone();
            if let (Some(trace), Some(text)) = (&mut self.trace, &with.trace) {
                trace.text = text.clone();
            }
        }
        self
    }

    /// The view as the page of one case.
    #[must_use]
    pub fn within(self, all: PageOf) -> View {
        View {
            within: Some(all),
            ..self
        }
    }

    /// The view, with commands that show more.
    #[must_use]
    pub fn then(self, next: Vec<String>) -> View {
        View { next, ..self }
    }

    /// Sections that have an outline.
    pub fn outlined(&self) -> impl Iterator<Item = &Section> {
        let sections = self.sections.iter();
        sections.filter(|section| !section.outline.is_empty())
    }

    /// All digests, section by section.
    pub fn digests(&self) -> impl Iterator<Item = &Digest> {
        self.sections.iter().flat_map(|section| {
            let cards = section.cards.iter().flat_map(|card| &card.digests);
            cards.chain(&section.digests)
        })
    }

    /// All cases with their positions, the worst first.
    pub fn worst_first(&self) -> Vec<(usize, &Case)> {
        let mut cases: Vec<_> = self.cases.iter().enumerate().collect();
        cases.sort_by_key(|(_, case)| case.tone);
        cases
    }

    /// How and where results differ, all facts but details, and the ambiguity.
    pub fn summary(&self) -> impl Iterator<Item = &Fact> {
        let differences = self.differences.iter();
        let how = differences.flat_map(|d| d.how.iter().chain(&d.place));
        how.chain(self.facts()).chain(&self.ambiguity)
    }

    /// All facts but details, section by section.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        let facts = self.sections.iter().flat_map(|section| &section.facts);
        facts.filter(|fact| fact.weight != Weight::Detail)
    }
}
