//! What can go wrong around the program while it runs: full disks, files that change, readers that
//! leave, signals. It ends with a sentence and exit code 2, and never leaves half a file.

#[cfg(target_os = "linux")]
mod changing;
mod outputs;
mod signals;

use crate::support::{Folder, good};

const CHECK: &str = "check --arch ampere --dtype fp16 a.npy b.npy d.npy";

/// A product that keeps the exact engine busy for some seconds; its D is 64x64.
const LONG: &str =
    "--arch ampere --dtype fp16 --engine exact generate:1:wide:64x40000 generate:2:wide:40000x64";

/// Temporary files of the program in a folder.
fn temporary(folder: &Folder) -> Vec<String> {
    let mut names = folder.names();
    names.retain(|name| name.starts_with(".tcverify-"));
    names
}
