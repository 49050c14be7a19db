//! Places where nothing can be written.

use crate::support::{Says, words};

use super::{good, refuses};

const REPLAY: &str = "replay --arch ampere --dtype fp16 a.npy b.npy -o";
const CHECK: &str = "check --arch ampere --dtype fp16 a.npy b.npy d.npy --json";

#[track_caller]
fn unwritable(path: &str, words: &[&str]) {
    let folder = good();
    folder.create("folder");
    let cause = format!("error: {path}: cannot be written: ");
    let words = [&[cause.as_str()], words].concat();
    for command in [REPLAY, CHECK] {
        let run = refuses(&folder, &format!("{command} {path}"), &words);
        run.stderr.lacks(".tcverify");
    }
}

#[test]
fn a_directory() {
    unwritable("folder", &["is a directory"]);
    unwritable(".", &["is a directory"]);
}

#[test]
fn a_folder_that_is_not_there() {
    unwritable("gone/x.npy", &["there is no directory gone\n"]);
    unwritable(
        "gone/and/gone/x.npy",
        &["there is no directory gone/and/gone\n"],
    );
    unwritable("a.npy/x.npy", &["there is no directory a.npy\n"]);
}

#[cfg(target_os = "linux")]
#[test]
fn standard_output_that_is_full() {
    use std::fs::OpenOptions;
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    let folder = good();
    for arguments in words! {"
        check --arch ampere --dtype fp16 a.npy b.npy d.npy
        | check --arch ampere --dtype fp16 a.npy b.npy d.npy --json -
        | replay --arch ampere --dtype fp16 a.npy b.npy -o - | digest a.npy | archs | archs --json
        | completions bash
    "}
    {
        let mut command = folder.command();
        command
            .args(arguments.split_whitespace())
            .stdout(full.try_clone().unwrap());
        folder
            .run(&mut command)
            .refuses(&words! {"standard output | cannot be written | No space left"});
    }
}

#[cfg(unix)]
#[test]
fn a_folder_where_nothing_may_be_made() {
    use std::os::unix::fs::PermissionsExt;
    let folder = good();
    let path = folder.path("closed");
    std::fs::create_dir(&path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o555)).unwrap();
    if std::fs::write(path.join("x"), "").is_ok() {
        return; // Nothing is forbidden to whoever runs this.
    }
    for command in [REPLAY, CHECK] {
        let arguments = format!("{command} closed/x.npy");
        refuses(
            &folder,
            &arguments,
            &["closed/x.npy: cannot be written: permission denied"],
        );
    }
}
