//! Many checks, one report: the cases of a manifest or of a folder of captures, judged in parallel, and
//! the state that lets a batch resume.

mod admit;
mod case;
mod folder;
mod lookup;
mod manifest;
mod pages;
mod pattern;
mod policy;
mod progress;
mod run;
mod state;

use std::path::{Path, PathBuf};

pub use case::Case;
pub use manifest::{MANIFEST, parsed};
pub use pages::Pages;
pub use policy::{Accept, OperationRule, POLICY, Policy, STRICT};
pub use run::run;
pub use state::{Beginning, Entry, STATE, State};

use lookup::Lookup;

use crate::check::CheckError;
use crate::io::{FileError, Outputs, escaped_path};
use crate::report::Coverage;

/// Why a batch cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A manifest, an index or a state is not what it must be.
    #[error("{}: {reason}", escaped_path(path))]
    Document { path: PathBuf, reason: String },
    /// A case says something that cannot be.
    #[error("{place}: {error}")]
    Case {
        /// The document and the case in it.
        place: String,
        error: CheckError,
    },
    /// A file or folder cannot be read.
    #[error("{0:#}")]
    File(FileError),
    /// Nobody waited for it; what had been judged is in the state, if there is one.
    #[error("interrupted before all cases were judged")]
    Interrupted,
    #[error("{0}")]
    Other(String),
}

impl BatchError {
    fn document(path: &Path) -> impl Fn(String) -> BatchError + use<> {
        let path = path.to_owned();
        move |reason| BatchError::Document {
            path: path.clone(),
            reason,
        }
    }
}

/// What a batch is asked to judge.
pub struct Read {
    pub cases: Vec<Case>,
    /// The files that name them.
    pub own: Vec<PathBuf>,
    /// How much of what ran the cases are, where the manifest says so.
    pub coverage: Option<Coverage>,
    /// Folders with a case that multiplies nothing, which are passed over.
    pub no_products: Vec<String>,
}

impl Read {
    /// Which of the cases are products.
    pub fn products(&self) -> Vec<bool> {
        self.cases.iter().map(Case::is_product).collect()
    }
}

/// The cases of a manifest, or of a folder of case folders, and the files that name them. Under a policy no
/// file is read that it does not allow, and no case is returned.
///
/// # Errors
/// What is wrong, in which file, case and field. Nothing has been judged then.
pub fn read(path: &Path, policy: Option<&Policy>) -> Result<Read, BatchError> {
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
        }
    };
    if read.cases.is_empty() {
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
    policy: Option<(&Policy, &Path)>,
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

/// The folder that the cases of a manifest or of a folder belong to.
pub fn root(path: &Path) -> &Path {
    match path.is_dir() {
        true => path,
        false => path.parent().unwrap_or(Path::new("")),
    }
}
