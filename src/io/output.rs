//! Output files that appear whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// A destination, opened before the work starts so that an unwritable one fails early, and filled
/// only by [`Output::commit`].
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    Stdout,
    /// A temporary file beside the target, renamed over it at the end.
    Beside(NamedTempFile),
    /// An existing device or pipe, written in place: renaming would replace it by a file.
    InPlace(fs::File),
}

impl Output {
    /// Prepares to write `path`; `-` is standard output.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn prepare(path: &Path) -> Result<Output> {
        let fail = || format!("{}: cannot be written", path.display());
        let special = |p: &Path| fs::metadata(p).is_ok_and(|m| !m.is_file() && !m.is_dir());
        let destination = if path == Path::new("-") {
            Destination::Stdout
        } else if special(path) {
            let file = fs::OpenOptions::new().write(true).open(path);
            Destination::InPlace(file.with_context(fail)?)
        } else if path.is_dir() {
            return Err(anyhow::anyhow!("is a directory")).with_context(fail);
        } else {
            let folder = match path.parent() {
                Some(folder) if folder != Path::new("") => folder,
                _ => Path::new("."),
            };
            Destination::Beside(temporary(folder).with_context(fail)?)
        };
        Ok(Output {
            path: path.to_owned(),
            destination,
        })
    }

    /// Lets `write` produce the content, then makes it visible.
    ///
    /// # Errors
    /// If writing fails; then a file of that name is as it was before.
    pub fn commit(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = self.path;
        let done = match self.destination {
            Destination::Stdout => {
                let mut out = io::BufWriter::new(io::stdout().lock());
                write(&mut out).and_then(|()| out.flush())
            }
            Destination::InPlace(file) => {
                let mut out = io::BufWriter::new(file);
                write(&mut out).and_then(|()| out.flush())
            }
            Destination::Beside(file) => fill(file, &path, write),
        };
        done.with_context(|| format!("{}: cannot be written", path.display()))
    }
}

fn fill(
    mut file: NamedTempFile,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(file.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    // The name must not become visible before the content is safe.
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tcverify-");
    #[cfg(unix)]
    {
        // As for any new file: everyone's permissions less the umask.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
