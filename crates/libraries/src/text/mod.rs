//! Texts about kernels: one file for each source.
//!
//! Texts come from logs: nothing in them is trusted, all parsers are linear in their length, and what is
//! quoted is printable.

mod builder;
mod configuration;
mod fields;
mod gemm_desc;
mod groups;
mod json;
mod log;
mod marlin;
mod name;
mod nvjet;
mod tensile;
mod tensor_op;
mod xmma;

#[cfg(test)]
mod tests;

pub(super) use configuration::of_words;

use super::{KernelError, KernelReading};
use crate::io::printable;

/// Bytes of the longest text that is read.
pub const MAX_TEXT: usize = 1 << 16;

/// The lines of a cuBLASLt log that launch a product, with their numbers from 1 on.
pub fn launches(log: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = log.lines().enumerate();
    lines
        .filter(|(_, line)| line.contains("algo=["))
        .map(|(i, line)| (i + 1, line))
}

/// Reads a cuBLASLt log line, a configuration, JSON of attributes or of a GEMMDesc, a kernel's name, or a
/// Tensile name.
///
/// # Errors
/// If it is none of these, or one that contradicts itself.
pub fn read(text: &str) -> Result<KernelReading, KernelError> {
    let text = text.trim();
    if text.len() > MAX_TEXT {
        return Err(KernelError::TooLong {
            bytes: text.len(),
            most: MAX_TEXT,
        });
    }
    if text.starts_with('{') {
        return json::read(text);
    }
    if log::looks_like_one(text) {
        return log::read(text);
    }
    if text.contains('=') || configuration::looks_like_yaml(text) {
        return configuration::read(text);
    }
    let unrecognised = || KernelError::Unrecognised {
        text: printable(text),
    };
    name::read(text)?.ok_or_else(unrecognised)
}
