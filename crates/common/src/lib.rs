//! What the crates of tcverify share: nothing here knows of products.
//!
//! * [`deadline`]: when work must end, and how it stops.
//! * [`words`](mod@words): enumerations whose values are words, and documents whose errors name their place.
//! * [`role`]: what an array is to its product or operation.
//! * [`printable`](mod@printable): text of other people, fit to be shown.

pub mod deadline;
pub mod printable;
pub mod role;
pub mod words;

pub use printable::*;

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
