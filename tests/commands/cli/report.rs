//! The report for machines: every field that a reader would rely on, recomputed here.

use serde_json::{Value, json};

use crate::support::{Folder, Members, Npy, floats, halves, holds, le32, sha256};

/// Two by three times three by two, with C; one element of D is an ulp too large.
fn example() -> (Folder, [Vec<u8>; 4]) {
    let folder = Folder::new();
    let a = halves(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let b = halves(&[1.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    let c = floats(&[10.0, 20.0, 30.0, 40.0]);
    let d = [17.0, 28.0, 46.0, 57.0_f32];
    let mut given = d.map(f32::to_bits);
    given[3] += 1;
    let given = le32(&given);
    folder.save("a.npy", &Npy::new("<f2", &[2, 3], a.clone()));
    folder.save("b.npy", &Npy::new("<f2", &[3, 2], b.clone()));
    folder.save("c.npy", &Npy::new("<f4", &[2, 2], c.clone()));
    folder.save("d.npy", &Npy::new("<f4", &[2, 2], given.clone()));
    folder.f32("good.npy", &[2, 2], &d);
    (folder, [a, b, c, given])
}

const CHECK: &str = "check --arch a100 --dtype fp16 --c c.npy a.npy b.npy";

fn report(folder: &Folder, rest: &str, code: i32) -> Value {
    let run = folder.tcverify(&format!("{CHECK} --json - {rest}"));
    let run = run.expect(code);
    assert_eq!(run.stderr, "");
    assert!(run.stdout.ends_with("}\n"));
    run.json()
}

#[test]
fn verdict_tool_product_and_model() {
    let (folder, _) = example();
    let different = report(&folder, "d.npy", 1);
    let identical = report(&folder, "good.npy", 0);
    holds! {different, "schema = tcverify.report/1 | verdict = different"}
    assert_eq!(identical["verdict"], "identical");
    assert_eq!(
        different["tool"],
        json!({"name": "tcverify", "version": env!("CARGO_PKG_VERSION")})
    );
    let product = json!({
        "batch": [], "m": 2, "n": 2, "k": 3, "transpose_a": false, "transpose_b": false,
    });
    assert_eq!(different["rule"]["product"], product);
    let model = &different["rule"]["model"];
    holds! {model, "
        architecture = ampere | instruction = mma | arithmetic.a = fp16 | arithmetic.accumulator = fp32
    "}
    assert!(!model.list("constants").is_empty());
}

#[test]
fn the_models_digest_is_that_of_its_canonical_json() {
    let (folder, _) = example();
    let model = &report(&folder, "d.npy", 1)["rule"]["model"];
    // Keys of serde_json's maps are sorted, and its compact form has no spaces.
    let canonical = serde_json::to_string(&model["arithmetic"]).unwrap();
    assert_eq!(model["sha256"], sha256(canonical));
}

#[test]
fn every_source_that_is_cited_is_listed() {
    let (folder, _) = example();
    let model = &report(&folder, "d.npy", 1)["rule"]["model"];
    for constant in model.list("constants") {
        for key in constant.list("source") {
            let citation = &model["sources"][key.as_str().unwrap()];
            assert!(citation.is_string(), "{key}");
        }
    }
}

#[test]
fn inputs_and_their_digests() {
    let (folder, payloads) = example();
    let report = report(&folder, "d.npy", 1);
    let files = ["a.npy", "b.npy", "c.npy", "d.npy"];
    let about = [
        ("<f2", "fp16", [2, 3]),
        ("<f2", "fp16", [3, 2]),
        ("<f4", "fp32", [2, 2]),
        ("<f4", "fp32", [2, 2]),
    ];
    for (i, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let (descr, format, shape) = about[i];
        let expected = json!({
            "path": files[i],
            "descr": descr,
            "fortran_order": false,
            "format": format,
            "shape": shape,
            "file_sha256": sha256(folder.read(files[i])),
            "payload_sha256": sha256(&payloads[i]),
            "tf32_low_bits": null,
        });
        assert_eq!(report["inputs"][name], expected, "{name}");
    }
}

#[test]
fn the_reproduced_d() {
    let (folder, _) = example();
    let expected = json!({
        "format": "fp32",
        "shape": [2, 2],
        "payload_sha256": sha256(floats(&[17.0, 28.0, 46.0, 57.0])),
        "conversion": null,
    });
    assert_eq!(report(&folder, "d.npy", 1)["reproduced"], expected);
    let identical = report(&folder, "good.npy", 0);
    assert_eq!(identical["reproduced"], expected);
    assert_eq!(
        identical["inputs"]["d"]["payload_sha256"],
        identical["reproduced"]["payload_sha256"]
    );
}

#[test]
fn the_outcome_of_a_difference() {
    let (folder, _) = example();
    let expected = json!({
        "judged_by": "elements",
        "nan": "exact",
        "zero": "exact",
        "comparison": {
            "elements": 4,
            "mismatches": 1,
            "mismatch_percent": 25.0,
            "accepted": 0,
            "rows": 2,
            "rows_touched": 1,
            "units": null,
            "columns": 2,
            "columns_touched": 1,
            "classes": {
                "zero_sign": 0, "nan_payload": 0, "nan_against_number": 0,
                "infinity_against_finite": 0, "infinity_sign": 0,
                "sign": 0, "exponent": 0, "significand": 1,
            },
            "largest": {"ulp": 1, "index": [1, 1]},
            "histogram": [{"from": 1, "to": 1, "count": 1}],
            "first": [{
                "index": [1, 1],
                "reproduced": "42640000",
                "given": "42640001",
                "reproduced_value": "57",
                "given_value": "57.000004",
                "ulp": 1,
                "xor": "00000001",
                "class": "significand",
            }],
        },
    });
    assert_eq!(report(&folder, "d.npy", 1)["outcome"], expected);
}

#[test]
fn the_outcome_of_identity() {
    let (folder, _) = example();
    let comparison = &report(&folder, "good.npy", 0)["outcome"]["comparison"];
    for (field, value) in [
        ("mismatches", json!(0)),
        ("mismatch_percent", json!(0.0)),
        ("rows_touched", json!(0)),
        ("columns_touched", json!(0)),
        ("largest", json!(null)),
        ("histogram", json!([])),
        ("first", json!([])),
    ] {
        assert_eq!(comparison[field], value, "{field}");
    }
}

#[test]
fn two_runs_and_any_number_of_threads_give_the_same_bytes() {
    let folder = Folder::new();
    // Larger than a tile in every direction, with many mismatches.
    let numbers: Vec<f32> = (0..70 * 70).map(|i| (i % 37) as f32 - 18.0).collect();
    folder.f16("a.npy", &[70, 70], &numbers);
    folder.f32("d.npy", &[70, 70], &numbers);
    let run = |threads: u32, form: &str| {
        let run = folder.differs(&format!(
            "check --arch h100 --dtype fp16 a.npy a.npy d.npy --threads {threads} {form}"
        ));
        run.stdout
    };
    for form in ["--json -", ""] {
        let first = run(0, form);
        for threads in [0, 1, 2, 3] {
            assert_eq!(run(threads, form), first, "{threads} threads");
        }
    }
}
