//! Files and command lines with a few things wrong in them, at random: some hundred in a test run, as many as
//! `TCVERIFY_ATTACKS` says where it is set.

use std::time::{Duration, Instant};

use crate::support::random::Random;
use crate::support::{Folder, claims, read_rows, table};

fn how_many() -> usize {
    let said = std::env::var("TCVERIFY_ATTACKS").ok();
    said.and_then(|n| n.parse().ok()).unwrap_or(300)
}

const OPERANDS: &str = "--arch a100 --dtype fp16";

/// A product in files of every kind; `w` is a D of zeros.
fn folder() -> Folder {
    let folder = Folder::new();
    let values: Vec<f32> = (0..24).map(|i| 1.0 + i as f32).collect();
    folder.f16("a.npy", &[4, 6], &values);
    folder.f16("b.npy", &[6, 4], &values);
    folder.f32("w.npy", &[4, 4], &[0.0; 16]);
    let run = |line: &str, code| folder.tcverify(line).expect(code);
    run(&format!("replay {OPERANDS} a.npy b.npy -o d.npy"), 0);
    let members = ["a.npy", "b.npy", "w.npy"].map(|name| (name, folder.read(name)));
    folder.write("x.npz", crate::containers::archive(&members, false));
    folder.write("z.npz", crate::containers::archive(&members, true));
    let model = run("archs a100 --json", 0).stdout;
    folder.write("model.json", model);
    run(&format!("commit {OPERANDS} a.npy b.npy w.npy -o c.json"), 0);
    claims! {folder, "shard plan -n 1 {OPERANDS} a.npy b.npy w.npy -o plan.json | 0"}
    run("shard run plan.json 0 -o part.json", 0);
    claims! {folder, "check {OPERANDS} a.npy b.npy w.npy --json report.json -q | 1"}
    folder.write(
        "cases.json",
        r#"{"schema": "tcverify.manifest/1", "cases": [{"name": "one", "arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "x.npz#b", "d": "w.npy"}]}"#,
    );
    folder
}

/// A file, and a command that reads it. None of them ends well: D is zeros.
const FILES: &str = "
    w.npy | check --arch a100 --dtype fp16 a.npy b.npy w.npy
    x.npz | check --arch a100 --dtype fp16 x.npz#a x.npz#b x.npz#w
    z.npz | check --arch a100 --dtype fp16 z.npz#a z.npz#b z.npz#w
    a.npy | check --arch a100 --dtype fp16 a.npy b.npy w.npy
    model.json | check --model model.json --dtype fp16 a.npy b.npy w.npy
    c.json | check --arch a100 --dtype fp16 a.npy b.npy w.npy --against c.json
    plan.json | shard merge plan.json part.json
    part.json | shard merge plan.json part.json
    cases.json | batch cases.json --policy strict
    report.json | verify-report report.json
    z.npz | inspect z.npz
";

/// Some edits of bytes.
fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            return bytes;
        }
        let at = random.below(bytes.len());
        let to = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.pick(&[0, 0xff, 0x7f, 0x80, b'"', b'{', b'9', b'-', b'\n']),
            2 => drop(bytes.drain(at..to)),
            3 => {
                let piece = bytes[at..to].to_vec();
                let there = random.below(bytes.len());
                bytes.splice(there..there, piece);
            }
            4 => bytes[at..to].fill(random.pick(&[0, 0xff])),
            5 => bytes.truncate(at),
            _ => {
                let number = random.pick(&[
                    0u64,
                    1,
                    1 << 31,
                    u64::from(u32::MAX),
                    u64::MAX >> 1,
                    u64::MAX,
                ]);
                let number = number.to_le_bytes();
                for (byte, new) in bytes[at..].iter_mut().zip(number) {
                    *byte = new;
                }
            }
        }
    }
    bytes
}

/// Runs a command and says what is wrong with how it ended.
fn attacked(folder: &Folder, words: &[String]) -> Option<String> {
    let begun = Instant::now();
    let run = std::panic::catch_unwind(|| folder.words(words));
    let Ok(run) = run else {
        return Some(format!("{words:?}: panics"));
    };
    let code = run.code.unwrap_or(-1);
    let late = begun.elapsed() > Duration::from_secs(60);
    let controls = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    let bad = late
        || !(0..=2).contains(&code)
        || run.stdout.contains("please report it")
        || code == 2 && run.stderr.is_empty()
        || controls(&run.stderr);
    bad.then(|| format!("{words:?}: {run:?}"))
}

#[test]
fn files_with_something_wrong() {
    let folder = folder();
    let mut random = Random::named("files");
    let files: [[&str; 2]; 11] = read_rows(FILES).try_into().expect("11 files");
    let honest = files.each_ref().map(|[name, _]| folder.read(name));
    let (mut wrong, mut passed) = (Vec::new(), Vec::new());
    for i in 0..how_many() {
        let [name, line] = files[i % files.len()];
        let good = &honest[i % files.len()];
        let bytes = mutated(good, &mut random);
        let _ = std::fs::remove_file(folder.path(name));
        folder.write(name, &bytes);
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        wrong.extend(attacked(&folder, &words));
        let ended_well = |words: &[String]| folder.words(words).code == Some(0);
        // What is asked by another A or another model is another question.
        let other = ["a.npy", "model.json", "report.json"].contains(&name);
        if !other && !line.starts_with("inspect") && ended_well(&words) {
            passed.push((name, i));
        }
        folder.write(name, good);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(passed.is_empty(), "a D of zeros passes: {passed:?}");
}

/// Command lines to begin with. What runs for long or writes elsewhere is not among them.
const LINES: [&str; 16] = [
    "check --arch a100 --dtype fp16 a.npy b.npy w.npy --rows 0..2",
    "check --arch a100 --dtype fp16 a.npy b.npy w.npy --sample 3 --seed 7",
    "check --arch a100 --dtype fp16 --schedule cutlass-splitk-parallel --split-k 2 a.npy b.npy w.npy",
    "check --arch auto --dtype fp16 a.npy b.npy w.npy --brief",
    "check --model model.json --dtype fp16 a.npy b.npy --d-digest 77",
    "check --arch a100 --dtype fp16 generate:1:normal:4x6 b.npy w.npy --max-mismatches 3",
    "explain --arch a100 --dtype fp16 a.npy b.npy w.npy --at 1,1",
    "digest a.npy x.npz#a z.npz#w --json",
    "inspect x.npz w.npy",
    "batch cases.json --policy strict --brief",
    "shard merge plan.json part.json --audit 1 --seed 3",
    "commit verify --commitment c.json c.json w.npy",
    "verify-report report.json --policy strict",
    "audit challenge c.json --beacon 1 --elements 2",
    "kernels ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
    "schedules cutlass-sm80 --json",
];

const WORDS: [&str; 26] = table! {
    "", "-", "--", "-1", "0", "1e999", "NaN", "18446744073709551616", "9999999", "a.npy", "w.npy", "x.npz#", "x.npz#a#b",
    "#", "\u{202e}", "\u{1b}[2J", "\n::error::x", "generate:1:normal:2x2", "generate:", "0..", "..0", "3..1", "--json",
    "--quiet", "--dtype", "\u{5d0}   \u{5d0}",
};

#[test]
fn command_lines_with_something_wrong() {
    let folder = folder();
    let before = folder.names();
    let mut random = Random::named("lines");
    let mut wrong = Vec::new();
    for i in 0..how_many() {
        let line = LINES[i % LINES.len()].split(' ');
        let mut words: Vec<String> = line.map(str::to_owned).collect();
        for _ in 0..1 + random.below(3) {
            // The command itself stays, so that none is begun that runs for long.
            let at = 1 + random.below(words.len());
            let word = random.pick(&WORDS).to_owned();
            match random.below(5) {
                0 if at < words.len() => drop(words.remove(at)),
                1 if at < words.len() => words[at] = word,
                2 if at < words.len() => words[at] += &word,
                3 if at < words.len() => words.swap(at, 1.max(at - 1)),
                _ => words.insert(at.min(words.len()), word),
            }
        }
        wrong.extend(attacked(&folder, &words));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // `--json` beside a word writes there, and nowhere else.
    for new in folder.names().iter().filter(|name| !before.contains(name)) {
        assert!(WORDS.contains(&new.as_str()) || !new.contains('/'), "{new}");
    }
}
