//! Forms of the report for CI, and the scripts that use them.

mod files;
mod github;
mod junit;
#[cfg(unix)]
mod scripts;
mod workflows;

use crate::support::{Folder, Npy, floats, halves};

/// Two by three times three by two, with C; one element of D is an ulp too large in `d.npy`, none in
/// `good.npy`.
pub fn example() -> Folder {
    let folder = Folder::new();
    let d = [17.0, 28.0, 46.0, 57.0_f32];
    let mut given = d.map(f32::to_bits);
    given[3] += 1;
    let a = halves(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = halves(&[1.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    folder.save("a.npy", &Npy::new("<f2", &[2, 3], a));
    folder.save("b.npy", &Npy::new("<f2", &[3, 2], b));
    let c = floats(&[10.0, 20.0, 30.0, 40.0]);
    folder.save("c.npy", &Npy::new("<f4", &[2, 2], c));
    folder.f32_codes("d.npy", &[2, 2], &given);
    folder.f32("good.npy", &[2, 2], &d);
    folder
}

pub const CHECK: &str = "check --arch a100 --dtype fp16 --c c.npy a.npy b.npy";

/// The folder and file of a name that every form must escape.
pub const EVIL: &str = "<b>&\"'`|*_%\u{1b}\n::error::]]><";
