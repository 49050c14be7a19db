//! Known failures: verdicts that a case states, and those of an earlier report.

use serde_json::{Value, json};

use super::products::{flip, manifest, small, usual};
use crate::support::{Folder, Run, Says, claims, holds, table};

fn given() -> Folder {
    let folder = small();
    flip(&folder, "d.npy", "bad.npy", 5);
    folder
}

fn batch(folder: &Folder, more: &str) -> Run {
    folder.tcverify(&format!("batch cases.json --json now.json {more}"))
}

fn report(folder: &Folder) -> Value {
    folder.document("now.json")
}

fn two(good: &str, bad: &str) -> Value {
    json!([{"name": "one", "d": good}, {"name": "other", "d": bad}])
}

/// Known failures pass as long as they fail; what changed in either direction, and what is gone, does not.
#[test]
fn only_changes_since_a_baseline_fail() {
    let folder = given();
    manifest(&folder, usual(), two("d.npy", "bad.npy"));
    folder.differs("batch cases.json --json known.json");

    claims! {folder, "batch cases.json --json now.json --baseline known.json --junit now.xml | 0
    | DIFFERENT, as expected | every verdict is as expected"}
    let found = report(&folder);
    holds! {found, "
        verdict = different | cases.0.expected = identical | cases.1.expected = different | baseline.gone = []
    "}
    let junit = folder.text("now.xml");
    junit.lacks("<failure");

    // A mended case, and a broken one.
    for (cases, said) in table! {
        (two("d.npy", "d.npy"), "1 case identical: expected to be different"),
        (two("bad.npy", "bad.npy"), "2 cases: 0 identical, 2 different"),
    } {
        manifest(&folder, usual(), cases);
        let run = batch(&folder, "--baseline known.json --junit now.xml").expect(1);
        assert!(run.stdout.contains(said), "{}", run.stdout);
        run.says("1 case is not as expected");
        let junit = folder.text("now.xml");
        assert_eq!(junit.matches("<failure").count(), 1, "{junit}");
    }

    // A case that is gone is a change, too.
    manifest(&folder, usual(), json!([{"name": "other", "d": "bad.npy"}]));
    claims! {folder, "batch cases.json --json now.json --baseline known.json | 1 | 1 case: one"}
    assert_eq!(report(&folder)["baseline"]["gone"], json!(["one"]));

    // A new case has to be identical.
    for (d, code) in [("d.npy", 0), ("bad.npy", 1)] {
        let mut cases = two("d.npy", "bad.npy");
        let new = json!({"name": "new", "d": d});
        cases.as_array_mut().unwrap().push(new);
        manifest(&folder, usual(), cases);
        batch(&folder, "--baseline known.json").expect(code);
        assert!(report(&folder)["cases"][2].get("expected").is_none());
    }

    // What could not be judged is trouble, whatever was expected.
    manifest(&folder, usual(), two("d.npy", "absent.npy"));
    batch(&folder, "--baseline known.json").expect(2);
    // And nothing is expected of a case that had no verdict.
    folder.fails("batch cases.json --json unjudged.json");
    manifest(&folder, usual(), two("d.npy", "bad.npy"));
    batch(&folder, "--baseline unjudged.json").expect(1);
}

#[test]
fn a_case_states_its_verdict() {
    let folder = given();
    let case = |d: &str, expect: Value| json!([{"name": "one", "d": d, "expect": expect}]);
    for (d, expect, code) in [
        ("bad.npy", "different", 0),
        ("d.npy", "different", 1),
        ("d.npy", "identical", 0),
        ("bad.npy", "identical", 1),
        ("absent.npy", "different", 2),
    ] {
        manifest(&folder, usual(), case(d, expect.into()));
        batch(&folder, "").expect(code);
    }
    // It goes before the report of an earlier run, and a null takes a default away.
    manifest(&folder, usual(), case("bad.npy", Value::Null));
    folder.differs("batch cases.json --json known.json");
    manifest(&folder, usual(), case("bad.npy", "identical".into()));
    batch(&folder, "--baseline known.json").expect(1);
    let mut defaults = usual();
    defaults["expect"] = "different".into();
    let without = json!([{"name": "one", "d": "bad.npy"}]);
    manifest(&folder, defaults.clone(), without);
    batch(&folder, "").expect(0);
    manifest(&folder, defaults, case("bad.npy", Value::Null));
    batch(&folder, "").expect(1);
    // It outlives a state, and a state does not decide it.
    manifest(&folder, usual(), case("bad.npy", Value::Null));
    batch(&folder, "--resume state.json").expect(1);
    manifest(&folder, usual(), case("bad.npy", "different".into()));
    batch(&folder, "--resume state.json").expect(0);

    manifest(&folder, usual(), case("d.npy", "unjudged".into()));
    claims! {folder, r#"batch cases.json | 2 | field "expect": expected "identical""#}
}

/// Whoever is judged does not say what is expected.
#[test]
fn a_policy_allows_no_case_to_state_its_verdict() {
    let folder = given();
    folder.create("pushed");
    for name in ["x.npy", "w.npy", "bad.npy"] {
        folder.copy(name, &format!("pushed/{name}"));
    }
    let cases = json!([{"name": "one", "d": "bad.npy", "expect": "different"}]);
    manifest(&folder, usual(), cases);
    folder.rename("cases.json", "pushed/cases.json");
    claims! {folder, "batch pushed/cases.json --policy strict | 2 | allows no case to state its own verdict"}
}

#[test]
fn what_is_no_baseline_is_refused() {
    let folder = given();
    manifest(&folder, usual(), two("d.npy", "bad.npy"));
    let one = |verdict: &str| json!({"name": "one", "verdict": verdict});
    let twice =
        json!({"schema": "tcverify.batch/1", "cases": [one("identical"), one("different")]});
    for (text, said) in table! {
        ("once upon a time", "is not a report of `batch --json`"),
        (r#"{"schema": "tcverify.report/1", "cases": []}"#, "its schema is \"tcverify.report/1\""),
        (&*twice.to_string(), "two of its cases have one name (one)"),
    } {
        folder.write("known.json", text);
        claims! {folder, "batch cases.json --json now.json --baseline known.json | 2 | {said}"}
    }
    claims! {folder, "batch cases.json --json now.json --baseline absent.json | 2 | absent.json"}
    assert!(!folder.path("now.json").exists());
}

/// A difference that is expected does not hide products that nobody recorded.
#[test]
fn products_that_are_missing_stay_missing() {
    let folder = given();
    let why = "it may hold products that are not seen from outside";
    let left_out = |on_request: bool| json!([{"op": "x", "module": "", "why": why, "calls": 1, "on_request": on_request}]);
    let write = |on_request: bool| {
        let manifest = json!({
            "schema": "tcverify.manifest/1",
            "defaults": usual(),
            "coverage": {"seen": 2, "recorded": 1, "left_out": left_out(on_request)},
            "cases": [{"name": "one", "d": "bad.npy", "expect": "different"}],
        });
        folder.write("cases.json", manifest.to_string());
    };
    write(false);
    claims! {folder, "batch cases.json --json now.json | 2 | 1 products that ran were not recorded"}
    write(true);
    batch(&folder, "").expect(0);
}
