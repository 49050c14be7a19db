//! Emulated products, trees and weights of few bits, by models of published rules that share no code with this one: every case of the kinds that
//! there are schedules for, and wrong rules, which differ as often as the cases say. Any folder of the same form will do.

mod gguf;
mod slices;
mod wrong;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tcverify::io::npy::NpyFile;
use tcverify::num::Format;

use crate::support::{Folder, say};

/// The cases of a collection: what `case.json` says, the command that checks the case and the schedule's spec.
struct Case {
    root: PathBuf,
    about: Value,
    command: Vec<String>,
    spec: Value,
}

/// Replays the cases of these kinds in a batch and one by one, and tries their wrong rules.
fn collection(name: &str, kinds: &[&str]) {
    let Some(vectors) = std::env::var_os("TCVERIFY_VECTORS") else {
        say(format_args!("SKIPPED: {name}: TCVERIFY_VECTORS is not set"));
        return;
    };
    let root = PathBuf::from(vectors).join(name);
    let folder = Folder::new();
    let words = ["batch", root.to_str().expect("a path"), "--json", "-"];
    let batch = folder.words(words).json();
    let (mut identical, mut differ, mut left) = (0, 0, 0);
    let mut untried: BTreeMap<String, usize> = BTreeMap::new();
    for entry in batch["cases"].as_array().expect("cases") {
        let root = root.join(entry["name"].as_str().expect("a name"));
        let text = std::fs::read_to_string(root.join("case.json")).expect("a case");
        let about: Value = serde_json::from_str(&text).expect("a case");
        let kind = about["kind"].as_str().expect("a kind");
        if !kinds.contains(&kind) {
            // No schedule is of its kind: it has no verdict, and is none of those that are counted.
            assert_eq!(entry["verdict"], "unjudged", "{root:?}");
            left += 1;
            continue;
        }
        assert_eq!(
            entry["verdict"], "identical",
            "{root:?}: {}",
            entry["error"]
        );
        let report = &entry["report"];
        let command = report["command"].as_str().expect("a command");
        let case = Case {
            root,
            command: command.split(' ').skip(1).map(str::to_owned).collect(),
            spec: report["rule"]["schedule"]["spec"].clone(),
            about,
        };
        let given = case.about["elements"].as_u64();
        assert_eq!(case.mismatches(&folder, &case.command, Some(given)), 0);
        identical += 1;
        for (what, count) in case.about["wrong_rules"].as_object().expect("wrong rules") {
            let Some(found) = wrong::mismatches(&case, &folder, what, count.as_u64()) else {
                *untried.entry(what.clone()).or_default() += 1;
                continue;
            };
            assert_eq!(Some(found), count.as_u64(), "{what} of {:?}", case.root);
            differ += 1;
        }
    }
    let total = identical + left;
    say(format_args!(
        "{name}: {identical} of {total} cases identical, {differ} wrong rules differ as stated"
    ));
    for (what, cases) in untried {
        say(format_args!("{name}: not tried: {what} ({cases} cases)"));
    }
    assert!(identical > 0 && differ > 0, "{name}: nothing was tried");
}

impl Case {
    /// Elements of D that a check finds to differ; `elements` is how many it compares, where that is known.
    fn mismatches(&self, folder: &Folder, words: &[String], elements: Option<Option<u64>>) -> u64 {
        let mut words = words.to_vec();
        words.extend(["--no-causes", "--json", "-"].map(str::to_owned));
        let run = folder.words(&words);
        assert!(matches!(run.code, Some(0 | 1)), "{run:#?}");
        let comparison = &run.json()["outcome"]["comparison"];
        if let Some(elements) = elements {
            assert_eq!(comparison["elements"].as_u64(), elements);
        }
        comparison["mismatches"].as_u64().expect("a number")
    }

    /// The command with other options in the place of these: a name without a value leaves one out.
    fn instead(&self, options: &[(&str, Option<&str>)]) -> Vec<String> {
        let mut words = Vec::new();
        let mut given = self.command.iter();
        while let Some(word) = given.next() {
            if options.iter().any(|(option, _)| option == word) {
                given.next();
            } else {
                words.push(word.clone());
            }
        }
        for (option, value) in options {
            words.extend(
                value
                    .map(|value| [option.to_string(), value.to_owned()])
                    .into_iter()
                    .flatten(),
            );
        }
        words
    }

    /// The columns of A.
    fn k(&self) -> usize {
        let a = NpyFile::open(&self.root.join("a.npy")).expect("an array");
        a.header().shape[1]
    }

    /// Numbers of one of its arrays, and their rows and columns.
    fn fp64(&self, file: &str) -> Option<(Vec<f64>, [usize; 2])> {
        let path = self.root.join(file);
        path.exists().then(|| read(&path))
    }
}

fn read(path: &Path) -> (Vec<f64>, [usize; 2]) {
    let file = NpyFile::open(path).expect("an array");
    let tensor = file.tensor(Format::Fp64).expect("of FP64");
    let codes = crate::support::case::codes(&tensor);
    let &[rows, columns] = tensor.shape() else {
        panic!("{path:?} is no matrix");
    };
    (
        codes.into_iter().map(f64::from_bits).collect(),
        [rows, columns],
    )
}

#[test]
fn emulated_products() {
    collection(
        "emulated-vectors",
        &["bf16x9-scaled", "terms", "fp64-slices"],
    );
}

#[test]
fn trees() {
    collection("tree-vectors", &["det_gemm", "matmul_tp_inv", "marlin"]);
}
