//! The words of a command line about an operation as a request.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use clap::Args;

use super::{JudgeArgs, RequestArgs};
use crate::check::{EngineChoice, Operation, Request, RequestFields, Source, option};
use crate::cli::values::{any_format, word};
use crate::num::{F32, Format};
use crate::ops::{self, Layout};
use crate::role::Role;

/// Which operation.
#[derive(Args)]
pub struct ParameterArgs {
    /// Operation: rms_norm, softmax, silu, attention ... ('tcverify ops')
    #[arg(long, value_name = "NAME", help_heading = "Operation")]
    op: String,

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

    /// Result to judge, not a file: residual (fused rms_norm), scale (quantize_fp8); by default y
    #[arg(long, value_name = "NAME", help_heading = "Parameters")]
    output: Option<String>,

    /// Engine: "fast" or "exact", which give the same bits; "gpu" is refused here
    #[arg(long, value_name = "ENGINE", default_value = "fast", value_parser = word::<EngineChoice>())]
    engine: EngineChoice,
}

/// The operation and its arrays.
#[derive(Args)]
pub struct OperationArgs {
    #[command(flatten)]
    parameters: ParameterArgs,

    /// Arrays, in the operation's order or as NAME=FILE; the captured result is y, the last one
    #[arg(value_name = "[NAME=]FILE", required = true)]
    arrays: Vec<OsString>,
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

impl RuleArgs {
    /// A request for an operation by this variant.
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

impl ParameterArgs {
    /// A request for all of the result, without its arrays.
    pub fn request(&self, rule: &RuleArgs) -> Result<Operation> {
        let number = |field: &str, text: &Option<String>| -> Result<Option<F32>> {
            let read = text.as_ref().map(|text| text.parse::<F32>()).transpose();
            read.map_err(|reason| anyhow::anyhow!("{} {reason}", option(field)))
        };
        Ok(Operation {
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
        })
    }
}

impl OperationArgs {
    /// A request for all of the result.
    pub fn request(&self, rule: &RuleArgs) -> Result<Operation> {
        let mut request = self.parameters.request(rule)?;
        // An unknown operation is reported before its arrays.
        let operation = request.operation.as_deref().unwrap_or_default();
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
                    let twice = request.arrays().contains_key(&role);
                    ensure!(!twice, "{} is named twice", role.field());
                    set(&mut request, role, source);
                }
                None => plain.push(word),
            }
        }
        let given = request.arrays();
        let free: Vec<_> = expected
            .filter_map(Role::of_field)
            .chain([Role::Y])
            .filter(|role| !given.contains_key(role))
            .collect();
        if plain.len() > free.len() {
            let missing = free.iter().map(|&role| match role {
                Role::Y => "the result",
                operand => operand.field(),
            });
            let missing = match missing.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "no file".to_owned(),
                some => some,
            };
            bail!(
                "{} takes {missing} beside those that are named; name what else it takes, such as weight=FILE \
                 ({} files are given)",
                self.parameters.op,
                self.arrays.len()
            );
        }
        for (role, path) in free.into_iter().zip(plain) {
            let source = Source::parse(path).map_err(anyhow::Error::msg)?;
            set(&mut request, role, source);
        }
        Ok(request)
    }
}

fn set(request: &mut Operation, role: Role, source: Source) {
    if let Some(field) = request.array(role) {
        *field = Some(source);
    }
}

/// All of an operation by one rule.
#[derive(Args)]
pub struct WholeOperation {
    #[command(flatten)]
    operation: OperationArgs,

    #[command(flatten)]
    rule: RuleArgs,
}

impl RequestArgs for WholeOperation {
    const OUTPUT: &'static str = "output-file";

    fn request(&self) -> Result<Request> {
        self.operation.request(&self.rule).map(Request::from)
    }
}

/// An operation whose result is judged.
#[derive(Args)]
pub struct JudgedOperation {
    #[command(flatten)]
    whole: WholeOperation,

    /// SHA-256 of the result's canonical payload, instead of the result
    #[arg(long, value_name = "HEX", help_heading = "Comparison")]
    y_digest: Option<String>,

    #[command(flatten)]
    judge: JudgeArgs,
}

impl RequestArgs for JudgedOperation {
    const OUTPUT: &'static str = "output-file";

    fn request(&self) -> Result<Request> {
        let operation = self.whole.operation.request(&self.whole.rule)?;
        let mut fields = RequestFields::default();
        super::in_options(self.judge.fill(&mut fields))?;
        Ok(Request::from(Operation {
            y_digest: self.y_digest.clone(),
            ..operation.judged_as(&fields)
        }))
    }
}

/// How the commands about products name those about operations.
#[derive(Args)]
pub struct OperationHint {
    /// Work on an operation between products instead: rms_norm, softmax, attention ... ('tcverify ops'). It has its
    /// own arrays and options: --op NAME --help
    #[arg(long = "op", value_name = "NAME", help_heading = "Operation")]
    _op: Option<String>,
}
