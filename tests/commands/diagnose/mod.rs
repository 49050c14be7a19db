//! Every fault that a diagnosis knows, made here by loops over bytes, is named first; what is nearly it is
//! not.

mod forty;
mod groups;
mod hostile;
mod inputs;
mod lone;
mod single;
mod whole;

use serde_json::Value;

use crate::support::{Folder, Members, Npy};

/// A folder with random operands: `a.npy`, `b.npy` of this format and `c.npy` in FP32.
pub fn folder(dtype: &str, [m, n, k]: [usize; 3], seed: u64) -> Folder {
    let folder = Folder::new();
    for (role, seed, rows, columns, dtype) in [
        ("a", seed, m, k, dtype),
        ("b", seed + 1, k, n, dtype),
        ("c", seed + 2, m, n, "fp32"),
    ] {
        let spec = format!("generate:{seed}:normal:{rows}x{columns}");
        let command = format!("generate {spec} --dtype {dtype} --role {role} -q -o {role}.npy");
        folder.passes(&command);
    }
    folder
}

/// D, or another array, as `tcverify replay` makes it with these options.
pub fn replay(folder: &Folder, options: &str, to: &str) {
    let command = format!("replay {options} -q -o {to}");
    folder.passes(&command);
}

fn data(bytes: &[u8]) -> usize {
    10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))
}

/// The codes of an array of elements of `width` bytes.
pub fn codes(folder: &Folder, name: &str, width: usize) -> Vec<u64> {
    let bytes = folder.read(name);
    let elements = bytes[data(&bytes)..].chunks_exact(width);
    let code = |element: &[u8]| {
        element
            .iter()
            .rev()
            .fold(0, |code, &b| code << 8 | u64::from(b))
    };
    elements.map(code).collect()
}

/// The same array with other codes; the header stays what it is.
pub fn put(folder: &Folder, from: &str, to: &str, width: usize, codes: &[u64]) {
    let mut bytes = folder.read(from);
    let start = data(&bytes);
    assert_eq!(bytes.len() - start, width * codes.len());
    for (element, code) in bytes[start..].chunks_exact_mut(width).zip(codes) {
        element.copy_from_slice(&code.to_le_bytes()[..width]);
    }
    folder.write(to, bytes);
}

pub fn save(folder: &Folder, descr: &str, shape: &[usize], width: usize, codes: &[u64]) {
    let bytes = codes
        .iter()
        .flat_map(|code| code.to_le_bytes()[..width].to_vec());
    folder.save("d.npy", &Npy::new(descr, shape, bytes.collect()));
}

/// The causes of a report, and what the text has to say.
pub fn causes(folder: &Folder, check: &str) -> Vec<Value> {
    let run = folder.differs(&format!("check {check} --json r.json"));
    let report: Value = folder.document("r.json");
    let causes = report["causes"].as_array().expect("an array").clone();
    for cause in &causes {
        assert!(run.stdout.contains(cause.string("sentence")));
    }
    let nothing = run.stdout.contains("hypotheses tried gives this D");
    assert_eq!(nothing, causes.is_empty(), "{}", run.stdout);
    causes
}

pub fn kinds(causes: &[Value]) -> Vec<&str> {
    causes.iter().map(|cause| cause.string("kind")).collect()
}

/// What the text says of places of mismatches that have no cause.
pub fn places(folder: &Folder, check: &str) -> Vec<Value> {
    let run = folder.differs(&format!("check {check} --json r.json"));
    let report: Value = folder.document("r.json");
    let places = report["places"].as_array().cloned().unwrap_or_default();
    for place in &places {
        assert!(run.stdout.contains(place.string("sentence")));
    }
    places
}

/// Fails unless this is the first cause; returns its sentence. Its command, if it has one, finds D identical.
#[track_caller]
pub fn first(folder: &Folder, check: &str, kind: &str) -> Value {
    let causes = causes(folder, check);
    assert_eq!(kinds(&causes).first(), Some(&kind), "{causes:#?}");
    if let Some(command) = causes[0]["command"].as_str() {
        let arguments = command.strip_prefix("tcverify ").unwrap();
        folder.passes(arguments);
    }
    causes[0].clone()
}

#[track_caller]
pub fn says(cause: &Value, words: &str) {
    let sentence = cause.string("sentence");
    assert!(sentence.contains(words), "{sentence}");
}

/// Words that differ for every state.
pub fn word(state: u64) -> u64 {
    let x = state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}
