//! The command.

use crate::support::{Folder, Says};

const PRODUCT: &str = "--arch h100 --dtype fp16 generate:1:normal:2x6x40 generate:1:normal:2x40x5";

fn folder() -> Folder {
    let folder = Folder::new();
    folder
        .tcverify(&format!("replay {PRODUCT} -o d.npy"))
        .expect(0);
    folder
}

fn tamper(folder: &Folder, element: usize) {
    let mut bytes = folder.read("d.npy");
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start + 4 * element + 1] ^= 0x10;
    folder.write("d.npy", bytes);
}

#[test]
fn exit_codes_tell_whether_d_has_these_bits() {
    let folder = folder();
    folder
        .tcverify(&format!("explain {PRODUCT} --at 1,4,2"))
        .expect(0);
    folder
        .tcverify(&format!("explain {PRODUCT} d.npy --at 1,4,2"))
        .expect(0);
    tamper(&folder, 30 + 4 * 5 + 2);
    let run = folder
        .tcverify(&format!("explain {PRODUCT} d.npy --at 1,4,2"))
        .expect(1);
    run.begins("DIFFERENT  D[1, 4, 2]");
    run.says("bit 12");
    folder
        .tcverify(&format!("explain {PRODUCT} d.npy --at 1,4,3"))
        .expect(0);
}

/// What check prints can be run as it stands.
#[test]
fn check_prints_the_command_for_its_first_mismatch() {
    let folder = folder();
    tamper(&folder, 30 + 4 * 5 + 2);
    let run = folder.tcverify(&format!("check {PRODUCT} d.npy")).expect(1);
    let mut lines = run.stdout.lines();
    let line = lines.find_map(|line| Some(line.split_once("tcverify explain ")?.1));
    let command = format!("explain {}", line.unwrap().trim());
    assert!(command.ends_with("--at 1,4,2"), "{command}");
    let run = folder.tcverify(&command).expect(1);
    run.begins("DIFFERENT  D[1, 4, 2]");

    let same = folder
        .tcverify(&format!("check {PRODUCT} d.npy --rows 0"))
        .expect(0);
    same.lacks("tcverify explain");
}

#[test]
fn the_json_holds_the_chain() {
    let json = folder().json(&format!(
        "explain {PRODUCT} d.npy --at 0,0,0 --steps all --json"
    ));
    assert_eq!(json["schema"], "tcverify.explanation/1");
    assert_eq!(
        json["chain"].as_array().unwrap().len(),
        3,
        "40 products in steps of 16"
    );
    assert_eq!(json["given"]["same"], true);
}

#[test]
fn mistakes_are_explained() {
    let folder = folder();
    let refuses = |options: &str, words: &[&str]| {
        folder
            .tcverify(&format!("explain {PRODUCT} {options}"))
            .refuses(words);
    };
    refuses("--at 4,2", &["4,2", "2 indices", "2x6x5"]);
    refuses("--at 1,6,2", &["1,6,2", "2x6x5"]);
    refuses("--at 0,0,0 --steps 4", &["step 4", "3 steps"]);
    for (options, words) in [
        ("--at x", "--at"),
        ("", "--at"),
        ("--at 0,0,0 --steps 0", "--steps"),
    ] {
        let run = folder
            .tcverify(&format!("explain {PRODUCT} {options}"))
            .expect(2);
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
}
