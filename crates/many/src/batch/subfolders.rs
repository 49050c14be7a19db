//! The folders in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::io::{Fault, FaultKind, FileError};

/// The folders in a folder, links to some among them, in the order of their names; not those whose name
/// begins with a dot.
///
/// # Errors
/// If it cannot be read, or has a link that leads nowhere: what it was to lead to would be passed over
/// unnoticed.
pub fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let unreadable =
        |path: &Path, error| Fault::caused(FaultKind::Unreadable, "cannot be read", error).of(path);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
        let entry = entry.map_err(|error| unreadable(folder, error))?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        match fs::metadata(&path) {
            Ok(about) if about.is_dir() => found.push(path),
            Ok(_) => {}
            Err(error) => {
                let phrase = "is a broken link, or cannot be examined";
                return Err(Fault::caused(FaultKind::Unreadable, phrase, error).of(&path));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b", "a", ".hidden"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("file"), "x").unwrap();
        symlink("a", path("link")).unwrap();
        symlink("nowhere", path(".dangling")).unwrap();
        let expected = ["a", "b", "link"].map(path);
        assert_eq!(subfolders(folder.path()).unwrap(), expected);
        symlink("nowhere", path("c")).unwrap();
        let error = subfolders(folder.path()).unwrap_err();
        assert_eq!(error.path, path("c"));
        assert!(error.to_string().contains("is a broken link"), "{error}");
    }
}
