//! Judges many products in one run: the cases of a manifest or of a folder of captures, with a state to resume from.
//! A case that cannot be judged stops no other, and a resumed batch writes the bytes that an unbroken one writes. It
//! computes nothing: every case is a check.

mod attested;
mod case;
mod document;
mod emulated;
mod escaping;
mod folder;
mod lookup;
mod manifest;
mod pages;
mod pattern;
mod reasons;
pub mod report;
mod run;
mod state;
mod subfolders;

use std::path::{Path, PathBuf};

pub use case::{Case, Read};
pub use document::{BatchError, root};
pub use manifest::{MANIFEST, parsed};
pub use pages::Pages;
pub use run::run;
pub use state::{Beginning, Entry, STATE, State};

use lookup::Lookup;

use crate::io::Outputs;
use crate::policy::{AdmissionPolicy, STRICT};

/// The cases of a manifest, or of a folder of case folders, and the files that name them. Under a policy no
/// file is read that it does not allow, and no such case is returned.
///
/// # Errors
/// What is wrong, in which file, case and field. Nothing has been judged then. A folder refuses single cases.
pub fn read(path: &Path, policy: Option<&AdmissionPolicy>) -> Result<Read, BatchError> {
    let lookup = Lookup::new(policy, root(path));
    let read = if path.is_dir() {
        folder::read(path, &lookup)?
    } else {
        let (cases, coverage) = manifest::read(path, &lookup)?;
        Read {
            cases,
            own: vec![path.to_owned()],
            coverage,
            no_products: Vec::new(),
            refused: Vec::new(),
        }
    };
    if read.cases.is_empty() && read.refused.is_empty() {
        let missed = read.coverage.as_ref().map_or(0, |coverage| coverage.seen);
        let reason = match missed {
            0 => "has no cases".into(),
            n => format!("has no cases: {n} products ran, but none was recorded"),
        };
        return Err(BatchError::document(path)(reason));
    }
    Ok(read)
}

/// Keeps outputs off everything that a batch reads, `own` being the files that name its cases; under a policy that
/// closes it, out of their folder, too.
pub fn protect(
    outputs: &mut Outputs,
    path: &Path,
    (cases, own): (&[Case], &[PathBuf]),
    policy: Option<(&AdmissionPolicy, &Path)>,
) {
    for path in own {
        outputs.protect("the cases", path);
    }
    for case in cases {
        case.request.protect(outputs);
    }
    let Some((policy, file)) = policy else {
        return;
    };
    if policy.closes_the_folder() {
        let closed =
            "the folder of the cases, where the policy (`outputs: outside`) allows no outputs";
        outputs.close(closed, root(path));
    }
    if file != Path::new(STRICT) {
        outputs.protect("the policy", file);
    }
}
