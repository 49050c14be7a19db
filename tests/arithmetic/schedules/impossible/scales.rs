//! Scales and epilogues.

use serde_json::{Value, json};

use super::{all, blocks, interleaved, merged, promoted, serial, slices};

#[test]
fn of_scales() {
    let scales =
        |per: Value, at: &str, multiply: &str| json!({"per": per, "at": at, "multiply": multiply});
    let late = |per: Value, multiply: &str| json!({"scales": scales(per, "epilogue", multiply)});
    let tensor = json!("tensor");
    let early = |multiply: &str, inner: Value| json!({"scales": scales(json!("tensor"), "promotion", multiply), "inner": inner});
    let in_place = json!({"parts": slices(json!(2), json!(8)), "merge": {"kind": "in_place"}});
    all(&[
        (late(tensor.clone(), "joint"), ""),
        (late(tensor.clone(), "alpha"), ""),
        (
            late(json!("row"), "alpha"),
            "there is one scale of A and one of B",
        ),
        (late(tensor.clone(), "joint_fma"), "scales.at is epilogue"),
        (
            late(tensor.clone(), "a_then_b_fma"),
            "scales.at is epilogue",
        ),
        (
            json!({"scales": scales(tensor, "epilogue", "joint"), "split": in_place}),
            "when each slice is scaled",
        ),
        (early("joint_fma", json!([])), "inner has no promoted level"),
        (early("joint_fma", json!([promoted(8)])), ""),
        (
            early("joint_fma", json!([serial(blocks(8))])),
            "one by one from +0",
        ),
        (
            early("alpha", json!([promoted(8)])),
            "scales.multiply is alpha, but scales.at is promotion",
        ),
    ]);
}

#[test]
fn of_scales_of_blocks() {
    let per = |rows: usize, columns: usize, k: usize| json!({"block": {"rows": rows, "columns": columns, "k": k}});
    let scaled = |at: &str, rows: usize, columns: usize, k: usize, inner: Value| json!({"scales": {"per": per(rows, columns, k), "at": at, "multiply": "joint"}, "inner": inner});
    let good = |more: Value| {
        let mut fields = scaled("promotion", 1, 128, 128, json!([promoted(32)]));
        for (name, value) in more.as_object().expect("fields") {
            fields[name] = value.clone();
        }
        fields
    };
    let split = |tile: usize, parts: Value| good(json!({"tile_k": tile, "split": serial(parts)}));
    let by_k = |narrow: usize| json!({"wide": 256, "narrow": narrow});
    let tiles = |parts: Value| {
        let groups =
            json!([{"tiles": 2, "parts": {"kind": "whole"}}, {"tiles": null, "parts": parts}]);
        json!({"kind": "tiles", "tile": [64, 64], "raster": "along_rows", "groups": groups})
    };
    let shared = json!({"kind": "shared", "workers": 3});
    let ranges = |parts: Value| json!({"kind": "ranges", "parts": parts});
    let order = |length: usize| (0..length).rev().collect::<Vec<_>>();
    let first = json!({"kind": "blocks", "length": 32, "first": 16});
    const LIE: &str = "a promoted sum must lie in one block";
    all(&[
        (good(json!({})), ""),
        (
            scaled("promotion", 0, 128, 128, json!([promoted(32)])),
            "at least one row, column and k",
        ),
        (
            scaled("promotion", 1, 0, 128, json!([promoted(32)])),
            "at least one row, column and k",
        ),
        (
            scaled("promotion", 1, 128, 0, json!([promoted(32)])),
            "at least one row, column and k",
        ),
        (
            scaled("epilogue", 1, 128, 128, json!([promoted(32)])),
            "scales.at must be promotion",
        ),
        (scaled("promotion", 1, 128, 100, json!([promoted(32)])), LIE),
        (
            scaled(
                "promotion",
                1,
                128,
                128,
                json!([merged(first, json!("serial"), "zero")]),
            ),
            LIE,
        ),
        (good(json!({"residue": "first", "tile_k": 32})), LIE),
        (
            good(json!({"inner": [promoted(32), serial(slices(json!(2), json!(8)))]})),
            LIE,
        ),
        (good(json!({"order": order(32), "tile_k": 128})), ""),
        (good(json!({"order": order(64), "tile_k": 128})), LIE),
        (split(128, slices(json!(2), json!(null))), ""),
        (split(64, slices(json!(2), json!(null))), LIE),
        (split(64, slices(json!(2), json!(256))), ""),
        (split(64, slices(json!(2), json!(64))), LIE),
        (split(64, slices(json!(2), by_k(128))), ""),
        (split(64, slices(json!(2), by_k(64))), LIE),
        (split(128, interleaved(json!(2), json!(128))), LIE),
        (split(128, tiles(shared.clone())), ""),
        (split(64, tiles(shared)), LIE),
        (split(64, ranges(json!([[[0, 128]], [[128, 300]]]))), ""),
        (split(64, ranges(json!([[[0, 64]], [[64, 128]]]))), LIE),
        (split(64, ranges(json!([[[0, 128], [256, 384]]]))), LIE),
    ]);
}

#[test]
fn of_the_epilogue() {
    let epilogue = |name: &str, value: &str| json!({"combine": "fma", name: value});
    let with = |name: &str, value: &str, more: Value| {
        let mut fields = more;
        fields["epilogue"] = epilogue(name, value);
        fields
    };
    let scales = |at: &str, multiply: &str| json!({"scales": {"per": "tensor", "at": at, "multiply": multiply}, "inner": [promoted(8)]});
    let split =
        |merge: Value| json!({"split": {"parts": slices(json!(2), json!(8)), "merge": merge}});
    let sum = json!({"kind": "sum", "order": "serial", "start": "first"});
    all(&[
        (with("function", "gelu", json!({})), "gelu and silu"),
        (with("function", "silu", json!({})), "gelu and silu"),
        (with("function", "relu", json!({})), ""),
        (
            with("function", "relu", split(json!({"kind": "in_place"}))),
            "it would apply to each slice",
        ),
        (with("function", "relu", split(sum)), ""),
        (
            with("bias", "fused", json!({})),
            "no scale is in the epilogue",
        ),
        (
            with("bias", "fused", scales("promotion", "joint")),
            "no scale is in the epilogue",
        ),
        (
            with("bias", "fused", scales("epilogue", "alpha")),
            "the scales are alpha",
        ),
        (
            with("bias", "fused_or_zero", scales("epilogue", "joint")),
            "",
        ),
        (with("bias", "fused", scales("epilogue", "joint")), ""),
        (with("without_c", "add_zero", json!({})), ""),
        (json!({"epilogue": {"combine": "separate"}}), ""),
        (
            json!({"epilogue": {"combine": "separate", "without_c": "add_zero"}}),
            "combine is separate",
        ),
        (json!({"zero_point": "per_tensor"}), ""),
        (
            json!({"zero_point": "per_tensor", "inner": [promoted(8)]}),
            "integer sums must be one chain",
        ),
        (
            json!({"zero_point": "per_tensor", "split": serial(slices(json!(2), json!(8)))}),
            "integer sums must be one chain",
        ),
    ]);
}
