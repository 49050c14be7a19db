//! The view of a comparison of two results.

use crate::compare::document::{Answer, By, Compared, Explained, Relation, ResultFound, Side, Sum};
use crate::emu::shape_text;
use crate::forms::view::phrase::{capital, counted, grouped, of, percent};
use crate::forms::view::sentences::{all, card};
use crate::forms::view::{Differences, Digest, Fact, Section, Tone, View, differences};
use crate::identify::document::IdentifiedSchedule;
use crate::report::{Bucket, Cause};

impl Compared {
    /// The comparison as every form shows it.
    pub fn view(&self) -> View {
        let elements = grouped(self.differences.elements);
        let equal = self.verdict == Answer::Equal;
        View {
            schema: self.schema.to_owned(),
            tone: self.tone(),
            word: match self.verdict {
                Answer::Equal => "Equal",
                Answer::Different => "Different",
                Answer::InputsDiffer => "Inputs differ",
            }
            .to_owned(),
            qualified: self.qualified(),
            sentence: if equal {
                format!(
                    "all {elements} elements{} have the same bits{}",
                    if self.rows.is_some() {
                        " of the chosen rows"
                    } else {
                        ""
                    },
                    self.rounding()
                )
            } else {
                self.difference()
            },
            about: std::iter::once(self.compared())
                .chain(self.answer().map(|why| format!("why: {why}")))
                .collect(),
            causes: differences::causes(self.causes()),
            // A shell reads what follows the # as a comment.
            next: std::iter::zip(&self.next, &self.next_of)
                .map(|(command, side)| format!("{command}  # {}", side.name()))
                .collect(),
            figures: differences::counts(&self.comparison),
            differences: self.drawn(),
            sections: vec![self.results(), self.inputs()],
            proves: self.proves(),
            test: [
                "tcverify".to_owned(),
                "tcverify.compare".to_owned(),
                format!("{} = {}", self.left.input.path, self.right.input.path),
            ],
            ..View::default()
        }
    }

    fn tone(&self) -> Tone {
        match (self.verdict, self.wrong) {
            (Answer::Equal, _) if self.rounded.is_none() && self.rows.is_none() => Tone::Good,
            (Answer::Equal, _) => Tone::Part,
            (Answer::Different, None) if self.explained == Some(Explained::Both) => Tone::Part,
            _ => Tone::Bad,
        }
    }

    fn qualified(&self) -> String {
        let explained = match self.explained {
            _ if self.verdict == Answer::Equal && self.rounded.is_some() => ", after rounding",
            _ if self.verdict == Answer::Equal => "",
            None => "",
            Some(Explained::Both) => ", both explained",
            Some(Explained::Neither) => ", neither explained",
            Some(Explained::Left | Explained::Right) => ", one explained",
        };
        let wrong = self
            .wrong
            .map_or(String::new(), |side| format!(", {} is wrong", side.name()));
        let part = match self.rows {
            Some(_) if self.verdict == Answer::Equal => ", in the chosen rows",
            _ => "",
        };
        format!("{explained}{part}{wrong}")
    }

    /// How many differ, and how far.
    fn difference(&self) -> String {
        let d = &self.differences;
        let percent = percent(d.mismatch_percent);
        let far = match (
            d.histogram.as_slice(),
            median(&d.histogram, self.mismatch_count),
        ) {
            ([only], _) if only.from == only.to && only.count == self.mismatch_count => {
                format!(", all by {} ulp", only.from)
            }
            (_, Some(median)) => format!(", half of them by {median} ulp or less"),
            _ => String::new(),
        };
        format!(
            "{} elements differ ({percent}){far}{}",
            of(self.mismatch_count, d.elements),
            self.rounding()
        )
    }

    /// Which result was rounded before the comparison.
    fn rounding(&self) -> String {
        match self.rounded {
            Some(side) => format!(
                " after the {} one is rounded to {}",
                side.name(),
                self.format
            ),
            None => String::new(),
        }
    }

    /// `d1.npy (left) and d2.npy (right), 64x64 in fp32`
    fn compared(&self) -> String {
        let [left, right] = [&self.left.input, &self.right.input];
        let shape = match &self.rows {
            None => shape_text(&left.shape),
            Some([[from, to], _]) => format!("{} of their rows", to - from),
        };
        let widened = if self.widened {
            " (stored as fp32)"
        } else {
            ""
        };
        format!(
            "{} (left) and {} (right), {shape} in {}{widened}",
            left.path, right.path, self.format
        )
    }

    fn causes(&self) -> &[Cause] {
        let sides = [&self.left, &self.right];
        let known = sides.into_iter().find(|side| !side.causes.is_empty());
        known.map_or(&[], |side| &side.causes)
    }

    fn drawn(&self) -> Option<Differences> {
        let shape = &self.left.input.shape;
        let of = ("the left result", self.format, shape.as_slice());
        let mut drawn =
            differences::of_comparison(&self.comparison, (self.causes(), &self.places), of)?;
        drawn.names = ["left", "right"];
        drawn.map = self.map.clone();
        drawn.how.extend(self.answers());
        Some(drawn)
    }

    /// What gives each result, and why they differ.
    pub fn answers(&self) -> Vec<Fact> {
        let sides = self.sides().into_iter();
        let mut facts: Vec<Fact> = sides
            .flat_map(|(side, found)| {
                let lines = found.described(all(&found.input.shape));
                Fact::several(side.name(), lines)
            })
            .collect();
        facts.extend(self.answer().map(|why| Fact::new("why", why)));
        facts
    }

    /// What gives each, and what separates the two.
    fn results(&self) -> Section {
        let mut facts = Vec::new();
        let data = [&self.left, &self.right].map(|found| &found.input.payload_sha256);
        if self.verdict == Answer::Equal && data[0] == data[1] && self.rows.is_none() {
            facts.push(Fact::new(
                "data",
                format!("both have the SHA-256 {}", data[0]),
            ));
        }
        if let Some([[a, b], [c, d]]) = &self.rows {
            let rows = format!("{a}:{b} of the left and {c}:{d} of the right are compared");
            facts.push(Fact::new("rows", rows));
        }
        facts.extend(self.kernels());
        // Of results that differ, they stand under the verdict.
        if self.drawn().is_none() {
            facts.extend(self.answers());
        }
        if let Some(wrong) = self.wrong {
            let other = wrong.other();
            facts.push(Fact::caution(
                "wrong",
                format!(
                    "{} is wrong: only a fault or missing products give it, while a rule in the catalogue gives the \
                    {} one",
                    capital(wrong.name()),
                    other.name()
                ),
            ));
        }
        if self.transposed {
            facts.push(Fact::new(
                "layout",
                "the right result is the left one transposed, bit for bit",
            ));
        }
        facts.extend(self.parted());
        facts.extend(self.steps());
        facts.extend(self.exact());
        facts.extend(Fact::several("pattern", self.pattern.iter().cloned()));
        Section {
            id: "results",
            heading: "Results".to_owned(),
            facts,
            ..Section::default()
        }
    }

    fn sides(&self) -> [(Side, &ResultFound); 2] {
        [(Side::Left, &self.left), (Side::Right, &self.right)]
    }

    fn why(&self, relation: Relation) -> String {
        let order = |found: &ResultFound| {
            let schedule = found.by.as_ref().and_then(|by| by.model.schedule.as_ref());
            schedule.map_or("one chain over K".to_owned(), ToString::to_string)
        };
        let unit = |found: &ResultFound| {
            let by = found.by.as_ref();
            by.map_or(String::new(), |by| by.model.unit())
        };
        let both = [&self.left, &self.right];
        let ([left, right], [by_left, by_right]) = (both.map(unit), both.map(order));
        let be = if self.only_relation { "" } else { "may be " };
        match relation {
            Relation::Same => format!(
                "the same arithmetic in the same order ({left}): the operands differ, and each result follows from its \
                own operands"
            ),
            Relation::Rounding => "the same sums, rounded to two formats".to_owned(),
            Relation::Epilogue => format!(
                "{be}the same sums, which are finished otherwise: left {by_left}, right {by_right}"
            ),
            Relation::Order => format!(
                "{be}the same arithmetic, but a different order of additions: left {by_left}, right {by_right}"
            ),
            Relation::Unit => format!(
                "{be}the same order of additions, but different units: left {left}, right {right}"
            ),
            Relation::Operands => {
                let read = both.map(|found| {
                    let by = found.by.as_ref();
                    by.map_or(String::new(), |by| by.model.operands())
                });
                let formats = read
                    .each_ref()
                    .map(|read| read.split(',').next().unwrap_or_default());
                let switch = if formats.contains(&"TF32") && formats.contains(&"FP32") {
                    ". No fault, but a setting: torch.backends.cuda.matmul.allow_tf32, NVIDIA_TF32_OVERRIDE=0"
                } else {
                    ""
                };
                format!(
                    "{be}{} against {}: the left multiplies the operands as {} ({left}), the right as {} \
                     ({right}){switch}",
                    formats[0], formats[1], read[0], read[1]
                )
            }
            Relation::UnitAndOrder => format!(
                "different units and a different order of additions: left {left} by {by_left}, right {right} by {by_right}"
            ),
        }
    }

    /// What separates the two results.
    fn answer(&self) -> Option<String> {
        let relation = self.relation?;
        Some(self.why(relation) + self.doubt(relation))
    }

    /// What is said where pairs with another relation give the two results as well.
    fn doubt(&self, relation: Relation) -> &'static str {
        match relation {
            _ if self.only_relation => "",
            Relation::Order => {
                ". It may be another unit as well: such pairs also give both results"
            }
            Relation::Unit => {
                ". It may be another order as well: such pairs also give both results"
            }
            _ => ". It may be less: other pairs also give both results",
        }
    }

    /// How the texts about the two kernels differ.
    fn kernels(&self) -> Option<Fact> {
        let kernels = self.kernels.as_ref()?;
        let text = match (&kernels.undecided, &kernels.differing[..]) {
            (Some(reason), _) => format!("the two texts cannot be compared: {reason}"),
            (None, []) => {
                "the two texts mean the same order of additions: the kernel is not the difference"
                    .to_owned()
            }
            (None, all) => format!("the two texts differ: {}", all.join("; ")),
        };
        Some(Fact::new("kernels", text))
    }

    /// The sums of the first difference, left and right.
    fn steps(&self) -> Option<Fact> {
        let both = self.side_by_side.as_ref()?;
        let column = |side: usize| -> Vec<String> {
            let (sums, count) = (&both.sums[side], both.count[side]);
            let shown = |sum: &Sum| format!("{}: {} (0x{})", sum.what, sum.value, sum.code);
            let mut lines: Vec<_> = sums.iter().map(shown).collect();
            let before = both.equal.saturating_sub(1);
            let left_out = count - before - sums.len();
            if left_out > 0 {
                lines.insert(sums.len() - 1, format!("... {left_out} more"));
            }
            lines
        };
        let [left, right] = [column(0), column(1)];
        let width = left.iter().map(|line| line.chars().count()).max()?;
        let rows = left.len().max(right.len());
        let cell = |lines: &[String], row: usize| lines.get(row).cloned().unwrap_or_default();
        let lines = (0..rows).map(|row| {
            let (one, other) = (cell(&left, row), cell(&right, row));
            let gap = width - one.chars().count();
            // A long run of spaces would be shown as one that somebody put there to hide something.
            let fill = if gap > MAX_GAP { "." } else { " " };
            format!("{one} {}| {other}", fill.repeat(gap) + " ")
                .trim_end()
                .to_owned()
        });
        let equal = match both.equal {
            0 => String::new(),
            1 => ", the first sum is equal".to_owned(),
            n => format!(", the first {} sums are equal", grouped(n as u64)),
        };
        let head = format!("of {:?}, left | right{equal}", both.index);
        Some(Fact::new("sums", head).and(lines))
    }

    fn parted(&self) -> Option<Fact> {
        let parting = self.side_by_side.as_ref()?.parting.as_ref()?;
        let [left, right] = &parting.values;
        Some(Fact::new(
            "first",
            format!(
                "at {:?} the sums are equal until {} of the products are added: {left} on the left (0x{}), {right} on the \
                 right (0x{})",
                parting.index, parting.products, parting.codes[0], parting.codes[1]
            ),
        ))
    }

    fn exact(&self) -> Option<Fact> {
        let count = self.correctly_rounded.as_ref()?;
        let [left, right] = count.rounded.map(grouped);
        let far = |side: usize, unit: &str| match count.farthest[side] {
            Some(far) => format!("at most {far}{unit}"),
            None => "some are NaN".to_owned(),
        };
        let (far_left, far_right) = (far(0, " ulp away"), far(1, ""));
        let line = format!(
            "of {} differing elements the left has the correctly rounded sum in {left} ({far_left}), the right in {right} \
             ({far_right}), neither in {}",
            grouped(count.elements),
            grouped(count.neither)
        );
        let not = "A nearer result is not a correct one: the unit's own rule decides.".to_owned();
        Some(Fact::new("exact", line).and([not]))
    }

    /// Which files these are.
    fn inputs(&self) -> Section {
        let mut section = Section {
            id: "inputs",
            heading: "Inputs".to_owned(),
            ..Section::default()
        };
        for (side, found) in self.sides() {
            section.cards.push(card(side.name(), false, &found.input));
        }
        for pair in &self.operands {
            let role = pair.role.to_uppercase();
            let [left, right] = &pair.payload_sha256;
            if pair.same {
                let digest = Digest::new(&role, left).part("data");
                section.digests.push(digest.about("the same on both sides"));
            } else {
                let text = format!(
                    "{role} differs between left and right: {left} and {right} (SHA-256 of the elements)"
                );
                section.facts.push(Fact::caution(role, text));
            }
        }
        section
    }

    fn proves(&self) -> String {
        let text = match (self.verdict, self.explained) {
            (Answer::Equal, _) => {
                let held = match (&self.rows, self.rounded) {
                    (None, None) => "Both files hold the same bits.".to_owned(),
                    (None, Some(_)) => {
                        format!(
                            "Both results have the same bits{}; the files differ.",
                            self.rounding()
                        )
                    }
                    (Some(_), _) => format!(
                        "The chosen rows have the same bits{}. Other rows were not compared.",
                        self.rounding()
                    ),
                };
                return format!(
                    "{held} That does not show that they are correct: 'tcverify check' replays one."
                );
            }
            (Answer::InputsDiffer, _) => {
                "Different operands give different results: this is no evidence of an error in a GPU or a library."
            }
            (_, Some(Explained::Both)) => {
                "A modelled unit computes each of the two results from these operands. Others may give the same \
                 bits: 'tcverify identify' lists all that fit."
            }
            (_, Some(Explained::Left | Explained::Right)) => {
                "A modelled unit computes one of the results from these operands. Nothing in the search gives the \
                 other one, unless a cause is named."
            }
            (_, Some(Explained::Neither)) => {
                "Nothing in the search gives either result: neither is shown to be correct or wrong."
            }
            (_, None) => {
                "The files differ. Without A and B, this does not show which is correct, or why."
            }
        };
        text.to_owned()
    }
}

/// The most spaces between two columns.
const MAX_GAP: usize = 36;

impl ResultFound {
    /// What gives it, and what was searched; empty if nothing was.
    fn described(&self, elements: u64) -> Vec<String> {
        let Some(searched) = &self.searched else {
            return Vec::new();
        };
        let untested = match searched.untested {
            0 => String::new(),
            n => format!("; {} exceeded the budget", grouped(n as u64)),
        };
        let tried = format!(
            "{} models alone and {} under schedules were tried{untested}",
            grouped(searched.models as u64),
            grouped(searched.schedules as u64)
        );
        let Some(by) = &self.by else {
            return vec![format!("nothing in the search gives it: {tried}")];
        };
        let mut lines = vec![by.described(elements)];
        if searched.fits > 1 {
            let others = searched.fits - 1;
            let give = if others == 1 { "gives" } else { "give" };
            let more = match others - searched.others.len() {
                0 => "",
                _ => " ...",
            };
            lines.push(format!(
                "{} also {give} it, so no single kernel is identified: {}{more}",
                counted(others as u64, "other"),
                searched.others.join(", ")
            ));
        }
        let schedule = by.model.schedule.iter();
        lines.extend(schedule.flat_map(IdentifiedSchedule::omits));
        lines
    }
}

impl By {
    /// `ampere mma under cutlass-sm80 (...): gives all 4,096 elements`
    fn described(&self, elements: u64) -> String {
        let gives = if self.in_full {
            format!("all {} elements", grouped(elements))
        } else {
            format!(
                "the {} elements it was tested on",
                grouped(self.tested as u64)
            )
        };
        let rounded = match self.model.rounded_to {
            Some(format) => format!(", rounded to {format}"),
            None => String::new(),
        };
        format!("{}{rounded} gives {gives}", self.model.describe())
    }
}

/// The distance that half of all differences do not exceed, as the end of its bucket. None if too many have no distance:
/// a NaN has none.
fn median(histogram: &[Bucket], all: u64) -> Option<String> {
    let mut so_far = 0;
    for bucket in histogram {
        so_far += bucket.count;
        if 2 * so_far >= all {
            let to = u64::try_from(bucket.to);
            return Some(to.map_or(bucket.to.to_string(), grouped));
        }
    }
    None
}
