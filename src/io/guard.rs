//! Signals: a file that shrinks under its mapping, and files that must not outlive this process.

use std::path::Path;

#[cfg(unix)]
mod unix;

/// Makes this process end in order when
///
/// * a mapped file is truncated: a sentence and exit code 2 instead of a bare bus error;
/// * it is interrupted, terminated or hung up on: temporary files are removed first;
/// * a file grows beyond the limit on file sizes: an error instead of a signal.
///
/// For programs, not for libraries: it sets the process's signal handlers. Does nothing where there are
/// no such signals.
pub fn guard_process() {
    #[cfg(unix)]
    unix::install();
}

/// A temporary file or folder that a signal removes as long as this lives.
#[derive(Debug)]
pub struct Fleeting {
    #[cfg(unix)]
    _slot: Option<unix::Slot>,
}

impl Fleeting {
    /// To be called before it is made, so that no moment is unguarded.
    pub fn new(path: &Path) -> Fleeting {
        #[cfg(not(unix))]
        let _ = path;
        Fleeting {
            #[cfg(unix)]
            _slot: unix::Slot::take(path),
        }
    }
}
