//! `FILE#NAME`: a path, and perhaps one array of what lies there.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::bail;
use crate::{Fault, FaultKind, STDIN};

/// Nothing that any system opens has a longer path, in bytes.
pub const LONGEST_PATH: usize = if cfg!(unix) { 4096 } else { 1 << 15 };

/// The file that a path means and the array that it names after a `#`: a path that exists as it stands
/// is that file. One that could be read in two ways is refused: a file put beside a container must
/// not take the place of what is in it.
///
/// # Errors
/// If the path could mean two things, or names an array in no text.
pub fn split(path: &Path) -> Result<(PathBuf, Option<String>), Fault> {
    let text = path.as_os_str().as_encoded_bytes();
    // What is longer than the path of a file is the name of an array at most, and every place costs a question.
    let hashes = (0..text.len().min(LONGEST_PATH)).rev();
    let hashes = hashes.filter(|&at| text[at] == b'#');
    let files =
        hashes.filter_map(|at| Some((PathBuf::from(name_prefix(path.as_os_str(), at)?), at)));
    let mut files = files.filter(|(file, _)| fs::symlink_metadata(file).is_ok());
    let itself = fs::symlink_metadata(path).is_ok();
    if text.starts_with(b"-#") && !itself {
        let name = str::from_utf8(&text[2..]).ok().map(str::to_owned);
        return Ok((STDIN.into(), name));
    }
    let found = if itself { None } else { files.next() };
    if let Some((other, at)) = files.find(|(file, _)| may_have_names(file))
        && (itself || found.is_some())
    {
        let whole = found.map_or_else(|| path.to_owned(), |(file, _)| file);
        let name = String::from_utf8_lossy(&text[at + 1..]);
        let two = format!(
            "could mean {:?} or the array {name:?} of {:?}; rename one of the two files",
            whole.display(),
            other.display()
        );
        return Err(Fault::new(FaultKind::NoSuchArray, two));
    }
    let Some((file, at)) = found else {
        return Ok((path.to_owned(), None));
    };
    match str::from_utf8(&text[at + 1..]) {
        Ok(name) => Ok((file, Some(name.to_owned()))),
        Err(_) => bail!("has an array name after '#' that is not UTF-8"),
    }
}

/// What a path is called with one of its arrays.
pub fn joined(path: &Path, name: &str) -> PathBuf {
    let mut joined = path.as_os_str().to_owned();
    joined.push("#");
    joined.push(name);
    joined.into()
}

/// A `.npy` file has one array without a name; a folder has none.
fn may_have_names(file: &Path) -> bool {
    let npy = file
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("npy"));
    !npy && fs::metadata(file).is_ok_and(|about| about.is_file())
}

/// The first bytes of a name; none where they are not a name.
#[cfg(unix)]
pub fn name_prefix(name: &OsStr, end: usize) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt;
    Some(OsStr::from_bytes(&name.as_bytes()[..end]))
}

#[cfg(not(unix))]
pub fn name_prefix(name: &OsStr, end: usize) -> Option<&OsStr> {
    if end == name.len() {
        Some(name)
    } else {
        Some(OsStr::new(name.to_str()?.get(..end)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        folder
    }

    #[track_caller]
    fn means(names: &[&str], path: &str, file: &str, array: Option<&str>) {
        let folder = folder(names);
        let found = split(&folder.path().join(path)).unwrap();
        assert_eq!(found, (folder.path().join(file), array.map(str::to_owned)));
    }

    #[test]
    fn a_file_and_a_name() {
        means(&["x.npz"], "x.npz#a", "x.npz", Some("a"));
        means(&["x.npz"], "x.npz", "x.npz", None);
        means(&["x#y.npz"], "x#y.npz#a#b", "x#y.npz", Some("a#b"));
        means(&["x#y.npz"], "x#y.npz", "x#y.npz", None);
        means(&[], "x.npz#a", "x.npz#a", None);
        means(&["x.npz"], "x.npz#", "x.npz", Some(""));
        // A .npy file has no names to be taken for one's own.
        means(&["x.npy", "x.npy#2"], "x.npy#2", "x.npy#2", None);
    }

    #[test]
    fn two_meanings_are_refused() {
        for (names, path) in [
            (&["x.npz", "x.npz#a"], "x.npz#a"),
            (&["x.npz", "x.npz#y.npz"], "x.npz#y.npz#a"),
            (&["model", "model#w"], "model#w"),
        ] {
            let folder = folder(names);
            let fault = split(&folder.path().join(path)).unwrap_err();
            assert!(fault.to_string().contains("could mean"), "{fault}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_that_are_no_text() {
        use std::os::unix::ffi::OsStrExt;
        let folder = folder(&[]);
        let file = folder.path().join(OsStr::from_bytes(b"\xff.npz"));
        fs::write(&file, "x").unwrap();
        let whole = joined(&file, "a");
        assert_eq!(split(&whole).unwrap(), (file, Some("a".to_owned())));
        let bad = folder.path().join(OsStr::from_bytes(b"\xff.npz#\xff"));
        assert!(split(&bad).unwrap_err().to_string().contains("UTF-8"));
    }

    /// A question for every `#` would take minutes.
    #[test]
    fn long_paths_take_no_time() {
        let folder = folder(&["x"]);
        let started = std::time::Instant::now();
        for long in ["#".repeat(1 << 20), "a#".repeat(1 << 19)] {
            assert!(split(&folder.path().join(long)).is_ok());
        }
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }
}
