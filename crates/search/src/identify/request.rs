//! A search as a value, and why it fails.

use crate::check::{Check, CheckError, EngineChoice, Operands, Source};
use crate::compose::describe;
use crate::io::Outputs;
use crate::num::{F32, Format};
use crate::words::words;

words! {
    /// When schedules of kernels are searched.
    pub enum Schedules {
        /// Where no model alone gives D, or D has so few bits that such a fit proves little
        Auto = "auto",
        /// In any case
        Always = "always",
        /// Not at all
        Never = "never",
    }
}

/// A search as a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Identify {
    /// A bias is added by every candidate.
    pub operands: Operands,
    /// The D whose maker is sought.
    pub d: Source,
    pub formats: Formats,
    /// What a library says of its kernel ([`crate::libraries::read`]): what it says stands, and what it leaves
    /// open is searched, nothing else.
    pub kernel: Option<String>,
    /// What FP8 results were multiplied by. Only kernels that have such a scale are then searched; they
    /// ignore it where D is wider.
    pub scale_result: Option<F32>,
    /// Architectures and GPUs that are examined; all, if there are none.
    pub architectures: Vec<String>,
    pub schedules: Schedules,
    pub limits: Limits,
    pub engine: EngineChoice,
}

/// Formats that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    pub a: Option<Format>,
    pub b: Option<Format>,
    pub d: Option<Format>,
}

/// How much is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elements of the sample.
    pub sample: usize,
    pub seed: u64,
    /// Multiply-adds of the exact engine that the tests of candidates may take together, and half of them once
    /// more to search for epilogues; those of vector kernels count as fewer.
    pub budget: u64,
    /// Nothing is replayed in full.
    pub quick: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sample: 1024,
            seed: 1,
            budget: Limits::BUDGET,
            quick: false,
        }
    }
}

impl Limits {
    /// About ten seconds of two cores.
    pub const BUDGET: u64 = 500_000_000;
}

impl Identify {
    /// A search for the maker of D with everything else as it is by default.
    pub fn new([a, b, d]: [Source; 3]) -> Identify {
        // The files tell the formats; this one is not used.
        let check = Check::new("", Format::Fp16, [a, b, d.clone()]);
        Identify {
            operands: check.operands,
            d,
            formats: Formats::default(),
            kernel: None,
            scale_result: None,
            architectures: Vec::new(),
            schedules: Schedules::Auto,
            limits: Limits::default(),
            engine: EngineChoice::Fast,
        }
    }

    /// Everything that it reads is written over by no output.
    pub fn protect(&self, outputs: &mut Outputs) {
        let mut check = Check::new("", Format::Fp16, [(); 3].map(|()| self.d.clone()));
        check.operands = self.operands.clone();
        check.protect(outputs);
    }
}

/// Why a search cannot be prepared or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentifyError {
    /// A file cannot be read, or the arrays do not multiply.
    #[error(transparent)]
    Operands(#[from] CheckError),
    #[error(
        "no model in the catalogue has the formats of these files; 'tcverify archs' lists the models"
    )]
    NoCandidate,
    #[error(
        "no model of {0} has the formats of these files; 'tcverify archs' lists the models; omit the architecture to \
         search all"
    )]
    NoneOf(String),
}

impl IdentifyError {
    /// The sentence, with every field called what `name` calls it.
    pub fn describe(&self, name: impl Fn(&'static str) -> String) -> String {
        match self {
            IdentifyError::Operands(error) => describe(error, name),
            IdentifyError::NoCandidate | IdentifyError::NoneOf(_) => self.to_string(),
        }
    }
}
