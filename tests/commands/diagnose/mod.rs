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

use crate::support::{Folder, Members, Npy, has, lines, listed};

/// [`each_diagnosed`] of a table in which `{names}` stand for what they hold.
macro_rules! diagnosed {
    ($folder:expr, $table:literal) => {
        $crate::diagnose::each_diagnosed(&$folder, &format_args!($table).to_string())
    };
}

use diagnosed;

/// Fails unless each row holds: `REPLAY => CHECK | KINDS | WORDS`. The first makes `d.npy`, which the second examines;
/// without a first one, D is what it was. KINDS: the first cause's, a star before it if it has a command; `= KIND, KIND`
/// all of them; `!KIND` one that is not among them. The first sentence has the words. Returns the last row's causes.
#[track_caller]
pub fn each_diagnosed(folder: &Folder, table: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for row in lines(table) {
        println!("row: {row}");
        let words = listed(row);
        let check = match words[0].split_once(" => ") {
            Some((made, check)) => {
                folder.replay(made, "d.npy");
                check
            }
            None => words[0],
        };
        found = causes(folder, check);
        match words[1].split_at_checked(1) {
            Some(("=", all)) => assert_eq!(kinds(&found).join(", "), all.trim(), "{row}"),
            Some(("!", none)) => assert!(!kinds(&found).contains(&none), "{row}: {found:#?}"),
            _ => {
                let kind = words[1].trim_start_matches('*');
                is_first(folder, &found, kind);
                let commanded = found[0]["command"].is_string();
                assert!(commanded || kind == words[1], "{row}: {found:#?}");
            }
        }
        let sentence = found.first().map_or("", |cause| cause.string("sentence"));
        words[2..].iter().for_each(|word| has(sentence, word, row));
    }
    found
}

/// A folder with random operands: `a.npy`, `b.npy` of this format and `c.npy` in FP32.
pub fn folder(dtype: &str, [m, n, k]: [usize; 3], seed: u64) -> Folder {
    let folder = Folder::new();
    let [of_b, of_c] = [seed + 1, seed + 2];
    folder.generate(&format!(
        "a {dtype} {seed}:normal:{m}x{k} | b {dtype} {of_b}:normal:{k}x{n} | c fp32 {of_c}:normal:{m}x{n}"
    ));
    folder
}

/// The codes of an array of elements of `width` bytes.
pub fn codes(folder: &Folder, name: &str, width: usize) -> Vec<u64> {
    let payload = folder.payload(name);
    let code = |code: u64, byte: &u8| code << 8 | u64::from(*byte);
    let elements = payload.chunks_exact(width);
    elements
        .map(|element| element.iter().rev().fold(0, code))
        .collect()
}

/// The same array with other codes; the header stays what it is.
pub fn put(folder: &Folder, from: &str, to: &str, width: usize, codes: &[u64]) {
    folder.with_payload(from, to, |bytes| {
        assert_eq!(bytes.len(), width * codes.len());
        for (element, code) in bytes.chunks_exact_mut(width).zip(codes) {
            element.copy_from_slice(&code.to_le_bytes()[..width]);
        }
    });
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

/// Fails unless this is the first cause. Its command, if it has one, finds D identical.
#[track_caller]
fn is_first(folder: &Folder, causes: &[Value], kind: &str) {
    assert_eq!(kinds(causes).first(), Some(&kind), "{causes:#?}");
    if let Some(command) = causes[0]["command"].as_str() {
        let arguments = command.strip_prefix("tcverify ").unwrap();
        folder.passes(arguments);
    }
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

/// The same array with each code changed.
pub fn change(
    folder: &Folder,
    from: &str,
    to: &str,
    width: usize,
    change: impl Fn(usize, u64) -> u64,
) {
    let all = codes(folder, from, width).into_iter().enumerate();
    let all: Vec<u64> = all.map(|(at, code)| change(at, code)).collect();
    put(folder, from, to, width, &all);
}
