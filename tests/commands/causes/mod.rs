//! Each kind of fault, made here, is named, and nothing else; damage without a system is not.

mod answers;
mod beside;
mod budget;
mod composed;
mod computations;
mod damage;
mod emulated;
mod field_cases;
mod formats;
mod hostile;
mod named;
mod nonfinite;
mod schedules;
mod variations;

use crate::support::{Folder, Members, Npy};
use serde_json::Value;

/// A folder with random operands of these shapes: `a.npy`, `b.npy` and `c.npy`.
pub fn folder(dtype: &str, [m, n, k]: [usize; 3]) -> Folder {
    let folder = Folder::new();
    for (role, seed, rows, columns, dtype) in [
        ("a", 11, m, k, dtype),
        ("b", 12, k, n, dtype),
        ("c", 13, m, n, "fp32"),
    ] {
        let spec = format!("generate:{seed}:normal:{rows}x{columns}");
        let command = format!("generate {spec} --dtype {dtype} --role {role} -q -o {role}.npy");
        folder.passes(&command);
    }
    folder
}

/// The elements of an array of 32-bit floats.
pub fn floats_of(folder: &Folder, name: &str) -> Vec<u32> {
    let bytes = folder.read(name);
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let words = bytes[start..].chunks_exact(4);
    words
        .map(|w| u32::from_le_bytes(w.try_into().unwrap()))
        .collect()
}

pub fn save(folder: &Folder, name: &str, [m, n]: [usize; 2], codes: &[u32]) {
    folder.save(name, &Npy::new("<f4", &[m, n], crate::support::le32(codes)));
}

/// The causes that a check names; the text and the page name them too.
pub fn causes(folder: &Folder, check: &str) -> Vec<Value> {
    let run = folder.tcverify(&format!("check {check} --json r.json --html r.html"));
    let run = run.expect(1);
    let report: Value = folder.document("r.json");
    let causes = report["causes"].as_array().expect("an array").clone();
    assert_eq!(run.stdout.matches("\n  cause     ").count(), causes.len());
    let page = folder.text("r.html");
    assert_eq!(page.contains("Likely cause"), !causes.is_empty());
    for cause in &causes {
        assert!(run.stdout.contains(cause.string("sentence")));
    }
    assert_eq!(
        folder.differing(&format!("check {check} --no-causes --json -"))["causes"],
        Value::Array(Vec::new())
    );
    causes
}

/// Fails unless exactly this cause is named; its command, if it has one, finds D identical.
#[track_caller]
pub fn names(folder: &Folder, check: &str, kind: &str, with_command: bool) -> String {
    let causes = causes(folder, check);
    let kinds: Vec<_> = causes.iter().map(|cause| cause.string("kind")).collect();
    assert_eq!(kinds, [kind], "{causes:#?}");
    let command = causes[0]["command"].as_str();
    assert_eq!(command.is_some(), with_command, "{causes:#?}");
    if let Some(command) = command {
        let arguments = command.strip_prefix("tcverify ").unwrap();
        folder.passes(arguments);
    }
    causes[0].string("sentence").to_owned()
}

/// Fails unless this place, and no cause, is told, on the page too.
#[track_caller]
pub fn place(folder: &Folder, check: &str, shape: &str) -> String {
    assert_eq!(causes(folder, check), [Value::Null; 0]);
    let places =
        folder.differing(&format!("check {check} --json - --html r.html"))["places"].clone();
    assert_eq!(places.as_array().map(Vec::len), Some(1), "{places}");
    assert_eq!(places[0]["area"]["shape"], shape, "{places}");
    let sentence = places[0].string("sentence").to_owned();
    let page = folder.text("r.html");
    assert!(page.contains(&sentence), "{sentence}");
    sentence
}
