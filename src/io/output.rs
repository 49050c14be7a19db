//! Output files that appear whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::temporary::Temporary;
use anyhow::{Context, Result, ensure};

/// A destination, opened before the work starts so that an unwritable one fails early, and filled
/// only by [`Output::commit`].
#[derive(Debug)]
pub struct Output {
    /// What messages call it.
    name: String,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    Stdout,
    /// A temporary file beside the target, renamed over it at the end.
    Beside(Temporary, PathBuf),
    /// An existing device or pipe, written in place: renaming would replace it by a file.
    InPlace(fs::File),
}

impl Output {
    /// Prepares to write `path`; `-` is standard output.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn prepare(path: &Path) -> Result<Output> {
        let name = if path == Path::new("-") {
            "standard output".to_owned()
        } else {
            path.display().to_string()
        };
        let fail = || format!("{name}: cannot be written");
        let special = |p: &Path| fs::metadata(p).is_ok_and(|m| !m.is_file() && !m.is_dir());
        let destination = if path == Path::new("-") {
            Destination::Stdout
        } else if special(path) {
            let file = fs::OpenOptions::new().write(true).open(path);
            Destination::InPlace(file.with_context(fail)?)
        } else if path.is_dir() {
            return Err(anyhow::anyhow!("is a directory")).with_context(fail);
        } else {
            let target = target(path).with_context(fail)?;
            let folder = match target.parent() {
                Some(folder) if folder != Path::new("") => folder,
                _ => Path::new("."),
            };
            ensure!(
                folder.is_dir(),
                "{}: there is no directory {}",
                fail(),
                folder.display()
            );
            Destination::Beside(Temporary::make(folder).with_context(fail)?, target)
        };
        Ok(Output { name, destination })
    }

    /// Lets `write` produce the content, then makes it visible.
    ///
    /// # Errors
    /// If writing fails; then a file of that name is as it was before.
    pub fn commit(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let done = match self.destination {
            Destination::Stdout => {
                let mut out = io::BufWriter::new(io::stdout().lock());
                match write(&mut out).and_then(|()| out.flush()) {
                    // A reader that has gone away has seen enough.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    done => done,
                }
            }
            Destination::InPlace(file) => {
                let mut out = io::BufWriter::new(file);
                write(&mut out).and_then(|()| out.flush())
            }
            Destination::Beside(file, path) => fill(file, &path, write),
        };
        done.with_context(|| format!("{}: cannot be written", self.name))
    }
}

fn fill(
    mut file: Temporary,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(file.file());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    // The name must not become visible before the content is safe.
    file.file().sync_all()?;
    file.persist(path)
}

/// The file that will be replaced: what a link leads to, if it leads to a file. One that may not be
/// written may not be replaced either.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(existing) => {
            fs::OpenOptions::new().write(true).open(&existing)?;
            Ok(existing)
        }
        Err(_) => Ok(path.to_owned()),
    }
}

/// Whether two paths name one existing file.
pub fn same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
