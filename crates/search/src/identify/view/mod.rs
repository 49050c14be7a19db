//! The view of a search: what was searched, what fits and how much that proves, and what was not searched.

mod ties;

use self::ties::{Line, Tie, ties};
use crate::emu::schedule::{Parts, SliceLength};
use crate::emu::step::{Step, ThroughMemory};
use crate::forms::view::phrase::{counted, grouped, some};
use crate::forms::view::{Item, Section, Tone, View, kernel_lines};
use crate::identify::document::{Apart, Fit, Identification, Identified, IdentifiedSchedule};
use crate::num::{Format, decimal};

/// How many names of an arithmetic are shown.
const NAMES: usize = 6;

/// Fewer differing elements are weak evidence.
const WEAK: u64 = 16;

impl Identification {
    /// The view, with at most `limit` lines of fits and as many of the others.
    pub fn view(&self, limit: usize) -> View {
        let (tone, [word, qualified], sentence) = self.verdict();
        let section = |id, heading: &str, outline| Section {
            id,
            heading: heading.to_owned(),
            outline,
            ..Section::default()
        };
        let mut sections = vec![section("evidence", "Evidence", self.strength())];
        sections.push(section("fits", "What fits", self.shown(limit)));
        if !self.others.is_empty() {
            let first = counted(self.sample.first as u64, "sampled element");
            let heading = format!(
                "Others, ordered by agreement in the first {first}; each count is of the elements tested"
            );
            sections.push(section("others", &heading, self.rest(limit)));
        }
        sections.push(section("left", "Not searched", self.left()));
        View {
            schema: self.schema.clone(),
            tone,
            word,
            qualified,
            sentence,
            sections,
            ..View::default()
        }
    }

    /// Whether so few elements distinguish candidates that a fit may be chance.
    fn is_weak(&self) -> bool {
        self.nearest_other.is_none_or(|missed| missed < WEAK)
    }

    /// Whether models were tried alone: not if a kernel is known to have made D.
    fn tried_alone(&self) -> bool {
        self.plain + self.untested > 0
    }

    /// `16 models`, `16 models alone and 912 candidates under schedules of kernels`, or `63 candidates that the kernel
    /// text allows`.
    fn searched(&self) -> String {
        let of = if self.architectures.is_empty() {
            String::new()
        } else {
            format!(" of {}", self.architectures.join(", "))
        };
        let models = counted(self.plain as u64, "model");
        let Some(searched) = &self.schedules else {
            return format!("{models}{of}; schedules were not searched");
        };
        let under = counted(searched.tested as u64, "candidate");
        match (self.tried_alone(), self.kernel.is_some()) {
            (_, true) => format!("{under}{of} that the kernel text allows"),
            (true, false) => format!("{models} alone and {under} under schedules of kernels{of}"),
            (false, false) => format!("{under} under schedules of kernels{of}"),
        }
    }

    /// `2 models alone and 3 under schedules`, or the kind that was searched.
    fn fitting(&self) -> String {
        let under = |fit: &&Fit| fit.model.schedule.is_some();
        let scheduled = self.fits.iter().filter(under).count();
        let alone = self.fits.len() - scheduled;
        let models = counted(alone as u64, "model");
        let under = counted(scheduled as u64, "candidate");
        match (&self.schedules, self.tried_alone()) {
            (None, _) => format!("{models} alone"),
            (Some(_), true) if alone == 0 => format!("{under} under schedules"),
            (Some(_), true) if scheduled == 0 => format!("{models} alone"),
            (Some(_), true) => format!(
                "{models} alone and {} under schedules",
                grouped(scheduled as u64)
            ),
            (Some(_), false) => under,
        }
    }

    /// Tone, word and what follows it, and the sentence.
    fn verdict(&self) -> (Tone, [String; 2], String) {
        let searched = self.searched();
        let word = |word: &str| [word.to_owned(), String::new()];
        if self.fits.is_empty() {
            let (tone, sentence) = match self.finished.len() as u64 {
                0 => (Tone::Bad, format!("gives this D, of {searched}")),
                n => {
                    let with = if n == 1 { "does with" } else { "do with" };
                    let finished = format!("{} {with} an epilogue", grouped(n));
                    let sentence = format!("alone gives this D, of {searched}; {finished}");
                    (Tone::Part, sentence)
                }
            };
            return (tone, word("None"), sentence);
        }
        let all = if self.fits.iter().any(|fit| !fit.in_full) {
            let were = match self.fits.len() {
                1 => "it was",
                _ => "they were",
            };
            format!("all elements of D that {were} tested on")
        } else if self.elements == 1 {
            "the one element of D".to_owned()
        } else {
            format!("all {} elements of D", grouped(self.elements))
        };
        let complete = self.schedules.as_ref().is_some_and(|s| s.untested == 0);
        let all_looked_at = complete && self.untested == 0 && self.architectures.is_empty();
        let sure = all_looked_at && self.fits[0].in_full && !self.is_weak();
        if self.fits.len() == 1 && sure {
            let sentence = format!("gives {all}, of {searched}");
            return (Tone::Good, word("One"), sentence);
        }
        let (give, apart) = match self.fits.len() {
            1 => ("gives", ""),
            _ => ("give", "; this D cannot distinguish them"),
        };
        let sentence = format!("{give} {all}{apart} (of {searched})");
        (Tone::Part, [String::new(), self.fitting()], sentence)
    }

    fn strength(&self) -> Vec<Item> {
        let order = if self.sample.telling_first {
            ", ordered by how near their sums are to a rounding boundary of D"
        } else {
            ""
        };
        let mut items = vec![Item::new(format!(
            "of a sample of {}{order}, {} distinguish candidates",
            counted(self.sample.most as u64, "element"),
            grouped(self.telling as u64)
        ))];
        if self.is_weak() && !self.fits.is_empty() {
            let tested = self.schedules.as_ref().map_or(0, |of| of.tested);
            let missed = match self.nearest_other {
                None if self.kernel.is_some() && tested == 1 => {
                    "the kernel text determines the order, so nothing else was tested".to_owned()
                }
                None => "every tested candidate gives the same result".to_owned(),
                Some(1) => {
                    "the nearest candidate that does not fit differs in 1 element".to_owned()
                }
                Some(n) => {
                    format!("the nearest candidate that does not fit differs in {n} elements")
                }
            };
            items.push(Item::caution(format!(
                "Weak evidence: {missed}; a kernel outside the search may also give this D"
            )));
        }
        if self.fits.len() > 1 {
            items.push(Item::new(
                "Most common kernels first; D favours none of them",
            ));
        }
        items
    }

    /// What fits, at most `limit` lines.
    fn shown(&self, limit: usize) -> Vec<Item> {
        let finished = self.finished.iter().take(limit).map(|one| Item {
            under: vec![Item::new(one.epilogue.clone())],
            ..Item::new(format!("- {}: {}", one.model.named(), one.model.formats()))
        });
        let (mut shown, mut fits, mut items) = (0, 0, finished.collect::<Vec<_>>());
        for tie in ties(self) {
            let lines = &tie.lines[..tie.lines.len().min(limit - shown)];
            if lines.is_empty() {
                break;
            }
            let mut item = heading(&tie, limit);
            for line in lines {
                item.under.push(self.line(line));
                fits += line.fits.len();
            }
            shown += lines.len();
            items.push(item);
        }
        if self.fits.len() > fits {
            let more = self.fits.len() - fits;
            let fit = if more == 1 { "fits" } else { "fit" };
            let more = grouped(more as u64);
            items.push(Item::new(format!(
                "{more} more {fit}: see --limit; the JSON has all"
            )));
        }
        items
    }

    /// A kernel's fits; the command is that of the first.
    fn line(&self, line: &Line) -> Item {
        let first = &self.fits[line.fits[0]];
        let kernel = line.kernel();
        let kernel = kernel.iter().flat_map(kernel_lines);
        let mut under: Vec<_> = kernel
            .map(|(how, what)| Item::new(format!("{how}: {what}")))
            .collect();
        let omits = first.model.schedule.iter();
        let omits = omits.flat_map(IdentifiedSchedule::omits);
        under.extend(omits.map(Item::caution));
        under.push(Item::command(&first.model.best_name().command));
        let fits = line.fits.iter().map(|&i| &self.fits[i]);
        let partly = fits.filter(|fit| !fit.in_full);
        if let Some(tested) = partly.map(|fit| fit.tested as u64).min() {
            under.push(Item::caution(format!(
                "tested on only {} elements",
                grouped(tested)
            )));
        }
        let apart = self.separations.iter();
        let apart = apart.filter(|apart| line.fits.contains(&apart.between[1]));
        // A separation with operands says more than one without.
        let apart = apart.max_by_key(|apart| (apart.operands.is_some(), !apart.between[1]));
        under.extend(apart.map(|apart| Item::new(self.separation(apart, line.fits.len() == 1))));
        Item {
            under,
            ..Item::new(format!("- {line}"))
        }
    }

    /// Those that do not fit.
    fn rest(&self, limit: usize) -> Vec<Item> {
        let others = self.others.iter().take(limit).map(|other| {
            let agreement = match other.mismatches {
                Some(n) => format!("{n} of {} differ", self.elements),
                None => format!("{} of {}", other.agreed, other.tested),
            };
            let name = &other.model.names[0];
            let more = match other.model.names.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            let schedule = other.model.schedule.as_ref();
            let schedule = schedule.map_or(String::new(), |schedule| format!("; {schedule}"));
            Item::new(format!(
                "{agreement:<14} {name}{more}: {}{schedule}",
                other.model.formats()
            ))
        });
        let mut items: Vec<_> = others.collect();
        match self.others.len().saturating_sub(limit) {
            0 => {}
            1 => items.push(Item::new("1 more does not fit either")),
            more => items.push(Item::new(format!(
                "{} more do not fit either",
                grouped(more as u64)
            ))),
        }
        items
    }

    /// What was not searched or replayed.
    fn left(&self) -> Vec<Item> {
        let mut left = Vec::new();
        if !self.architectures.is_empty() {
            let only = self.architectures.join(", ");
            left.push(format!("architectures other than {only}: see --arch"));
        }
        let untested = |count, what, of| {
            let were = if count == 1 { "was" } else { "were" };
            format!("{}{of} {were} not tested", counted(count as u64, what))
        };
        if self.untested > 0 {
            left.push(untested(self.untested, "model", ""));
        }
        match &self.schedules {
            None => left.push("schedules of kernels were not searched: see --schedules".into()),
            Some(searched) if searched.untested > 0 => {
                left.push(untested(searched.untested, "candidate", " under schedules"));
            }
            Some(_) => {}
        }
        match self.fits.iter().filter(|fit| !fit.in_full).count() {
            0 => {}
            1 => left.push("1 that fits was not replayed in full: see --budget and --quick".into()),
            n => left.push(format!(
                "{} that fit were not replayed in full: see --budget and --quick",
                grouped(n as u64)
            )),
        }
        left.extend(
            self.never_searched
                .iter()
                .map(|what| format!("never: {what}")),
        );
        left.into_iter().map(Item::caution).collect()
    }

    fn separation(&self, apart: &Apart, alone: bool) -> String {
        let named = |position: usize| {
            let model = &self.fits[apart.between[position]].model;
            format!("{}{}", model.best_name(), model.under())
        };
        let (first, here) = (named(0), named(1));
        // A line with one fit need not name it.
        let (who, it) = if alone {
            (String::new(), "it")
        } else {
            (format!("{here} "), here.as_str())
        };
        if !apart.comparable {
            return format!("{who}reads the files in formats other than those of {first}");
        }
        let Some(operands) = &apart.operands else {
            return format!("no operands found on which {it} differs from {first}");
        };
        let pairs = operands.a.iter().zip(&operands.b).enumerate();
        let zero = |code: &str| code.bytes().all(|digit| digit == b'0');
        let products: Vec<_> = pairs
            .filter(|(_, (a, b))| !zero(a) || !zero(b))
            .map(|(k, (a, b))| format!("k={k} {a}*{b}"))
            .collect();
        let products = match products.len() {
            0..=6 => products.join(", "),
            n => format!(
                "{}, ... ({n} products; the JSON has all)",
                products[..3].join(", ")
            ),
        };
        let result = self.fits[apart.between[1]].model.result();
        let value = |code: &str| match u64::from_str_radix(code, 16) {
            Ok(code) => decimal(result, code),
            Err(_) => String::new(),
        };
        let [theirs, ours] = &operands.results;
        format!(
            "{who}differs from {first} on {products} + C={} (K = {}): {theirs} there, {ours} here ({} and {})",
            operands.c,
            operands.a.len(),
            value(theirs),
            value(ours)
        )
    }
}

/// The arithmetics of a tie, and the units that have them.
fn heading(tie: &Tie, limit: usize) -> Item {
    let mut item = Item::new(tie.models[0].formats());
    for model in tie.models.iter().take(limit) {
        let best = model.best_name();
        let others = model.names.iter().filter(|name| *name != best);
        let names = std::iter::once(best).chain(others);
        let names: Vec<_> = names
            .map(|name| format!("{name} ({})", name.evidence))
            .collect();
        let names = some(&names, NAMES);
        let line = format!("{names}: {}", model.summary);
        item.under.push(Item::new(line));
    }
    if tie.models.len() > limit {
        let more = tie.models.len() - limit;
        item.under
            .push(Item::new(format!("and {more} more arithmetics")));
    }
    item
}

impl IdentifiedSchedule {
    /// Which k it leaves out of D.
    pub fn omits(&self) -> Vec<String> {
        let slices = self.spec.split.as_ref().map(|split| &split.parts);
        let length = SliceLength::CeilOfFloor;
        let defect = matches!(slices, Some(Parts::Slices { length: of, .. }) if *of == length);
        let text = |&[first, end]: &[usize; 2]| {
            if defect {
                format!(
                    "this D omits the last {} k (from k={first}): a known defect of cuBLAS's split nvjet kernels (ALGO \
            66)",
                    end - first
                )
            } else {
                format!("omits k {first} to {}", end - 1)
            }
        };
        self.omitted_k.iter().map(text).collect()
    }
}

impl Identified {
    /// The best known unit, how many share its arithmetic, and the schedule.
    fn named(&self) -> String {
        let more = match self.names.len() {
            1 => String::new(),
            n => format!(" and {} with the same arithmetic", n - 1),
        };
        format!("{}{more}{}", self.best_name(), self.under())
    }

    /// The schedule, to follow a name.
    fn under(&self) -> String {
        let schedule = self.schedule.as_ref();
        schedule.map_or(String::new(), |schedule| format!(" under {schedule}"))
    }

    /// `ampere mma under cutlass-sm80 (tile_k 64)`
    pub fn describe(&self) -> String {
        let chain = if self.schedule.is_none() {
            ", one chain over K"
        } else {
            ""
        };
        format!("{}{}{chain}{}", self.unit(), self.under(), self.rounding())
    }

    /// The best known unit; a chain of multiply-adds is a CPU's as well.
    pub fn unit(&self) -> String {
        let best = self.best_name();
        if !matches!(self.arithmetic.step, Step::FmaChain(_)) {
            return best.to_string();
        }
        let format = self.arithmetic.accumulator.name().to_uppercase();
        let mut names = self.names.iter();
        let one = names.all(|name| name.architecture == best.architecture);
        let by = if one {
            format!(" ({best})")
        } else {
            String::new()
        };
        format!("a chain of {format} multiply-adds{by}")
    }

    /// What is done to FP32 operands first.
    fn rounding(&self) -> String {
        if self.nearest {
            format!(
                ", FP32 operands rounded to the nearest {}",
                self.arithmetic.a.name().to_uppercase()
            )
        } else {
            String::new()
        }
    }

    /// How operands are read: `FP32`, `TF32, rounded to nearest`.
    pub fn operands(&self) -> String {
        let [a, b] = self.reads().map(|f| f.name().to_uppercase());
        let both = if a == b { a } else { format!("{a} and {b}") };
        let rounded = if self.nearest {
            ", rounded to nearest"
        } else {
            ""
        };
        format!("{both}{rounded}")
    }

    /// `fp16*fp16 -> fp32, rounded to bf16`.
    pub fn formats(&self) -> String {
        let a = &self.arithmetic;
        let rounded = self
            .rounded_to
            .map_or(String::new(), |f| format!(", rounded to {f}"));
        let blocks = match a.step.through_memory() {
            ThroughMemory::Blocks(Some(blocks)) => blocks.summary(),
            _ => String::new(),
        };
        let first = self.rounding();
        let own = a.describe();
        let own = match self.reads() {
            [a, b] if a != self.arithmetic.a => format!("{a}*{b} by {own}"),
            _ => own,
        };
        format!("{own}{rounded}{first}{blocks}")
    }

    /// The formats of A and B; the unit multiplies others where a schedule takes operands apart.
    fn reads(&self) -> [Format; 2] {
        let unit = [self.arithmetic.a, self.arithmetic.b];
        let schedule = self.schedule.as_ref();
        schedule.map_or(unit, |schedule| {
            unit.map(|format| schedule.spec.read_as(format))
        })
    }
}
