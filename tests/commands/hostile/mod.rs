//! Files that are wrong, by accident or on purpose: one clear sentence, exit code 2, nothing
//! written, and never a crash.

mod headers;
mod limits;
mod long_texts;
mod mutations;
mod outputs;
mod paths;
mod shapes;

use crate::support::{Folder, Run, good};

/// Every command that reads, on a folder that holds a spoilt `a.npy`, refuses it by name with these
/// words and leaves everything as it was.
#[track_caller]
fn refused(folder: &Folder, words: &[&str]) {
    let words = [&["a.npy"], words].concat();
    let before = folder.names();
    for arguments in [
        "check --arch ampere --dtype fp16 a.npy b.npy d.npy",
        "check --arch ampere --dtype fp16 a.npy b.npy d.npy --json report.json --quiet",
        "replay --arch ampere --dtype fp16 a.npy b.npy -o new.npy",
        "digest b.npy a.npy",
    ] {
        folder.tcverify(arguments).refuses(&words);
        assert_eq!(folder.names(), before, "{arguments}");
    }
}

/// As [`refused`], where only a product is refused.
#[track_caller]
fn refuses(folder: &Folder, arguments: &str, words: &[&str]) -> Run {
    let before = folder.names();
    let run = folder.tcverify(arguments).refuses(words);
    assert_eq!(folder.names(), before, "{arguments}");
    run
}
