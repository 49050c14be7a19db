//! An operation between products as a value ([`Operation`]), what it needs read and chosen
//! ([`PreparedOperation`]), and the verdict on it.

mod committed;
mod deviation;
mod explain;
mod part;
mod prepare;
mod run;
mod suggest;
mod sweep;
#[cfg(test)]
mod tests;
mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use explain::OperationExplanation;
pub use prepare::{OperationTensors, PreparedOperation};
pub use run::OperationJudged;
pub use suggest::Fit;
pub use sweep::{SWEEP, Sweep};
pub use verify::verify_operation;

use super::error::CheckError;
use super::source::Source;
use super::span::Span;
use super::words::{EngineChoice, Strictness};
use crate::io::Outputs;
use crate::num::{F32, Format};
use crate::ops::Layout;

macro_rules! operation {
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty,)*) => {
        /// What is asked about an operation, as one object of flat fields. A field that is absent is as it is by
        /// default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct Operation {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$kind>,
            )*
        }

        impl Operation {
            /// The names of all fields.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
        }
    };
}

operation! {
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
    /// So many random elements instead of all.
    sample: u64,
    /// Seed of the draw; whoever knew it when the result was made could spare the sample.
    seed: u64,
    /// A commitment, which arrays, rule and result must be those of: it and the beacon make the seed.
    seed_from: PathBuf,
    /// A public value that nobody could know when the commitment was published.
    beacon: String,
    /// How many mismatches to list.
    max_mismatches: usize,
    /// Do not look for what would give a result that differs.
    no_causes: bool,
    /// Who computes.
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
    /// What silu is multiplied with; without it, x is both side by side.
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

impl Operation {
    fn slots(&mut self) -> [(&'static str, &mut Option<Source>); 13] {
        [
            ("x", &mut self.x),
            ("other", &mut self.other),
            ("residual", &mut self.residual),
            ("weight", &mut self.weight),
            ("bias", &mut self.bias),
            ("up", &mut self.up),
            ("cos", &mut self.cos),
            ("sin", &mut self.sin),
            ("scale", &mut self.scale),
            ("q", &mut self.q),
            ("k", &mut self.k),
            ("v", &mut self.v),
            ("y", &mut self.y),
        ]
    }

    /// Names an array; false if no array is called so.
    pub fn set(&mut self, name: &str, source: Source) -> bool {
        let slot = self.slots().into_iter().find(|(known, _)| *known == name);
        slot.map(|(_, slot)| *slot = Some(source)).is_some()
    }

    /// Every array that it names, y last, by its field.
    pub fn sources(&self) -> Vec<(&'static str, Source)> {
        let mut this = self.clone();
        let named = this.slots().into_iter();
        named
            .filter_map(|(name, slot)| Some((name, slot.take()?)))
            .collect()
    }

    /// Paths that are not absolute start in this folder.
    pub fn in_folder(&mut self, folder: &Path) {
        for (_, slot) in self.slots() {
            if let Some(source) = slot {
                source.in_folder(folder);
            }
        }
        for path in [&mut self.variant_file, &mut self.seed_from]
            .into_iter()
            .flatten()
        {
            *path = folder.join(&*path);
        }
    }

    /// Everything that it reads is written over by no output.
    pub fn protect(&self, outputs: &mut Outputs) {
        for (field, source) in self.sources() {
            if let Some(path) = source.path() {
                outputs.protect(&format!("the array {field}"), path);
            }
        }
        if let Some(path) = &self.variant_file {
            outputs.protect("the variant", path);
        }
        if let Some(path) = &self.seed_from {
            outputs.protect("the commitment", path);
        }
    }

    /// The words of the command line that asks for this, the program's name first.
    pub fn command_line(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["tcverify".into(), "op".into()];
        words.extend(self.operation.as_ref().map(OsString::from));
        let arrays = self.sources();
        // What need not be text goes on as it is.
        let mut said = self.clone();
        for (_, slot) in said.slots() {
            *slot = None;
        }
        let paths = [
            ("variant_file", said.variant_file.take()),
            ("seed_from", said.seed_from.take()),
        ];
        let object = serde_json::to_value(said).expect("plain data");
        let fields = object.as_object().into_iter().flatten();
        for (name, value) in fields {
            if name == "operation" {
                continue;
            }
            let option = super::command_line::option(name);
            match value {
                serde_json::Value::Bool(true) => words.push(option.into()),
                serde_json::Value::Bool(false) => {}
                serde_json::Value::String(text) => words.push(format!("{option}={text}").into()),
                serde_json::Value::Number(_) if name == "eps" || name == "softmax_scale" => {
                    let factor = if name == "eps" {
                        self.eps
                    } else {
                        self.softmax_scale
                    };
                    words.extend(factor.map(|factor| OsString::from(format!("{option}={factor}"))));
                }
                other => words.push(format!("{option}={other}").into()),
            }
        }
        for (name, path) in paths {
            if let Some(path) = path {
                let mut word = OsString::from(super::command_line::option(name));
                word.push("=");
                word.push(path);
                words.push(word);
            }
        }
        for (name, source) in arrays {
            let mut word = OsString::from(format!("{name}="));
            word.push(source.text());
            words.push(word);
        }
        words
    }
}

fn fail(field: &'static str, reason: impl Into<String>) -> CheckError {
    CheckError::request(field, reason)
}
