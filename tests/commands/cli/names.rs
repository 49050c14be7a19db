//! Names of GPUs and formats that people use, and `--arch auto`.

use serde_json::Value;

use crate::support::{Folder, Members, Says, claims, ran, table, words};

const REPLAY: &str =
    "replay --arch ampere --dtype fp16 generate:1:normal:24x40 generate:2:normal:40x16 -o d.npy";
const OPERANDS: &str = "--dtype fp16 generate:1:normal:24x40 generate:2:normal:40x16";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.passes(REPLAY);
    folder
}

#[test]
fn suggestions_are_of_the_same_kind() {
    let folder = folder();
    claims! {folder, r#"
        each check --arch ~ {OPERANDS} d.npy | refused
        hoper | did you mean "hopper"?
        mi250xx | give a GPU's target instead: sm_90
        MI355X
            | "MI355X" is AMD CDNA 4 (gfx950), which is not modelled: nobody has measured it
            | tcverify infer
        gb300 | is NVIDIA Blackwell Ultra (sm_103), which is not modelled | pull request 2768
        10.3 | is NVIDIA Blackwell Ultra (sm_103), which is not modelled
        nvidia-rubin | is NVIDIA Rubin, which is not modelled
        tpu-v5e | is Google TPU, which is not modelled
        intel-arc-b580 | is Intel XMX (Arc, Data Center GPU Max), which is not modelled
        gaudi3 | is Intel Gaudi, which is not modelled
        ascend-910b | is Huawei Ascend, which is not modelled
        trn2 | is AWS Trainium and Inferentia, which is not modelled
    "#}
    // Nothing is near: another GPU is no slip of the keys.
    for name in ["t5", "sm_33", "mi999x", "11.1"] {
        let run = folder.tcverify(&format!("check --arch {name} {OPERANDS} d.npy"));
        let run = run.expect(2);
        assert!(
            !run.stderr.contains("did you mean"),
            "{name}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_family_of_formats_says_which() {
    let tip = |words: &str| Folder::new().stderr(words);
    let fp8 = tip("check --arch h100 --dtype fp8 a b d");
    fp8.says("tip: fp8 is ambiguous: e4m3 or e5m2");
    fp8.lacks("fp64'");
    let fp6 = tip("check --arch b200 --dtype FP6 a b d");
    fp6.says("tip: FP6 is ambiguous: e3m2 or e2m3");
    let slip = tip("check --arch h100 --dtype fp17 a b d");
    slip.says("'fp16'");
    let none = tip("check --arch h100 --dtype nonsense a b d");
    none.lacks("tip:");
    none.says("possible values: fp16");
}

#[test]
fn without_d_its_digest_is_offered() {
    let words = ["D.npy is missing", "--d-digest"];
    let folder = folder();
    ran! {folder, "check --arch h100 {OPERANDS}"}.refuses(&words);
}

/// What the report says of how its model came about, in every form.
#[test]
fn auto_asks_identify_and_says_so() {
    let folder = folder();
    let check = format!("check --arch auto {OPERANDS} d.npy");
    let text = folder.stdout(&format!(
        "{check} --json r.json --junit r.xml --markdown r.md --html r.html --github"
    ));
    text.begins("IDENTICAL, model chosen to fit D  ");
    let said = "no unit was named (--arch auto): &#39;identify&#39; tested";
    for (form, said) in [
        ("r.xml", "no unit was named (--arch auto)"),
        ("r.md", "model chosen to fit D"),
        ("r.html", said),
        ("r.html", "Identical, model chosen to fit D"),
    ] {
        let form = folder.text(form);
        assert!(form.contains(said), "{form}");
    }
    text.says("::notice title=tcverify%3A identical%2C model chosen to fit d");
    let report: Value = folder.document("r.json");
    // Of three that compute alike, the one that is known best.
    assert_eq!(report["rule"]["model"]["architecture"], "ampere");
    let fits = report["rule"]["chosen"].list("fits");
    for name in words! {"turing mma -> fp32 | ampere mma -> fp32 | ada mma -> fp32"} {
        assert!(fits.contains(&name.into()), "{report:#}");
    }
    assert!(report["rule"]["chosen"].number("tested") > fits.len() as u64);
    // The command that is repeated names it, and says nothing of a choice.
    let again = report.string("command");
    let again = folder.passes(again.strip_prefix("tcverify ").unwrap());
    again.lacks("chosen");
    again.lacks("auto");
}

#[test]
#[ignore = "long"]
fn auto_gives_no_verdict_where_nothing_fits() {
    let folder = Folder::new();
    let d: Vec<f32> = (0..24 * 16).map(|i| i as f32).collect();
    folder.f32("d.npy", &[24, 16], &d);
    let check = format!("check --arch auto {OPERANDS} d.npy --json r.json");
    let run = folder.differs(&check);
    run.stderr.begins("different: none of the ");
    assert_eq!(
        (run.stdout.as_str(), folder.names()),
        ("", vec!["d.npy".to_owned()])
    );
}

#[test]
fn auto_is_refused_where_it_cannot_ask() {
    let folder = folder();
    folder.f16("a.npy", &[1, 1], &[1.0]);
    for (words, said) in table! {
        (format!("check --arch auto {OPERANDS} d.npy --acc f16"), "leave them out"),
        (format!("check --arch auto {OPERANDS} d.npy --instruction mma"), "leave them out"),
        (format!("check --arch auto {OPERANDS} d.npy --schedule plain --tile-k 8"), "leave them out"),
        (format!("check --arch auto {OPERANDS} --d-digest {}", "0".repeat(64)), "needs the D tensor, not a digest"),
        ("check --arch auto --dtype fp16 - a.npy a.npy".to_owned(), "standard input can be read only once"),
        (format!("replay --arch auto {OPERANDS} -o x.npy"), "only 'tcverify check'"),
        (format!("explain --arch auto {OPERANDS} --at 0,0"), "only 'tcverify check'"),
    } {
        folder.tcverify(&words).refuses(&[said]);
    }
}
