//! Operands that a text specifies in place of a file. Nobody here makes them: whoever opens files hands over who does.

use std::fmt;

use crate::num::Format;
use crate::role::Role;

/// What a path begins with that names a generated operand instead of a file.
pub const GENERATED: &str = "generate:";

/// Reads such texts.
pub trait Generator: fmt::Debug + Sync {
    /// # Errors
    /// What is wrong with the text.
    fn read(&self, text: &str) -> Result<Box<dyn Generated>, String>;
}

/// An operand that has not been made yet.
pub trait Generated: Sync {
    fn shape(&self) -> &[usize];

    /// # Errors
    /// If there are no numbers of this format.
    fn takes(&self, format: Format) -> Result<(), String>;

    /// Writes the payload, which fits exactly, in a format that is taken.
    fn fill(&self, format: Format, role: Role, payload: &mut [u8]);
}

/// Nobody reads any.
impl Generator for () {
    fn read(&self, _: &str) -> Result<Box<dyn Generated>, String> {
        Err("this program generates no operands".into())
    }
}
