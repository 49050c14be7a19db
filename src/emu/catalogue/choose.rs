//! Which of an architecture's rules a product wants; what is not there is refused with what is.

use crate::layout::LayoutKind;
use crate::model::{Architecture, Arithmetic, Instruction, Rule, Sparse};
use crate::num::Format;

/// A rule chosen for a product.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    pub architecture: &'a Architecture,
    pub instruction: &'a Instruction,
    pub rule: &'a Rule,
    pub arithmetic: Arithmetic,
    /// Whether A is compressed: the rule's sparse form.
    pub compressed: bool,
}

impl<'a> Choice<'a> {
    /// The sparse form, where A is compressed.
    pub fn sparse(&self) -> Option<&'a Sparse> {
        self.rule.sparse.as_ref().filter(|_| self.compressed)
    }

    /// Which thread holds an element of D, where that is known. What is published is of results of up
    /// to 32 bits.
    pub fn layout(&self) -> Option<LayoutKind> {
        let layout = self.instruction.layout.as_ref();
        let known = self.arithmetic.accumulator.bytes() <= 4;
        layout.filter(|_| known).map(|layout| layout.kind)
    }
}

/// A combination that an architecture does not have, and what it has instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoRule(String);

/// What is known of a product before its rule is: formats, and perhaps more.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Without one, the architecture's first that has a rule.
    pub instruction: Option<&'a str>,
    pub operands: [Format; 2],
    /// Without one, FP32 where there is a choice.
    pub accumulator: Option<Format>,
    /// C's format; without one, the accumulator's.
    pub addend: Option<Format>,
    /// Whether operands have scales, and which.
    pub scale: Option<WantedScale>,
}

/// What is known of the scales of a product's operands.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedScale {
    pub format: Option<Format>,
    pub block: Option<usize>,
}

impl Wanted<'_> {
    fn fits(&self, rule: &Rule, accumulator: Format) -> bool {
        rule.operands.contains(&self.operands)
            && rule.accumulator == accumulator
            && rule.addend.unwrap_or(accumulator) == self.addend.unwrap_or(accumulator)
            && match (rule.scale, self.scale) {
                (None, None) => true,
                (Some(scale), Some(wanted)) => {
                    wanted.format.is_none_or(|format| format == scale.format)
                        && wanted.block.is_none_or(|block| block == scale.block)
                }
                _ => false,
            }
    }
}

impl std::fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b] = self.operands;
        write!(f, "{a}*{b}")?;
        if let Some(scale) = self.scale {
            f.write_str(" with scales")?;
            if let Some(format) = scale.format {
                write!(f, " of {format}")?;
            }
            if let Some(block) = scale.block {
                write!(f, " per {block}")?;
            }
        }
        if let Some(accumulator) = self.accumulator {
            write!(f, " with {accumulator} accumulation")?;
        }
        if let Some(addend) = self.addend {
            write!(f, " and C of {addend}")?;
        }
        Ok(())
    }
}

impl Architecture {
    /// The rule for these operand formats, without scales and with C in D's format. Without an
    /// instruction, the architecture's first that has one; without an accumulator, FP32 where there
    /// is a choice.
    ///
    /// # Errors
    /// What the architecture (or the instruction) offers instead.
    pub fn select(
        &self,
        instruction: Option<&str>,
        operands: [Format; 2],
        accumulator: Option<Format>,
    ) -> Result<Choice<'_>, NoRule> {
        self.choose(&Wanted {
            instruction,
            operands,
            accumulator,
            addend: None,
            scale: None,
        })
    }

    /// All rules, each with its instruction.
    pub fn rules(&self) -> impl Iterator<Item = (&Instruction, &Rule)> {
        self.instructions.iter().flat_map(|instruction| {
            let rules = instruction.rules.iter();
            rules.map(move |rule| (instruction, rule))
        })
    }

    /// The rule that a product wants.
    ///
    /// # Errors
    /// What the architecture (or the instruction) offers instead; or the field that is missing, where scales of
    /// several formats are possible.
    pub fn choose(&self, wanted: &Wanted) -> Result<Choice<'_>, NoRule> {
        if let Some(name) = wanted.instruction
            && !self.instructions.iter().any(|i| i.name == name)
        {
            let names: Vec<_> = self.instructions.iter().map(|i| i.name.as_str()).collect();
            return Err(NoRule(format!(
                "{} has no instruction {name:?}; it has {}",
                self.name,
                names.join(", ")
            )));
        }
        let candidates = || {
            let chosen = |i: &Instruction| wanted.instruction.is_none_or(|name| i.name == name);
            self.rules().filter(move |(i, _)| chosen(i))
        };
        let accumulators = match wanted.accumulator {
            Some(format) => vec![format],
            None => vec![Format::Fp32, Format::Fp64, Format::Fp16, Format::Int32],
        };
        for accumulator in accumulators {
            let mut fitting = candidates().filter(|(_, rule)| wanted.fits(rule, accumulator));
            let Some((instruction, rule)) = fitting.next() else {
                continue;
            };
            if instruction.choice && wanted.instruction.is_none() {
                let mut names = vec![instruction.name.as_str()];
                names.extend(fitting.map(|(other, _)| other.name.as_str()));
                names.dedup();
                return Err(NoRule(format!(
                    "{} has several instructions for {wanted}, whose bits differ: name the instruction, {} \
                     ('tcverify identify' tries each)",
                    self.name,
                    names.join(" or ")
                )));
            }
            // No file names Dst's format, and none is usual.
            if wanted.accumulator.is_none() && rule.step.needs_accumulator() {
                let others = candidates().filter(|(own, other)| {
                    own.name == instruction.name && wanted.fits(other, other.accumulator)
                });
                let mut formats: Vec<_> = others.map(|(_, rule)| rule.accumulator.name()).collect();
                formats.dedup();
                if formats.len() > 1 {
                    return Err(NoRule(format!(
                        "{} multiplies {wanted} into {}, whose bits differ: give `acc` ('tcverify identify' tries \
                         each)",
                        self.name,
                        formats.join(" or ")
                    )));
                }
            }
            // The kind of scales decides the result, and no file names it.
            if let Some((_, other)) = fitting.find(|(_, other)| other.scale != rule.scale) {
                let scales = [rule, other].map(|rule| rule.scale.map(|s| s.to_string()));
                let [one, other] = scales.map(Option::unwrap_or_default);
                return Err(NoRule(format!(
                    "{} multiplies {wanted} in several ways: {one}, or {other}; choose with `scale_dtype` and \
                     `scale_block`, or `instruction`",
                    self.name
                )));
            }
            return Ok(Choice {
                architecture: self,
                instruction,
                rule,
                arithmetic: Arithmetic::of(rule, wanted.operands),
                compressed: false,
            });
        }

        let through = wanted
            .instruction
            .map_or(String::new(), |name| format!(" through {name}"));
        let mut possible: Vec<String> = candidates()
            .map(|(instruction, rule)| format!("  {:<18} {}", instruction.name, rule.describe()))
            .collect();
        if wanted.instruction.is_some() {
            possible.push(format!(
                "  other instructions: see 'tcverify archs {}'",
                self.name
            ));
        }
        Err(NoRule(format!(
            "{} does not multiply {wanted}{through}; supported:\n{}",
            self.name,
            possible.join("\n")
        )))
    }
}
