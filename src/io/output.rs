//! Output files that appear whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::{Duration, Instant};

use super::console::to_stdout;
use super::temporary::Temporary;
use super::{Fault, FaultKind, FileError, escaped_path};

/// How long a named pipe may be without a reader: a shell starts both ends at once.
#[cfg(unix)]
const FOR_A_READER: Duration = Duration::from_secs(3);

/// A destination, opened before the work starts so that an unwritable one fails early, and filled
/// only by [`Output::commit`].
#[derive(Debug)]
pub struct Output {
    /// What messages call it.
    name: PathBuf,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    Stdout,
    /// A temporary file beside the target, renamed over it at the end.
    Beside(Temporary, PathBuf),
    /// An existing device or pipe, written in place: renaming would replace it by a file.
    InPlace(fs::File),
    /// The end of a file, open already if it is there already.
    End(Option<fs::File>, PathBuf),
}

impl Output {
    /// Prepares to write `path`; `-` is standard output.
    pub fn prepare(path: &Path) -> Result<Output, FileError> {
        let destination = Output::open(path).map_err(|fault| fault.of(&shown(path)))?;
        Ok(Output {
            name: shown(path),
            destination,
        })
    }

    /// Prepares to write at the end of `path`, in one piece.
    pub fn append(path: &Path) -> Result<Output, FileError> {
        let open = || -> Result<Destination, Fault> {
            let file = match opened(path, fs::OpenOptions::new().append(true)) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    folder_of(path)?;
                    None
                }
                Err(error) => return Err(unwritable(error)),
            };
            Ok(Destination::End(file, path.to_owned()))
        };
        Ok(Output {
            name: path.to_owned(),
            destination: open().map_err(|fault| fault.of(path))?,
        })
    }

    fn open(path: &Path) -> Result<Destination, Fault> {
        let special = |p: &Path| fs::metadata(p).is_ok_and(|m| !m.is_file() && !m.is_dir());
        if path == Path::new("-") {
            return Ok(Destination::Stdout);
        }
        if special(path) {
            let file = opened(path, fs::OpenOptions::new().write(true));
            return Ok(Destination::InPlace(file.map_err(unwritable)?));
        }
        if path.is_dir() {
            return Err(unwritable("is a directory"));
        }
        let target = target(path).map_err(unwritable)?;
        let mut beside = Temporary::make(folder_of(&target)?).map_err(unwritable)?;
        if let Ok(old) = fs::metadata(&target) {
            keep_access(beside.file(), &old).map_err(unwritable)?;
        }
        Ok(Destination::Beside(beside, target))
    }

    /// Lets `write` produce the content, then makes it visible.
    ///
    /// # Errors
    /// If writing fails; then a file of that name is as it was before.
    pub fn commit(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let mut write = Some(write);
        self.commit_by(&mut |out| write.take().map_or(Ok(()), |write| write(out)))
    }

    /// Compiled once, not once per caller.
    fn commit_by(
        self,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), FileError> {
        let done = match self.destination {
            Destination::Stdout => {
                match to_stdout(write) {
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
            Destination::End(file, path) => at_end(file, &path, write),
        };
        done.map_err(|error| unwritable(error).of(&self.name))
    }
}

fn shown(path: &Path) -> PathBuf {
    if path == Path::new("-") {
        PathBuf::from("standard output")
    } else {
        path.to_owned()
    }
}

/// Opens what is there. A named pipe must have its reader, or get one in a moment.
fn opened(path: &Path, options: &mut fs::OpenOptions) -> io::Result<fs::File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

        use nix::fcntl::{FcntlArg, OFlag, fcntl};
        use nix::libc::{ENXIO, O_NONBLOCK};
        let is_pipe = |about: fs::Metadata| about.file_type().is_fifo();
        let end = Instant::now() + FOR_A_READER;
        while fs::metadata(path).is_ok_and(is_pipe) {
            match options.custom_flags(O_NONBLOCK).open(path) {
                Ok(file) => {
                    let flags = OFlag::from_bits_retain(fcntl(&file, FcntlArg::F_GETFL)?);
                    fcntl(&file, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
                    return Ok(file);
                }
                Err(error) if error.raw_os_error() != Some(ENXIO) => return Err(error),
                Err(_) if Instant::now() >= end => {
                    let why = "it is a named pipe that nobody reads; start the reader first";
                    return Err(io::Error::other(why));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        options.custom_flags(0);
    }
    options.open(path)
}

fn unwritable(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Fault {
    Fault::caused(FaultKind::Unwritable, "cannot be written", why)
}

/// The folder of a file to be, which must be there.
fn folder_of(path: &Path) -> Result<&Path, Fault> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if folder.is_dir() {
        Ok(folder)
    } else {
        Err(unwritable(format!(
            "there is no directory {}",
            escaped_path(folder)
        )))
    }
}

/// Gives the new file the owner, group and permissions of the old one, or narrower ones.
#[cfg(unix)]
fn keep_access(file: &fs::File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o777;
    // Not for everybody to give away; then the old owner is one of the others.
    let _ = old.uid() == new.uid() || fchown(file, Some(old.uid()), None).is_ok();
    let grouped = old.gid() == new.gid() || fchown(file, None, Some(old.gid())).is_ok();
    if !grouped {
        // Another group gets no more than everybody.
        mode &= !0o070 | (mode & 0o007) << 3;
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_access(_: &fs::File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

fn at_end(
    file: Option<fs::File>,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let mut file = match file {
        Some(file) => file,
        None => fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)?,
    };
    file.write_all(&text)
}

fn fill(
    mut file: Temporary,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
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
