//! Untrusted paths: whether one stays in a folder, and leads over no link.

use std::path::{Component, Path, PathBuf};

use crate::io::{LONGEST_PATH, STDIN, escaped_path, name_prefix};

/// What such a path may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freedom {
    /// Lead out of the folder.
    pub outside: bool,
    /// Be a link, or lead over one.
    pub links: bool,
}

/// Refuses a path that takes more freedom than it has; of `x.npz#name` every file that may be meant is examined.
/// The folder itself is trusted: its own path may hold links.
///
/// Nothing is opened. Whoever can change the folder between this and the reading can still put a link there.
///
/// # Errors
/// What it does, as a phrase to follow its name.
pub fn confined(folder: &Path, path: &Path, may: Freedom) -> Result<(), String> {
    let inside = path.strip_prefix(folder).ok().filter(|inside| {
        let mut components = inside.components();
        components.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    });
    // Standard input belongs to whoever started the program.
    let inside = inside.filter(|_| path != Path::new(STDIN));
    if inside.is_none() && !may.outside {
        let folder = if folder == Path::new("") {
            ".".to_owned()
        } else {
            escaped_path(folder)
        };
        return Err(format!("leads out of the folder {folder}"));
    }
    if may.links {
        return Ok(());
    }
    let (start, rest) = match inside {
        Some(inside) => (folder.to_owned(), inside),
        None => (PathBuf::new(), path),
    };
    let mut reached = start;
    for part in rest.components() {
        let name = part.as_os_str();
        let bytes = name.as_encoded_bytes();
        let ends = (0..bytes.len()).filter(|&at| bytes[at] == b'#');
        for end in ends.chain([bytes.len()]) {
            let cut = name_prefix(name, end).filter(|cut| !cut.is_empty());
            let Some(cut) = cut else { continue };
            // Behind that, nothing can be there, and nothing can be a link.
            if reached.as_os_str().len() + end > LONGEST_PATH {
                return Ok(());
            }
            let file = reached.join(cut);
            if std::fs::symlink_metadata(&file).is_ok_and(|about| about.is_symlink()) {
                return Err(format!("{} is a link", escaped_path(&file)));
            }
        }
        reached.push(name);
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const NOTHING: Freedom = Freedom {
        outside: false,
        links: false,
    };

    #[test]
    fn what_leads_out_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("sub")).unwrap();
        for good in ["a.npy", "sub/a.npy", "./a.npy", "not#there/a#b", "..a"] {
            assert_eq!(confined(root, &root.join(good), NOTHING), Ok(()), "{good}");
        }
        for bad in [
            "../a.npy",
            "sub/../a.npy",
            "sub/..",
            "/etc/passwd",
            "a#/../b",
        ] {
            let why = confined(root, &root.join(bad), NOTHING).unwrap_err();
            assert!(why.contains("leads out"), "{bad}: {why}");
            let free = Freedom {
                outside: true,
                ..NOTHING
            };
            assert_eq!(confined(root, &root.join(bad), free), Ok(()), "{bad}");
        }
        // Relative to the folder where the program runs.
        for (path, inside) in [("-", false), ("/x", false), ("x", true), ("../x", false)] {
            let here = confined(Path::new(""), Path::new(path), NOTHING);
            assert_eq!(here.is_ok(), inside, "{path}");
        }
    }

    /// A question for every `#` and every folder would take minutes.
    #[test]
    fn long_paths_take_no_time() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        symlink("/etc", root.join("link")).unwrap();
        let started = std::time::Instant::now();
        for long in [
            "#".repeat(1 << 20),
            "a/".repeat(1 << 19),
            "a#".repeat(1 << 19),
        ] {
            assert_eq!(confined(root, &root.join(&long), NOTHING), Ok(()));
            let hidden = root.join(format!("link#{long}"));
            let why = confined(root, &hidden, NOTHING).unwrap_err();
            assert!(why.contains("is a link"), "{why}");
        }
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }

    #[test]
    fn links_are_seen_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("sub")).unwrap();
        symlink("/etc", root.join("link")).unwrap();
        symlink("/etc/passwd", root.join("x.npz")).unwrap();
        symlink("nowhere", root.join("sub/dangling")).unwrap();
        symlink("/etc", root.join("dir#")).unwrap();
        for bad in [
            "link",
            "link/passwd",
            "x.npz",
            "x.npz#a",
            "x.npz#a#b",
            "x.npz#a/b",
            "sub/dangling",
            "sub/dangling#a",
            "dir#/passwd",
        ] {
            let why = confined(root, &root.join(bad), NOTHING).unwrap_err();
            assert!(why.contains("is a link"), "{bad}: {why}");
            let free = Freedom {
                links: true,
                ..NOTHING
            };
            assert_eq!(confined(root, &root.join(bad), free), Ok(()));
        }
        // The folder itself may be one.
        symlink(root.join("sub"), root.join("other")).unwrap();
        let other = root.join("other");
        assert_eq!(confined(&other, &other.join("a.npy"), NOTHING), Ok(()));
    }
}
