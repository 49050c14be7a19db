//! Honest reports are confirmed; what is none has no answer.

use std::path::PathBuf;
use std::process::Command;

use super::{HONEST, folder, read};
use crate::support::{Folder, claims, listed, ran, table};

#[test]
fn true_reports_are_confirmed() {
    let folder = folder();
    for name in listed(HONEST) {
        assert!(
            ran! {folder, "verify-report {name}.json"}
                .expect(0)
                .stdout
                .starts_with("CONFIRMED"),
            "{name}"
        );
    }
    for name in ["same", "other"] {
        let quiet = folder.passes(&format!("verify-report {name}.json --quiet"));
        assert_eq!(quiet.stdout, "");
        // As other programs write JSON.
        let compact = serde_json::to_string(&read(&folder, name)).unwrap();
        folder.write("compact.json", compact);
        folder.passes("verify-report compact.json");
    }
    let elsewhere = Folder::new();
    let root = folder.path("");
    folder.passes("check --arch a100 --dtype fp16 a.npy b.npy d.npy --json relative.json -q");
    elsewhere.write("same.json", folder.read("relative.json"));
    claims! {elsewhere, "verify-report same.json | 2 | a.npy"}
    elsewhere.passes(&format!(
        "verify-report same.json --root {}",
        root.display()
    ));
}

#[test]
fn what_is_no_report_has_no_answer() {
    let folder = folder();
    let same = folder.text("same.json");
    let twice = same.replacen("\"verdict\"", "\"verdict\": \"different\", \"verdict\"", 1);
    let inner = same.replacen("\"arch\"", "\"arch\": \"h100\", \"arch\"", 1);
    for (text, word) in [
        ("", "empty"),
        ("[]", "schema"),
        ("{}", "schema"),
        ("{\"schema\": \"tcverify.batch/1\"}", "batch"),
        ("\u{1b}[2J", "report"),
        (twice.as_str(), "verdict"),
        (inner.as_str(), "twice"),
    ] {
        folder.write("no.json", text);
        claims! {folder, "verify-report no.json | refused | no.json | {word}"}
    }
    folder.write("no.json", [0xff, 0xfe]);
    claims! {folder, "
        verify-report no.json | refused | no.json
        verify-report absent.json | refused | absent.json
    "}
    // A file that was changed since is not what the report is of.
    folder.copy("other.npy", "d.npy");
    claims! {folder, "verify-report same.json | 1 | `inputs.d.file_sha256`"}
    // One that is gone is no difference.
    folder.remove("d.npy");
    claims! {folder, "verify-report same.json | refused | d.npy"}
}

/// Scripts without what they need have no answer; nothing looks like "different".
#[test]
fn scripts_that_lack_something_say_so() {
    let folder = folder();
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts");
    // Modules of these names that cannot be imported.
    for module in ["numpy", "distributed"] {
        folder.write(&format!("{module}.py"), "raise ImportError('not here')\n");
    }
    for (script, arguments, module) in table! {
        ("distribute_dask.py", vec!["plan.json", "-o", "r.json", "--parts", "p"], "dask"),
        ("capture/capture_torch.py", vec!["gemm", "--dtype", "bf16", "-o", "x.npy"], "NumPy"),
    } {
        let mut command = folder.shell("python3");
        command
            .env("PYTHONPATH", folder.path(""))
            .arg(scripts.join(script));
        if Command::new("python3").arg("--version").output().is_err() {
            println!("SKIPPED: no python3 was found");
            return;
        }
        folder
            .run(command.args(arguments))
            .expect(2)
            .mentions(&["not here", module]);
    }
}
