//! The words of a command line about an operation as a request.

use std::ffi::OsString;

use anyhow::{Result, bail, ensure};
use clap::Args;

use super::fields::{DigestArgs, OperationJudgeArgs, ParameterArgs, RuleArgs};
use super::{RequestArgs, in_options};
use crate::check::Source;
use crate::compose::Request;
use crate::operation::Operation;
use crate::ops;
use crate::role::Role;

/// The operation and its arrays.
#[derive(Args)]
pub struct OperationArgs {
    #[command(flatten)]
    parameters: ParameterArgs,

    /// Arrays, in the operation's order or as NAME=FILE; the captured result is y, the last one
    #[arg(value_name = "[NAME=]FILE", required = true)]
    arrays: Vec<OsString>,
}

/// A request for all of the result, without its arrays.
pub fn operation(parameters: &ParameterArgs, rule: &RuleArgs) -> Result<Operation> {
    let mut request = Operation::default();
    in_options(parameters.fill(&mut request))?;
    in_options(rule.fill(&mut request))?;
    request.operation = request.operation.map(|name| name.replace('-', "_"));
    Ok(request.without_defaults())
}

impl OperationArgs {
    /// A request for all of the result.
    pub fn request(&self, rule: &RuleArgs) -> Result<Operation> {
        let mut request = operation(&self.parameters, rule)?;
        // An unknown operation is reported before its arrays.
        let name = request.operation.as_deref().unwrap_or_default();
        let known = match &rule.variant_file {
            Some(_) => ops::of(name).map(|all| all[0]),
            None => ops::find(name, rule.variant.as_deref()),
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
                    let source = Source::of(path.as_ref());
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
                self.parameters.operation.as_deref().unwrap_or_default(),
                self.arrays.len()
            );
        }
        for (role, path) in free.into_iter().zip(plain) {
            set(&mut request, role, Source::of(path));
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

    #[command(flatten)]
    digest: DigestArgs,

    #[command(flatten)]
    judge: OperationJudgeArgs,
}

impl RequestArgs for JudgedOperation {
    const OUTPUT: &'static str = "output-file";

    fn request(&self) -> Result<Request> {
        let mut request = self.whole.operation.request(&self.whole.rule)?;
        in_options(self.digest.fill(&mut request))?;
        in_options(self.judge.fill(&mut request))?;
        Ok(Request::from(request.without_defaults()))
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
