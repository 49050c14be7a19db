//! The request.

use std::ops::Range;

use crate::check::{EngineChoice, Operands, Source};
use crate::identify::{Identify, Limits, Schedules};
use crate::io::{self, Outputs};
use crate::num::Format;
use crate::role::ByRole;

/// Two results, left and right, and what is known of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Compare {
    pub results: [Source; 2],
    /// Formats of the results, where files cannot say them.
    pub formats: [Option<Format>; 2],
    /// The rows of each that are compared, if not all are: those of the first matrix alone.
    pub rows: [Option<Span>; 2],
    /// What was multiplied on each side; without it nothing can be explained.
    pub operands: Option<[Operands; 2]>,
    /// Formats of A and B, where files cannot say them.
    pub operand_formats: [Option<Format>; 2],
    pub hints: [Hints; 2],
    pub schedules: Schedules,
    /// Of each side's search.
    pub limits: Limits,
    pub engine: EngineChoice,
    /// How many differences are listed.
    pub max_mismatches: usize,
}

/// The caller's arrays for each side, where a source is [`Source::Memory`]; the result is D.
pub type Held = [ByRole<io::Source>; 2];

/// First row, and one past the last.
pub type Span = Range<usize>;

/// What is known of who computed a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hints {
    /// Architectures and GPUs that are examined; all, if there are none.
    pub architectures: Vec<String>,
    /// What a library says of its kernel.
    pub kernel: Option<String>,
}

impl Compare {
    /// Two results of which nothing else is known.
    pub fn new(results: [Source; 2]) -> Compare {
        Compare {
            results,
            formats: [None; 2],
            rows: [None, None],
            operands: None,
            operand_formats: [None; 2],
            hints: Default::default(),
            schedules: Schedules::Auto,
            limits: Limits::default(),
            engine: EngineChoice::Fast,
            max_mismatches: crate::check::MAX_MISMATCHES,
        }
    }

    /// Whether only some rows are compared.
    pub(super) fn in_part(&self) -> bool {
        self.rows != [None, None]
    }

    /// The search for what gives a side's result, if its operands are known.
    pub(super) fn search(&self, side: usize) -> Option<Identify> {
        let operands = self.operands.as_ref()?[side].clone();
        let hints = &self.hints[side];
        Some(Identify {
            operands,
            d: self.results[side].clone(),
            formats: crate::identify::Formats {
                a: self.operand_formats[0],
                b: self.operand_formats[1],
                d: self.formats[side],
            },
            kernel: hints.kernel.clone(),
            scale_result: None,
            architectures: hints.architectures.clone(),
            schedules: self.schedules,
            limits: self.limits,
            engine: self.engine,
        })
    }

    /// No output may overwrite what it reads.
    pub fn protect(&self, outputs: &mut Outputs) {
        for side in 0..2 {
            match self.search(side) {
                Some(search) => search.protect(outputs),
                None => {
                    if let Some(path) = self.results[side].path() {
                        outputs.protect("a result", path);
                    }
                }
            }
        }
    }
}
