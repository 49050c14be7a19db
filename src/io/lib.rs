//! Files in and out: arrays in `.npy`, `.npz` and `.safetensors`, whole-or-nothing outputs, and digests.
//!
//! What is read is untrusted: no header makes this crate allocate what it claims, and a file that changes meanwhile is
//! an error. Nothing here knows of products.

pub mod console;
mod container;
mod digest;
mod error;
mod files;
mod generated;
mod guard;
mod mapped;
pub mod memory;
pub mod npy;
mod output;
mod outputs;
mod source;
mod stream;
mod temporary;
mod text;
pub mod tree;

use tcverify_common::{deadline, role};
use tcverify_num as num;
use tcverify_tensor as tensor;

pub use container::{Container, LONGEST_PATH, name_prefix, on_disk};
pub use digest::{from_hex, parse_sha256, payload_sha256, sha256};
pub use error::{Fault, FaultKind, FileError};
pub use files::Files;
pub use generated::{GENERATED, Generated, Generator};
pub use guard::Fleeting;
pub use guard::guard_process;
pub use mapped::{MappedFile, PRIVATE_BYTES, Privacy};
pub use output::Output;
pub use outputs::Outputs;
pub use source::{IN_MEMORY, Source};
pub use tcverify_common::{
    deceives, escaped, escaped_for_log, escaped_json, escaped_lines, escaped_name, escaped_path,
    hex, printable, printable_ends, without_commands,
};
pub use text::{MAX_DOCUMENT, MAX_LOG, read_bytes, read_document, read_text};

/// The path of standard input.
pub const STDIN: &str = "-";
