//! Judges an operation between products: the request as a value ([`Operation`]), what it needs read and chosen
//! ([`PreparedOperation`]), and the verdict. Arrays that do not fit are refused before anything is computed. It does not
//! know why a result differs.

mod bound;
mod declaration;
mod deviation;
mod explain;
mod part;
mod prepare;
mod run;
mod sweep;

use tcverify_check as check;
#[doc(hidden)]
pub use tcverify_check::with_judging;
use tcverify_common::{deadline, role, words};
use tcverify_emu as emu;
use tcverify_forms as forms;
use tcverify_io as io;
use tcverify_num as num;
use tcverify_ops as ops;
use tcverify_provenance::commit;
use tcverify_report as report;
use tcverify_report::sample;
use tcverify_tensor as tensor;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use bound::BoundOperation;
pub use deviation::Deviation;
pub use explain::OperationExplanation;
pub use part::compute;
pub use prepare::{OperationTensors, PreparedOperation};
pub use run::row_of;
pub use sweep::{SWEEP, Sweep};

use crate::check::{
    Argument, CheckError, EngineChoice, Expected, MAX_MISMATCHES, RequestFields, Source, Span,
    Strictness, Verb, fields, option, shell_line,
};
use crate::num::{F32, Format};
use crate::ops::Layout;
use crate::role::Role;

macro_rules! of_operation {
    ($request:ident; $($groups:tt)*) => {
        fields! {
            /// What is asked about an operation, as one object of flat fields. A field that is absent is as it is by default.
            pub struct $request, roles: Role::OPERATION;
            groups { $($groups)* }
            /// The operand.
            x: Source,
            /// The second operand (add, div); sums of x's blocks (mul_mat_vec_q).
            other: Source,
            /// What is added first (fused rms_norm).
            residual: Source,
            /// Of every column (norms); codes, NxK (mul_mat_vec_q).
            weight: Source,
            /// One number for every column.
            bias: Source,
            /// What silu is multiplied by; without it, x is both side by side.
            up: Source,
            /// Cosines, by token.
            cos: Source,
            /// Sines, by token.
            sin: Source,
            /// A given scale (quantize_fp8); scales of x's blocks (mul_mat_vec_q).
            scale: Source,
            /// Scales of the weights' blocks (mul_mat_vec_q).
            weight_scale: Source,
            /// Queries.
            q: Source,
            /// Keys.
            k: Source,
            /// Values.
            v: Source,
            /// The result to judge, as captured.
            y: Source,
        }
    };
}

crate::operation_fields!(of_operation);

/// How a result is judged, as the fields of a product's request.
macro_rules! judging {
    ($($field:ident,)*) => {
        impl Operation {
            pub fn judging(&self) -> RequestFields {
                RequestFields {
                    $($field: self.$field.clone(),)*
                    ..RequestFields::default()
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
    /// Without values that are the default.
    #[must_use]
    pub fn without_defaults(self) -> Operation {
        let any = |choice: Option<Strictness>| choice.filter(|choice| *choice == Strictness::Any);
        Operation {
            nan: any(self.nan),
            zero: any(self.zero),
            max_mismatches: self.max_mismatches.filter(|most| *most != MAX_MISMATCHES),
            engine: self.engine.filter(|engine| *engine != EngineChoice::Fast),
            ..self
        }
    }

    /// The result that it claims.
    ///
    /// # Errors
    /// If its digest is none.
    pub fn expected(&self) -> Result<Expected, CheckError> {
        match (&self.y, &self.y_digest) {
            (Some(source), _) => Ok(Expected::Tensor(source.clone())),
            (None, Some(digest)) => {
                let digest = crate::io::parse_sha256(digest).map(Expected::PayloadSha256);
                digest.map_err(CheckError::in_field("y_digest"))
            }
            (None, None) => Ok(Expected::Nothing),
        }
    }

    /// The commitment that everything must match, and the field that names it.
    pub fn committed(&self) -> Option<(&'static str, &Path)> {
        let against = self.against.as_deref().map(|path| ("against", path));
        against.or_else(|| Some(("seed_from", self.seed_from.as_deref()?)))
    }

    /// The files that it names beside arrays, by field.
    pub fn documents(&self) -> impl Iterator<Item = (&'static str, &PathBuf)> {
        let all = [
            ("variant_file", &self.variant_file),
            ("against", &self.against),
            ("seed_from", &self.seed_from),
        ];
        let all = all.into_iter();
        all.filter_map(|(field, path)| Some((field, path.as_ref()?)))
    }

    /// The shell command that checks it; none of what a program holds in memory.
    pub fn check_command(&self) -> Option<String> {
        let in_memory = self
            .arrays()
            .values()
            .any(|source| *source == Source::Memory);
        (!in_memory).then(|| shell_line(self.command_line(Verb::Check)))
    }

    /// The arguments of its command line, the program's name first.
    pub fn command_line(&self, verb: Verb) -> Vec<OsString> {
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
