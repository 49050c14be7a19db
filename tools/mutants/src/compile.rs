//! Builds the copy, once without the mutants that do not compile.

use crate::list::Mutant;
use crate::rewrite::Rewritten;
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    rendered: Option<String>,
    spans: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    /// In a macro: where that is used.
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Place,
}

/// What a build says: errors, and programs by name.
struct Built {
    errors: Vec<Message>,
    programs: BTreeMap<String, PathBuf>,
}

/// What came of the mutants, and the programs with tests by suite ("lib", "commands", ...).
pub struct Compiled {
    pub unviable: HashSet<u32>,
    pub fixed: HashSet<u32>,
    pub in_const_functions: HashSet<u32>,
    pub programs: BTreeMap<String, PathBuf>,
}

/// Until it compiles.
pub fn compile(
    tree: &Tree,
    mutants: &[Mutant],
    suites: &[String],
    build: &Path,
    known: HashSet<u32>,
    note: impl Fn(u32) -> Result<()>,
) -> Result<Compiled> {
    let mut unviable = known;
    for round in 1.. {
        let rewritten = tree.write(mutants, &unviable)?;
        let built = cargo(&["check", "--lib"], &tree.copy, build)?;
        if built.errors.is_empty() {
            let numbers = |of: fn(&Rewritten) -> &Vec<u32>| -> HashSet<u32> {
                rewritten.values().flat_map(of).copied().collect()
            };
            unviable.extend(numbers(|file| &file.unviable));
            let mut arguments = vec!["test", "--no-run"];
            for suite in suites {
                match suite.as_str() {
                    "lib" => arguments.push("--lib"),
                    name => arguments.extend(["--test", name]),
                }
            }
            let built = cargo(&arguments, &tree.copy, build)?;
            if let Some(error) = built.errors.first() {
                bail!(
                    "the tests do not compile:\n{}",
                    error.rendered.as_deref().unwrap_or_default()
                );
            }
            return Ok(Compiled {
                fixed: numbers(|file| &file.fixed),
                in_const_functions: numbers(|file| &file.in_const_functions),
                unviable,
                programs: built.programs,
            });
        }
        let before = unviable.len();
        for error in &built.errors {
            for number in blamed(error, &rewritten) {
                if unviable.insert(number) {
                    note(number)?;
                }
            }
        }
        if unviable.len() == before {
            let error = built.errors[0].rendered.as_deref().unwrap_or_default();
            bail!(
                "the copy in {} does not compile, by no mutant:\n{error}",
                tree.copy.display()
            );
        }
        eprintln!(
            "round {round}: {} of {} mutants do not compile",
            unviable.len(),
            mutants.len()
        );
    }
    unreachable!()
}

/// Mutants whose own text an error names; else those that were made at the smallest place around it.
fn blamed(error: &Message, rewritten: &BTreeMap<String, Rewritten>) -> Vec<u32> {
    let mut said = Vec::new();
    let mut around: Vec<(usize, u32)> = Vec::new();
    let outwards = |place| {
        iter::successors(Some(place), |place: &&Place| {
            Some(&place.expansion.as_ref()?.span)
        })
    };
    for place in error.spans.iter().flat_map(outwards) {
        let Some(file) = rewritten.get(&place.file_name) else {
            continue;
        };
        for fragment in &file.fragments {
            let holds = |range: &std::ops::Range<usize>| {
                range.start <= place.byte_start && place.byte_end <= range.end
            };
            if holds(&fragment.said) {
                said.push(fragment.number);
            } else if holds(&fragment.whole) {
                around.push((fragment.whole.len(), fragment.number));
            }
        }
    }
    if said.is_empty()
        && let Some(least) = around.iter().map(|(length, _)| *length).min()
    {
        around.retain(|(length, _)| *length == least);
        said.extend(around.iter().map(|(_, number)| *number));
    }
    said
}

fn cargo(arguments: &[&str], copy: &Path, build: &Path) -> Result<Built> {
    let (subcommand, rest) = arguments.split_first().expect("a subcommand");
    let mut child = Command::new("cargo")
        .arg(subcommand)
        .args(["--release", "--locked", "--message-format=json"])
        .args(rest)
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", build)
        // For const_eval_select, by which a `const fn` can ask which mutant is on.
        .env("RUSTC_BOOTSTRAP", "tcverify_num,tcverify_emu,tcverify")
        .env("RUSTFLAGS", "--cap-lints allow")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "64")
        .env("CARGO_PROFILE_RELEASE_INCREMENTAL", "true")
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let mut built = Built {
        errors: Vec::new(),
        programs: BTreeMap::new(),
    };
    for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
        let Ok(line) = serde_json::from_str::<Line>(&line?) else {
            continue;
        };
        if let (Some(program), Some(target)) = (line.executable, line.target) {
            // Unit tests of the crates below keep their names.
            let lib = target.name == "tcverify" && target.kind.iter().any(|kind| kind == "lib");
            built
                .programs
                .insert(if lib { "lib".to_owned() } else { target.name }, program);
        }
        // What sums up the others has no place.
        built.errors.extend(
            line.message
                .filter(|message| message.level == "error" && !message.spans.is_empty()),
        );
    }
    ensure!(
        child.wait()?.success() || !built.errors.is_empty(),
        "cargo {subcommand} failed"
    );
    Ok(built)
}
