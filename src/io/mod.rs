//! Files in and out: `.npy` arrays, whole-or-nothing outputs, digests.

mod digest;
mod mapped;
pub mod npy;
mod output;

pub use digest::{file_sha256, hex, parse_sha256, payload_sha256};
pub use mapped::MappedFile;
pub use output::Output;
