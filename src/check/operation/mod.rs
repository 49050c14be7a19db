//! An operation between products as a value ([`Operation`]), what it needs read and chosen
//! ([`PreparedOperation`]), and the verdict on it.

mod bound;
mod deviation;
mod explain;
mod part;
mod prepare;
mod run;
mod suggest;
mod sweep;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use bound::BoundOperation;
pub use explain::OperationExplanation;
pub use prepare::{OperationTensors, PreparedOperation};
pub use suggest::Fit;
pub use sweep::{SWEEP, Sweep};

use super::choices::{EngineChoice, Strictness};
use super::command_line::{Verb, option};
use super::fields::{Argument, RequestFields, fields};
use super::product::MAX_MISMATCHES;
use super::source::Source;
use super::span::Span;
use crate::num::{F32, Format};
use crate::ops::Layout;
use crate::role::Role;

fields! {
    /// What is asked about an operation, as one object of flat fields. A field that is absent is as it is by default.
    pub struct Operation, roles: Role::OPERATION;

    /// Which operation.
    operation: String,
    /// How it is computed: a name that `tcverify ops` lists; by default the operation's first.
    variant: String,
    /// A variant file in its place.
    variant_file: PathBuf,
    /// GPU or architecture, whose tensor core multiplies (attention).
    arch: String,
    /// Format of the arrays, where their files cannot say it.
    dtype: Format,
    /// What is added to the variance (norms).
    eps: F32,
    /// Factor of scores (attention); 1/sqrt(d) without.
    softmax_scale: F32,
    /// Whether a query sees only keys up to its own (attention).
    causal: bool,
    /// Axes of q, k, v and of rotated arrays.
    layout: Layout,
    /// Whether neighbours are rotated instead of halves (rope).
    interleaved: bool,
    /// Elements that share a scale (quantize_fp8).
    group: usize,
    /// Rows of Q and keys of a block, such as 128x64, instead of the variant's (attention).
    tile: String,
    /// Which of the results, where there are several.
    output: String,
    /// SHA-256 of the result's canonical payload, instead of the result.
    y_digest: String,
    /// Whether NaN bits must agree.
    nan: Strictness,
    /// Whether signs of zeros must agree.
    zero: Strictness,
    /// Only these rows of the result, in every matrix of its last two axes.
    rows: Span,
    /// Only these columns of the result.
    cols: Span,
    /// Only this rectangle of the result: ROWS,COLUMNS.
    region: String,
    /// So many random elements instead of all.
    sample: u64,
    /// Seed of the draw; whoever knew it when the result was made could spare the sample.
    seed: u64,
    /// A commitment, which arrays, rule and result must be those of: it and the beacon make the seed.
    seed_from: PathBuf,
    /// A public value that nobody could know when the commitment was published.
    beacon: String,
    /// A commitment, which arrays, rule and result must be those of.
    against: PathBuf,
    /// How many mismatches to list.
    max_mismatches: usize,
    /// Name the reproduced result by the root of its Merkle tree.
    tree: bool,
    /// Rows of a block of that tree.
    block_rows: u64,
    /// Do not look for what would give a result that differs.
    no_causes: bool,
    /// The engine that computes.
    engine: EngineChoice,
    /// The operand.
    x: Source,
    /// The second operand (add, div).
    other: Source,
    /// What is added first (fused rms_norm).
    residual: Source,
    /// Of every column (norms).
    weight: Source,
    /// Of every column.
    bias: Source,
    /// What silu is multiplied by; without it, x is both side by side.
    up: Source,
    /// Cosines, by token.
    cos: Source,
    /// Sines, by token.
    sin: Source,
    /// A given scale (quantize_fp8).
    scale: Source,
    /// Queries.
    q: Source,
    /// Keys.
    k: Source,
    /// Values.
    v: Source,
    /// The captured result.
    y: Source,
}

/// The fields that a request of a product has, too, and how one kind has those of the other.
macro_rules! judging {
    ($($field:ident,)*) => {
        impl Operation {
            /// How the result is judged.
            pub(super) fn judging(&self) -> RequestFields {
                RequestFields {
                    $($field: self.$field.clone(),)*
                    ..RequestFields::default()
                }
            }

            /// The same, judged so; values that are the default are left out.
            #[must_use]
            pub fn judged_as(self, fields: &RequestFields) -> Operation {
                let any = |word: &Option<Strictness>| word.filter(|word| *word == Strictness::Any);
                let listed = fields.max_mismatches;
                let judged = Operation {
                    $($field: fields.$field.clone(),)*
                    ..self
                };
                Operation {
                    nan: any(&fields.nan),
                    zero: any(&fields.zero),
                    max_mismatches: listed.filter(|listed| *listed != MAX_MISMATCHES),
                    ..judged
                }
            }
        }
    };
}

judging! {
    nan, zero, against, sample, seed, seed_from, beacon, rows, cols, region, max_mismatches, tree, block_rows,
    no_causes,
}

impl Operation {
    /// The arguments of its command line, the program's name first.
    pub(super) fn command_line(&self, verb: Verb) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["tcverify".into(), verb.name().into()];
        let operation = self.operation.as_deref();
        words.extend(operation.map(|name| OsString::from(format!("--op={name}"))));
        let (mut options, mut paths) = (Vec::new(), Vec::new());
        for (field, argument) in self.arguments() {
            if !verb.takes(field) {
                continue;
            }
            let mut word = OsString::from(option(field));
            if let Argument::Value(value) = argument {
                word.push("=");
                word.push(value);
            }
            match field {
                "operation" => {}
                "variant_file" | "seed_from" | "against" => paths.push(word),
                _ if Role::OPERATION.iter().any(|role| role.field() == field) => {}
                _ => options.push((field, word)),
            }
        }
        options.sort_unstable();
        words.extend(options.into_iter().map(|(_, word)| word).chain(paths));
        for (role, source) in self.arrays() {
            let mut word = OsString::from(format!("{}=", role.field()));
            word.push(source.text());
            words.push(word);
        }
        words
    }
}
