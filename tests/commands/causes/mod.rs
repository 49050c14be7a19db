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

use crate::support::{Folder, Members, has, lines, listed};
use serde_json::Value;

/// [`each_names`] of a table in which `{names}` stand for what they hold.
macro_rules! caused {
    ($folder:expr, $table:literal) => {
        $crate::causes::each_names(&$folder, &format_args!($table).to_string())
    };
}

use caused;

/// A folder with random operands of these shapes: `a.npy`, `b.npy` and `c.npy`.
pub fn folder(dtype: &str, [m, n, k]: [usize; 3]) -> Folder {
    let folder = Folder::new();
    folder.generate(&format!(
        "a {dtype} 11:normal:{m}x{k} | b {dtype} 12:normal:{k}x{n} | c fp32 13:normal:{m}x{n}"
    ));
    folder
}

/// Fails unless each row holds: `REPLAY => CHECK | KIND | WORDS`. The first makes `d.npy`, of which the second names
/// this cause alone, and its sentence has the words; without a first one, D is what it was. A star before the kind:
/// the cause has a command, which finds D identical.
#[track_caller]
pub fn each_names(folder: &Folder, table: &str) {
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
        let kind = words[1].trim_start_matches('*');
        let sentence = names(folder, check, kind, kind != words[1]);
        words[2..].iter().for_each(|word| has(&sentence, word, row));
    }
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
