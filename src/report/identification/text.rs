//! What `identify` found, to be read.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::headline::counted;
use super::ties::{Line, Tie, ties};
use super::{Apart, FITS_SHOWN, Identification, Identified, IdentifiedSchedule};
use crate::num::decimal;
use crate::report::{KernelWords, grouped};

pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(super) const CAUTION: Style = AnsiColor::Yellow.on_default();
const QUIET: Style = Style::new().dimmed();

/// How many names of an arithmetic the text has.
const NAMES: usize = 6;

impl Identification {
    /// # Errors
    /// Those of the writer.
    pub fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.text_of(FITS_SHOWN, out)
    }

    /// The text with at most so many lines of fits, and as many of the others.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn text_of(&self, limit: usize, out: &mut dyn Write) -> io::Result<()> {
        self.headline(out)?;
        self.strength(out)?;
        let mut shown = 0;
        let mut fits = 0;
        for tie in ties(self) {
            let lines = &tie.lines[..tie.lines.len().min(limit - shown)];
            if lines.is_empty() {
                break;
            }
            heading(&tie, limit, out)?;
            for line in lines {
                self.line(line, out)?;
                fits += line.fits.len();
            }
            shown += lines.len();
            writeln!(out)?;
        }
        if self.fits.len() > fits {
            let more = self.fits.len() - fits;
            let fit = if more == 1 { "fits" } else { "fit" };
            writeln!(
                out,
                "  {} more {fit}: see --limit; the JSON has all of them\n",
                grouped(more as u64)
            )?;
        }
        self.rest(limit, out)?;
        self.left(out)
    }

    /// A kernel's fits; the command is that of the first.
    fn line(&self, line: &Line, out: &mut dyn Write) -> io::Result<()> {
        let first = &self.fits[line.fits[0]];
        writeln!(out, "    - {line}")?;
        let words = line.words();
        for (how, what) in words.iter().flat_map(KernelWords::lines) {
            writeln!(out, "      {how}: {}", crate::io::escaped(&what))?;
        }
        for omitted in first
            .model
            .schedule
            .iter()
            .flat_map(IdentifiedSchedule::omits)
        {
            writeln!(out, "      {CAUTION}{omitted}{CAUTION:#}")?;
        }
        let command = &first.model.best_name().command;
        writeln!(out, "      {QUIET}{}{QUIET:#}", crate::io::escaped(command))?;
        let partly: Vec<_> = line.fits.iter().map(|&i| &self.fits[i]).collect();
        let partly = partly.iter().filter(|fit| !fit.in_full);
        if let Some(tested) = partly.map(|fit| fit.tested as u64).min() {
            let tested = grouped(tested);
            writeln!(
                out,
                "      {CAUTION}tested on {tested} elements alone{CAUTION:#}"
            )?;
        }
        let apart = self.separations.iter();
        let apart = apart.filter(|apart| line.fits.contains(&apart.between[1]));
        // Operands tell more than that there are none.
        match apart.max_by_key(|apart| (apart.operands.is_some(), !apart.between[1])) {
            Some(apart) => self.separation(apart, line.fits.len() == 1, out),
            None => Ok(()),
        }
    }

    /// Those that do not fit.
    fn rest(&self, limit: usize, out: &mut dyn Write) -> io::Result<()> {
        if !self.others.is_empty() && limit > 0 {
            writeln!(
                out,
                "Others, those first that agree in most of the first {}: so many agree of those that each was tested on",
                counted(self.sample.first, "sampled element")
            )?;
        }
        for other in self.others.iter().take(limit) {
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
                other.model.formats(),
                match &other.model.schedule {
                    Some(schedule) => format!("; {schedule}"),
                    None => String::new(),
                }
            )?;
        }
        if self.others.len() > limit {
            let more = self.others.len() - limit;
            let (more, do_not) = match more {
                1 => ("1".into(), "does not"),
                _ => (grouped(more as u64), "do not"),
            };
            writeln!(out, "  {more} more {do_not} fit either")?;
        }
        match self.others.is_empty() {
            true => Ok(()),
            false => writeln!(out),
        }
    }

    /// What was not done.
    fn left(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut left = Vec::new();
        if !self.architectures.is_empty() {
            let only = self.architectures.join(", ");
            left.push(format!("architectures other than {only}: see --arch"));
        }
        let untested = |count, what, of| {
            let were = if count == 1 { "was" } else { "were" };
            format!("{}{of} {were} not tested", counted(count, what))
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
        let sampled = self.fits.iter().filter(|fit| !fit.in_full).count();
        if sampled > 0 {
            let were = if sampled == 1 { "was" } else { "were" };
            left.push(format!(
                "{} that {} {were} not replayed in full: see --budget and --quick",
                grouped(sampled as u64),
                if sampled == 1 { "fits" } else { "fit" }
            ));
        }
        left.extend(
            self.never_searched
                .iter()
                .map(|what| format!("never: {what}")),
        );
        writeln!(out, "Not searched")?;
        for what in left {
            writeln!(out, "  {CAUTION}{what}{CAUTION:#}")?;
        }
        Ok(())
    }

    fn separation(&self, apart: &Apart, alone: bool, out: &mut dyn Write) -> io::Result<()> {
        let named = |position: usize| {
            let model = &self.fits[apart.between[position]].model;
            match &model.schedule {
                None => model.best_name().to_string(),
                Some(schedule) => format!("{} under {schedule}", model.best_name()),
            }
        };
        let (first, here) = (named(0), named(1));
        // Of a line with one fit it is plain who differs.
        let (who, it) = match alone {
            true => (String::new(), "it"),
            false => (format!("{here} "), here.as_str()),
        };
        if !apart.comparable {
            return writeln!(
                out,
                "      {who}reads the files as other formats than {first}"
            );
        }
        let Some(operands) = &apart.operands else {
            return writeln!(
                out,
                "      no operands found on which {it} differs from {first}"
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
            "      {who}differs from {} on {} + C={} (K = {}): {theirs} there, {ours} here ({} and {})",
            first,
            products,
            operands.c,
            operands.a.len(),
            value(theirs),
            value(ours)
        )
    }
}

/// The arithmetics of a tie, and who has them.
fn heading(tie: &Tie, limit: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {}", tie.models[0].formats())?;
    for model in tie.models.iter().take(limit) {
        let best = model.best_name();
        let others = model.names.iter().filter(|name| *name != best);
        let names = std::iter::once(best).chain(others);
        let names: Vec<_> = names
            .map(|name| format!("{name} ({})", name.evidence))
            .collect();
        let more = match names.len().saturating_sub(NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = names[..names.len().min(NAMES)].join(", ");
        writeln!(out, "    {shown}{more}: {}", model.summary)?;
    }
    if tie.models.len() > limit {
        let more = tie.models.len() - limit;
        writeln!(out, "    and {more} more arithmetics")?;
    }
    Ok(())
}

impl Identified {
    /// `fp16*fp16 -> fp32, rounded to bf16`.
    pub fn formats(&self) -> String {
        let a = &self.arithmetic;
        let scale = a.scale.map_or(String::new(), |s| format!(", scales {s}"));
        let addend = a.addend.map_or(String::new(), |c| format!(", C {c}"));
        let rounded = self
            .rounded_to
            .map_or(String::new(), |f| format!(", rounded to {f}"));
        format!(
            "{}*{}{scale}{addend} -> {}{rounded}",
            a.a, a.b, a.accumulator
        )
    }
}
