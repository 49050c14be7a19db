//! `tcverify.log/1`: a log's leaves, a line each. Lines are added, never changed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::TlogError;
use super::checkpoint::Checkpoint;
use super::consistency::consistency;
use super::note::{Key, KeyKind, Note, is_name};
use super::proof::{TlogProof, lines};
use crate::io::tree::{Hash, Tree, leaf};
use crate::io::{Fault, FaultKind, MAX_LOG, from_hex, read_text};
use crate::sign::Signer;

/// First line of the file.
pub const LOG: &str = "tcverify.log/1";

/// The hashes of files that were committed to, in the order in which that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Its name, which is that of its key.
    pub origin: String,
    pub leaves: Vec<Hash>,
}

/// A log that is locked and open for more leaves.
#[derive(Debug)]
pub struct OpenLog {
    path: PathBuf,
    file: File,
    pub log: Log,
}

impl Log {
    /// Reads the file's text.
    ///
    /// # Errors
    /// What is wrong, to be read after the file's name.
    pub fn parse(text: &str) -> Result<Log, TlogError> {
        let not = |reason: String| TlogError::document(format!("is not a {LOG}: {reason}"));
        let whole = text.strip_suffix('\n');
        let whole =
            whole.ok_or_else(|| not("its last line is incomplete; remove that line".into()))?;
        let mut lines = whole.split('\n');
        if lines.next() != Some(LOG) {
            return Err(not(format!("its first line is not {LOG:?}")));
        }
        let origin = lines.next().filter(|origin| is_name(origin));
        let origin = origin
            .ok_or_else(|| not("its second line is not a name".into()))?
            .to_owned();
        let leaves = lines.enumerate().map(|(i, line)| {
            let hash = from_hex(line).map(Hash);
            hash.ok_or_else(|| not(format!("line {} is not 64 hexadecimal digits", i + 3)))
        });
        Ok(Log {
            origin,
            leaves: leaves.collect::<Result<_, _>>()?,
        })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Log, TlogError> {
        Log::parse(&read_text(path, "log", MAX_LOG)?).map_err(|error| match error {
            TlogError::Document(reason) => Fault::from(reason).of(path).into(),
            other => other,
        })
    }

    /// Where the leaf of a file is.
    pub fn place(&self, file: &[u8]) -> Option<u64> {
        let leaf = leaf([file]);
        let at = self.leaves.iter().position(|other| *other == leaf);
        at.map(|at| at as u64)
    }

    fn tree(&self, size: usize) -> Tree {
        Tree::new(self.leaves[..size].to_vec())
    }

    /// The checkpoint of the whole log; none of a log without leaves.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        (!self.leaves.is_empty()).then(|| Checkpoint {
            origin: self.origin.clone(),
            size: self.leaves.len() as u64,
            root: self.tree(self.leaves.len()).root(),
        })
    }

    /// Makes sure that a checkpoint is one of this log, as it is or as it was; of how many leaves it is.
    pub fn confirm(&self, checkpoint: &Checkpoint) -> Result<usize, TlogError> {
        let size = usize::try_from(checkpoint.size).unwrap_or(usize::MAX);
        let here = (1..=self.leaves.len()).contains(&size) && self.origin == checkpoint.origin;
        if here && self.tree(size).root() == checkpoint.root {
            Ok(size)
        } else {
            Err(TlogError::nothing(
                "the checkpoint does not match the leaves of this log",
            ))
        }
    }

    /// What a witness is asked that has cosigned the tree of the first `old` leaves: the body of its `add-checkpoint`
    /// (C2SP tlog-witness).
    ///
    /// # Errors
    /// If the checkpoint is not of this log, or older.
    pub fn ask(&self, old: u64, checkpoint: &Note) -> Result<String, TlogError> {
        let size = self.confirm(&Checkpoint::parse(&checkpoint.text)?)?;
        let first = usize::try_from(old).ok().filter(|old| *old <= size);
        let first = first.ok_or_else(|| {
            TlogError::document(format!(
                "is a checkpoint of {size} leaves, fewer than the earlier {old}"
            ))
        })?;
        let path = match first {
            0 => Vec::new(),
            _ => consistency(&self.leaves[..size], first),
        };
        let (path, checkpoint) = (lines(&path), checkpoint.bytes());
        Ok(format!("old {old}\n{path}\n{checkpoint}"))
    }

    /// The proof that a file's leaf is in a checkpoint's tree.
    ///
    /// # Errors
    /// If it is not, or the checkpoint is of another log.
    pub fn prove(&self, file: &[u8], checkpoint: Note) -> Result<TlogProof, TlogError> {
        let size = self.confirm(&Checkpoint::parse(&checkpoint.text)?)?;
        let index = self.place(file).filter(|index| *index < size as u64);
        let index = index.ok_or_else(|| {
            TlogError::nothing(format!(
                "the file is not one of the checkpoint's {size} leaves"
            ))
        })?;
        Ok(TlogProof {
            index,
            path: self.tree(size).path(index as usize),
            checkpoint,
        })
    }
}

impl OpenLog {
    /// Opens a log of this name, or begins one.
    ///
    /// # Errors
    /// If it is of another name, damaged, in use, or cannot be written; or the name can be no log's.
    pub fn open(path: &Path, origin: &str, signer: &Signer) -> Result<OpenLog, TlogError> {
        Key::new(origin, KeyKind::Ed25519, signer.public()).map_err(TlogError::Document)?;
        let fault = |reason: String| TlogError::File(Fault::from(reason).of(path));
        let is_file = || std::fs::metadata(path).is_ok_and(|about| about.is_file());
        if std::fs::symlink_metadata(path).is_ok() && !is_file() {
            return Err(fault("is not a regular file, so it cannot be a log".into()));
        }
        let unwritable =
            |error| Fault::caused(FaultKind::Unwritable, "cannot be written", error).of(path);
        let file = OpenOptions::new().append(true).create(true).open(path);
        let mut file = file.map_err(unwritable)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(fault("is in use: another command is writing to it".into()));
        }
        // Only the holder of the lock begins the log: two processes must not write two beginnings.
        let begun = file.metadata().and_then(|about| {
            if about.len() == 0 {
                file.write_all(format!("{LOG}\n{origin}\n").as_bytes())?;
                file.sync_all()?;
            }
            Ok(())
        });
        begun.map_err(unwritable)?;
        let log = Log::read(path)?;
        if log.origin == origin {
            Ok(OpenLog {
                path: path.to_owned(),
                file,
                log,
            })
        } else {
            Err(fault(format!(
                "is the log {:?}, not {origin:?}",
                crate::io::printable(&log.origin)
            )))
        }
    }

    /// Adds a file's leaf, unless it is there, and signs the checkpoint that has it. The line is on the disk before
    /// anything is signed: nobody can be shown two logs.
    pub fn add(&mut self, file: &[u8], signer: &Signer) -> Result<TlogProof, TlogError> {
        if self.log.place(file).is_none() {
            let leaf = leaf([file]);
            let line = format!("{leaf}\n");
            let written = self.file.write_all(line.as_bytes());
            let written = written.and_then(|()| self.file.sync_all());
            written.map_err(|error| {
                Fault::caused(FaultKind::Unwritable, "cannot be written", error).of(&self.path)
            })?;
            self.log.leaves.push(leaf);
        }
        let checkpoint = self.log.checkpoint().expect("there is a leaf");
        self.log.prove(file, checkpoint.sign(signer)?)
    }
}
