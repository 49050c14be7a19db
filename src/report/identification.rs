//! What `identify` found, as data and as text. `docs/identifying.md` is its contract.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::Tool;
use crate::emu::schedule::ScheduleSpec;
use crate::emu::{Arithmetic, Evidence};
use crate::num::{Format, decimal};

/// Value of the `schema` field.
pub const IDENTIFICATION: &str = "tcverify.identification/1";

/// Everything an identification has to say. Holds nothing that differs between two runs.
#[derive(Clone, Debug, Serialize)]
pub struct Identification {
    pub schema: &'static str,
    pub tool: Tool,
    /// Elements of D.
    pub elements: u64,
    pub sample: SampleSize,
    /// Candidates that were tested.
    pub candidates: usize,
    /// If schedules were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedules: Option<SchedulesSearched>,
    /// Those that give D, in the catalogue's order.
    pub fits: Vec<Fit>,
    /// Operands on which two of `fits` differ.
    pub separations: Vec<Apart>,
    /// The rest, the nearest first.
    pub others: Vec<Other>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SampleSize {
    pub seed: u64,
    /// Elements every candidate was tested on, and the most any was.
    pub first: usize,
    pub most: usize,
}

/// How far the search of schedules went.
#[derive(Clone, Debug, Serialize)]
pub struct SchedulesSearched {
    /// Arithmetics under schedules that were tested; those that the budget had no room for.
    pub tested: usize,
    pub untested: usize,
    /// Elements that each was tested on first.
    pub first: usize,
    /// In multiply-adds.
    pub budget: u64,
}

/// A kernel's schedule by name.
#[derive(Clone, Debug, Serialize)]
pub struct IdentifiedSchedule {
    pub name: String,
    pub title: String,
    pub evidence: Evidence,
    pub options: String,
    pub summary: String,
    pub sha256: String,
    pub spec: ScheduleSpec,
}

#[derive(Clone, Debug, Serialize)]
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

#[derive(Clone, Debug, Serialize)]
pub struct Named {
    pub architecture: String,
    pub instruction: String,
    pub evidence: Evidence,
    /// The command that checks all of D by it.
    pub command: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    #[serde(flatten)]
    pub model: Identified,
    /// Whether all of D was replayed, or the sample alone.
    pub in_full: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Other {
    #[serde(flatten)]
    pub model: Identified,
    pub tested: usize,
    pub agreed: usize,
    /// Of all of D, where the sample agreed and the whole was replayed.
    pub mismatches: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Apart {
    /// Positions in `fits`.
    pub between: [usize; 2],
    /// Whether the two read the files alike.
    pub comparable: bool,
    /// Absent if none were found.
    pub operands: Option<ApartOperands>,
}

#[derive(Clone, Debug, Serialize)]
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

/// How many of the rest the text lists.
const LISTED: usize = 8;

impl Identification {
    /// # Errors
    /// Those of the writer.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.headline(out)?;
        for (i, fit) in self.fits.iter().enumerate() {
            heading(&fit.model, out)?;
            for named in &fit.model.names {
                writeln!(
                    out,
                    "    {:<14} {:<18} {:<10}  {QUIET}{}{QUIET:#}",
                    named.architecture,
                    named.instruction,
                    named.evidence,
                    crate::io::escaped(&named.command)
                )?;
            }
            for apart in self.separations.iter().filter(|a| a.between[1] == i) {
                self.separation(apart, out)?;
            }
            writeln!(out)?;
        }
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
                    Some(schedule) => format!("; {}", schedule.options),
                    None => String::new(),
                }
            )?;
        }
        if self.others.len() > LISTED {
            let more = self.others.len() - LISTED;
            writeln!(out, "  {more} more do not fit either")?;
        }
        if let Some(searched) = &self.schedules
            && searched.untested > 0
        {
            writeln!(
                out,
                "  {CAUTION}{} more, under other schedules, were not tested: see --budget{CAUTION:#}",
                searched.untested
            )?;
        }
        Ok(())
    }

    fn headline(&self, out: &mut dyn Write) -> io::Result<()> {
        let under = match &self.schedules {
            None => String::new(),
            Some(searched) => format!(" ({} of them under schedules of kernels)", searched.tested),
        };
        let all = match self.fits.iter().all(|fit| fit.in_full) {
            true => format!("all {} elements of D", self.elements),
            false => format!("{} sampled elements of D", self.sample.most),
        };
        match self.fits.as_slice() {
            [] => writeln!(
                out,
                "{BAD}NONE{BAD:#}  of {} models{under} gives this D\n",
                self.candidates
            ),
            [_] => writeln!(
                out,
                "{GOOD}ONE{GOOD:#}  of {} models{under} gives {all}\n",
                self.candidates
            ),
            fits => writeln!(
                out,
                "{CAUTION}{}{CAUTION:#}  of {} models{under} give {all}; this D cannot tell them apart\n",
                fits.len(),
                self.candidates
            ),
        }
    }

    fn separation(&self, apart: &Apart, out: &mut dyn Write) -> io::Result<()> {
        let first = &self.fits[apart.between[0]].model;
        let under = |model: &Identified| model.schedule.is_some();
        if under(first) || under(&self.fits[apart.between[1]].model) {
            // Schedules show on long products, for which operands are not searched.
            return Ok(());
        }
        if !apart.comparable {
            return writeln!(
                out,
                "    reads the files as other formats than {}",
                first.names[0]
            );
        }
        let Some(operands) = &apart.operands else {
            return writeln!(
                out,
                "    no operands found on which it differs from {}",
                first.names[0]
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
            first.names[0],
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

impl Identified {
    fn result(&self) -> Format {
        self.rounded_to.unwrap_or(self.arithmetic.accumulator)
    }
}

fn heading(model: &Identified, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {}", formats(model))?;
    writeln!(out, "    {}", model.summary)?;
    if let Some(schedule) = &model.schedule {
        writeln!(out, "    {}: {}", schedule.name, schedule.summary)?;
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
