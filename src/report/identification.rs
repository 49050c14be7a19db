//! What `identify` found, as data and as text. `docs/identifying.md` is its contract.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::{KernelWords, Tool, grouped};
use crate::emu::schedule::{Overrides, ScheduleSpec};
use crate::emu::{Arithmetic, Evidence};
use crate::num::{Format, decimal};

/// Value of the `schema` field.
pub const IDENTIFICATION: &str = "tcverify.identification/2";

/// Kinds of kernels that no search looks for.
pub const NEVER_SEARCHED: [&str; 5] = [
    "stream-K (check --workers), unequal slices, and tails of K that are lost otherwise than by split nvjet kernels",
    "orders of k within a tile or backwards, but for Triton's",
    "alpha and beta other than 1 (check --alpha, --beta), scales of results that are not given, bias, an activation such \
     as ReLU",
    "operands rounded or scaled before the product: FP32 to the nearest TF32 (check --tf32-input), scales \
     that are not given; 3xTF32 with its products in other orders",
    "sums of FP16 that are promoted, and other accumulators than FP32 and INT32 under schedules",
];

/// Everything an identification has to say. Holds nothing that differs between two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Identification {
    pub schema: String,
    pub tool: Tool,
    /// Elements of D.
    pub elements: u64,
    pub sample: SampleSize,
    /// Elements of the sample that some candidate does not give: they alone tell candidates apart.
    pub telling: usize,
    /// The fewest elements that a candidate which does not fit does not give: of D, or of the sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest_other: Option<u64>,
    /// In multiply-adds.
    pub budget: u64,
    /// Models alone that were tested; those that the budget had no room for.
    pub plain: usize,
    pub untested: usize,
    /// If schedules were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<SchedulesSearched>,
    /// Kinds of kernels that no search looks for, in words.
    pub never_searched: Vec<String>,
    /// Those that give D, the commonest kernels first.
    pub fits: Vec<Fit>,
    /// Operands on which two of `fits` differ.
    pub separations: Vec<Apart>,
    /// The rest, the nearest first.
    pub others: Vec<Other>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SampleSize {
    pub seed: u64,
    /// Elements every model was tested on, and the most any candidate was.
    pub first: usize,
    pub most: usize,
    /// Whether those elements come first whose sums are nearest to where D's rounding turns over.
    pub telling_first: bool,
}

/// How far the search of schedules went.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SchedulesSearched {
    /// Arithmetics under schedules that were tested; those that the budget had no room for.
    pub tested: usize,
    pub untested: usize,
    /// Elements that each was tested on first.
    pub first: usize,
}

/// A kernel's schedule by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct IdentifiedSchedule {
    pub name: String,
    pub title: String,
    pub evidence: Evidence,
    /// What takes the place of its constants, as fields of a request.
    pub overrides: Overrides,
    pub summary: String,
    pub sha256: String,
    pub spec: ScheduleSpec,
    /// If it is no preset but a library's kernel: what of it was stated, found, assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelWords>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Identified {
    pub arithmetic: Arithmetic,
    pub sha256: String,
    /// D is the result rounded to this format, to nearest even.
    pub rounded_to: Option<Format>,
    pub summary: String,
    pub names: Vec<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<IdentifiedSchedule>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Named {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
    /// The command that checks all of D by it.
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Fit {
    #[serde(flatten)]
    pub model: Identified,
    /// Elements of the sample that it was tested on.
    pub tested: usize,
    /// Whether it gives all of D, or was tested on the sample alone.
    pub in_full: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Other {
    #[serde(flatten)]
    pub model: Identified,
    pub tested: usize,
    pub agreed: usize,
    /// Of all of D, where the sample agreed and the whole was replayed.
    pub mismatches: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Apart {
    /// Positions in `fits`.
    pub between: [usize; 2],
    /// Whether the two read the files alike.
    pub comparable: bool,
    /// Absent if none were found.
    pub operands: Option<ApartOperands>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ApartOperands {
    /// Codes in hexadecimal, k ascending.
    pub a: Vec<String>,
    pub b: Vec<String>,
    pub c: String,
    pub results: [String; 2],
}

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const CAUTION: Style = AnsiColor::Yellow.on_default();
const QUIET: Style = Style::new().dimmed();

/// So few elements prove little.
const WEAK: u64 = 16;

/// How many of the rest the text lists.
const LISTED: usize = 8;

/// How many of those that fit the text has in full, and how many names of each.
const RANKED: usize = 8;
const NAMES: usize = 4;

impl Identification {
    /// # Errors
    /// Those of the writer.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.headline(out)?;
        self.strength(out)?;
        for (i, fit) in self.fits.iter().enumerate().take(RANKED) {
            heading(&fit.model, out)?;
            let names = &fit.model.names;
            for named in names.iter().take(NAMES) {
                writeln!(
                    out,
                    "    {:<14} {:<18} {:<10}  {QUIET}{}{QUIET:#}",
                    named.architecture,
                    named.instruction,
                    named.evidence,
                    crate::io::escaped(&named.command)
                )?;
            }
            if names.len() > NAMES {
                let more = names[NAMES..].iter().map(Named::to_string);
                let more: Vec<_> = more.collect();
                writeln!(out, "    and {}", more.join(", "))?;
            }
            if !fit.in_full {
                let tested = grouped(fit.tested as u64);
                writeln!(
                    out,
                    "    {CAUTION}tested on {tested} elements alone{CAUTION:#}"
                )?;
            }
            for apart in self.separations.iter().filter(|a| a.between[1] == i) {
                self.separation(apart, out)?;
            }
            writeln!(out)?;
        }
        if self.fits.len() > RANKED {
            let more = self.fits.len() - RANKED;
            writeln!(out, "  {more} more fit; the JSON has all of them\n")?;
        }
        self.rest(out)?;
        self.left(out)
    }

    /// Those that do not fit.
    fn rest(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.others.is_empty() {
            writeln!(
                out,
                "Others, by agreement on the first {} sampled elements",
                self.sample.first
            )?;
        }
        for other in self.others.iter().take(LISTED) {
            let agreement = match other.mismatches {
                Some(n) => format!("{n} of {} differ", self.elements),
                None => format!("{} of {}", other.agreed, other.tested),
            };
            let name = &other.model.names[0];
            let more = match other.model.names.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            writeln!(
                out,
                "  {agreement:<14} {} {}{more}: {}{}",
                name.architecture,
                name.instruction,
                formats(&other.model),
                match &other.model.schedule {
                    Some(schedule) => format!("; {schedule}"),
                    None => String::new(),
                }
            )?;
        }
        if self.others.len() > LISTED {
            let more = self.others.len() - LISTED;
            writeln!(out, "  {more} more do not fit either")?;
        }
        Ok(())
    }

    /// What was not done.
    fn left(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut left = Vec::new();
        if self.untested > 0 {
            left.push(format!("{} models were not tested", self.untested));
        }
        match &self.schedules {
            None => left.push("schedules of kernels were not searched: see --schedules".into()),
            Some(searched) if searched.untested > 0 => left.push(format!(
                "{} candidates under schedules were not tested",
                searched.untested
            )),
            Some(_) => {}
        }
        let sampled = self.fits.iter().filter(|fit| !fit.in_full).count();
        if sampled > 0 {
            left.push(format!(
                "{sampled} that fit were not replayed in full: see --budget and --quick"
            ));
        }
        left.extend(
            self.never_searched
                .iter()
                .map(|what| format!("never: {what}")),
        );
        writeln!(out, "\nNot searched")?;
        for what in left {
            writeln!(out, "  {CAUTION}{what}{CAUTION:#}")?;
        }
        Ok(())
    }

    /// Whether so few elements tell candidates apart that what fits may do so by chance.
    fn is_weak(&self) -> bool {
        self.nearest_other.is_none_or(|missed| missed < WEAK)
    }

    /// `16 models` or `16 models alone and 912 candidates under schedules of kernels`.
    fn searched(&self) -> String {
        match &self.schedules {
            None => format!("{} models; schedules were not searched", self.plain),
            Some(searched) => format!(
                "{} models alone and {} candidates under schedules of kernels",
                self.plain, searched.tested
            ),
        }
    }

    fn headline(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = match self.fits.iter().all(|fit| fit.in_full) {
            true if self.elements == 1 => "the one element of D".to_owned(),
            true => format!("all {} elements of D", grouped(self.elements)),
            false => "all elements of D that they were tested on".to_owned(),
        };
        let searched = self.searched();
        if self.fits.is_empty() {
            return writeln!(out, "{BAD}NONE{BAD:#}  gives this D, of {searched}");
        }
        let under = |fit: &&Fit| fit.model.schedule.is_some();
        let scheduled = self.fits.iter().filter(under).count();
        let plain = self.fits.len() - scheduled;
        let complete = self.schedules.as_ref().is_some_and(|s| s.untested == 0);
        let sure = complete && self.untested == 0 && self.fits[0].in_full && !self.is_weak();
        if self.fits.len() == 1 && sure {
            return writeln!(out, "{GOOD}ONE{GOOD:#}  gives {all}, of {searched}");
        }
        let models = |count| if count == 1 { "model" } else { "models" };
        let who = match &self.schedules {
            None => format!("{plain} {} alone", models(plain)),
            Some(_) => format!(
                "{plain} {} alone and {scheduled} under schedules",
                models(plain)
            ),
        };
        let (give, apart) = match self.fits.len() {
            1 => ("gives", ""),
            _ => ("give", "; this D cannot tell them apart"),
        };
        writeln!(
            out,
            "{CAUTION}{who}{CAUTION:#} {give} {all}{apart} (of {searched})"
        )
    }

    fn strength(&self, out: &mut dyn Write) -> io::Result<()> {
        let order = match self.sample.telling_first {
            true => ", those first whose sums are nearest to where D's rounding turns over",
            false => "",
        };
        writeln!(
            out,
            "Evidence: of a sample of {} elements{order}, {} tell candidates apart",
            grouped(self.sample.most as u64),
            grouped(self.telling as u64)
        )?;
        if self.is_weak() && !self.fits.is_empty() {
            let missed = match self.nearest_other {
                None => "no candidate that was tested gives anything else".to_owned(),
                Some(1) => {
                    "the nearest candidate that does not fit differs in 1 element".to_owned()
                }
                Some(n) => {
                    format!("the nearest candidate that does not fit differs in {n} elements")
                }
            };
            writeln!(
                out,
                "{CAUTION}Weak evidence{CAUTION:#}: {missed}; a kernel that was not searched may give this D, too"
            )?;
        }
        if self.fits.len() > 1 {
            writeln!(
                out,
                "Commonest kernels first; D says nothing for one of them more than for another"
            )?;
        }
        writeln!(out)
    }

    fn separation(&self, apart: &Apart, out: &mut dyn Write) -> io::Result<()> {
        let first = &self.fits[apart.between[0]].model;
        let first = match &first.schedule {
            None => first.names[0].to_string(),
            Some(schedule) => format!("{} under {schedule}", first.names[0]),
        };
        if !apart.comparable {
            return writeln!(out, "    reads the files as other formats than {}", first);
        }
        let Some(operands) = &apart.operands else {
            return writeln!(
                out,
                "    no operands found on which it differs from {}",
                first
            );
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
                "{}, ... ({n} products, all of them in the JSON)",
                products[..3].join(", ")
            ),
        };
        let result = self.fits[apart.between[1]].model.result();
        let value = |code: &str| match u64::from_str_radix(code, 16) {
            Ok(code) => decimal(result, code),
            Err(_) => String::new(),
        };
        let [theirs, ours] = &operands.results;
        writeln!(
            out,
            "    differs from {} on {} + C={} (K = {}): {theirs} there, {ours} here ({} and {})",
            first,
            products,
            operands.c,
            operands.a.len(),
            value(theirs),
            value(ours)
        )
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.architecture, self.instruction)
    }
}

impl std::fmt::Display for IdentifiedSchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.overrides.is_empty() {
            true => f.write_str(&self.name),
            false => write!(f, "{} ({})", self.name, self.overrides),
        }
    }
}

impl Identified {
    fn result(&self) -> Format {
        self.rounded_to.unwrap_or(self.arithmetic.accumulator)
    }
}

fn heading(model: &Identified, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {}", formats(model))?;
    writeln!(out, "    {}", model.summary)?;
    if let Some(schedule) = &model.schedule {
        writeln!(out, "    {schedule}: {}", schedule.summary)?;
        let words = schedule.kernel.iter().flat_map(KernelWords::lines);
        for (how, what) in words {
            writeln!(out, "      {how}: {}", crate::io::escaped(&what))?;
        }
    }
    Ok(())
}

/// `fp16*fp16 -> fp32, rounded to bf16`.
fn formats(model: &Identified) -> String {
    let a = &model.arithmetic;
    let scale = a.scale.map_or(String::new(), |s| format!(", scales {s}"));
    let addend = a.addend.map_or(String::new(), |c| format!(", C {c}"));
    let rounded = model
        .rounded_to
        .map_or(String::new(), |f| format!(", rounded to {f}"));
    format!(
        "{}*{}{scale}{addend} -> {}{rounded}",
        a.a, a.b, a.accumulator
    )
}
