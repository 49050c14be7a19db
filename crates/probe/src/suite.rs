//! Suites of cases.

use super::builder::SuiteBuilder;
pub use super::builder::{Case, INTEGER_K, K, Tag};
use super::families;
use crate::emu::Scale;
use crate::emu::step::Formats;
use crate::num::{Format, Kind};

/// All cases for some formats.
#[derive(Clone, Debug)]
pub struct Suite {
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    /// Of blocks of A and B.
    pub scale: Option<Scale>,
    /// K of every case.
    pub k: usize,
    pub cases: Vec<Case>,
}

impl Suite {
    /// The probes for products of `a` and `b` accumulated in `accumulator`.
    ///
    /// # Errors
    /// If nothing accumulates in that format, or it multiplies no such pair.
    pub fn new(a: Format, b: Format, accumulator: Format) -> Result<Suite, String> {
        Suite::scaled(a, b, accumulator, None)
    }

    /// The probes for products of operands with scales: those of [`Suite::new`] with scales of 1, and those about
    /// scales.
    ///
    /// # Errors
    /// As of [`Suite::new`], and if no operands have such scales.
    pub fn scaled(
        a: Format,
        b: Format,
        accumulator: Format,
        scale: Option<Scale>,
    ) -> Result<Suite, String> {
        for operand in [a, b] {
            if operand.kind() == Kind::Scale || operand == Format::Int32 {
                return Err(format!(
                    "{operand} is not a format of A or B, so it has no probes"
                ));
            }
        }
        if a.is_integer() != b.is_integer() {
            return Err(format!(
                "{a}*{b} has no probes: A and B must both be integers, or neither"
            ));
        }
        let integers = a.is_integer();
        let accumulates = if integers {
            accumulator == Format::Int32
        } else {
            accumulator.infinity(false).is_some() && accumulator.ignored_bits() == 0
        };
        if !accumulates {
            return Err(format!(
                "{accumulator} is not an accumulator of {a}*{b}: {}",
                if integers {
                    "int32 is"
                } else {
                    "expected fp32, fp16 or fp64"
                }
            ));
        }
        if let Some(scale) = scale {
            let narrow = [a, b].iter().all(|f| !f.is_integer() && f.width() <= 8);
            if !narrow || accumulator != Format::Fp32 {
                return Err(format!(
                    "{a}*{b} -> {accumulator} has no probes with scales: they need operands of up to 8 bits and fp32"
                ));
            }
            let known = [Format::Ue8m0, Format::Ue4m3].contains(&scale.format);
            if !known || ![16, 32].contains(&scale.block) {
                return Err(format!(
                    "scales of {scale} have no probes: expected ue8m0 or ue4m3 per 16 or 32"
                ));
            }
        }
        let (k, cases) = if integers {
            (INTEGER_K, families::integers::all(a, b))
        } else {
            let mut suite = SuiteBuilder::new(a, b, accumulator, scale);
            families::all(&mut suite);
            (K, suite.cases)
        };
        Ok(Suite {
            a,
            b,
            accumulator,
            scale,
            k,
            cases,
        })
    }

    /// Formats of operands, scales and results, for people.
    pub fn formats(&self) -> String {
        let scale = self.scale;
        let scale = scale.map_or(String::new(), |scale| format!(" with scales of {scale}"));
        format!("{}*{}{scale} -> {}", self.a, self.b, self.accumulator)
    }

    /// The formats of a step.
    pub fn step_formats(&self) -> Formats {
        Formats {
            a: self.a,
            b: self.b,
            accumulator: self.accumulator,
            addend: self.accumulator,
            scale: self.scale,
        }
    }

    /// Whether operands and sums are integers.
    pub fn integers(&self) -> bool {
        self.accumulator.is_integer()
    }

    /// The case with this tag.
    pub fn find(&self, tag: Tag) -> Option<usize> {
        self.cases.iter().position(|case| case.tag == tag)
    }
}
