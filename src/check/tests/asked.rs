//! What excludes what, what needs what, and what a document says.

use serde_json::{Value, json};

use crate::check::{Check, Verb, command_line};
use crate::io::Outputs;

/// The fields of a check with these, or what is said of them.
fn asked(more: &Value) -> Result<Check, String> {
    let mut fields =
        json!({"arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "d.npy"});
    let more = more.as_object().expect("fields").clone();
    fields.as_object_mut().expect("fields").extend(more);
    serde_json::from_value(fields).map_err(|error| error.to_string())
}

#[test]
fn fields_that_exclude_each_other() {
    let sha = "ab".repeat(32);
    let digest = |more: Value| {
        let mut fields = json!({"d": null, "d_digest": sha});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        fields
    };
    let tree = |field: &str, value: Value| json!({"tree": true, field: value});
    let kernel = |field: &str, value: Value| json!({"kernel": "words", field: value});
    let excluded = [
        (json!({"model": "m.json"}), ["arch", "model"]),
        (json!({"d_digest": sha}), ["d", "d_digest"]),
        (digest(json!({"nan": "any"})), ["d_digest", "nan"]),
        (digest(json!({"zero": "any"})), ["d_digest", "zero"]),
        (
            digest(json!({"against": "c.json"})),
            ["d_digest", "against"],
        ),
        (digest(json!({"tree": true})), ["d_digest", "tree"]),
        (
            digest(json!({"sample": 3, "seed": 1})),
            ["d_digest", "sample"],
        ),
        (digest(json!({"rows": "0..2"})), ["d_digest", "rows"]),
        (digest(json!({"cols": "0..2"})), ["d_digest", "cols"]),
        (
            digest(json!({"region": "0..2,0..2"})),
            ["d_digest", "region"],
        ),
        (
            json!({"tree": true, "sample": 3, "seed": 1}),
            ["tree", "sample"],
        ),
        (tree("rows", json!("0..2")), ["tree", "rows"]),
        (tree("cols", json!("0..2")), ["tree", "cols"]),
        (tree("region", json!("0..2,0..2")), ["tree", "region"]),
        (
            json!({"region": "0..2,0..2", "rows": "0..2"}),
            ["region", "rows"],
        ),
        (
            json!({"region": "0..2,0..2", "cols": "0..2"}),
            ["region", "cols"],
        ),
        (
            json!({"sample": 3, "seed": 1, "seed_from": "c.json", "beacon": "b"}),
            ["seed", "seed_from"],
        ),
        (
            json!({"sample": 3, "against": "c.json", "seed_from": "c.json", "beacon": "b"}),
            ["against", "seed_from"],
        ),
        (
            json!({"schedule": "plain", "schedule_file": "s.json"}),
            ["schedule", "schedule_file"],
        ),
        (
            json!({"schedule": "plain", "kernel_table": "t.json"}),
            ["schedule", "kernel_table"],
        ),
        (
            json!({"kernel_log": "l.txt", "kernel_table": "t.json"}),
            ["kernel_log", "kernel_table"],
        ),
        (
            kernel("kernel_log", json!("l.txt")),
            ["kernel", "kernel_log"],
        ),
        (kernel("residue", json!("first")), ["kernel", "residue"]),
        (kernel("grain", json!(8)), ["kernel", "grain"]),
        (kernel("partials", json!("f32")), ["kernel", "partials"]),
        (
            kernel("sum_order", json!("serial")),
            ["kernel", "sum_order"],
        ),
        (kernel("workers", json!(3)), ["kernel", "workers"]),
        (kernel("promote", json!("never")), ["kernel", "promote"]),
        (
            json!({"kernel_log": "l.txt", "workers": 3}),
            ["kernel_log", "workers"],
        ),
        (
            json!({"kernel_table": "t.json", "workers": 3}),
            ["kernel_table", "workers"],
        ),
    ];
    for (fields, [one, other]) in excluded {
        let said = asked(&fields).expect_err("two that exclude each other");
        let expected = format!("`{one}` and `{other}` exclude each other");
        assert!(said.contains(&expected), "{fields}: {said}");
    }
    // What looks like it and does not.
    for fields in [
        digest(json!({})),
        digest(json!({"nan": "exact", "zero": "exact", "tree": false})),
        json!({"nan": "any", "zero": "any", "tree": true}),
        json!({"rows": "0..2", "cols": "1..", "sample": 3, "seed": 1}),
        json!({"region": "0..2,0..2"}),
        json!({"against": "c.json", "tree": true}),
        json!({"arch": null, "model": "m.json"}),
        kernel("split_k", json!(3)),
    ] {
        asked(&fields).unwrap_or_else(|said| panic!("{fields}: {said}"));
    }
}

#[test]
fn fields_that_need_another() {
    for (field, value, needed, partner) in [
        (
            "scale_a",
            json!("x.npy"),
            "scale_b",
            json!({"scale_b": "y.npy"}),
        ),
        (
            "scale_b",
            json!("x.npy"),
            "scale_a",
            json!({"scale_a": "y.npy"}),
        ),
        ("split", json!("serial"), "split_k", json!({"split_k": 3})),
        ("beta", json!(2), "c", json!({"c": "c.npy"})),
        (
            "bias_dtype",
            json!("bf16"),
            "bias",
            json!({"bias": "x.npy"}),
        ),
        (
            "azp",
            json!("x.npy"),
            "azp_adj",
            json!({"azp_adj": "x.npy"}),
        ),
        ("seed", json!(1), "sample", json!({"sample": 3})),
        (
            "seed_from",
            json!("c.json"),
            "sample",
            json!({"sample": 3, "beacon": "b"}),
        ),
        (
            "seed_from",
            json!("c.json"),
            "beacon",
            json!({"sample": 3, "beacon": "b"}),
        ),
        (
            "beacon",
            json!("b"),
            "seed_from",
            json!({"sample": 3, "seed_from": "c.json"}),
        ),
        ("block_rows", json!(4), "tree", json!({"tree": true})),
        (
            "reduction",
            json!("inplace"),
            "kernel",
            json!({"kernel": "words"}),
        ),
        ("custom", json!(1), "kernel", json!({"kernel_log": "l.txt"})),
        (
            "accumulation",
            json!("fast"),
            "kernel",
            json!({"kernel": "words"}),
        ),
        (
            "multiprocessors",
            json!(8),
            "kernel",
            json!({"kernel_table": "t.json"}),
        ),
        ("rotation", json!(1), "kernel", json!({"kernel": "words"})),
        (
            "whole_tail",
            json!(true),
            "kernel",
            json!({"kernel": "words"}),
        ),
        (
            "workspace",
            json!(8),
            "kernel_table",
            json!({"kernel_table": "t.json"}),
        ),
    ] {
        // Beside what it needs another of, if that is not the one that is missing.
        let mut fields = json!({ field: value });
        if field == "seed_from" && needed == "beacon" {
            fields["sample"] = json!(3);
        }
        if field == "seed_from" && needed == "sample" {
            fields["beacon"] = json!("b");
        }
        let said = asked(&fields).expect_err("without the other");
        let expected = format!("`{field}` needs `{needed}`");
        assert!(said.contains(&expected), "{fields}: {said}");
        fields
            .as_object_mut()
            .unwrap()
            .extend(partner.as_object().unwrap().clone());
        asked(&fields).unwrap_or_else(|said| panic!("{fields}: {said}"));
    }
    // Said, but that it is wrong.
    asked(&json!({"whole_tail": false, "tree": false})).expect("nothing");
}

/// A document says what differs from the default, and that alone.
#[test]
fn what_is_asked_is_written_alike() {
    for more in [
        json!({}),
        json!({"engine": "exact"}),
        json!({"nan": "any"}),
        json!({"zero": "any", "max_mismatches": 3}),
        json!({"tf32_input": "exact", "transpose_a": true, "transpose_b": true}),
        json!({"no_causes": true, "no_discrimination": true}),
        json!({"tree": true, "block_rows": 2}),
        json!({"rows": "0..2", "cols": "1..", "sample": 3, "seed": 1}),
        json!({"kernel_table": "t.json", "workspace": 8, "multiprocessors": 3, "whole_tail": true}),
        json!({"schedule": "cublas-sm80", "tile_k": 64, "alpha": 2, "beta": 0, "c": "c.npy"}),
        json!({"scale_a": "x.npy", "scale_b": "y.npy", "scale_block": 32, "scale_dtype": "ue8m0"}),
    ] {
        let check = asked(&more).unwrap_or_else(|said| panic!("{more}: {said}"));
        let written = serde_json::to_value(&check).expect("plain data");
        let mut expected =
            json!({"arch": "a100", "dtype": "fp16", "a": "a.npy", "b": "b.npy", "d": "d.npy"});
        expected
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let names = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&written), names(&expected));
        let again: Check = serde_json::from_value(written).expect("what was written is read");
        assert_eq!(again, check);
    }
}

/// A command has the options that it knows, and no others.
#[test]
fn options_of_a_command() {
    let check = asked(&json!({
        "rows": "0..2", "cols": "1..", "sample": 3, "seed": 1, "nan": "any", "zero": "any", "max_mismatches": 3,
        "no_causes": true, "no_discrimination": true, "engine": "exact", "c": "c.npy", "transpose_a": true,
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
        "--no-discrimination",
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
        assert!(
            words.ends_with(
                &files
                    .iter()
                    .map(|&file| file.to_owned())
                    .collect::<Vec<_>>()
            ),
            "{words:?}"
        );
    }
    let tree = asked(&json!({"tree": true, "block_rows": 2})).expect("a check");
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

/// What is read is written over by nothing, and the message says what it is.
#[test]
fn what_is_read_is_protected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, "x").expect("a file");
        path.into_os_string().into_string().expect("a plain name")
    };
    for (fields, name, role) in [
        (json!({"a": path("a.npy")}), "a.npy", "A"),
        (json!({"d": path("d.npy")}), "d.npy", "D"),
        (json!({"bias": path("x.npy")}), "x.npy", "the bias"),
        (
            json!({"scale_a": path("s.npy"), "scale_b": path("t.npy")}),
            "s.npy",
            "the scales of A",
        ),
        (
            json!({"scale_a": path("s.npy"), "scale_b": path("t.npy")}),
            "t.npy",
            "the scales of B",
        ),
        (
            json!({"arch": null, "model": path("m.json")}),
            "m.json",
            "the model",
        ),
        (
            json!({"against": path("c.json")}),
            "c.json",
            "the commitment",
        ),
        (
            json!({"sample": 3, "seed_from": path("c.json"), "beacon": "b"}),
            "c.json",
            "the commitment",
        ),
        (
            json!({"schedule_file": path("s.json")}),
            "s.json",
            "the schedule",
        ),
        (
            json!({"kernel_log": path("l.txt")}),
            "l.txt",
            "the log of kernels",
        ),
        (
            json!({"kernel_table": path("t.json")}),
            "t.json",
            "the table of kernels",
        ),
    ] {
        let check = asked(&fields).unwrap_or_else(|said| panic!("{fields}: {said}"));
        let mut outputs = Outputs::new();
        check.protect(&mut outputs);
        let refused = outputs.claim("the report", &folder.path().join(name));
        let refused = refused.expect_err("it is read").to_string();
        assert!(refused.contains(role), "{fields}: {refused}");
        outputs
            .claim("the report", &folder.path().join("other.json"))
            .expect("nothing reads it");
    }
}
