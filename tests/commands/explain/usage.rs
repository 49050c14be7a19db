//! The command.

use crate::support::{Folder, Members, claims, ran};

const PRODUCT: &str = "--arch h100 --dtype fp16 generate:1:normal:2x6x40 generate:1:normal:2x40x5";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.passes(&format!("replay {PRODUCT} -o d.npy"));
    folder
}

fn tamper(folder: &Folder, element: usize) {
    folder.with_codes32("d.npy", "d.npy", |d| d[element] ^= 0x1000);
}

#[test]
fn exit_codes_tell_whether_d_has_these_bits() {
    let folder = folder();
    folder.passes(&format!("explain {PRODUCT} --at 1,4,2"));
    folder.passes(&format!("explain {PRODUCT} d.npy --at 1,4,2"));
    tamper(&folder, 30 + 4 * 5 + 2);
    claims! {folder, "
        explain {PRODUCT} d.npy --at 1,4,2 | 1 | ^DIFFERENT  D[1, 4, 2] | bit 12
        explain {PRODUCT} d.npy --at 1,4,3 | 0
    "}
}

/// What check prints can be run as it stands.
#[test]
fn check_prints_the_command_for_its_first_mismatch() {
    let folder = folder();
    tamper(&folder, 30 + 4 * 5 + 2);
    let run = folder.differs(&format!("check {PRODUCT} d.npy"));
    let mut lines = run.stdout.lines();
    let line = lines.find_map(|line| Some(line.split_once("tcverify explain ")?.1));
    let command = format!("explain {}", line.unwrap().trim());
    assert!(command.ends_with("--at 1,4,2"), "{command}");
    claims! {folder, "
        {command} | 1 | ^DIFFERENT  D[1, 4, 2]
        check {PRODUCT} d.npy --rows 0 | 0 | !tcverify explain
    "}
}

#[test]
fn the_json_holds_the_chain() {
    let json = ran! {folder(), "explain {PRODUCT} d.npy --at 0,0,0 --steps all --json"}
        .expect(0)
        .json();
    assert_eq!(json["schema"], "tcverify.explanation/1");
    assert_eq!(json.list("chain").len(), 3, "40 products in steps of 16");
    assert_eq!(json["given"]["same"], true);
}

#[test]
fn mistakes_are_explained() {
    let folder = folder();
    let refuses = |options: &str, words: &[&str]| {
        ran! {folder, "explain {PRODUCT} {options}"}.refuses(words);
    };
    refuses("--at 4,2", &["4,2", "2 indices", "2x6x5"]);
    refuses("--at 1,6,2", &["1,6,2", "2x6x5"]);
    refuses("--at 0,0,0 --steps 4", &["step 4", "3 steps"]);
    for (options, words) in [
        ("--at x", "--at"),
        ("", "--at"),
        ("--at 0,0,0 --steps 0", "--steps"),
    ] {
        let run = folder.fails(&format!("explain {PRODUCT} {options}"));
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}
