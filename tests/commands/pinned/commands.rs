//! Commands that describe and count, and the exit code and first line of every refusal of the command line.

use super::{Session, product};
use crate::support::{Folder, Npy, fixture, words};

#[test]
fn descriptions() {
    let mut session = Session::new(Folder::new());
    for words in words! {"
        archs | archs volta | schedules | schedules cublas-workspace
        | kernels explain algo=66,stages=35,splitK=3,reduction=2
        | kernels explain nvjet_sm90_tst_128x64_64x10_1x2_h_bz_TNT | --version | --help
    "}
    {
        session.run(words);
    }
    session.keep("descriptions");
}

#[test]
fn arrays() {
    let session = product();
    let mut session = Session {
        text: String::new(),
        ..session
    };
    session.run("inspect a.npy d.npy");
    session.run("inspect b.npy --json");
    session.run("digest a.npy b.npy");
    session.run("digest --json d.npy");
    session.run("generate generate:1:normal:3x3 --dtype fp16 --role a -o g.npy");
    session.digest("g.npy");
    session.keep("arrays");
}

/// The words that commands take. What help says of each is for people, and may change.
#[test]
fn options_of_every_command() {
    let folder = Folder::new();
    let listed = |help: &str, from: &str| {
        let lines = help.split(from).skip(1).flat_map(str::lines);
        let words =
            lines.filter_map(|line| line.split("  ").map(str::trim).find(|w| !w.is_empty()));
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let help = folder.stdout("--help");
    let commands = help.split("Options:").next().expect("commands come first");
    let mut table = String::new();
    for command in listed(commands, "Commands, and the question that each answers:\n") {
        let is_name = command.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        if !is_name || command == "help" {
            continue;
        }
        let help = folder.stdout(&format!("{command} --help"));
        table += &format!("{command}\n");
        for word in help.lines().map(str::trim_start) {
            let word = word.split("  ").next().unwrap_or_default();
            if word.starts_with(['-', '<', '['])
                && !["[possible", "[default", "- "]
                    .iter()
                    .any(|no| word.starts_with(no))
            {
                table += &format!("  {word}\n");
            }
        }
    }
    super::keep("options", &table);
}

#[test]
fn refusals() {
    let mut session = product();
    session.folder.write("x.npy", "x");
    std::fs::copy(
        fixture("volta-mma-fp16-f32").join("a.npy"),
        session.folder.path("v.npy"),
    )
    .unwrap();
    let array = |name: &str, descr: &str, shape: &[usize], bytes: usize| {
        session
            .folder
            .save(name, &Npy::new(descr, shape, vec![0x3f; bytes]));
    };
    array("u.npy", "<u2", &[12, 40], 960);
    array("turned.npy", "<f4", &[20, 12], 960);
    array("bias.npy", "<f4", &[20], 80);
    array("wide.npy", "<f8", &[12, 40], 3840);
    array("fine.npy", "<f4", &[12, 20], 960);
    for words in [
        "",
        "no-such-command",
        "verify a.npy",
        "diff d.npy a.npy",
        "list",
        "sha256 a.npy",
        "check --dtype bf16 a.npy b.npy d.npy",
        "check --arch h100 u.npy b.npy d.npy",
        "check --arch h100 --dtype bf16 b.npy a.npy d.npy",
        "check --arch h100 --dtype bf16 a.npy b.npy turned.npy",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --c bias.npy",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --tolerance 1e-3",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --atol=1e-3",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --rtol 1e-3",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --ulp 1",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --schedule cublas-sm8",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --schedule splitk",
        "check --arch h100 --dtype tf32 wide.npy wide.npy d.npy --transpose-b",
        "check --arch a100 --dtype bf16 a.npy b.npy fine.npy --d-dtype bf16",
        "check",
        "check --arch h100 --dtype bf16 a.npy a.npy d.npy",
        "check --arch h100 --dtype bf16 a.npy b.npy",
        "check --arch h100 --dtype e4m3 a.npy b.npy d.npy",
        "check --arch h100 --dtype bf16 v.npy b.npy d.npy",
        "check --arch nope --dtype bf16 a.npy b.npy d.npy",
        "check --arch gfx950 --dtype bf16 a.npy b.npy d.npy",
        "check --arch h100 --instruction nope --dtype bf16 a.npy b.npy d.npy",
        "check --arch h100 --dtype bf16 none.npy b.npy d.npy",
        "check --arch h100 --dtype bf16 x.npy b.npy d.npy",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --rows 3..2",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --schedule nope",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --split-k 2",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --json nowhere/r.json",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --json a.npy",
        "check --arch h100 --dtype bf16 a.npy b.npy d.npy --max-mismatches -1",
        "replay --arch h100 --dtype bf16 a.npy b.npy",
        "check --op nope a.npy d.npy",
        "check --op rms_norm a.npy d.npy",
        "batch none",
        "batch a.npy",
        "verify-report a.npy",
        "inspect x.npy",
        "digest x.npy",
        "generate generate:1:none:3x3 --dtype fp16 --role a -o g.npy",
        "explain --arch h100 --dtype bf16 a.npy b.npy d.npy --at 99,0",
        "audit verify --arch h100 --dtype bf16 --commitment a.npy --own-challenge a.npy b.npy",
        "shard merge a.npy b.npy",
        "screen judge --suite a.npy b.npy",
        "infer none d.npy",
        "kernels explain nothing",
    ] {
        session.run(words);
    }
    session.keep("refusals");
}
