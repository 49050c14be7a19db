//! Checks of products: every form of a report, damage of every kind, schedules, parts.

use super::{H100, damaged, keep, product};
use crate::exports::{CHECK, example};
use crate::support::{Folder, fixture};

const FORMS: &str = "--json r.json --html r.html --junit r.xml --markdown r.md --github";

#[test]
fn every_form_of_a_report() {
    for (d, name) in [
        ("d.npy", "forms-different"),
        ("good.npy", "forms-identical"),
    ] {
        let mut session = super::Session::new(example());
        session.run(&format!("{CHECK} {d} {FORMS}"));
        for file in ["r.json", "r.html", "r.xml", "r.md"] {
            session.show(file);
        }
        session.keep(name);
    }
}

#[test]
fn damage_and_other_models() {
    let mut session = product();
    damaged(&session, "flip.npy", |data| data[404] ^= 4);
    damaged(&session, "zero.npy", |data| data[320..384].fill(0));
    damaged(&session, "rows.npy", |data| {
        let (above, below) = data.split_at_mut(9 * 80);
        above[3 * 80..4 * 80].swap_with_slice(&mut below[..80]);
    });
    for d in ["flip.npy", "zero.npy", "rows.npy"] {
        session.run(&format!("check {H100} {d}"));
    }
    session.run(&format!(
        "check {H100} rows.npy --quiet --json - --max-mismatches 2"
    ));
    session.run(&format!("check {H100} zero.npy --brief"));
    session.run("check --arch a100 --dtype bf16 --d-dtype fp32 a.npy b.npy flip.npy --brief");
    session.run("check --arch a100 --dtype bf16 a.npy b.npy d.npy --brief");
    session.run("check --arch ieee-fma --dtype bf16 a.npy b.npy d.npy --brief");
    session.keep("damage");
}

#[test]
fn parts_samples_and_trees() {
    let mut session = product();
    session.run(&format!(
        "check {H100} d.npy --rows 1..5 --cols 3..9 --json r.json"
    ));
    session.show("r.json");
    session.run(&format!("check {H100} d.npy --sample 20 --seed 5"));
    session.run(&format!("check {H100} d.npy --tree --block-rows 4"));
    session.run(&format!("check {H100} --d-digest {}", "0".repeat(64)));
    session.keep("parts");
}

#[test]
fn orders_of_sums() {
    let mut session = product();
    for schedule in [
        "--schedule cutlass-sm80",
        "--schedule cublas-workspace --split-k 2",
        "--schedule cutlass-splitk-parallel --split-k 2 --alpha 0.5",
    ] {
        let a100 = format!("--arch a100 --dtype bf16 {schedule} a.npy b.npy");
        session.run(&format!("replay {a100} -o s.npy"));
        session.run(&format!("check {a100} s.npy"));
        session.run(&format!("check {a100} d.npy --brief"));
        session.run("check --arch a100 --dtype bf16 a.npy b.npy s.npy --brief");
    }
    session.keep("schedules");
}

/// The worked examples of papers, under the model they are of and under one that they are not of.
#[test]
fn examples_of_papers() {
    let folder = Folder::new();
    let mut table = String::new();
    let mut names: Vec<_> = std::fs::read_dir(fixture(""))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in names {
        let file = |file: &str| fixture(&name).join(file);
        let mut parts: Vec<_> = name.rsplitn(4, '-').collect();
        parts.reverse();
        let [arch, instruction, dtype, sum] = parts[..] else {
            panic!("{name} names no rule");
        };
        let acc = sum.replace('f', "fp");
        for engine in ["exact", "fast"] {
            for (arch, instruction) in [(arch, Some(instruction)), ("exact", None)] {
                let mut words: Vec<String> =
                    ["check", "--brief", "--arch", arch, "--engine", engine]
                        .map(String::from)
                        .to_vec();
                words.extend(["--dtype".into(), dtype.into(), "--acc".into(), acc.clone()]);
                words.extend(
                    instruction
                        .iter()
                        .flat_map(|i| ["--instruction".into(), (*i).into()]),
                );
                if file("c.npy").exists() {
                    words.extend(["--c".into(), file("c.npy").to_str().unwrap().into()]);
                }
                let files = ["a.npy", "b.npy", "d.npy"];
                words.extend(files.map(|name| file(name).to_str().unwrap().to_owned()));
                let run = folder.words(&words);
                let said = format!("{}{}", run.stdout, run.stderr);
                let said = said.replace(fixture(&name).to_str().unwrap(), "");
                let code = run.code.unwrap();
                table += &format!("{name} as {arch}, {engine}: {code} {}\n", said.trim_end());
            }
        }
    }
    keep("papers", &table);
}
