//! What is found out: models and schedules that give a D, how one element comes about, what probes say.

use super::{damaged, product};
use crate::exports::example;
use crate::support::Folder;

#[test]
fn identification() {
    let mut session = product();
    damaged(&session, "flip.npy", |data| data[404] ^= 4);
    session.run("identify --dtype bf16 a.npy b.npy d.npy --json i.json");
    session.show("i.json");
    session.run("identify --dtype bf16 a.npy b.npy flip.npy");
    session.keep("identify");
}

#[test]
fn explanations() {
    let mut session = super::Session::new(example());
    for arch in ["a100", "v100"] {
        let words =
            format!("explain --arch {arch} --dtype fp16 --c c.npy a.npy b.npy d.npy --at 1,1");
        session.run(&words);
    }
    session.run("explain --arch a100 --dtype fp16 --c c.npy a.npy b.npy d.npy --at 1,1 --json");
    let split = "--schedule cutlass-splitk-parallel --split-k 2";
    session.run(&format!(
        "explain --arch a100 {split} --dtype fp16 a.npy b.npy d.npy --at 0,0"
    ));
    session.keep("explain");
}

#[test]
fn probes() {
    let mut session = super::Session::new(Folder::new());
    session.given("probe --dtype e2m1 -o probes");
    session.digest("probes/manifest.json");
    session.given(
        "replay --arch b200 --dtype e2m1 probes/a.npy probes/b.npy --c probes/c.npy -o answers.npy --quiet",
    );
    session.run("infer probes answers.npy --json inference.json");
    session.run("features --arch v100 --arch h100 --dtype fp16");
    session.keep("infer");
}
