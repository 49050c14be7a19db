//! What the author of cases may say, where that is not whoever judges them: each way around a strict gate.

use serde_json::{Value, json};

use super::products::{flip, manifest, small, usual};
use crate::support::{Folder, Run, Says, claims, ran, table, words};

/// Cases in `pushed/`, everything else beside it.
fn pushed() -> Folder {
    let folder = small();
    flip(&folder, "d.npy", "bad.npy", 5);
    folder.create("pushed");
    for name in folder.names().iter().filter(|name| name.ends_with(".npy")) {
        folder.copy(name, &format!("pushed/{name}"));
    }
    folder
}

/// What the cases are, in `pushed/`.
fn write(folder: &Folder, cases: Value) {
    manifest(folder, usual(), cases);
    folder.rename("cases.json", "pushed/cases.json");
}

fn batch(folder: &Folder, policy: &str) -> Run {
    ran! {folder, "batch pushed/cases.json --policy {policy} --json -"}
}

/// Writes a policy that says this beyond its schema.
fn policy(folder: &Folder, mut says: Value) {
    says["schema"] = "tcverify.policy/1".into();
    folder.write("policy.json", says.to_string());
}

#[test]
fn a_strict_gate_judges_as_before() {
    let folder = pushed();
    let good = json!({"name": "good"});
    write(
        &folder,
        json!([good, {"name": "as", "schedule": "plain", "max_mismatches": 5}]),
    );
    claims! {folder, "batch pushed/cases.json --policy strict --json - | 0 | :policy.name = strict"}
    write(&folder, json!([good, {"name": "bad", "d": "bad.npy"}]));
    let report = batch(&folder, "strict").expect(1).json();
    let without = folder.differing("batch pushed/cases.json --json -");
    assert_eq!(report["cases"], without["cases"]);
    assert_eq!(without.get("policy"), None);
}

/// Whatever would make a wrong D pass, and whatever leads elsewhere: refused by the strict policy, and let
/// through by the one word that allows it.
#[test]
fn each_way_to_weaken_a_check_is_refused() {
    let folder = pushed();
    let hopper = folder.stdout("archs h100 --json");
    folder.write("pushed/model.json", hopper);
    let plain = include_str!("../../../src/emu/schedule/presets/plain.json");
    folder.write("pushed/schedule.json", plain);
    let models = |says: Value| json!({"models": says});
    let schedules = |says: Value| json!({"schedules": says});
    for (says, field, allowing) in table! {
        (json!({"rows": "0"}), "rows", json!({"scope": "part"})),
        (json!({"cols": "2..3"}), "cols", json!({"scope": "part"})),
        (json!({"region": "0..1,0..1"}), "rows", json!({"scope": "part"})),
        (json!({"sample": 1, "seed": 1}), "sample", json!({"scope": "part"})),
        (json!({"nan": "any"}), "nan", json!({"nan": "any"})),
        (json!({"zero": "any"}), "zero", json!({"zero": "any"})),
        (json!({"arch": null, "model": "model.json"}), "model", models(json!({"files": true}))),
        (json!({"schedule_file": "schedule.json"}), "schedule_file", schedules(json!({"files": true}))),
        (json!({"alpha": 1}), "alpha", schedules(json!({"factors": true}))),
        (json!({"max_mismatches": 1001}), "max_mismatches", json!({"limits": {"mismatches": 1001}})),
        (json!({"a": "../x.npy"}), "a", json!({"paths": {"outside": true}})),
    } {
        let mut case = says.clone();
        case["name"] = "it".into();
        write(&folder, json!([{"name": "good"}, case]));
        let run = batch(&folder, "strict");
        run.refuses(&["case 2 (it)", &format!("`{field}`"), "policy"]);
        policy(&folder, allowing);
        batch(&folder, "policy.json").expect(0);
    }
}

/// A bias that swamps the product and a ReLU make every D of zeros right.
#[test]
fn zeros_do_not_pass_the_strict_gate() {
    let folder = pushed();
    folder.f32("pushed/bias.npy", &[8], &[-3e38; 8]);
    folder.f32("pushed/zeros.npy", &[8, 8], &[0.0; 64]);
    let zeros = json!({"name": "it", "arch": "h100", "dtype": "fp16", "schedule": "cutlass-sm90", "bias": "bias.npy",
                       "activation": "relu", "a": "generate:1:normal:8x16", "b": "generate:2:normal:16x8",
                       "d": "zeros.npy"});
    write(&folder, json!([zeros]));
    batch(&folder, "strict").refuses(&["`activation`", "schedules.activations", "policy"]);
    // Whoever allows it reads what was done.
    policy(&folder, json!({"schedules": {"activations": true}}));
    claims! {folder, "batch pushed/cases.json --policy policy.json --json - | 0 | with the bias, activation relu"}
    claims! {folder, "batch pushed/cases.json --brief | 0 | with the bias, activation relu"}
}

#[test]
fn what_a_policy_narrows() {
    let folder = pushed();
    let product =
        json!({"name": "it", "a": "generate:1:normal:8x16", "b": "generate:2:normal:16x8"});
    for (narrowed, case, words) in table! {
        (json!({"models": {"architectures": ["a100"]}}), json!({"name": "it"}), ["arch", "a100"]),
        (json!({"models": {"evidence": "captured"}}), json!({"name": "it", "arch": "t4"}), ["evidence", ""]),
        (json!({"schedules": {"names": ["plain"]}}), json!({"name": "it", "schedule": "cutlass-sm80"}),
            ["schedule", "plain"]),
        (json!({"schedules": {"changes": false}}), json!({"name": "it", "schedule": "cutlass-sm80", "tile_k": 32}),
            ["schedule", "catalogue"]),
        (json!({"paths": {"generated": false}}), product.clone(), ["`a`", "only from files"]),
        (json!({"limits": {"cases": 0}}), json!({"name": "it"}), ["1 case;", "allows 0"]),
        (json!({"limits": {"products": 10}}), json!({"name": "it"}), ["10 multiply-adds", ""]),
        (json!({"limits": {"seconds": 0}}), json!({"name": "it"}), ["time limit", ""]),
        (json!({"limits": {"memory": 100}}), product.clone(), ["memory", ""]),
    } {
        write(&folder, json!([case]));
        // Not because the case could not be judged anyway.
        policy(&folder, json!({}));
        let free = batch(&folder, "policy.json");
        policy(&folder, narrowed.clone());
        let run = batch(&folder, "policy.json").expect(2);
        let says = |run: &Run, word: &str| run.stdout.contains(word) || run.stderr.contains(word);
        for word in words {
            assert!(says(&run, word), "{word}: {run:#?}");
            let anyway = word.len() > 5 && says(&free, word) && free.code != Some(0);
            assert!(!anyway, "{word}: {free:#?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_followed_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let folder = pushed();
    folder.write("secret.json", r#"{"password": "hunter2"}"#);
    let link = |to: &str, name: &str| {
        symlink(folder.path(to), folder.path(&format!("pushed/{name}"))).unwrap()
    };
    link("x.npy", "link.npy");
    link("x.npy", "link.npz");
    link("", "up");
    for path in ["link.npy", "link.npz#x", "up/x.npy", "up/pushed/x.npy"] {
        write(&folder, json!([{"name": "it", "a": path}]));
        batch(&folder, "strict").refuses(&["`a`", "is a link", "policy"]);
    }
    for path in words! {"../x.npy | /dev/zero | /dev/stdin | sub/../../x.npy | x.npz#/../../x.npy"}
    {
        write(&folder, json!([{"name": "it", "a": path}]));
        batch(&folder, "strict").refuses(&["`a`", "leads out", "policy"]);
    }
    // Standard input is nobody's file.
    folder.copy("pushed/x.npy", "-");
    manifest(&folder, usual(), json!([{"name": "it", "a": "-"}]));
    claims! {folder, "batch cases.json --policy strict | refused | `a` | leads out"}
    // A manifest that is a link says nothing of what it leads to.
    folder.remove("pushed/cases.json");
    link("secret.json", "cases.json");
    let run = batch(&folder, "strict").refuses(&["cases.json", "is a link"]);
    run.stderr.lacks("password");
    run.stderr.lacks("line");
    claims! {folder, "batch pushed/cases.json | 2 | password"}
}

/// A case that leaves its formats to its files has none of them opened that it may not name.
#[cfg(unix)]
#[test]
fn formats_are_looked_up_in_files_that_are_allowed() {
    let folder = pushed();
    let case = |a: &str| json!([{"name": "it", "dtype": null, "a": a}]);
    write(&folder, case("x.npy"));
    batch(&folder, "strict").expect(0);
    std::os::unix::fs::symlink(folder.path("x.npy"), folder.path("pushed/link.npy")).unwrap();
    for path in words! {"../x.npy | /etc/passwd | ../absent.npy | /dev/stdin | link.npy"} {
        let word = if path == "link.npy" {
            "is a link"
        } else {
            "leads out"
        };
        write(&folder, case(path));
        claims! {folder, "batch pushed/cases.json --policy strict --json - | refused | `a` | {word} | policy
        | !NUMPY | !opened"}
    }
    policy(&folder, json!({"paths": {"outside": true}}));
    write(&folder, case("../x.npy"));
    batch(&folder, "policy.json").expect(0);
}

/// A few lines and a file of many names make no more cases than there may be.
#[test]
fn cases_are_counted_before_they_are_made() {
    let folder = pushed();
    super::patterns::pack(&folder, "k.y | q.y | v.y");
    folder.rename("dump.safetensors", "pushed/dump.safetensors");
    let cases = |n: usize| -> Value {
        let case = |i| json!({"name": format!("{i} *"), "d": "dump.safetensors#*.y"});
        (0..n).map(case).collect()
    };
    policy(&folder, json!({"limits": {"cases": 4}}));
    write(&folder, cases(1));
    batch(&folder, "policy.json").expect(0);
    write(&folder, cases(2));
    batch(&folder, "policy.json")
        .refuses(&words! {"case 2 (1 *) | brings the total to 6 cases | allows 4"});
    batch(&folder, "strict").expect(0);
}

/// What was judged under another policy, or under none, says nothing under this one.
#[test]
fn a_state_of_another_policy_is_not_believed() {
    let folder = pushed();
    let lost = "--schedule cublas-nvjet-dropped-remainder --split-k 9";
    let (a, b) = ("generate:1:normal:32x8648", "generate:2:normal:8648x32");
    claims! {folder, "replay --arch h100 --dtype bf16 {lost} {a} {b} -o pushed/lost.npy | 0"}
    let case = json!({"name": "it", "dtype": "bf16", "a": a, "b": b, "d": "lost.npy",
        "schedule": "cublas-nvjet-dropped-remainder", "split_k": 9});
    write(&folder, json!([case]));
    let run = |policy: &str| {
        ran! {folder, "batch pushed/cases.json {policy} --resume state.json"}
    };
    run("").expect(0);
    let strict = run("--policy strict").expect(2);
    strict.says("every product in D");
    policy(&folder, json!({"schedules": {"omissions": true}}));
    run("--policy policy.json").expect(0);
    run("--policy strict").expect(2);
    run("--policy policy.json").expect(0);
}

#[cfg(unix)]
#[test]
fn nor_from_folders_of_cases() {
    use std::os::unix::fs::symlink;
    let folder = pushed();
    let case = json!({"arch": "h100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "d.npy"});
    let one = |name: &str| {
        let at = folder.path(name);
        std::fs::create_dir_all(&at).unwrap();
        for (from, to) in [("x.npy", "a.npy"), ("w.npy", "b.npy"), ("d.npy", "d.npy")] {
            std::fs::copy(folder.path(from), at.join(to)).unwrap();
        }
        std::fs::write(at.join("case.json"), case.to_string()).unwrap();
    };
    one("captures/one");
    one("elsewhere");
    let run = || folder.tcverify("batch captures --policy strict");
    run().expect(0);
    symlink(folder.path("elsewhere"), folder.path("captures/two")).unwrap();
    run().refuses(&["captures/two", "is a link"]);
    folder.remove("captures/two");
    for file in ["case.json", "a.npy", "../index.json"] {
        let at = folder.path("captures/one").join(file);
        let kept = std::fs::read(&at).ok();
        let _ = std::fs::remove_file(&at);
        symlink(folder.path("elsewhere/case.json"), &at).unwrap();
        run().refuses(&["is a link"]);
        std::fs::remove_file(&at).unwrap();
        if let Some(kept) = kept {
            std::fs::write(&at, kept).unwrap();
        }
    }
    run().expect(0);
    // Scales that nobody named are looked for, too.
    symlink("/etc/passwd", folder.path("captures/one/sa.npy")).unwrap();
    let run = run().expect(2);
    run.says("`scale_a`");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_into_the_folder() {
    let folder = pushed();
    write(&folder, json!([{"name": "it"}]));
    // A state that came with the cases, and a place that leads elsewhere.
    folder.create("out");
    std::os::unix::fs::symlink(folder.path("out"), folder.path("pushed/out")).unwrap();
    for more in
        words! {"--resume pushed/state.json | --junit pushed/out/x.xml | --markdown pushed/x.md"}
    {
        let run = folder.tcverify(&format!("batch pushed/cases.json --policy strict {more}"));
        let run = run.expect(2);
        let written = std::fs::read_dir(folder.path("out")).unwrap().count();
        assert_eq!(written, 0);
        if !more.contains("out/") {
            run.refuses(&["the folder of the cases", "(`outputs: outside`)"]);
        }
        policy(&folder, json!({"outputs": "anywhere"}));
        claims! {folder, "batch pushed/cases.json --policy policy.json {more} | 0"}
        let _ = std::fs::remove_dir_all(folder.path("out"));
        folder.create("out");
    }
    folder.passes("batch pushed/cases.json --policy strict --resume state.json");
    // A path through the folder that ends elsewhere does not lie in it.
    for there in ["pushed/../r.json", "out/../r.json"] {
        claims! {folder, "batch pushed/cases.json --policy strict --json {there} | 0"}
        assert!(!folder.read("r.json").is_empty());
        folder.remove("r.json");
    }
    claims! {folder, "batch pushed/cases.json --policy strict --json pushed/../pushed/r.json | refused
    | (`outputs: outside`)"}
    // Nor does whoever writes the cases write the policy.
    folder.copy("policy.json", "pushed/policy.json");
    batch(&folder, "pushed/policy.json").refuses(&["is in the folder of the cases"]);
    let run = folder.tcverify("batch pushed/cases.json --policy policy.json --json policy.json");
    run.refuses(&["would overwrite the policy"]);
}

#[test]
fn a_policy_that_says_nonsense_is_refused() {
    let folder = pushed();
    write(&folder, json!([{"name": "it"}]));
    for (text, word) in table! {
        (r#"{"schema": "tcverify.policy/1", "scop": "part"}"#, "scop"),
        (r#"{"schema": "tcverify.policy/1", "scope": "all"}"#, "whole"),
        (r#"{"schema": "tcverify.policy/1", "nan": null}"#, "expected"),
        (r#"{"schema": "tcverify.policy/1", "nan": "any", "nan": "exact"}"#, "duplicate"),
        (r#"{"schema": "tcverify.policy/2"}"#, "schema"),
        (r#"{"schema": "tcverify.policy/1", "models": [true, null, null]}"#, "list"),
        (r#"{"schema": "tcverify.policy/1", "models": {"architectures": ["h101"]}}"#, "h101"),
        (r#"{"schema": "tcverify.policy/1", "schedules": {"names": ["none"]}}"#, "none"),
        (r#"{"schema": "tcverify.policy/1", "limits": {"seconds": -1}}"#, "-1"),
        ("[]", "is not a policy"),
        ("", "EOF"),
    } {
        folder.write("policy.json", text);
        batch(&folder, "policy.json").refuses(&["policy.json", word]);
    }
    batch(&folder, "absent.json").refuses(&["absent.json"]);
    // A file of that name is asked for by a path.
    let none = r#"{"schema": "tcverify.policy/1", "limits": {"cases": 0}}"#;
    folder.write("strict", none);
    batch(&folder, "strict").expect(0);
    batch(&folder, "./strict").expect(2);
}

/// The page says what strict is.
#[test]
fn the_strict_policy_is_what_the_page_says() {
    let page = include_str!("../../../docs/policy.md");
    let start = page.find("```json\n").unwrap() + 8;
    let end = start + page[start..].find("```").unwrap();
    let said: Value = serde_json::from_str(&page[start..end]).unwrap();
    let strict = serde_json::to_value(tcverify::policy::AdmissionPolicy::default()).unwrap();
    assert_eq!(said, strict);
}

/// A D that lacks products is right by the schedule of a defective kernel.
#[test]
fn products_are_not_left_out() {
    let folder = pushed();
    let product = "generate:1:normal:32x8648 generate:2:normal:8648x32";
    let lost = "--schedule cublas-nvjet-dropped-remainder --split-k 9";
    claims! {folder, "replay --arch h100 --dtype bf16 {lost} {product} -o pushed/lost.npy | 0"}
    let case = json!({"name": "it", "dtype": "bf16", "a": "generate:1:normal:32x8648",
        "b": "generate:2:normal:8648x32", "d": "lost.npy", "schedule": "cublas-nvjet-dropped-remainder", "split_k": 9});
    write(&folder, json!([case]));
    let run = batch(&folder, "strict").expect(2);
    run.says("every product in D");
    policy(&folder, json!({"schedules": {"omissions": true}}));
    batch(&folder, "policy.json").expect(0);
}

/// A file that calls itself well known is not.
#[test]
fn the_evidence_of_a_file_is_claimed() {
    let folder = pushed();
    let hopper = folder.stdout("archs h100 --json");
    folder.write("pushed/model.json", hopper);
    let case = json!({"name": "it", "arch": null, "model": "model.json"});
    write(&folder, json!([case]));
    policy(&folder, json!({"models": {"files": true}}));
    batch(&folder, "policy.json").expect(0);
    let inferred = json!({"models": {"files": true, "evidence": "inferred"}});
    policy(&folder, inferred);
    let run = batch(&folder, "policy.json").expect(2);
    run.says("evidence inferred or better; this one is claimed");
}
