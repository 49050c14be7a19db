//! Commitments, proofs, audits, and reports that are confirmed.

use super::{H100, damaged, product};

#[test]
fn commitments() {
    let mut session = product();
    session.run(&format!("commit {H100} d.npy --block-rows 4 -o c.json"));
    session.show("c.json");
    session.run(&format!("check {H100} d.npy --against c.json"));
    session.run("check --arch a100 --dtype bf16 a.npy b.npy d.npy --against c.json");
    session.run(&format!(
        "check {H100} d.npy --seed-from c.json --beacon 00ff00ff00ff00ff00ff --sample 9 --json s.json"
    ));
    session.show("s.json");
    session.run("commit prove --commitment c.json --blocks 1 d.npy -o proof.json --rows rows.npy");
    session.show("proof.json");
    session.run("commit verify --commitment c.json proof.json rows.npy");
    session.keep("commitment");
}

#[test]
fn audits() {
    let mut session = product();
    session.given(&format!("commit {H100} d.npy --block-rows 4 -o c.json"));
    session.run("audit challenge c.json --beacon 8430af44c2b90c8d --elements 5 -o ch.json");
    session.show("ch.json");
    session.run(&format!(
        "audit open {H100} d.npy --commitment c.json --challenge ch.json -o o.bin"
    ));
    session.digest("o.bin");
    session.run(
        "audit verify --arch h100 --dtype bf16 --commitment c.json --own-challenge ch.json o.bin --json audit.json",
    );
    session.show("audit.json");
    session.run(
        "audit verify --arch a100 --dtype bf16 --commitment c.json --own-challenge ch.json o.bin",
    );
    session.keep("audit");
}

#[test]
fn reports_of_others() {
    let mut session = product();
    damaged(&session, "flip.npy", |data| data[404] ^= 4);
    session.given(&format!("check {H100} d.npy --json r.json --quiet"));
    session.run("verify-report r.json");
    session.run("verify-report r.json --replay");
    let report = String::from_utf8(session.folder.read("r.json")).unwrap();
    session
        .folder
        .write("forged.json", report.replace("d.npy", "flip.npy"));
    session.run("verify-report forged.json");
    session.run("verify-report forged.json --replay");
    session.keep("verify-report");
}
