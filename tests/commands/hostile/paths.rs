//! Paths that lead to no file.

use super::{good, refused};
use crate::support::{Folder, Npy};

/// The good product without its `a.npy`.
fn without_a() -> Folder {
    let folder = good();
    std::fs::remove_file(folder.path("a.npy")).unwrap();
    folder
}

#[test]
fn nothing() {
    refused(&without_a(), &["cannot be opened", "No such file"]);
}

#[test]
fn a_directory() {
    let folder = without_a();
    std::fs::create_dir(folder.path("a.npy")).unwrap();
    refused(&folder, &["is a directory"]);
}

#[test]
fn an_empty_file() {
    let folder = good();
    folder.write("a.npy", "");
    refused(&folder, &["is empty"]);
}

#[test]
fn a_file_that_is_no_folder() {
    let folder = good();
    let run = folder.tcverify("digest a.npy/x.npy");
    run.refuses(&["a.npy/x.npy: cannot be opened"]);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = without_a();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path("a.npy"))
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    refused(&folder, &["is not a regular file"]);
}

#[cfg(unix)]
#[test]
fn a_device() {
    let folder = good();
    for device in ["/dev/null", "/dev/zero"] {
        let run = folder.tcverify(&format!("digest {device}"));
        run.refuses(&[device, "is not a regular file"]);
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere() {
    let folder = without_a();
    std::os::unix::fs::symlink("a.npy", folder.path("a.npy")).unwrap();
    refused(&folder, &["cannot be opened"]);
    std::fs::remove_file(folder.path("a.npy")).unwrap();
    std::os::unix::fs::symlink("gone.npy", folder.path("a.npy")).unwrap();
    refused(&folder, &["cannot be opened"]);
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
        let run = folder.run(folder.command().args(["digest", "--", name]));
        assert!(run.expect(0).stdout.starts_with(name), "{name}");
    }
}
