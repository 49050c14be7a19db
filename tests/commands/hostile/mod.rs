//! Files that are wrong, by accident or on purpose: one clear sentence, exit code 2, nothing
//! written, and never a crash.

mod headers;
mod limits;
mod mutations;
mod outputs;
mod paths;
mod shapes;

use crate::support::{Folder, Npy, Run, floats, halves};

/// A good product of 2x3 by 3x2, to be spoilt.
fn good() -> Folder {
    let folder = Folder::new();
    let ones = halves(&[1.0; 6]);
    folder.save("a.npy", &Npy::new("<f2", &[2, 3], ones.clone()));
    folder.save("b.npy", &Npy::new("<f2", &[3, 2], ones));
    folder.save("d.npy", &Npy::new("<f4", &[2, 2], floats(&[3.0; 4])));
    folder
}

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
