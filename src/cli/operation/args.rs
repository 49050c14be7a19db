//! Turns the command line into a request.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Args;

use crate::check::{EngineChoice, Operation, Source, Strictness, option};
use crate::cli::values::{any_format, word};
use crate::num::{F32, Format};
use crate::ops::{self, Layout};
use crate::role::Role;

/// The operation and its arrays.
#[derive(Args)]
pub struct OperationArgs {
    /// Operation: rms_norm, softmax, silu, attention ... ('tcverify ops')
    #[arg(long, value_name = "NAME", help_heading = "Operation")]
    op: String,

    /// Arrays, in the operation's order or as NAME=FILE; the captured result is y, the last one
    #[arg(value_name = "[NAME=]FILE", required = true)]
    arrays: Vec<OsString>,

    /// GPU or architecture whose tensor core multiplies (attention)
    #[arg(long, value_name = "NAME", help_heading = "Operation")]
    arch: Option<String>,

    /// Format of the arrays, if their files do not state it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Option<Format>,

    /// Epsilon, added to the variance (norms)
    #[arg(long, value_name = "X", help_heading = "Parameters")]
    eps: Option<String>,

    /// Factor of scores (attention); by default 1/sqrt(d)
    #[arg(long, value_name = "X", help_heading = "Parameters")]
    softmax_scale: Option<String>,

    /// Causal mask: a query sees only keys up to its own position (attention)
    #[arg(long, help_heading = "Parameters")]
    causal: bool,

    /// Axes: bshd (batch, tokens, heads, elements) or bhsd; by default the variant's (attention, rope)
    #[arg(long, value_name = "AXES", value_parser = ["bshd", "bhsd"], help_heading = "Parameters")]
    layout: Option<String>,

    /// Rotate neighbouring elements instead of halves (rope)
    #[arg(long, help_heading = "Parameters")]
    interleaved: bool,

    /// Number of elements that share a scale (quantize_fp8); by default 128
    #[arg(long, value_name = "N", help_heading = "Parameters")]
    group: Option<usize>,

    /// Rows of Q and keys of a block, such as 128x64, instead of the variant's (attention)
    #[arg(long, value_name = "MxN", help_heading = "Parameters")]
    tile: Option<String>,

    /// Result to judge: residual (fused rms_norm), scale (quantize_fp8); by default y
    #[arg(long, value_name = "NAME", help_heading = "Parameters")]
    output: Option<String>,

    /// Engine; both give the same bits
    #[arg(long, value_name = "ENGINE", default_value = "fast", value_parser = word::<EngineChoice>())]
    engine: EngineChoice,
}

/// The variant.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Operation")]
pub struct RuleArgs {
    /// Variant; by default the operation's first one
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,

    /// Your own variant file instead (docs/layers.md)
    #[arg(long, value_name = "FILE.json", conflicts_with = "variant")]
    pub variant_file: Option<PathBuf>,
}

/// How the captured result is compared, and how much of it.
#[derive(Args)]
pub struct CompareArgs {
    /// Whether NaN bits must agree
    #[arg(long, value_name = "HOW", default_value = "exact", value_parser = word::<Strictness>(), help_heading = "Comparison")]
    nan: Strictness,

    /// Whether signs of zeros must agree
    #[arg(long, value_name = "HOW", default_value = "exact", value_parser = word::<Strictness>(), help_heading = "Comparison")]
    zero: Strictness,

    /// Compare N random elements instead of all; the report states what that proves. Needs --seed-from and --beacon,
    /// or --seed. Only rows with such elements are computed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Part of the result")]
    sample: Option<u64>,

    /// Seed of the draw. Choose it after you received the result: whoever knows it earlier can cheat on all other
    /// elements
    #[arg(long, value_name = "S", help_heading = "Part of the result")]
    seed: Option<u64>,

    /// Draw by this commitment ('tcverify commit --op') and --beacon: the seed is derived from the SHA-256 of both,
    /// so that nobody can choose it. Rule, arrays and result must match the commitment
    #[arg(long, value_name = "C.json", help_heading = "Part of the result")]
    seed_from: Option<PathBuf>,

    /// A public value that nobody could know when the commitment was published, such as the next round of drand
    #[arg(
        long,
        value_name = "VALUE",
        allow_hyphen_values = true,
        help_heading = "Part of the result"
    )]
    beacon: Option<String>,

    /// Only these rows, counted from 0, end excluded: 128..256, 128.. or 7; with more than two axes, in every matrix
    #[arg(long, value_name = "ROWS", help_heading = "Part of the result")]
    rows: Option<String>,
}

impl CompareArgs {
    /// Says it in the fields of a request.
    pub fn fill(&self, asked: &mut Operation) -> Result<()> {
        let strict = |word: Strictness| (word == Strictness::Any).then_some(word);
        let rows = self.rows.as_ref().map(|text| text.parse()).transpose();
        asked.rows = rows.map_err(|reason: String| anyhow::anyhow!("--rows {reason}"))?;
        asked.nan = strict(self.nan);
        asked.zero = strict(self.zero);
        asked.sample = self.sample;
        asked.seed = self.seed;
        asked.seed_from = self.seed_from.clone();
        asked.beacon = self.beacon.clone();
        Ok(())
    }
}

impl RuleArgs {
    /// The function that it is a variant of, as a request.
    pub fn of(&self, operation: &str, engine: EngineChoice) -> Operation {
        Operation {
            operation: Some(operation.replace('-', "_")),
            variant: self.variant.clone(),
            variant_file: self.variant_file.clone(),
            engine: (engine != EngineChoice::Fast).then_some(engine),
            ..Operation::default()
        }
    }
}

impl OperationArgs {
    /// Options for all of the result.
    pub fn asked(&self, rule: &RuleArgs) -> Result<Operation> {
        let number = |field: &str, text: &Option<String>| -> Result<Option<F32>> {
            let read = text.as_ref().map(|text| text.parse::<F32>()).transpose();
            read.map_err(|reason| anyhow::anyhow!("{} {reason}", option(field)))
        };
        let mut asked = Operation {
            arch: self.arch.clone(),
            dtype: self.dtype,
            eps: number("eps", &self.eps)?,
            softmax_scale: number("softmax_scale", &self.softmax_scale)?,
            causal: self.causal.then_some(true),
            layout: self.layout.as_deref().map(|axes| match axes {
                "bhsd" => Layout::Bhsd,
                _ => Layout::Bshd,
            }),
            interleaved: self.interleaved.then_some(true),
            group: self.group,
            tile: self.tile.clone(),
            output: self.output.clone(),
            ..rule.of(&self.op, self.engine)
        };
        // Why an operation is none comes before what its arrays would be.
        let operation = asked.operation.as_deref().unwrap_or_default();
        let known = match &rule.variant_file {
            Some(_) => ops::of(operation).map(|all| all[0]),
            None => ops::find(operation, rule.variant.as_deref()),
        };
        let known = known.map_err(anyhow::Error::msg)?;
        let expected = known.rule.arrays().iter().copied();
        let mut plain = Vec::new();
        for word in &self.arrays {
            let named = word.to_str().and_then(|text| text.split_once('='));
            let named = named.and_then(|(name, path)| Some((Role::of_field(name)?, path)));
            let named = named.filter(|(role, _)| Role::OPERATION.contains(role));
            match named {
                Some((role, path)) => {
                    let source = Source::parse(path.as_ref()).map_err(anyhow::Error::msg)?;
                    let twice = asked.sources().contains_key(&role);
                    ensure!(!twice, "{} is named twice", role.field());
                    set(&mut asked, role, source);
                }
                None => plain.push(word),
            }
        }
        let given = asked.sources();
        let free: Vec<_> = expected
            .filter_map(Role::of_field)
            .chain([Role::Y])
            .filter(|role| !given.contains_key(role))
            .collect();
        if plain.len() > free.len() {
            let missing: Vec<_> = free
                .iter()
                .map(|&role| match role {
                    Role::Y => "the result",
                    operand => operand.field(),
                })
                .collect();
            let missing = match missing.is_empty() {
                true => "no file".to_owned(),
                false => missing.join(", "),
            };
            bail!(
                "{} takes {missing} beside those that are named; name what else it takes, such as weight=FILE \
                 ({} files are given)",
                self.op,
                self.arrays.len()
            );
        }
        for (role, path) in free.into_iter().zip(plain) {
            let source = Source::parse(path).map_err(anyhow::Error::msg)?;
            set(&mut asked, role, source);
        }
        Ok(asked)
    }
}

/// Names an array.
fn set(asked: &mut Operation, role: Role, source: Source) {
    if let Some(field) = asked.array(role) {
        *field = Some(source);
    }
}
