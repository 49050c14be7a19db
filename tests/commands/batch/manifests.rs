//! What a manifest or a folder may say, and what it may not.

use crate::support::{Members, Says, claims, holds, ran, table, words};

use serde_json::{Value, json};

use super::products::{flip, manifest, small, usual};

#[test]
fn a_case_is_the_check_of_its_options() {
    let folder = small();
    flip(&folder, "d.npy", "bad.npy", 5);
    claims! {folder, "replay --arch a100 --dtype bf16 --d-dtype bf16 generate:1:normal:40x64 generate:2:normal:64x24 -o e.npy | 0"}
    let cases = json!([
        {"name": "z", "arch": "h100"},
        {"name": "b", "d": "bad.npy", "max_mismatches": 3},
        {"name": "g", "arch": "a100", "dtype": "bf16", "d_dtype": "bf16", "a": "generate:1:normal:40x64",
         "b": "generate:2:normal:64x24", "d": "e.npy", "sample": 17, "seed": 3},
    ]);
    manifest(&folder, usual(), cases);
    let report = folder.differing("batch cases.json --json -");
    holds! {report, r#"
        schema = tcverify.batch/1
        | totals = {{"cases": 3, "identical": 1, "identical_in_part": 1, "different": 1, "unjudged": 0}}
    "#}
    let alone = [
        ("z", "--arch h100 --dtype fp16 x.npy w.npy d.npy", 0),
        (
            "b",
            "--arch h100 --dtype fp16 --max-mismatches 3 x.npy w.npy bad.npy",
            1,
        ),
        (
            "g",
            "--arch a100 --dtype bf16 --d-dtype bf16 --sample 17 --seed 3 generate:1:normal:40x64 \
             generate:2:normal:64x24 e.npy",
            0,
        ),
    ];
    for (i, (name, words, code)) in alone.into_iter().enumerate() {
        let alone = ran! {folder, "check {words} --json -"}.expect(code);
        assert_eq!(report["cases"][i]["name"], name);
        assert_eq!(report["cases"][i]["report"], alone.json(), "{name}");
    }
    // In the very same form, but for the margin.
    let text = folder.differs("batch cases.json --json -").stdout;
    let alone = ran! {folder, "check --arch h100 --dtype fp16 x.npy w.npy d.npy --json -"}.stdout;
    assert!(text.contains(&alone.trim_end().replace('\n', "\n      ")));
}

#[test]
fn trouble_stops_no_other_case_and_wins() {
    let folder = small();
    flip(&folder, "d.npy", "bad.npy", 5);
    let cases = json!([
        {"name": "gone", "a": "gone.npy"},
        {"name": "bad", "d": "bad.npy"},
        {"name": "good"},
        {"name": "no such unit", "arch": "h101"},
        {"name": "shapes", "transpose_a": true},
    ]);
    manifest(&folder, usual(), cases);
    let run = folder.fails("batch cases.json --json r.json");
    run.says("5 cases: 1 identical, 1 different, 3 could not be judged");
    run.says("gone.npy: cannot be opened");
    let run = run.mentions(&["3 of 5 cases could not be judged"]);
    assert_eq!(run.stderr.matches('\n').count(), 1);
    let report: Value = folder.document("r.json");
    assert_eq!(report["verdict"], "unjudged");
    let verdicts: Vec<_> = report.list("cases").iter().collect();
    let verdicts: Vec<_> = verdicts.iter().map(|c| c.string("verdict")).collect();
    assert_eq!(
        verdicts,
        ["unjudged", "different", "identical", "unjudged", "unjudged"]
    );
    assert_eq!(report["cases"][0]["report"], Value::Null);
    report["cases"][4].string("error").says("inner dimensions");
}

#[test]
fn a_null_takes_a_default_away() {
    let folder = small();
    let mut defaults = usual();
    defaults["sample"] = 3.into();
    manifest(&folder, defaults, json!([{"name": "all", "sample": null}]));
    let report = folder.json("batch cases.json --json -");
    let comparison = &report["cases"][0]["report"]["outcome"]["comparison"];
    assert_eq!(comparison["elements"], 32);
}

#[test]
fn paths_are_relative_to_the_manifest() {
    let folder = small();
    folder.create("sub");
    for file in ["x.npy", "w.npy", "d.npy"] {
        std::fs::rename(folder.path(file), folder.path("sub").join(file)).unwrap();
    }
    manifest(&folder, usual(), json!([{"name": "one"}]));
    folder.fails("batch cases.json");
    folder.rename("cases.json", "sub/cases.json");
    folder.passes("batch sub/cases.json");
}

#[test]
fn what_a_manifest_may_not_say() {
    let folder = small();
    let whole = |cases: &str| {
        format!(
            "{{\"schema\": \"tcverify.manifest/1\", \"defaults\": {}, \"cases\": {cases}}}",
            usual()
        )
    };
    for (text, words) in table! {
        (whole(r#"[{"name": "p"}, {"name": "q", "dtyp": "fp16"}]"#),
            &["case 2 (q)", "\"dtyp\"", "did you mean \"dtype\"?"][..]),
        (whole(r#"[{"name": "q", "dtype": "fp17"}]"#), &["case 1 (q)", "fp17", "\"dtype\""]),
        (whole(r#"[{"name": "q", "dtype": 16}]"#),
            &["case 1 (q)", "\"dtype\"", "it is the number 16, and text is expected"]),
        (whole(r#"[{"name": "q", "transpose_a": "yes"}]"#),
            &["\"transpose_a\"", "it is the text \"yes\", and true or false is expected"]),
        (whole(r#"[{"name": "q", "sample": -1}]"#), &["\"sample\"", "a whole number, 0 or more, is expected"]),
        (whole(r#"[{"name": "q", "alpha": 0.1}]"#), &["\"alpha\"", "\"0.1\""]),
        (whole(r#"[{"name": "q", "seed": 1, "seed": 2}]"#), &["\"seed\"", "twice"]),
        (whole(r#"[{"name": "q"}, {"name": "q"}]"#), &["case 2 (q)", "another case has the same name"]),
        (whole(r#"[{"arch": "h100"}]"#), &["case 1", "\"name\""]),
        (whole(r#"[{"name": ""}]"#), &["case 1", "\"name\""]),
        (whole(r#"[{"name": "q", "a": null}]"#), &["case 1 (q)", "`a`"]),
        (whole(r#"[{"name": "q", "d": null}]"#), &["case 1 (q)", "`d`"]),
        (whole(r#"[{"name": "q", "model": "m.json"}]"#), &["`arch`", "`model`"]),
        (whole("[]"), &["has no cases"]),
        (whole("[{"), &["is not a manifest"]),
        (r#"{"schema": "tcverify.manifest/2", "cases": []}"#.to_owned(), &["schema"]),
        (r#"{"schema": "tcverify.manifest/1", "defaults": {"colour": 1}, "cases": [{"name": "q"}]}"#.to_owned(),
            &["defaults", "\"colour\""]),
        (r#"{"schema": "tcverify.manifest/1", "case": []}"#.to_owned(), &["case"]),
        ("[]".to_owned(), &["is not a manifest"]),
    } {
        folder.write("cases.json", &text);
        let before = folder.names();
        let run = folder.tcverify("batch cases.json --json r.json --resume s.json");
        run.refuses(&["cases.json"]).mentions(words);
        assert_eq!(folder.names(), before, "{text}");
    }
}

#[test]
fn folders_of_cases() {
    let folder = small();
    let case = folder.path("all/one");
    std::fs::create_dir_all(&case).unwrap();
    folder.passes("replay --arch h100 --dtype fp16 --acc f16 x.npy w.npy -o h.npy");
    for (from, to) in [("x", "a"), ("w", "b"), ("h", "d")] {
        let (from, to) = (format!("{from}.npy"), format!("{to}.npy"));
        std::fs::copy(folder.path(&from), case.join(to)).unwrap();
    }
    let about = |k: u64| {
        json!({"gpu": "H100", "arch": "hopper", "instruction": "mma", "a_dtype": "fp16", "b_dtype": "fp16",
               "d_dtype": "fp16", "k": k, "inputs": "low"})
    };
    let write = |about: Value| std::fs::write(case.join("case.json"), about.to_string()).unwrap();
    write(about(32));
    let report = folder.json("batch all --json -");
    let model = &report["cases"][0]["report"]["rule"]["model"]["arithmetic"];
    holds! {model, "accumulator = fp16", "what D is, the instruction returned"}

    write(about(31));
    let run = folder.fails("batch all");
    run.says("k is 31, but k is 32");
    let mut with_c = about(32);
    with_c["c_dtype"] = "fp16".into();
    write(with_c);
    let run = folder.fails("batch all");
    assert!(run.stdout.contains("c.npy"), "a C that was lost: {run:?}");
    let mut unknown = about(32);
    unknown["gpus"] = 8.into();
    write(unknown);
    let alone = folder.fails("batch all");
    alone.says("case.json: unknown field \"gpus\"");
    alone.mentions(&["1 of 1 cases could not be judged"]);
    // It has no verdict, and takes no other's.
    folder.create("all/zero");
    for name in ["a.npy", "b.npy", "d.npy"] {
        std::fs::copy(case.join(name), folder.path(&format!("all/zero/{name}"))).unwrap();
    }
    folder.write("all/zero/case.json", about(32).to_string());
    folder.write("all/index.json", r#"[{"case": "one"}, {"case": "zero"}]"#);
    let run = folder.fails("batch all --json - --html pages");
    let cases = run.json()["cases"].clone();
    let [first, second] = [0, 1].map(|i| (cases[i]["name"].clone(), cases[i]["verdict"].clone()));
    assert_eq!(first, ("zero".into(), "identical".into()));
    assert_eq!(second, ("one".into(), "unjudged".into()));
    let index = folder.text("pages/index.html");
    index.says("case-001.html");
    index.lacks("case-002.html");
    for other in
        words! {r#"{"arch": "h100", "arch": "h100"} | { | [] | {"arch": "h101"} | {"k": "32"}"#}
    {
        folder.write("all/one/case.json", other);
        let run = folder.fails("batch all --json -");
        assert_eq!(run.json()["totals"]["identical"], 1, "{other}: {run:?}");
        assert_eq!(run.json()["totals"]["unjudged"], 1, "{other}: {run:?}");
    }
    std::fs::remove_dir_all(folder.path("all/zero")).unwrap();
    folder.remove("all/index.json");

    // A number of rows, or words, describe the case; a span is the part that is compared.
    let mut rows = about(32);
    for described in [json!(4), json!("even of 53")] {
        rows["rows"] = described;
        write(rows.clone());
        let run = folder.passes("batch all --json -");
        assert_eq!(run.json()["cases"][0]["verdict"], "identical");
    }
    rows["rows"] = "0..2".into();
    write(rows);
    let run = folder.passes("batch all --json -");
    assert_eq!(run.json()["cases"][0]["verdict"], "identical_in_part");

    write(about(32));
    folder.write("all/index.json", r#"[{"case": "one"}, {"case": "two"}]"#);
    folder.tcverify("batch all").refuses(&["index.json", "two"]);
    folder.write("all/index.json", "[]");
    folder.tcverify("batch all").refuses(&["index.json", "one"]);
    // What multiplies nothing is passed over, but it was read.
    folder.create("all/two");
    folder.write("all/two/case.json", r#"{"instruction": "pacr"}"#);
    folder.write("all/index.json", r#"[{"case": "one"}, {"case": "two"}]"#);
    for name in ["all/index.json", "all/one/case.json", "all/two/case.json"] {
        let before = folder.read(name);
        claims! {folder, "batch all --json {name} | refused | {name}"}
        assert_eq!(folder.read(name), before);
    }
    folder.passes("batch all");
    folder.create("all/empty");
    folder.write(
        "all/index.json",
        r#"[{"case": "empty"}, {"case": "one"}, {"case": "two"}]"#,
    );
    let run = folder.fails("batch all");
    run.says("case.json: cannot be opened");
}

#[test]
fn the_report_does_not_depend_on_threads() {
    let folder = small();
    let case = |i: usize| json!({"name": format!("case {i}"), "sample": 1 + i % 32, "seed": i});
    manifest(&folder, usual(), (0..40).map(case).collect());
    let one = folder.passes("batch cases.json --json - --threads 1");
    let five = folder.passes("batch cases.json --json - --threads 5");
    assert_eq!(one.stdout, five.stdout);
    // The number of cases is said once, and what is not listed is counted.
    let text = folder.stdout("batch cases.json");
    assert_eq!(text.matches("40 cases").count(), 1, "{text}");
    text.says(" more cases (--verbose)");
    let plain = |i: usize| json!({"name": format!("case {i}")});
    manifest(&folder, usual(), (0..40).map(plain).collect());
    claims! {folder, "batch cases.json | 0 | --verbose lists all 40 cases | !more cases"}
}
