//! The file that becomes an output: beside it until it is whole, and gone if it never is.
//!
//! It is locked as long as its process lives, whatever ends that. So one without a lock is a dead
//! process's, and the next output to that folder removes it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::{NamedTempFile, TempPath};

use super::Fleeting;

const PREFIX: &str = ".tcverify-";
const SUFFIX: &str = ".tmp";
/// Letters and digits between them.
const RANDOM: usize = 8;

#[derive(Debug)]
pub struct Temporary {
    file: File,
    path: TempPath,
    /// Last, so that the file is gone before its guard is.
    _guard: Fleeting,
}

impl Temporary {
    /// An empty file in a folder.
    ///
    /// # Errors
    /// If none can be made; the error does not contain its random name.
    pub fn make(folder: &Path) -> io::Result<Temporary> {
        remove_stale(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
        let made = builder.make_in(folder, |path| {
            let guard = Fleeting::new(path);
            let mut options = OpenOptions::new();
            // As for any new file: everyone's permissions less the umask.
            let file = options.write(true).create_new(true).open(path)?;
            if claimed(&file, path) {
                return Ok((file, guard));
            }
            // Somebody took it for a dead process's in the moment before it was locked: another name.
            Err(io::ErrorKind::AlreadyExists.into())
        });
        let made: NamedTempFile<(File, Fleeting)> =
            made.map_err(|error| io::Error::from(error.kind()))?;
        let ((file, guard), path) = made.into_parts();
        Ok(Temporary {
            file,
            path,
            _guard: guard,
        })
    }

    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it its name, in place of what has it now.
    ///
    /// # Errors
    /// Those of the file system; then it is gone.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        self.path.persist(path).map_err(|error| error.error)
    }
}

/// Whether a new file is locked and still has its name. File systems without locks cannot say, and
/// there nobody takes it either.
fn claimed(file: &File, path: &Path) -> bool {
    if cfg!(not(unix)) {
        return true;
    }
    match file.try_lock() {
        Ok(()) => path.exists(),
        Err(fs::TryLockError::WouldBlock) => false,
        Err(fs::TryLockError::Error(_)) => true,
    }
}

/// Removes what processes that were killed left in a folder. Whatever cannot be removed stays.
#[cfg(unix)]
fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(is_temporary);
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let Ok(file) = OpenOptions::new().write(true).open(&path) else {
            continue;
        };
        // Held until the name is gone: a process that made it just now sees that it lost it.
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Where an open file cannot be removed, or a lock forbids writing to it, they stay.
#[cfg(not(unix))]
fn remove_stale(_: &Path) {}

#[cfg(unix)]
fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX);
    let random = random.and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).expect("a folder").count()
    }

    #[test]
    fn one_that_lives_stays_and_a_dead_one_goes() {
        let folder = tempfile::tempdir().expect("a folder");
        let living = Temporary::make(folder.path()).expect("a file");
        fs::write(folder.path().join(".tcverify-abcd1234.tmp"), "dead").expect("a file");
        for other in [".tcverify-abc.tmp", ".tcverify-abcd1234.txt", ".tcverify-"] {
            fs::write(folder.path().join(other), "someone's").expect("a file");
        }
        let second = Temporary::make(folder.path()).expect("a file");
        assert_eq!(
            names(folder.path()),
            5,
            "two of ours and three of someone's"
        );
        drop((living, second));
        assert_eq!(names(folder.path()), 3);
    }
}
