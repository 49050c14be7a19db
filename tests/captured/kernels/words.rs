//! Captured splits through the words that a user types: the configuration that the library took, as a text,
//! on the command line and in a manifest.

use rayon::prelude::*;
use serde_json::{Value, json};

use super::vectors::{Output, outputs, splits};
use crate::support::{Folder, say};

#[test]
fn splits_are_confirmed_from_their_configurations() {
    let Some(outputs) = outputs() else { return };
    let folder = Folder::new();
    let splits: Vec<&Output> = splits(&outputs).collect();
    let confirmed = splits.par_iter().filter(|output| {
        let words = output.words(&output.configuration());
        let run = folder.tcverify(&format!(
            "check --arch rtx4060 --no-ambiguity --no-causes {words}"
        ));
        assert_eq!(run.code, Some(0), "{words}\n{}{}", run.stdout, run.stderr);
        run.stdout.starts_with("IDENTICAL ")
    });
    let confirmed = confirmed.count();
    say(format_args!(
        "kernel-vectors in words: {confirmed} splits identical by --kernel"
    ));
    assert_eq!(confirmed, 476);
}

/// Other words for a split.
type Change<'a> = &'a dyn Fn(&Output) -> String;

/// One word of the configuration changed, and how many splits it then gets wrong; whether K has one tile, or
/// D is too short to tell, decides the rest.
#[test]
fn other_words_are_other_products() {
    let Some(outputs) = outputs() else { return };
    let slices = |output: &Output, splits: usize| {
        let own = format!("splitK={},", output.slices());
        let other = format!("splitK={splits},");
        output.configuration().replace(&own, &other)
    };
    // With more slices than k there is no kernel.
    let more = |output: &Output| slices(output, (output.slices() + 1).min(output.k()));
    let fewer = |output: &Output| slices(output, output.slices() - 1);
    let order = |output: &Output| {
        let own = output.configuration();
        match own.strip_suffix("custom=1") {
            Some(rest) => format!("{rest}custom=0"),
            None => own.replace("custom=0", "custom=1"),
        }
    };
    let accumulation = |output: &Output| {
        let own = output.configuration();
        let slow = own.strip_prefix("algo=35");
        slow.map_or(own.replace("algo=60", "algo=35"), |rest| {
            format!("algo=60{rest}")
        })
    };
    let changes: [(&str, Change, usize); 4] = [
        ("one slice more", &more, 220),
        ("one slice fewer", &fewer, 219),
        ("the other order", &order, 126),
        ("the other accumulation", &accumulation, 212),
    ];
    let folder = Folder::new();
    let mut unexpected = Vec::new();
    for (what, change, wanted) in changes {
        let cases: Vec<Value> = splits(&outputs)
            .map(|output| output.case(&change(output)))
            .collect();
        let count = cases.len() as u64;
        let manifest = json!({"schema": "tcverify.manifest/1", "cases": cases, "defaults": {
            "arch": "rtx4060", "transpose_b": true, "no_causes": true, "no_ambiguity": true,
        }});
        folder.write("cases.json", manifest.to_string());
        let report = folder.tcverify("batch cases.json --json -").json();
        let totals = &report["totals"];
        assert_eq!(totals["unjudged"], 0, "{what}");
        assert_eq!(totals["cases"], count, "{what}");
        let different = totals["different"].as_u64().expect("a number") as usize;
        if different != wanted {
            unexpected.push(format!("{what}: {different} of {count} differ"));
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

/// Splits of Ada's FP8 kernels meet in a workspace in f32; no other way was ever seen, and none is made up.
#[test]
fn another_reduction_is_refused() {
    let Some(outputs) = outputs() else { return };
    let output = splits(&outputs).next().expect("there are some");
    for (id, name) in [(1, "INPLACE"), (4, "OUTPUT_TYPE")] {
        let own = output.configuration();
        let words = output.words(&own.replace("reduction=2", &format!("reduction={id}")));
        let folder = Folder::new();
        folder
            .tcverify(&format!("check --arch rtx4060 {words}"))
            .refuses(&[name, "COMPUTE_TYPE"]);
    }
}
