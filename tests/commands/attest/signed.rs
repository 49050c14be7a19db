//! What is signed of each verdict, and that it verifies.

use serde_json::{Value, json};

use super::{NAMES, PRODUCT, VERIFY, attested, folder, statement, verify};
use crate::support::{Folder, Members, Says, claims, holds, ran, sha256, table};

const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
const SVR: &str = "https://in-toto.io/attestation/svr/v0.2";

fn sha256_of(folder: &Folder, name: &str) -> String {
    sha256(folder.read(name))
}

#[test]
fn an_identical_d_passes() {
    let folder = folder();
    attested(&folder, "d.npy --json r.json").expect(0);
    let report: Value = folder.document("r.json");
    let of = |name: &str| json!({"sha256": sha256_of(&folder, name)});
    assert_eq!(
        statement(&folder),
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "d.npy", "digest": of("d.npy")}],
            "predicateType": TEST_RESULT,
            "predicate": {
                "result": "PASSED",
                "configuration": [
                    {"name": "report", "digest": of("r.json")},
                    {"name": "a", "digest": of("a.npy")},
                    {"name": "b", "digest": of("b.npy")},
                    {"name": "model", "digest": {"sha256": report["rule"]["model"]["sha256"]}},
                ],
                "passedTests": ["tcverify:identical"],
            },
        })
    );
    let envelope: Value = folder.document("att.json");
    assert_eq!(envelope["signatures"][0]["keyid"], NAMES[0]);
    assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
    let run = verify(&folder, "d.npy --type test-result --report r.json").expect(0);
    run.begins("ATTESTED  PASSED: tcverify:identical\n");
    run.says(&format!("signed by  {} (0.pub.pem)", NAMES[0]));
    // The same words, the same bytes; the report need not be written.
    let once = folder.read("att.json");
    attested(&folder, "d.npy").expect(0);
    assert_eq!(folder.read("att.json"), once);
    let model = report["rule"]["model"].string("sha256");
    verify(&folder, &format!("d.npy --model-sha256 {model}")).expect(0);
}

#[test]
fn what_is_less_is_not_called_passed() {
    let folder = folder();
    let mut model = folder.json("archs a100 --json");
    model["name"] = "mine".into();
    folder.write("mine.json", model.to_string());
    // Another order under a preset's name, captured by its own word.
    let mut order = folder.json("schedules --raw cutlass-sm80");
    order["evidence"] = "captured".into();
    for known in order["known_by"].as_object_mut().unwrap().values_mut() {
        known["evidence"] = "captured".into();
    }
    folder.write("order.json", order.to_string());
    let by_order = "--arch a100 --dtype fp16 --schedule-file order.json a.npy b.npy d.npy";
    claims! {folder, "replay --arch a100 --dtype fp16 --schedule plain --alpha 0 a.npy b.npy -o zeros.npy | 0"}
    let claimed = "--model mine.json --dtype fp16 a.npy b.npy d.npy";
    for (words, code, result, test) in table! {
        (format!("{PRODUCT} d.npy --rows 2..5"), 0, "WARNED", "tcverify:identical-in-part"),
        (format!("{PRODUCT} d.npy --sample 9 --seed 3"), 0, "WARNED", "tcverify:identical-in-part"),
        (claimed.to_owned(), 0, "WARNED", "tcverify:identical-by-claimed-model"),
        (by_order.to_owned(), 0, "WARNED", "tcverify:identical-by-claimed-model"),
        (format!("{PRODUCT} --alpha 0 zeros.npy"), 0, "WARNED", "tcverify:identical-without-products"),
        ("--arch auto --dtype fp16 a.npy b.npy d.npy".to_owned(), 0, "WARNED", "tcverify:identical-by-chosen-model"),
        (format!("{PRODUCT} bad.npy"), 1, "FAILED", "tcverify:different"),
    } {
        let words = format!("check {words} --quiet --attest att.json --attest-key 0.pem");
        folder.tcverify(&words).expect(code);
        let said = statement(&folder);
        let list = if result == "WARNED" {
            "warnedTests"
        } else {
            "failedTests"
        };
        holds! {said, r#"predicate.result = {result} | predicate.{list} = ["{test}"]"#, "{words}:"}
        assert!(said["predicate"].get("passedTests").is_none());
        let mut others = ["zeros.npy", "bad.npy"].into_iter();
        let d = others.find(|d| words.contains(d)).unwrap_or("d.npy");
        // One that failed is not accepted as a warning either.
        claims! {folder, "
            {VERIFY} {d} | 1 | &att.json: does not attest this | &{result} | &{test}
            {VERIFY} {d} --accept warned | {code}
        "}
    }
}

/// What a file says of its own evidence is repeated as its word, in every form, and its digest is signed.
#[test]
fn a_files_own_evidence_is_a_claim() {
    let folder = folder();
    let mut order = folder.json("schedules --raw cutlass-sm80");
    let own = order["spec"].clone();
    order["spec"]["tile_k"] = 16.into();
    assert_ne!(order["spec"], own);
    order["evidence"] = "captured".into();
    let known = order["known_by"].as_object_mut().unwrap();
    let mut one = known.values().next().unwrap().clone();
    one["evidence"] = "captured".into();
    known.insert("tile_k".into(), one);
    for known in known.values_mut() {
        known["evidence"] = "captured".into();
    }
    folder.write("order.json", order.to_string());
    let words = format!("{PRODUCT} --schedule-file order.json");
    folder.passes(&format!("replay {words} -o e.npy"));
    let forms = "--json r.json --markdown r.md --junit r.xml --html r.html";
    let run =
        ran! {folder, "check {words} e.npy --attest att.json --attest-key 0.pem {forms}"}.expect(0);
    let report: Value = folder.document("r.json");
    let schedule = &report["rule"]["schedule"];
    holds! {schedule, "evidence = claimed | file.path = order.json | file.says = captured"}
    let sha256 = schedule["file"].string("sha256");
    let constants = schedule.list("constants");
    assert!(!constants.is_empty());
    let claimed = constants.iter().all(|one| one["evidence"] == "claimed");
    assert!(claimed, "{constants:?}");
    let says = "claimed: from order.json, not the catalogue; the file itself says captured";
    let forms = ["r.md", "r.html", "r.xml"].map(|name| folder.text(name));
    for form in forms.iter().chain([&run.stdout]) {
        let plain = form.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(says), "{plain}");
    }
    assert!(forms.iter().all(|form| form.contains(sha256)));
    claims! {folder, "check {words} e.npy --brief | 0 | (claimed)"}
    let said = statement(&folder);
    assert_eq!(said["predicate"]["result"], "WARNED");
    let files = said["predicate"].list("configuration");
    let of = |name: &str| files.iter().find(|file| file["name"] == name).unwrap();
    assert_eq!(of("schedule file")["digest"]["sha256"], sha256);
    // As the commands show it that describe schedules.
    claims! {folder, "schedules --file order.json | 0 | !captured | claimed"}
    // A preset keeps its evidence.
    let words = words.replace("--schedule-file order.json", "--schedule cutlass-sm80");
    folder.passes(&format!("replay {words} -o p.npy"));
    let preset = folder.json(&format!("check {words} p.npy --json -"));
    assert_ne!(preset["rule"]["schedule"]["evidence"], "claimed");
}

/// A zero of the other sign, which somebody accepted.
#[test]
fn what_was_accepted_is_a_warning() {
    let folder = folder();
    folder.f16("x.npy", &[1, 1], &[0.0]);
    folder.f32("minus.npy", &[1, 1], &[-0.0]);
    claims! {folder, "check --arch a100 --dtype fp16 --zero any x.npy x.npy minus.npy -q --attest att.json --attest-key 0.pem
    | 0"}
    let tests = &statement(&folder)["predicate"]["warnedTests"];
    assert_eq!(*tests, json!(["tcverify:identical-but-for-accepted"]));
    verify(&folder, "minus.npy").expect(1);
}

#[test]
fn an_svr_lists_what_was_verified() {
    let folder = folder();
    let svr = "--attest-as svr --attest-time 2026-11-23T08:00:00Z";
    attested(&folder, &format!("d.npy {svr}")).expect(0);
    let said = statement(&folder);
    assert_eq!(said["predicateType"], SVR);
    let (predicate, version) = (&said["predicate"], env!("CARGO_PKG_VERSION"));
    holds! {predicate, "
        verifier.id = pkg:cargo/tcverify@{version} | verifier.policies = [] | timeCreated = 2026-11-23T08:00:00Z
        | properties.0 = TCVERIFY_IDENTICAL
    "}
    let model = predicate["properties"][1].as_str().unwrap();
    let model = model.strip_prefix("TCVERIFY_MODEL_").unwrap();
    let other = "0".repeat(64);
    claims! {folder, "
        each {VERIFY} d.npy ~
        --type svr --model-sha256 {model} | 0
        --model-sha256 {other} | 1 | &rests on a model other than
        --type test-result | 1 | &its kind is svr, not test-result
        --report a.npy | 1 | &names no report
    "}
    attested(&folder, &format!("d.npy --rows 2..5 {svr}")).expect(0);
    let said = statement(&folder);
    holds! {said, "predicate.properties.0 = TCVERIFY_IDENTICAL_IN_PART"}
    claims! {folder, "
        {VERIFY} d.npy | 1
        {VERIFY} d.npy --accept warned | 0
    "}
    // Of a D that differs there is nothing to list, and the file is as it was.
    let before = folder.read("att.json");
    let run = attested(&folder, &format!("bad.npy {svr}")).expect(1);
    run.mentions(&["no attestation was written"]);
    assert_eq!(folder.read("att.json"), before);
}

#[test]
fn a_digest_stands_for_its_payload() {
    let folder = folder();
    let report = folder.json(&format!("check {PRODUCT} d.npy --json - -q"));
    let payload = report["reproduced"].string("payload_sha256").to_owned();
    folder.stdout("digest d.npy").says(&payload);
    attested(&folder, &format!("--d-digest {payload}")).expect(0);
    assert_eq!(
        statement(&folder)["subject"],
        json!([{"name": "canonical payload of d", "digest": {"sha256": payload}}])
    );
    // The array's file is another one.
    verify(&folder, "d.npy").expect(1);
    folder.write("raw", folder.payload("d.npy"));
    verify(&folder, "raw").expect(0);
}

#[test]
fn no_verdict_is_not_signed() {
    let folder = folder();
    attested(&folder, "absent.npy").expect(2);
    assert!(!folder.path("att.json").exists());
    let case = |name: &str, d: &str| json!({"name": name, "d": d});
    let manifest = |cases: &[Value]| {
        json!({
            "schema": "tcverify.manifest/1",
            "defaults": {"arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy"},
            "cases": cases,
        })
        .to_string()
    };
    let batch = "batch cases.json --quiet --attest att.json --attest-key 0.pem";
    let none = [case("good", "d.npy"), case("none", "absent.npy")];
    folder.write("cases.json", manifest(&none));
    claims! {folder, "{batch} | 2"}
    assert!(!folder.path("att.json").exists());
    let bad = [case("good", "d.npy"), case("bad", "bad.npy")];
    folder.write("cases.json", manifest(&bad));
    claims! {folder, "{batch} --json b.json --resume state | 1"}
    let said = statement(&folder);
    holds! {said, "subject.1.name = bad.npy | predicate.result = FAILED"}
    holds! {said, r#"predicate.passedTests = ["good"] | predicate.failedTests = ["bad"]"#}
    // Each of its files is attested by a result of all of them.
    verify(&folder, "d.npy").expect(1).mentions(&["FAILED"]);
    // Under a policy nothing is written beside the cases.
    folder.create("pushed");
    for name in ["a.npy", "b.npy", "d.npy"] {
        folder.write(&format!("pushed/{name}"), folder.read(name));
    }
    folder.write("pushed/cases.json", manifest(&[case("good", "d.npy")]));
    let strict = |more: &str| {
        let words = "batch pushed/cases.json --policy strict --quiet --json b.json --attest att.json --attest-key 0.pem";
        folder.passes(&format!("{words} {more}"));
        statement(&folder)
    };
    let said = strict("");
    let names = said["predicate"].list("configuration");
    let names: Vec<_> = names.iter().map(|of| of.string("name")).collect();
    assert_eq!(names, ["report", "policy strict"]);
    verify(&folder, "d.npy --report b.json").expect(0);
    let said = strict("--attest-as svr --attest-time 2026-11-23T08:00:00Z");
    assert_eq!(said["predicate"]["properties"][0], "TCVERIFY_IDENTICAL");
    let policies = &said["predicate"]["verifier"]["policies"];
    assert_eq!(policies[0]["name"], "policy strict");
}

#[test]
fn merged_parts_are_attested_as_the_whole() {
    let folder = folder();
    let plan = format!("shard plan -n 2 --block-rows 4 {PRODUCT} d.npy -o plan.json");
    folder.passes(&plan);
    for part in 0..2 {
        claims! {folder, "shard run plan.json {part} -o {part}.json | 0"}
    }
    claims! {folder, "shard merge plan.json 0.json 1.json -q -o merged.json --attest att.json --attest-key 0.pem | 0"}
    let report: Value = folder.document("merged.json");
    // What was believed is not called passed.
    let result = match report.string("verdict") {
        "identical" => "PASSED",
        _ => "WARNED",
    };
    assert_eq!(statement(&folder)["predicate"]["result"], result);
    verify(&folder, "d.npy --report merged.json --accept warned").expect(0);
}

#[test]
fn an_audit_is_about_the_commitment() {
    let folder = folder();
    let verify =
        "audit verify --arch a100 --dtype fp16 --commitment c.json o.bin --own-challenge ch.json";
    claims! {folder, "
        commit {PRODUCT} d.npy -o c.json -q | 0
        audit challenge c.json --beacon 1 --elements 9 -o ch.json | 0
        audit open {PRODUCT} d.npy --commitment c.json --challenge ch.json -o o.bin -q | 0
        {verify} -q --json audit.json --attest att.json --attest-key 0.pem | 0
    "}
    claims! {folder, "
        {VERIFY} c.json --report audit.json --accept warned | 0
        {VERIFY} c.json | 1 | &WARNED | &in-part
        {VERIFY} d.npy --accept warned | 1 | &d.npy: its subjects include no file
    "}
}

#[test]
fn a_fleet_is_attested_by_its_results() {
    let folder = Folder::new();
    super::keys(&folder);
    folder.passes("screen make --arch v100 -o suite.json -q");
    let attest = "-q --json fleet.json --attest att.json --attest-key 0.pem";
    claims! {folder, "
        screen run suite.json --device simulated --host good -o good.json -q | 0
        screen run suite.json --device simulated --host bad --inject adder:bit=9 -o bad.json -q | 1
        screen judge --suite suite.json good.json {attest} | 0
        {VERIFY} good.json --report fleet.json | 0
    "}
    holds! {statement(&folder), r#"predicate.passedTests = ["good/0"]"#}
    claims! {folder, "screen judge --suite suite.json good.json bad.json {attest} | 1"}
    holds! {statement(&folder), r#"predicate.failedTests = ["bad/0"]"#}
    verify(&folder, "good.json").expect(1);
}

#[test]
fn an_operation_is_attested() {
    let folder = crate::operations::copied();
    super::keys(&folder);
    for (y, code) in [("f_hf", 0), ("f_vllm", 1)] {
        let attest = "-q --json r.json --attest att.json --attest-key 0.pem";
        claims! {folder, "
            check --op rms_norm --eps 1e-6 f_x.npy f_w.npy {y}.npy {attest} | {code}
            {VERIFY} {y}.npy --report r.json | {code}
        "}
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let folder = folder();
    let both = "--attest att.json --attest-key 0.pem";
    claims! {folder, "
        each check {PRODUCT} d.npy -q ~
        --attest att.json | 2 | --attest-key
        --attest-key 0.pem | 2 | --attest
        {both} --attest-as svr | refused | --attest-time
        {both} --attest-time 2026-11-23T08:00:00Z | refused | --attest-as svr
        {both} --attest-as svr --attest-time 2026-11-23 | 2
        {both} --attest-as svr --attest-time 2026-02-30T00:00:00Z | 2
        {both} --attest-as svr --attest-time 2026-11-23T08:00:00+01:00 | 2
        {both} --attest-as svr --attest-time now | 2
        --attest - --attest-key 0.pem | refused | --attest needs a file
        --attest att.json --attest-key 0.pub.pem | refused | 0.pub.pem | openssl genpkey
        --attest 0.pem --attest-key 0.pem | refused | 0.pem | the key
        --attest d.npy --attest-key 0.pem | refused | d.npy | would overwrite
        --json x --attest x --attest-key 0.pem | refused | cannot go to the same place
    "}
    assert!(!folder.path("att.json").exists());
}

/// An activation may have made the result: whoever reads only the statement sees it.
#[test]
fn a_statement_says_what_the_result_is_made_of() {
    let folder = folder();
    let words = "--activation relu --d-dtype fp16";
    claims! {folder, "replay {PRODUCT} {words} -o e.npy | 0"}
    for kind in ["", "--attest-as svr --attest-time 2026-11-23T08:00:00Z"] {
        attested(&folder, &format!("e.npy {words} {kind}")).expect(0);
        let terms = &statement(&folder)["subject"][0]["annotations"]["terms"];
        assert_eq!(*terms, json!(["activation relu", "D fp16"]));
        let run = verify(&folder, "e.npy").expect(0);
        let signed = "(signed as e.npy (activation relu, D fp16))";
        assert!(run.stdout.contains(signed), "{run:?}");
    }
    attested(&folder, "d.npy").expect(0);
    let subject = &statement(&folder)["subject"][0];
    assert!(subject.get("annotations").is_none(), "{subject}");
}
