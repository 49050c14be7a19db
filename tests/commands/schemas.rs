//! JSON Schemas: the files are what the types say, and what the program writes is what they say.

#[cfg(feature = "schemars")]
use serde_json::Value;

use crate::support::{Folder, Npy, Says, claims, ran, rows, words};

/// A D that differs by a bit, and everything that is written about it.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.generate("a fp16 1:normal:16x64 | b fp16 2:normal:64x24");
    folder.replay("--arch a100 --dtype fp16 a.npy b.npy", "d.npy");
    folder.replay("--arch v100 --dtype fp16 a.npy b.npy", "other.npy");
    folder
}

#[cfg(feature = "schemars")]
fn json(folder: &Folder, file: &str) -> Value {
    folder.document(file)
}

/// A report is read back as it was written.
#[test]
fn a_report_is_read_back() {
    use tcverify::report::Report;
    let folder = folder();
    for (d, more, code) in [
        ("d.npy", "", 0),
        ("other.npy", "", 1),
        ("d.npy", "--rows 2..5", 0),
        ("d.npy", "--schedule cutlass-splitk-parallel --split-k 2", 1),
        ("other.npy", "--sample 50 --seed 3", 1),
    ] {
        let check = format!("check --arch a100 --dtype fp16 {more} a.npy b.npy {d}");
        let run = ran! {folder, "{check} --json - --quiet"}.expect(code);
        let report: Report = serde_json::from_str(&run.stdout).unwrap();
        let again = serde_json::to_string_pretty(&report).unwrap();
        assert_eq!(again.trim_end(), run.stdout.trim_end(), "{check}");
        // Another document is not taken for one.
        let other = run.stdout.replacen("\"verdict\"", "\"judgement\"", 1);
        assert!(serde_json::from_str::<Report>(&other).is_err());
    }
}

/// The largest numbers of FP64 lie more than 2^63 apart.
#[test]
fn distances_of_more_than_64_bits_are_read_back() {
    use tcverify::report::Report;
    let folder = Folder::new();
    let one = |value: f64| Npy::new("<f8", &[1, 1], value.to_le_bytes().to_vec());
    folder.save("a.npy", &one(1.3e154));
    for (d, ulp) in [
        (-1.7e308, "-184"),
        (f64::NEG_INFINITY, "-184"),
        (1.7e308, ""),
    ] {
        folder.save("d.npy", &one(d));
        let run = folder.differs("check --arch a100 --dtype fp64 a.npy a.npy d.npy --json - -q");
        let text = run.stdout;
        let report: Report = serde_json::from_str(&text).unwrap();
        text.says(&format!("\"ulp\": {ulp}"));
        let again = serde_json::to_string_pretty(&report).unwrap();
        assert_eq!(again.trim_end(), text.trim_end());
    }
    folder.differs("check --arch a100 --dtype fp64 a.npy a.npy d.npy --json r.json -q");
    folder.passes("verify-report r.json");
}

#[cfg(feature = "schemars")]
mod generated {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_files_are_what_the_types_say() {
        for (name, schema) in tcverify::schemas::all() {
            let path = format!("docs/schemas/{name}.json");
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            crate::docs::keep(&path, |_| text.clone());
        }
    }

    #[test]
    fn what_is_written_is_what_the_schemas_say() {
        let folder = folder();
        let manifest = serde_json::json!({
            "schema": tcverify::batch::MANIFEST,
            "defaults": { "arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy" },
            "cases": [{ "name": "one", "d": "d.npy" }, { "name": "two", "d": "other.npy" }],
        });
        folder.write("manifest.json", manifest.to_string());
        let other = manifest.to_string().replacen("d.npy", "other.npy", 1);
        folder.write("other.json", other);
        let product = "--arch a100 --dtype fp16 a.npy b.npy";
        crate::screen::challenged::write_keys(&folder);
        let mut printed = Vec::new();
        for (command, code) in [
            (format!("check {product} other.npy --json report.json --quiet"), 1),
            (format!("check {product} d.npy --quiet --json same.json"), 0),
            (format!("check --schedule cutlass-sm80 {product} d.npy --quiet --json chain.json"), 0),
            ("identify a.npy b.npy d.npy --json identification.json --quiet".into(), 0),
            ("compare d.npy other.npy a.npy b.npy --arch a100 --quiet --json compared.json".into(), 1),
            ("compare manifest.json other.json --quiet --json compared-runs.json".into(), 1),
            ("batch manifest.json --json batch.json".into(), 1),
            (format!("commit --block-rows 4 {product} d.npy -o commitment.json"), 0),
            (format!("shard plan -n 2 --block-rows 4 {product} d.npy -o plan.json"), 0),
            ("shard run plan.json 0 -o part.json".into(), 0),
            ("batch manifest.json --resume batch-state.json --quiet".into(), 1),
            ("inspect a.npy b.npy --json".into(), 0),
            ("features --arch v100 --arch h100 --dtype fp16 --json".into(), 0),
            (format!("explain {product} other.npy --at 0,0 --json"), 1),
            (format!("explain --schedule cutlass-splitk-parallel --split-k 2 {product} other.npy --at 0,0 --json"), 1),
            ("probe --dtype e2m1 -o probes".into(), 0),
            ("replay --arch b200 --dtype e2m1 probes/a.npy probes/b.npy --c probes/c.npy -o answers.npy".into(), 0),
            ("infer probes answers.npy --json inference.json --quiet".into(), 0),
            ("screen make --arch v100 -o screen-suite.json --quiet".into(), 0),
            (
                "screen run screen-suite.json --device simulated --inject adder:bit=9 --rounds 2 -o screen-results.json".into(),
                1,
            ),
            ("screen judge --suite screen-suite.json screen-results.json --json screen-fleet.json".into(), 1),
            ("screen commit --key one.pem --time 2026-11-23T08:00:00Z -o screen-commitment.json".into(), 0),
            ("commit prove --commitment commitment.json --blocks 1 d.npy -o proof.json --rows rows.npy".into(), 0),
            ("audit challenge commitment.json --beacon 1 --elements 9 -o challenge.json".into(), 0),
            (format!("audit open {product} d.npy --commitment commitment.json --challenge challenge.json -o o.bin"), 0),
            ("audit verify --arch a100 --dtype fp16 --commitment commitment.json --own-challenge challenge.json o.bin --json audit.json"
                .into(), 0),
        ] {
            let run = folder.tcverify(&command).expect(code);
            if let Some(name) = ["inspect", "features", "explain"].iter().find(|name| command.starts_with(**name)) {
                printed.push((*name, run.json()));
            }
        }
        let of = |name: &str| vec![json(&folder, &format!("{name}.json"))];
        let mut written: BTreeMap<&str, Vec<Value>> = words! {"
            identification | compared | compared-runs | batch | commitment | plan | part | proof | challenge | audit
            | manifest | inference | screen-suite | screen-results | screen-commitment | screen-fleet
        "}
        .into_iter()
        .map(|name| (name, of(name)))
        .collect();
        let reports =
            ["report", "same", "chain"].map(|name| json(&folder, &format!("{name}.json")));
        written.insert("report", reports.into());
        let state = folder.text("batch-state.json");
        let lines = state
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        written.insert("batch-state", lines.collect());
        for (name, document) in printed {
            let name = match name {
                "inspect" => "inspection",
                "explain" => "explanation",
                other => other,
            };
            written.entry(name).or_default().push(document);
        }
        written.insert("probes", vec![json(&folder, "probes/manifest.json")]);
        let policy = serde_json::to_value(tcverify::policy::AdmissionPolicy::default()).unwrap();
        written.insert("policy", vec![policy]);
        let table = serde_json::json!({
            "schema": tcverify::libraries::TABLE_SCHEMA, "gpu": "NVIDIA H100", "capability": "9.0",
            "library": {"name": "cublasLt", "version": "12.8"},
            "entries": [{"m": 64, "n": 64, "k": 64, "a": "bf16", "b": "bf16", "d": "bf16", "workspace": 0,
                "configuration": {"algo": 66, "tile": 20, "stages": 35, "split_k": 1, "reduction": 0,
                                  "swizzle": 0, "custom": 0, "inner_shape": 0, "cluster_shape": 0}}],
        });
        let read: tcverify::libraries::KernelTable = serde_json::from_value(table).unwrap();
        written.insert("kernel-table", vec![serde_json::to_value(read).unwrap()]);
        let data = |value: Result<Value, serde_json::Error>| value.unwrap();
        let architectures = tcverify::emu::Catalogue::builtin().architectures();
        let all = architectures.iter().map(|a| data(serde_json::to_value(a)));
        written.insert("architecture", all.collect());
        let presets = tcverify::emu::schedule::presets().iter();
        let presets = presets.map(|schedule| data(serde_json::to_value(schedule)));
        written.insert("schedule", presets.collect());
        let variants = tcverify::ops::variants().iter();
        let variants = variants.map(|variant| data(serde_json::to_value(variant)));
        written.insert("operation", variants.collect());
        let layer = crate::operations::copied();
        for (y, file, code) in [("f_hf", "same", 0), ("f_vllm", "other", 1)] {
            let words = format!(
                "check --op rms_norm --eps 1e-6 f_x.npy f_w.npy {y}.npy --quiet --json {file}.json"
            );
            layer.tcverify(&words).expect(code);
        }
        for [verb, words] in rows! {"
            check | --rows 1.. --json rows.json
            commit | -o c.json
            check | --sample 9 --seed-from c.json --beacon 5af1 --json drawn.json
        "}
        {
            claims! {layer, "{verb} --op rms_norm --eps 1e-6 f_x.npy f_w.npy f_hf.npy {words} -q | 0"}
        }
        let commitments = written.get_mut("commitment").expect("one of a product");
        commitments.push(json(&layer, "c.json"));
        let reports =
            ["same", "other", "rows", "drawn"].map(|name| json(&layer, &format!("{name}.json")));
        let all = written.get_mut("report").expect("those of products");
        all.extend(reports);
        let sweep = "sweep sqrt --write sweep.json --blocks 63";
        layer.passes(sweep);
        written.insert("sweep", vec![json(&layer, "sweep.json")]);
        let signed = crate::attest::folder();
        let mut envelopes = Vec::new();
        let mut statements = Vec::new();
        for rest in ["", "--attest-as svr --attest-time 2026-11-23T08:00:00Z"] {
            claims! {signed, "check {product} d.npy -q --attest att.json --attest-key 0.pem {rest} | 0"}
            signed.passes("attest export att.json --statement statement.json");
            envelopes.push(json(&signed, "att.json"));
            statements.push(json(&signed, "statement.json"));
        }
        written.insert("attestation", envelopes);
        written.insert("statement", statements);
        let mut seen = 0;
        for (name, schema) in tcverify::schemas::all() {
            let validator = jsonschema::validator_for(schema.as_value()).unwrap();
            for document in &written[name] {
                let errors: Vec<_> = validator.iter_errors(document).collect();
                let errors = errors.iter().map(|e| format!("{}: {e}", e.instance_path()));
                let errors: Vec<_> = errors.collect();
                assert!(errors.is_empty(), "{name}: {errors:#?}");
                // A document that lacks something, or of another schema, is not valid.
                for field in document.as_object().unwrap().keys() {
                    let mut other = document.clone();
                    other[field] = serde_json::json!({ "no": ["such", 1] });
                    // A request in a report is any object: its fields are those of a manifest's case.
                    // So is what a GPU says of itself, and what a commitment to an operation says of it.
                    let fields = ["request", "computed_by", "parameters"];
                    assert!(
                        fields.contains(&field.as_str()) || !validator.is_valid(&other),
                        "{name}: {field}"
                    );
                }
                seen += 1;
            }
        }
        assert!(seen > 30, "{seen}");
    }
}
