//! What can be wrong with a library's words, or with asking them about a product.

use thiserror::Error;

use super::Shape;
use crate::io::printable;

/// One sentence each. Texts come from logs, so they are made printable where they enter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    #[error("the text about the kernel has {bytes} bytes; one product's has at most {most}")]
    TooLong { bytes: usize, most: usize },
    #[error(
        "\"{text}\" is no cuBLASLt log line, configuration (algo=66,stages=35,splitK=3), JSON object or kernel name that is known; 'tcverify kernels list' shows what is"
    )]
    Unrecognised { text: String },
    #[error("the {form} cannot be read: {why}")]
    Syntax { form: &'static str, why: String },
    #[error("{key} is \"{value}\", which is not {wanted}")]
    Value {
        key: String,
        value: String,
        wanted: &'static str,
    },
    #[error("{key} is said twice, as \"{first}\" and as \"{second}\"")]
    Twice {
        key: String,
        first: String,
        second: String,
    },
    #[error(
        "{what} is not in the text, and the order of the sums depends on it: {why}; give {ask}"
    )]
    Missing {
        what: &'static str,
        why: String,
        /// The name of the field of [`super::Options`] that answers.
        ask: &'static str,
    },
    #[error("the text says that {what} is {text}, but {given} is asked for")]
    Contradiction {
        what: &'static str,
        text: String,
        given: String,
    },
    #[error(
        "the text is about a product of {text} (M x N x K of D in row-major order), not about one of {asked}; it may be the line of another product"
    )]
    WrongShape { text: Shape, asked: Shape },
    #[error("the text is about a batch of {text}, not about one of {asked}")]
    WrongBatch { text: usize, asked: usize },
    #[error("the text is about {text}, not about {asked}")]
    WrongGpu { text: String, asked: String },
    #[error(
        "the text splits K in {splits} parts, but K is {k}; it may be the text of another product"
    )]
    TooManySplits { splits: usize, k: usize },
    #[error("a product of {shape} has no kernel: {why}")]
    NoKernel { shape: Shape, why: &'static str },
    #[error("{family} kernels do not compute a product of {shape}: {why}")]
    WrongFamily {
        family: &'static str,
        shape: Shape,
        why: &'static str,
    },
    #[error(
        "the order of {what} is not known: {why}; 'tcverify identify' searches orders that give D"
    )]
    UnknownOrder { what: String, why: String },
    #[error("{key} is {value}, which is not planned: {why}")]
    Unplanned {
        key: String,
        value: String,
        why: String,
    },
    #[error("the text does not determine the order of the sums: {why}")]
    Undetermined { why: String },
    #[error("a plan for {shape} would list {sums} sums; at most {most} are")]
    TooLarge {
        shape: Shape,
        sums: usize,
        most: usize,
    },
    #[error("the kernel table cannot be used: {why}")]
    Table { why: String },
    #[error("a GEMMDesc cannot say this plan: {why}")]
    NoDescription { why: String },
    #[error("a schedule cannot say this plan: {why}")]
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
