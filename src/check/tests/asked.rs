//! What excludes what, what needs what, and what a document says.

use serde_json::{Value, json};

use crate::check::Check;

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
    // Said, but that it is not so.
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
