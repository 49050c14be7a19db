//! Which mutants there are: cargo-mutants' list, and the draw of a part of it.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// A line and a column, from one; columns in characters.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct At {
    pub line: usize,
    pub column: usize,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Span {
    pub start: At,
    pub end: At,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Function {
    pub function_name: String,
    /// "-> u64", or nothing.
    pub return_type: String,
}

/// A change of the source.
#[derive(Clone, Debug, Deserialize)]
pub struct Mutant {
    /// With its place: "crates/num/src/round.rs:12:5: replace ...".
    pub name: String,
    pub file: String,
    pub function: Option<Function>,
    /// What kind of change: "BinaryOperator", "FnValue", ...
    pub genre: String,
    pub span: Span,
    /// What stands at the span then.
    pub replacement: String,
    /// A hash of the file, the change and the how many-th such it is: the same when other changes move it.
    #[serde(skip)]
    pub key: u64,
    /// Its number among those drawn, by which it is drawn and in whose order it runs.
    #[serde(skip)]
    pub draw: u64,
}

impl Mutant {
    /// Whether it replaces the body of a function whose type its body determines.
    pub fn changes_type(&self) -> bool {
        let returns = self
            .function
            .as_ref()
            .map(|function| function.return_type.as_str());
        self.genre == "FnValue" && returns.is_some_and(|returns| returns.contains("impl "))
    }

    /// File and function: neighbours are caught by the same tests.
    pub fn place(&self) -> (String, String) {
        let function = self
            .function
            .as_ref()
            .map(|function| function.function_name.clone());
        (self.file.clone(), function.unwrap_or_default())
    }
}

/// All mutants of what `.cargo/mutants.toml` names.
pub fn all(root: &Path, seed: u64) -> Result<Vec<Mutant>> {
    let listed = Command::new("cargo")
        .args(["mutants", "--list", "--json", "--workspace"])
        .current_dir(root)
        .output()
        .context("cargo mutants cannot be started: cargo install cargo-mutants --locked")?;
    let trouble = String::from_utf8_lossy(&listed.stderr);
    ensure!(
        listed.status.success(),
        "cargo mutants --list failed (installed? cargo install cargo-mutants --locked):\n{trouble}"
    );
    let mut mutants: Vec<Mutant> = serde_json::from_slice(&listed.stdout)?;
    let mut seen: HashMap<String, usize> = HashMap::new();
    for mutant in &mut mutants {
        let what = mutant.name.splitn(4, ':').nth(3).unwrap_or(&mutant.name);
        let change = format!("{}\n{what}", mutant.file);
        let nth = seen.entry(change.clone()).or_default();
        *nth += 1;
        mutant.key = number(&format!("{change}\n{nth}"));
        mutant.draw = number(&format!("{seed}\n{change}\n{nth}"));
    }
    Ok(mutants)
}

/// The first eight bytes of a text's SHA-256, as a number.
pub fn number(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    u64::from_be_bytes(std::array::from_fn(|i| digest[i]))
}
