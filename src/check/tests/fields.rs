//! Fields that exclude or need each other, and the fields of documents.

use serde_json::{Value, json};

use crate::io::Outputs;
use crate::{Check, Verb, command_line};

/// The fields of a check, with these.
fn fields_with(more: &Value) -> Value {
    let mut fields =
        json!({"arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "d.npy"});
    extend(&mut fields, more);
    fields
}

fn extend(fields: &mut Value, more: &Value) {
    let more = more.as_object().expect("fields").clone();
    fields.as_object_mut().expect("fields").extend(more);
}

/// The check of these fields, or the error.
fn check_of(more: &Value) -> Result<Check, String> {
    serde_json::from_value(fields_with(more)).map_err(|error| error.to_string())
}

/// The rows of a table: some fields of a document, and texts. `DIGEST` is a digest instead of D.
fn rows(table: &str) -> Vec<(Value, Vec<String>)> {
    let digest = format!(r#""d": null, "d_digest": "{}""#, "ab".repeat(32));
    let lines = table.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty());
    let row = |line: &str| {
        let line = line.replace("DIGEST", &digest);
        let mut columns = line.split(" | ");
        let fields = serde_json::from_str(columns.next().expect("fields"));
        let texts = columns.map(str::to_owned).collect();
        (fields.expect(&line), texts)
    };
    lines.map(row).collect()
}

#[test]
fn fields_that_exclude_each_other() {
    let excluded = rows(
        r#"
        {"model": "m.json"} | arch | model
        {"d_digest": "abababababababababababababababababababababababababababababababab"} | d | d_digest
        {DIGEST, "nan": "any"} | d_digest | nan
        {DIGEST, "zero": "any"} | d_digest | zero
        {DIGEST, "against": "c.json"} | d_digest | against
        {DIGEST, "tree": true} | d_digest | tree
        {DIGEST, "sample": 3, "seed": 1} | d_digest | sample
        {DIGEST, "rows": "0..2"} | d_digest | rows
        {DIGEST, "cols": "0..2"} | d_digest | cols
        {DIGEST, "region": "0..2,0..2"} | d_digest | region
        {"tree": true, "sample": 3, "seed": 1} | tree | sample
        {"tree": true, "rows": "0..2"} | tree | rows
        {"tree": true, "cols": "0..2"} | tree | cols
        {"tree": true, "region": "0..2,0..2"} | tree | region
        {"region": "0..2,0..2", "rows": "0..2"} | region | rows
        {"region": "0..2,0..2", "cols": "0..2"} | region | cols
        {"sample": 3, "seed": 1, "seed_from": "c.json", "beacon": "b"} | seed | seed_from
        {"sample": 3, "against": "c.json", "seed_from": "c.json", "beacon": "b"} | against | seed_from
        {"schedule": "plain", "schedule_file": "s.json"} | schedule | schedule_file
        {"schedule": "plain", "kernel_table": "t.json"} | schedule | kernel_table
        {"kernel_log": "l.txt", "kernel_table": "t.json"} | kernel_log | kernel_table
        {"kernel": "words", "kernel_log": "l.txt"} | kernel | kernel_log
        {"kernel": "words", "residue": "first"} | kernel | residue
        {"kernel": "words", "grain": 8} | kernel | grain
        {"kernel": "words", "partials": "f32"} | kernel | partials
        {"kernel": "words", "sum_order": "serial"} | kernel | sum_order
        {"kernel": "words", "workers": 3} | kernel | workers
        {"kernel": "words", "promote": "never"} | kernel | promote
        {"kernel_log": "l.txt", "workers": 3} | kernel_log | workers
        {"kernel_table": "t.json", "workers": 3} | kernel_table | workers
        "#,
    );
    for (fields, pair) in excluded {
        let error = check_of(&fields).expect_err("two that exclude each other");
        let expected = format!("`{}` and `{}` exclude each other", pair[0], pair[1]);
        assert!(error.contains(&expected), "{fields}: {error}");
    }
    // What looks like it and does not.
    let compatible = rows(
        r#"
        {DIGEST}
        {DIGEST, "nan": "exact", "zero": "exact", "tree": false}
        {"nan": "any", "zero": "any", "tree": true}
        {"rows": "0..2", "cols": "1..", "sample": 3, "seed": 1}
        {"region": "0..2,0..2"}
        {"against": "c.json", "tree": true}
        {"arch": null, "model": "m.json"}
        {"kernel": "words", "split_k": 3}
        "#,
    );
    for (fields, _) in compatible {
        check_of(&fields).unwrap_or_else(|error| panic!("{fields}: {error}"));
    }
}

#[test]
fn fields_that_need_another() {
    // What needs another, the field that is missing, and what is right with it.
    let needed = rows(
        r#"
        {"scale_a": "x.npy"} | scale_a | scale_b | {"scale_b": "y.npy"}
        {"scale_b": "x.npy"} | scale_b | scale_a | {"scale_a": "y.npy"}
        {"split": "serial"} | split | split_k | {"split_k": 3}
        {"beta": 2} | beta | c | {"c": "c.npy"}
        {"bias_dtype": "bf16"} | bias_dtype | bias | {"bias": "x.npy"}
        {"azp": "x.npy"} | azp | azp_adj | {"azp_adj": "x.npy"}
        {"seed": 1} | seed | sample | {"sample": 3}
        {"seed_from": "c.json", "beacon": "b"} | seed_from | sample | {"sample": 3}
        {"seed_from": "c.json", "sample": 3} | seed_from | beacon | {"beacon": "b"}
        {"beacon": "b"} | beacon | seed_from | {"sample": 3, "seed_from": "c.json"}
        {"block_rows": 4} | block_rows | tree | {"tree": true}
        {"reduction": "inplace"} | reduction | kernel | {"kernel": "words"}
        {"custom": 1} | custom | kernel | {"kernel_log": "l.txt"}
        {"accumulation": "fast"} | accumulation | kernel | {"kernel": "words"}
        {"multiprocessors": 8} | multiprocessors | kernel | {"kernel_table": "t.json"}
        {"rotation": 1} | rotation | kernel | {"kernel": "words"}
        {"whole_remainder": true} | whole_remainder | kernel | {"kernel": "words"}
        {"workspace": 8} | workspace | kernel_table | {"kernel_table": "t.json"}
        "#,
    );
    for (mut fields, texts) in needed {
        let error = check_of(&fields).expect_err("without the other");
        let expected = format!("`{}` needs `{}`", texts[0], texts[1]);
        assert!(error.contains(&expected), "{fields}: {error}");
        extend(
            &mut fields,
            &serde_json::from_str(&texts[2]).expect("fields"),
        );
        check_of(&fields).unwrap_or_else(|error| panic!("{fields}: {error}"));
    }
    // Sourced, but that it is wrong.
    check_of(&json!({"whole_remainder": false, "tree": false})).expect("nothing");
}

/// A document has the fields that differ from their default, and no others.
#[test]
fn what_is_asked_is_written_alike() {
    for more in [
        json!({}),
        json!({"engine": "exact"}),
        json!({"nan": "any"}),
        json!({"zero": "any", "max_mismatches": 3}),
        json!({"tf32_input": "exact", "transpose_a": true, "transpose_b": true}),
        json!({"no_causes": true, "no_ambiguity": true}),
        json!({"tree": true, "block_rows": 2}),
        json!({"rows": "0..2", "cols": "1..", "sample": 3, "seed": 1}),
        json!({"kernel_table": "t.json", "workspace": 8, "multiprocessors": 3, "whole_remainder": true}),
        json!({"schedule": "cublas-sm80", "tile_k": 64, "alpha": 2, "beta": 0, "c": "c.npy"}),
        json!({"scale_a": "x.npy", "scale_b": "y.npy", "scale_block": 32, "scale_dtype": "ue8m0"}),
    ] {
        let check = check_of(&more).unwrap_or_else(|error| panic!("{more}: {error}"));
        let written = serde_json::to_value(&check).expect("plain data");
        let names = |value: &Value| -> Vec<String> {
            let fields = value.as_object().expect("fields");
            fields.keys().cloned().collect()
        };
        assert_eq!(names(&written), names(&fields_with(&more)));
        let again: Check = serde_json::from_value(written).expect("what was written is read");
        assert_eq!(again, check);
    }
}

/// A command has the options that it knows, and no others.
#[test]
fn options_of_a_command() {
    let check = check_of(&json!({
        "rows": "0..2", "cols": "1..", "sample": 3, "seed": 1, "nan": "any", "zero": "any", "max_mismatches": 3,
        "no_causes": true, "no_ambiguity": true, "engine": "exact", "c": "c.npy", "transpose_a": true,
    }));
    let check = check.expect("a check");
    let words = |verb: Verb, check: &Check| -> Vec<String> {
        let words = command_line(verb, check).into_iter();
        words
            .map(|word| word.into_string().expect("plain words"))
            .collect()
    };
    let own = [
        "--rows",
        "--cols",
        "--sample",
        "--seed",
        "--nan",
        "--zero",
        "--max-mismatches",
        "--no-causes",
        "--no-ambiguity",
    ];
    for (verb, name) in [
        (Verb::Check, "check"),
        (Verb::Explain, "explain"),
        (Verb::Replay, "replay"),
        (Verb::Commit, "commit"),
    ] {
        let words = words(verb, &check);
        assert_eq!(words[..2], ["tcverify", name]);
        for option in own {
            let there = words.contains(&option.to_owned());
            assert_eq!(there, verb == Verb::Check, "{name} {option}");
        }
        let engine = words.contains(&"--engine".to_owned());
        assert_eq!(engine, matches!(verb, Verb::Check | Verb::Replay), "{name}");
        assert!(words.contains(&"--transpose-a".to_owned()));
        let files: &[&str] = match verb {
            Verb::Replay => &["a.npy", "b.npy"],
            _ => &["a.npy", "b.npy", "d.npy"],
        };
        let last = &words[words.len() - files.len()..];
        assert_eq!(last, files, "{words:?}");
    }
    let tree = check_of(&json!({"tree": true, "block_rows": 2})).expect("a check");
    for (verb, options) in [
        (Verb::Check, [true, true]),
        (Verb::Explain, [false, false]),
        (Verb::Commit, [false, true]),
    ] {
        let words = words(verb, &tree);
        let found = ["--tree", "--block-rows"].map(|option| words.contains(&option.to_owned()));
        assert_eq!(found, options, "{words:?}");
    }
}

/// No output overwrites an input, and the message names the input.
#[test]
fn what_is_read_is_protected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "x").expect("a file");
        path.into_os_string().into_string().expect("a plain name")
    };
    let named = rows(
        r#"
        {"a": "a.npy"} | a.npy | A
        {"d": "d.npy"} | d.npy | D
        {"bias": "x.npy"} | x.npy | the bias
        {"scale_a": "s.npy", "scale_b": "t.npy"} | s.npy | the scales of A
        {"scale_a": "s.npy", "scale_b": "t.npy"} | t.npy | the scales of B
        {"arch": null, "model": "m.json"} | m.json | the model
        {"against": "c.json"} | c.json | the commitment
        {"sample": 3, "seed_from": "c.json", "beacon": "b"} | c.json | the commitment
        {"schedule_file": "s.json"} | s.json | the schedule
        {"kernel_log": "l.txt"} | l.txt | the log of kernels
        {"kernel_table": "t.json"} | t.json | the table of kernels
        "#,
    );
    for (mut fields, texts) in named {
        let [name, role] = &texts[..] else {
            panic!("a file and what it is");
        };
        for value in fields.as_object_mut().expect("fields").values_mut() {
            if value.as_str().is_some_and(|text| text.contains('.')) {
                *value = path(value.as_str().expect("a name")).into();
            }
        }
        let check = check_of(&fields).unwrap_or_else(|error| panic!("{fields}: {error}"));
        let mut outputs = Outputs::new();
        check.protect(&mut outputs);
        let refused = outputs.claim("the report", &folder.path().join(name));
        let refused = refused.expect_err("it is read").to_string();
        assert!(refused.contains(&**role), "{fields}: {refused}");
        outputs
            .claim("the report", &folder.path().join("other.json"))
            .expect("nothing reads it");
    }
}
