//! What is no suite, and what are no results: one sentence each.

use crate::support::{claims, table};

use tcverify::screen::{Results, Suite};

use super::folder;

#[test]
fn suites_that_are_none() {
    let folder = folder();
    let text = folder.text("suite.json");
    let run = "--device simulated -o out.json";
    for (changed, words) in table! {
        (text.replacen("\"k\":16", "\"k\":32", 1), "does not have the SHA-256 that it states"),
        (text[..text.len() / 2].to_owned(), "damaged"),
        (text.replacen("screen-suite/1", "screen-suite/9", 1), "not a \"tcverify.screen-suite/1\""),
        ("[]".into(), "an object is expected"),
    } {
        assert_ne!(changed, text);
        folder.write("other.json", &changed);
        let run = folder.tcverify(&format!("screen run other.json {run}"));
        run.refuses(&["other.json", words]);
    }
    assert!(!folder.names().contains(&"out.json".to_owned()));
}

/// Sealed anew, but with files for operands, or sizes that nothing has.
#[test]
fn suites_that_ask_for_too_much() {
    let folder = folder();
    let whole: serde_json::Value = folder.document("suite.json");
    for (field, value, words) in table! {
        ("check", serde_json::json!({"arch": "v100", "dtype": "fp16", "a": "/etc/passwd", "b": "b.npy"}),
            "a suite names no files but operands that lie beside it"),
        ("m", 4_000_000.into(), "sizes must be"),
        ("k", 17.into(), "does not have the size"),
        ("leaves", serde_json::json!([]), "leaves for"),
    } {
        let mut suite = Suite::read(&folder.path("suite.json")).unwrap().0;
        let mut product = whole["content"]["products"][0].clone();
        product[field] = value;
        suite.products[0] = serde_json::from_value(product).unwrap();
        folder.write("other.json", suite.text().unwrap());
        let run = folder.tcverify("screen run other.json --device simulated -o out.json");
        run.refuses(&["other.json: mma.fp16.fp16.fp32.toggle.1", words]);
    }
}

/// Of two products of one name nobody knows which one was run.
#[test]
fn names_that_appear_twice() {
    let folder = folder();
    let (mut suite, _) = Suite::read(&folder.path("suite.json")).unwrap();
    suite.products.push(suite.products[0].clone());
    folder.write("twice.json", suite.text().unwrap());
    claims! {folder, "screen run twice.json --device simulated -o out.json | refused | twice.json | appears twice"}
}

#[test]
fn results_that_are_none() {
    let folder = folder();
    claims! {folder, "
        screen make --arch a100 -o other-suite.json --quiet | 0
        screen run suite.json --device simulated --quiet -o r.json --inject adder:bit=9 | 1
    "}
    let text = folder.text("r.json");
    folder.write("cut.json", &text[..text.len() - 40]);
    folder.write(
        "edited.json",
        text.replacen("\"times\":1", "\"times\":2", 1),
    );
    folder.copy("r.json", "copy.json");
    folder.create("empty");
    let (suite, id) = Suite::read(&folder.path("suite.json")).unwrap();
    let right = Results::read(&folder.path("r.json"), &suite, id).unwrap().0;
    let write = |name: &str, change: &dyn Fn(&mut Results)| {
        let mut other = right.clone();
        change(&mut other);
        folder.write(name, other.signed(None).unwrap());
    };
    // The same GPU under another name.
    write("s.json", &|r| r.device.uuid = Some("GPU-1".into()));
    write("t.json", &|r| {
        r.device.uuid = Some("GPU-1".into());
        r.device.host = "other".into();
    });
    write("sm90.json", &|r| r.device.architecture = "sm_90".into());
    // A right D that is called wrong.
    let products = &suite.products;
    write("right.json", &|r| {
        let wrong = &mut r.failures[0];
        let product = products.iter().find(|p| p.name == wrong.product).unwrap();
        wrong.d_sha256 = product.sha256;
    });
    claims! {folder, "
        each screen judge --suite ~ | refused
        suite.json cut.json | cut.json: is damaged
        suite.json edited.json | edited.json | SHA-256
        other-suite.json r.json | r.json: belongs to the suite
        suite.json suite.json | tcverify.screen-results/1
        suite.json r.json copy.json | are both results of GPU 0 of simulated
        suite.json s.json t.json | t.json and s.json are both results of GPU 0 of other
        suite.json r.json --html suite.json | would overwrite the suite
        suite.json empty | empty: has no results
        suite.json sm90.json | sm90.json: is of a device of sm_90; the suite is for volta
        suite.json right.json | reports a correct D | wrong
    "}
    // Whatever else cannot be.
    type Change = fn(&mut Results);
    for (words, change) in table! {
        ("a tile 99", (|r| r.failures[0].tiles[0].index = 99) as Change),
        ("compares nothing", |r| { r.runs.clear(); r.failures.clear() }),
        ("wrong results that it does not list", |r| { r.failures.clear(); r.more_failures = 3 }),
        ("appears twice", |r| r.runs.push(r.runs[0].clone())),
        ("contradict each other", |r| r.runs[0].compared = 0),
        ("contradict each other", |r| r.runs[0].sms = 9),
        ("contradict each other", |r| r.runs[0].sms = 0),
        ("contradict each other", |r| r.runs[0].compared = u64::MAX),
        ("do not say how many", |r| r.device.multiprocessors = None),
        ("8 SMs of a GPU that has fewer", |r| r.device.multiprocessors = Some(7)),
        ("was both run and left out", |r| r.left_out.push((r.runs[0].product.clone(), "why".into()))),
        ("the same wrong D twice", |r| r.failures.push(r.failures[0].clone())),
        ("more results were wrong than were compared", |r| r.failures[0].times = 1 << 40),
        ("not the SMs that ran it", |r| r.failures[0].sms = vec![77]),
        ("wrong tiles of 0", |r| r.failures[0].tiles_different = 0),
        ("other counts of wrong results", |r| r.halves = Some([0, 100_000])),
        ("lists none", |r| { r.failures.clear(); r.stopped = true }),
    } {
        write("o.json", &change);
        claims! {folder, "screen judge --suite suite.json o.json | refused | o.json | {words}"}
    }
}

/// What all GPUs return by a suite with other digests is not right by that.
#[test]
fn a_forged_suite_makes_no_gpu_clean() {
    let folder = folder();
    let (mut suite, _) = Suite::read(&folder.path("suite.json")).unwrap();
    let run = "--device simulated --quiet";
    folder.passes(&format!("screen run suite.json {run} -o r.json"));
    let id = suite.id();
    let mut results = Results::read(&folder.path("r.json"), &suite, id).unwrap().0;
    suite.products[0].sha256 = tcverify::io::tree::Hash([7; 32]);
    folder.write("forged.json", suite.text().unwrap());
    results.suite = suite.id();
    folder.write("r.json", results.signed(None).unwrap());
    claims! {folder, "screen judge --suite forged.json r.json | refused | mma.fp16.fp16.fp32.toggle.1
    | computes a different D"}
}

#[test]
fn faults_that_are_none() {
    let folder = folder();
    claims! {folder, "
        each screen run suite.json --device simulated -o out.json --inject ~
        gears:bit=1 | 2 | not a place of a fault
        adder | 2 | bit=N is missing
        schedule:cublas-workspace,split-k=0 | 2 | split-k=N
        adder:bit=3,sm=8 | refused | a fault on SM 8 of a device of 8
        schedule:nothing | refused | nothing
        model:nothing | refused | nothing
        each ~
        screen make --arch nothing -o x.json | refused | nothing
    "}
    assert_eq!(folder.names(), ["suite.json"]);
}
