//! What can be wrong with a library's text about a kernel, or with applying it to a product.

use thiserror::Error;

use super::Shape;
use crate::io::printable;

/// One sentence each. Text comes from logs, so it is made printable where it enters.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    #[error("the kernel text has {bytes} bytes; limit: {most} for one product")]
    TooLong { bytes: usize, most: usize },
    #[error(
        "\"{text}\" is not a known cuBLASLt log line, configuration (algo=66,stages=35,splitK=3), JSON object or \
        kernel name; 'tcverify kernels list' shows the known ones"
    )]
    Unrecognised { text: String },
    #[error("cannot read the {form}: {why}")]
    Syntax { form: &'static str, why: String },
    #[error("{key} is \"{value}\", which is not {wanted}")]
    Value {
        key: String,
        value: String,
        wanted: &'static str,
    },
    #[error("{key} is given twice, as \"{first}\" and as \"{second}\"")]
    Twice {
        key: String,
        first: String,
        second: String,
    },
    #[error(
        "the text does not state {what}, which the order of the sums depends on: {why}; give {ask}"
    )]
    Missing {
        what: &'static str,
        why: String,
        /// The name of the field of [`super::Options`] that answers.
        ask: &'static str,
    },
    #[error("the text says that {what} is {text}, but the request says {given}")]
    Contradiction {
        what: &'static str,
        text: String,
        given: String,
    },
    #[error(
        "the text describes a product of {text} (M x N x K of D in row-major order), but the request is {requested}; the \
        line may belong to another product"
    )]
    WrongShape { text: Shape, requested: Shape },
    #[error("the text describes a batch of {text}, but the request has {requested}")]
    WrongBatch { text: usize, requested: usize },
    #[error("the text describes {text}, but the request is for {requested}")]
    WrongGpu { text: String, requested: String },
    #[error(
        "the text splits K in {splits} parts, but K is {k}; the text may belong to another product"
    )]
    TooManySplits { splits: usize, k: usize },
    #[error("no kernel runs for a product of {shape}: {why}")]
    NoKernel { shape: Shape, why: &'static str },
    #[error("{family} kernels do not compute a product of {shape}: {why}")]
    WrongFamily {
        family: &'static str,
        shape: Shape,
        why: &'static str,
    },
    #[error(
        "the summation order of {what} is not known: {why}; 'tcverify identify' searches for orders that give D"
    )]
    UnknownOrder { what: String, why: String },
    #[error("{key} is {value}, which is not supported: {why}")]
    Unplanned {
        key: String,
        value: String,
        why: String,
    },
    #[error("the text does not determine the order of the sums: {why}")]
    Undetermined { why: String },
    #[error("a plan for {shape} would list {sums} sums; limit: {most}")]
    TooLarge {
        shape: Shape,
        sums: usize,
        most: usize,
    },
    #[error("the kernel table cannot be used: {why}")]
    Table { why: String },
    #[error("a GEMMDesc cannot describe this plan: {why}")]
    NoDescription { why: String },
    #[error("a schedule cannot describe this plan: {why}")]
    NoSchedule { why: String },
}

impl KernelError {
    pub(super) fn value(key: &str, value: &str, wanted: &'static str) -> KernelError {
        KernelError::Value {
            key: printable(key),
            value: printable(value),
            wanted,
        }
    }

    pub(super) fn syntax(form: &'static str, why: impl Into<String>) -> KernelError {
        KernelError::Syntax {
            form,
            why: why.into(),
        }
    }

    pub(super) fn unplanned(
        key: &str,
        value: impl ToString,
        why: impl Into<String>,
    ) -> KernelError {
        KernelError::Unplanned {
            key: printable(key),
            value: printable(&value.to_string()),
            why: why.into(),
        }
    }

    pub(super) fn unknown(what: impl Into<String>, why: impl Into<String>) -> KernelError {
        KernelError::UnknownOrder {
            what: what.into(),
            why: why.into(),
        }
    }
}
