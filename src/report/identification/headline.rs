//! What was searched, what fits and how much that proves, in words.

use std::io::{self, Write};

use super::text::{BAD, CAUTION, GOOD};
use super::{Fit, Identification};
use crate::report::grouped;

/// So few elements prove little.
const WEAK: u64 = 16;

impl Identification {
    /// Whether so few elements tell candidates apart that what fits may do so by chance.
    pub(super) fn is_weak(&self) -> bool {
        self.nearest_other.is_none_or(|missed| missed < WEAK)
    }

    /// Whether models were tried alone: not where a kernel is known to be behind D.
    pub(super) fn tried_alone(&self) -> bool {
        self.plain + self.untested > 0
    }

    /// `16 models`, `16 models alone and 912 candidates under schedules of kernels`, or `63 candidates that the
    /// kernel's words allow`.
    pub(super) fn searched(&self) -> String {
        let of = match self.architectures.is_empty() {
            true => String::new(),
            false => format!(" of {}", self.architectures.join(", ")),
        };
        let models = counted(self.plain, "model");
        let Some(searched) = &self.schedules else {
            return format!("{models}{of}; schedules were not searched");
        };
        let under = counted(searched.tested, "candidate");
        match (self.tried_alone(), self.kernel.is_some()) {
            (_, true) => format!("{under}{of} that the kernel's words allow"),
            (true, false) => format!("{models} alone and {under} under schedules of kernels{of}"),
            (false, false) => format!("{under} under schedules of kernels{of}"),
        }
    }

    /// `2 models alone and 3 under schedules`, or those of them that there can be.
    pub(super) fn fitting(&self) -> String {
        let under = |fit: &&Fit| fit.model.schedule.is_some();
        let scheduled = self.fits.iter().filter(under).count();
        let models = counted(self.fits.len() - scheduled, "model");
        match (&self.schedules, self.tried_alone()) {
            (None, _) => format!("{models} alone"),
            (Some(_), true) => format!(
                "{models} alone and {} under schedules",
                grouped(scheduled as u64)
            ),
            (Some(_), false) => counted(scheduled, "candidate"),
        }
    }

    pub(super) fn headline(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = match self.fits.iter().all(|fit| fit.in_full) {
            true if self.elements == 1 => "the one element of D".to_owned(),
            true => format!("all {} elements of D", grouped(self.elements)),
            false if self.fits.len() == 1 => "all elements of D that it was tested on".to_owned(),
            false => "all elements of D that they were tested on".to_owned(),
        };
        let searched = self.searched();
        if self.fits.is_empty() {
            return writeln!(out, "{BAD}NONE{BAD:#}  gives this D, of {searched}");
        }
        let complete = self.schedules.as_ref().is_some_and(|s| s.untested == 0);
        let all_looked_at = complete && self.untested == 0 && self.architectures.is_empty();
        let sure = all_looked_at && self.fits[0].in_full && !self.is_weak();
        if self.fits.len() == 1 && sure {
            return writeln!(out, "{GOOD}ONE{GOOD:#}  gives {all}, of {searched}");
        }
        let who = self.fitting();
        let (give, apart) = match self.fits.len() {
            1 => ("gives", ""),
            _ => ("give", "; this D cannot tell them apart"),
        };
        writeln!(
            out,
            "{CAUTION}{who}{CAUTION:#} {give} {all}{apart} (of {searched})"
        )
    }

    pub(super) fn strength(&self, out: &mut dyn Write) -> io::Result<()> {
        let order = match self.sample.telling_first {
            true => ", those first whose sums are nearest to where D's rounding turns over",
            false => "",
        };
        writeln!(
            out,
            "Evidence: of a sample of {}{order}, {} tell candidates apart",
            counted(self.sample.most, "element"),
            grouped(self.telling as u64)
        )?;
        if self.is_weak() && !self.fits.is_empty() {
            let tested = self.schedules.as_ref().map_or(0, |of| of.tested);
            let missed = match self.nearest_other {
                None if self.kernel.is_some() && tested == 1 => {
                    "the kernel's words leave nothing open, so nothing else was tested".to_owned()
                }
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
}

/// `1 model`, `1,024 models`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(count as u64))
}
