//! A copy of the source tree, rewritten.

use crate::list::{Mutant, number};
use crate::rewrite::{Rewritten, rewrite};
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Tree {
    root: PathBuf,
    pub copy: PathBuf,
    /// Paths of files, from the root.
    files: Vec<String>,
    /// Of all files that tests depend on.
    pub hash: u64,
}

impl Tree {
    pub fn new(root: &Path, copy: PathBuf) -> Result<Tree> {
        let listed = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(root)
            .output()?;
        ensure!(
            listed.status.success(),
            "git ls-files failed in {}",
            root.display()
        );
        let listed = String::from_utf8(listed.stdout)?;
        let files = listed
            .split_terminator('\0')
            .filter(|file| root.join(file).is_file());
        let files: Vec<String> = files.map(str::to_owned).collect();
        let mut hashes = String::new();
        let counts = |file: &&String| {
            let folders = ["src/", "crates/", "tests/"];
            folders.iter().any(|folder| file.starts_with(folder))
        };
        for file in files.iter().filter(counts) {
            let text = fs::read(root.join(file))?;
            hashes += &format!("{file} {:x}\n", number(&String::from_utf8_lossy(&text)));
        }
        Ok(Tree {
            root: root.to_owned(),
            copy,
            files,
            hash: number(&hashes),
        })
    }

    /// Copies what changed, and writes the files with mutants anew.
    pub fn write(
        &self,
        mutants: &[Mutant],
        without: &HashSet<u32>,
    ) -> Result<BTreeMap<String, Rewritten>> {
        let mut by_file: HashMap<&str, Vec<(u32, &Mutant)>> = HashMap::new();
        for (at, mutant) in mutants.iter().enumerate() {
            by_file
                .entry(&mutant.file)
                .or_default()
                .push((at as u32, mutant));
        }
        let mut rewritten = BTreeMap::new();
        for file in &self.files {
            let bytes = fs::read(self.root.join(file))?;
            let Some(mutants) = by_file.get(file.as_str()) else {
                self.put(file, &with_runtime(file, &bytes))?;
                continue;
            };
            let wanted: Vec<_> = mutants
                .iter()
                .filter(|(at, _)| !without.contains(at))
                .copied()
                .collect();
            let text = String::from_utf8(bytes)?;
            let new = rewrite(&text, &wanted).with_context(|| file.clone())?;
            self.put(file, new.text.as_bytes())?;
            rewritten.insert(file.clone(), new);
        }
        let runtime = include_str!("runtime.rs");
        let count = format!("\nconst COUNT: usize = {};\n", mutants.len());
        self.put(RUNTIME, (runtime.to_owned() + &count).as_bytes())?;
        self.forget()?;
        Ok(rewritten)
    }

    /// Only if it differs: the compiler goes by times.
    fn put(&self, file: &str, bytes: &[u8]) -> Result<()> {
        let to = self.copy.join(file);
        if fs::read(&to).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&to, bytes).with_context(|| to.display().to_string())?;
        let from = self.root.join(file);
        if from.exists() {
            fs::set_permissions(&to, fs::metadata(from)?.permissions())?;
        }
        Ok(())
    }

    /// Removes source files that are gone.
    fn forget(&self) -> Result<()> {
        let kept: BTreeSet<PathBuf> = self.files.iter().map(|file| self.copy.join(file)).collect();
        let mut folders = ["src", "crates", "tests"]
            .map(|folder| self.copy.join(folder))
            .to_vec();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if !kept.contains(&path) && path != self.copy.join(RUNTIME) {
                    fs::remove_file(path)?;
                }
            }
        }
        Ok(())
    }
}

/// The module that says which mutant is on, in the lowest crate with mutants.
const RUNTIME: &str = "crates/num/src/mutant.rs";

/// A file; the roots of crates with mutants have that module.
fn with_runtime(file: &str, text: &[u8]) -> Vec<u8> {
    match file {
        "crates/num/src/lib.rs" => {
            let before: &[u8] =
                b"#![feature(core_intrinsics, const_eval_select)]\n#![allow(internal_features)]\n";
            [before, text, b"\n#[allow(missing_docs)]\npub mod mutant;\n"].concat()
        }
        "src/check/lib.rs"
        | "src/emu/lib.rs"
        | "src/io/lib.rs"
        | "src/report/lib.rs"
        | "crates/compose/src/lib.rs"
        | "crates/many/src/lib.rs"
        | "crates/operation/src/lib.rs"
        | "crates/provenance/src/lib.rs" => [text, b"\nuse tcverify_num::mutant;\n"].concat(),
        _ => text.to_vec(),
    }
}

/// The root of the project that this program lies in, or the one above the current folder.
pub fn project() -> Result<PathBuf> {
    let here = std::env::current_dir()?;
    match here
        .ancestors()
        .find(|folder| folder.join(".cargo/mutants.toml").exists())
    {
        Some(root) => Ok(root.to_owned()),
        None => bail!("no .cargo/mutants.toml here or above: run it in the project"),
    }
}
