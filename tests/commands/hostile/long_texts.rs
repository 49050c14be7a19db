//! Long texts in what others write: they are refused, or read in about the time that they are long.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tcverify::libraries::{self, MAX_TEXT};

use crate::support::{Folder, good, table, words};

/// What is quadratic in this takes minutes.
const LONG: usize = 300_000;

/// Fails if work takes longer than any text of this length may.
#[track_caller]
fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = work();
    let taken = started.elapsed();
    assert!(taken < Duration::from_secs(5), "{what}: {taken:?}");
    done
}

/// A manifest with this case beside a good one; it gives no verdict on the case under any policy.
#[track_caller]
fn gives_no_verdict(folder: &Folder, what: &str, case: Value) {
    let manifest = json!({
        "schema": "tcverify.manifest/1",
        "defaults": {"arch": "ampere", "dtype": "fp16"},
        "cases": [case],
    });
    folder.write("m.json", manifest.to_string());
    for policy in ["", " --policy strict"] {
        let run = soon(what, || folder.tcverify(&format!("batch m.json{policy}")));
        assert_eq!(
            run.code,
            Some(2),
            "{what}{policy}: {}{}",
            run.stdout,
            run.stderr
        );
    }
}

fn case(name: &str, a: &str) -> Value {
    json!({"name": name, "a": a, "b": "b.npy", "d": "d.npy"})
}

#[test]
fn paths() {
    let folder = good();
    for piece in words! {"# | a# | a/ | ../ | ./ | // | a.npy# | x.npz# | * | é# | generate:"} {
        let path = piece.repeat(LONG / piece.len());
        gives_no_verdict(&folder, piece, case("one", &path));
        gives_no_verdict(&folder, piece, case("one", &format!("a.npy#{path}")));
    }
}

#[test]
fn names_and_patterns() {
    let folder = good();
    let long = "n".repeat(LONG);
    for (what, case) in table! {
        ("a field", json!({"name": "one", "a": "a.npy", "b": "b.npy", "d": "d.npy", &long: 1})),
        ("an architecture", json!({"name": "one", "arch": &long, "a": "a.npy", "b": "b.npy", "d": "d.npy"})),
        ("a format", json!({"name": "one", "dtype": &long, "a": "a.npy", "b": "b.npy", "d": "d.npy"})),
        ("a schedule", json!({"name": "one", "schedule": &long, "a": "a.npy", "b": "b.npy", "d": "d.npy"})),
        ("an operation", json!({"name": "one", "operation": &long, "x": "a.npy", "y": "d.npy"})),
        ("a kernel", json!({"name": "one", "kernel": &long, "a": "a.npy", "b": "b.npy", "d": "d.npy"})),
        ("a name of stars", case(&"*".repeat(LONG), "a.npy")),
        ("a pattern of stars",
            json!({"name": "*", "a": "a.npy", "b": "b.npy", "d": format!("d.npz#{}", "*".repeat(LONG))})),
        ("a pattern", json!({"name": "*", "a": "a.npy", "b": "b.npy", "d": format!("d.npz#{long}*{long}")})),
    } {
        gives_no_verdict(&folder, what, case);
    }
    // A long name alone is no fault.
    let manifest = json!({
        "schema": "tcverify.manifest/1",
        "defaults": {"arch": "ampere", "dtype": "fp16"},
        "cases": [case(&long, "a.npy")],
    });
    folder.write("m.json", manifest.to_string());
    soon("a name", || folder.tcverify("batch m.json")).expect(0);
}

/// Whoever hands a policy in may be careless, too.
#[test]
fn policies() {
    let folder = good();
    folder.write(
        "m.json",
        json!({"schema": "tcverify.manifest/1", "cases": [case("one", "a.npy")]}).to_string(),
    );
    let long = "n".repeat(LONG);
    for (what, rules) in table! {
        ("a field", json!({&long: true})),
        ("an architecture", json!({"models": {"architectures": [&long]}})),
        ("architectures", json!({"models": {"architectures": vec!["nn"; LONG / 4]}})),
        ("a schedule", json!({"schedules": {"names": [&long]}})),
        ("schedules", json!({"schedules": {"names": vec!["nn"; LONG / 4]}})),
        ("an operation", json!({"operations": {"variants": [&long]}})),
        ("operations", json!({"operations": {"variants": vec!["n n"; LONG / 4]}})),
        ("a word", json!({"scope": &long})),
    } {
        let mut policy = rules;
        policy["schema"] = "tcverify.policy/1".into();
        // Outside of the folder of the cases, where their author cannot write it.
        let other = Folder::new();
        let path = other.write("p.json", policy.to_string());
        let words = ["batch", "m.json", "--policy", path.to_str().expect("UTF-8")];
        let run = soon(what, || folder.words(words));
        assert_eq!(run.code, Some(2), "{what}: {}{}", run.stdout, run.stderr);
    }
}

/// A text of whatever form takes no longer for each byte the longer it is.
#[test]
fn texts_about_kernels() {
    let forms: [(&str, &str, &str); 24] = [
        ("[cublasLt] algo=[", "[", ""),
        ("[cublasLt] algo=[", "a=[", ""),
        ("[cublasLt] ", "x=[ ", ""),
        ("[cublasLt] algo=[", "[]", "]"),
        ("[cublasLt] Adesc=[", "rows=1 ", "]"),
        ("[cublasLt] ", "] ", ""),
        ("[cublasLt] ", "= ", ""),
        ("", "algo=66,", ""),
        ("", "a=1 ", ""),
        ("algo=66,", "[", "]"),
        ("DepthU: 64\n", "SK: [\n", ""),
        ("", "DepthU: 64\n", ""),
        ("DepthU: ", "[", ""),
        ("MatrixInstruction: [", "1,", "]"),
        ("nvjet_", "64x2_", ""),
        ("nvjet_", "_", ""),
        ("Cijk_", "MT64x64x64_", ""),
        ("Cijk_", "Custom_Cijk_", ""),
        ("cutlass_80_tensorop_s16816gemm_", "bf16_", ""),
        ("sm90_xmma_gemm_", "bf16bf16_", ""),
        ("splitKreduce_kernel<", "int, ", ">"),
        ("void ", "a<", ""),
        ("{\"a\":", "[", ""),
        ("{\"k_cuts\": [", "{\"span\": 1},", "{}]}"),
    ];
    for (first, piece, last) in forms {
        let of = |length: usize| {
            let room = length - first.len() - last.len();
            let text = format!("{first}{}{last}", piece.repeat(room / piece.len()));
            let started = Instant::now();
            let _ = libraries::read(&text);
            started.elapsed()
        };
        let (short, long) = (of(MAX_TEXT / 4), of(MAX_TEXT));
        // Four times as long, were it not for what else runs here; what is quadratic takes sixteen times as long.
        let most = 10 * short + Duration::from_millis(250);
        assert!(long < most, "{first}{piece}...: {short:?}, then {long:?}");
    }
    // Keys that are all different.
    for form in [|i: usize| format!("k{i}=1 "), |i| format!("SU{i}: 1\n")] {
        let mut text = String::from("[cublasLt] ");
        let mut next = (0..).map(form);
        while text.len() < MAX_TEXT - 20 {
            text += &next.next().expect("numbers go on");
        }
        let _ = soon("keys", || libraries::read(&text));
    }
    let error = libraries::read(&"n".repeat(MAX_TEXT + 1)).unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
}
