//! Paths that lead to no file.

use std::path::Path;

use super::{good, refused};
use crate::support::{Folder, Npy, listed, table};

#[cfg(unix)]
#[test]
fn what_is_no_file() {
    use std::os::unix::fs::symlink;
    type Make = fn(&Path);
    for (what, make, words) in table! {
        ("nothing", (|_| ()) as Make, "cannot be opened | No such file"),
        ("a directory", |path| std::fs::create_dir(path).unwrap(), "is a directory"),
        ("an empty file", |path| std::fs::write(path, "").unwrap(), "is empty"),
        ("a pipe, which nobody may ever write to", |path| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.is_ok_and(|status| status.success()));
        }, "is not a regular file"),
        ("a link to itself", |path| symlink("a.npy", path).unwrap(), "cannot be opened"),
        ("a link to nothing", |path| symlink("gone.npy", path).unwrap(), "cannot be opened"),
    } {
        println!("{what}");
        let folder = good();
        let path = folder.path("a.npy");
        std::fs::remove_file(&path).unwrap();
        make(&path);
        refused(&folder, &listed(words));
    }
}

#[cfg(unix)]
#[test]
fn other_paths_that_lead_to_no_file() {
    for (path, words) in [
        ("a.npy/x.npy", "cannot be opened"),
        ("/dev/null", "is not a regular file"),
        ("/dev/zero", "is not a regular file"),
    ] {
        let run = good().tcverify(&format!("digest {path}"));
        run.refuses(&[path, words]);
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = good();
    let path = folder.path("a.npy");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        return; // Nothing is forbidden to whoever runs this.
    }
    refused(&folder, &["cannot be opened", "ermission denied"]);
}

#[test]
fn names_with_spaces_and_other_letters_are_names() {
    let folder = Folder::new();
    let one = Npy::new("<f4", &[1], vec![0; 4]);
    for name in ["a b.npy", "größe.npy", "-x.npy", "--json"] {
        folder.save(name, &one);
        let run = folder.words(["digest", "--", name]);
        assert!(run.expect(0).stdout.starts_with(name), "{name}");
    }
}
