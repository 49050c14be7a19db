//! Files in and out: arrays in `.npy`, `.npz` and `.safetensors`, whole-or-nothing outputs, digests.

mod container;
mod digest;
mod guard;
mod mapped;
pub mod npy;
mod output;
mod printable;
mod source;
mod temporary;

pub use container::{Container, on_disk};
pub use digest::{file_sha256, hex, parse_sha256, payload_sha256};
pub(crate) use guard::Fleeting;
pub use guard::guard_process;
pub use mapped::MappedFile;
pub use output::{Output, same_file};
pub(crate) use printable::{escaped, printable, printable_ends};
pub use source::Source;
