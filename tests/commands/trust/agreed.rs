//! An audit is of what the auditor agreed on: neither the beacon, nor how many elements it draws, nor the commitment is
//! the prover's to say.

use crate::support::{Folder, claims, sha256};

const PRODUCT: &str = "--arch h100 --dtype bf16 generate:1:normal:24x70 generate:2:normal:70x20";
const VERIFY: &str = "audit verify --arch h100 --dtype bf16 --commitment c.json";

/// A prover who zeroes half of D, commits to it, and tries beacons until two elements are right.
fn dishonest() -> (Folder, String) {
    let folder = Folder::new();
    let run = |line: &str| folder.passes(line);
    run(&format!("replay {PRODUCT} -o d.npy"));
    let mut d = folder.read("d.npy");
    let start = d.len() - 24 * 20 * 4;
    d[start + 12 * 20 * 4..].fill(0);
    folder.write("d.npy", d);
    run(&format!("commit {PRODUCT} d.npy -o c.json"));
    for beacon in 0..64 {
        claims! {folder, "audit challenge c.json --beacon {beacon} --elements 2 -o ch.json | 0"}
        claims! {folder, "audit open {PRODUCT} d.npy --commitment c.json --challenge ch.json -o o.bin | 0"}
        let found = folder.tcverify(&format!("{VERIFY} --own-challenge ch.json o.bin -q"));
        if found.code == Some(0) {
            return (folder, beacon.to_string());
        }
    }
    panic!("no beacon of 64 misses half of D with two elements");
}

#[test]
fn the_prover_chooses_nothing() {
    let (folder, chosen) = dishonest();
    let sha256 = sha256(folder.read("c.json"));
    let verify = |words: &str| folder.tcverify(&format!("{VERIFY} {words} o.bin -q"));
    // What used to pass: a challenge that came with the opening.
    claims! {folder, "{VERIFY} ch.json o.bin -q | 2 | unexpected argument"}
    claims! {folder, "{VERIFY} o.bin -q | 2 | --commitment-sha256 | --beacon | --elements"}
    let agreed = format!("--commitment-sha256 {sha256} --beacon 8430af44 --elements 40");
    for part in [
        "--beacon 8430af44 --elements 40",
        &agreed[..agreed.len() - 14],
    ] {
        verify(part).expect(2).mentions(&["required"]);
    }
    verify(&agreed).expect(1).mentions(&["o.bin"]);
    let one = |beacon: &str, elements: u64| {
        format!("--commitment-sha256 {sha256} --beacon {beacon} --elements {elements}")
    };
    verify(&one(&chosen, 40)).expect(1);
    verify(&one("8430af44", 2)).expect(1);
    verify(&one(&chosen, 2)).expect(0);
    let other = "0".repeat(64);
    claims! {folder, "{VERIFY} --commitment-sha256 {other} --beacon {chosen} --elements 2 o.bin -q | refused | c.json
    | is not the agreed commitment"}
    verify("--commitment-sha256 77 --beacon 1 --elements 2").refuses(&["--commitment-sha256"]);
    // And honestly asked, half of D does not pass.
    folder.passes("audit challenge c.json --beacon 8430af44 --elements 40 -o mine.json");
    claims! {folder, "audit open {PRODUCT} d.npy --commitment c.json --challenge mine.json -o o.bin | 0"}
    verify(&agreed).expect(1);
    verify("--own-challenge mine.json").expect(1);
    verify(&format!("--own-challenge mine.json {agreed}")).expect(2);
}
