//! Chains, exact sums and integers.

use serde_json::json;

use super::{nan_and_rounding, said, table};

#[test]
fn chains_and_exact_sums() {
    for of in [
        "ieee-fma fma fp16 fp32",
        "exact dot fp16 fp32",
        "cdna1 mfma fp16 fp32",
        "cdna2 mfma fp16 fp32",
    ] {
        nan_and_rounding(of);
    }
    for of in [
        "ieee-fma fma fp16 fp32",
        "exact dot fp16 fp32",
        "cdna1 mfma fp16 fp32",
    ] {
        said(
            of,
            &json!({"/accumulator": "e4m3", "nan": "7f"}),
            "cannot accumulate",
        );
        let scale = json!({"/scale": {"format": "ue8m0", "block": 32}});
        said(of, &scale, "this step takes no scales");
    }
    table(
        "cdna1 mfma fp16 fp32",
        &[
            (json!({"group": 0}), "group is 0"),
            (json!({"group": 1025}), "group is 1025"),
            (json!({"plus_zero": true}), ""),
            (json!({"/instruction_k": 4}), "which changes nothing"),
            (json!({"/instruction_k": 16}), ""),
        ],
    );
    table(
        "cdna2 mfma fp16 fp32",
        &[
            (json!({"group": 0}), "group is 0"),
            (
                json!({"group": 6, "span": 18}),
                "group is 6; it must be a power of two",
            ),
            (json!({"group": 8}), ""),
            (json!({"span": 0}), "span must be a multiple of group"),
            (json!({"span": 18}), "span must be a multiple of group"),
            (json!({"span": 1024}), ""),
            (json!({"span": 1028}), "at most 1024"),
        ],
    );
    table(
        "hopper wgmma int8 int32",
        &[
            (json!({"group": 0}), "group is 0"),
            (
                json!({"/a": "int32"}),
                "operands must have up to 8 bits, unlike int32",
            ),
            (
                json!({"/b": "int32"}),
                "operands must have up to 8 bits, unlike int32",
            ),
            (
                json!({"/accumulator": "int8"}),
                "the accumulator of integers must be int32, not int8",
            ),
            (json!({"/b": "fp16"}), "this step takes integers, not fp16"),
        ],
    );
    table(
        "gpgpu-sim wmma fp16 fp32",
        &[
            (json!({"span": 0}), "group is 0"),
            (json!({"/a": "bf16"}), "operands must be fp16"),
            (json!({"/b": "bf16"}), "operands must be fp16"),
            (
                json!({"/accumulator": "bf16"}),
                "C and D must be fp16 or fp32, not bf16",
            ),
            (
                json!({"/addend": "bf16"}),
                "C and D must be fp16 or fp32, not bf16",
            ),
            (json!({"/addend": "fp16"}), ""),
        ],
    );
}

#[test]
fn rounded_dots() {
    table(
        "arm bfdot-ebf bf16 fp32",
        &[
            (json!({"group": 0}), "group is 0"),
            (json!({"group": 1025}), "group is 1025"),
            (json!({"group": 1024}), ""),
            (json!({"fused": 0}), "fused is 0; it must divide group, 2"),
            (json!({"fused": 3}), "fused is 3; it must divide group, 2"),
            (json!({"fused": 1}), ""),
            (json!({"with_c": true}), ""),
            (json!({"with_c": true, "fused": 1}), "fused must be group"),
            (json!({"payloads": true}), "payloads need one product"),
            (json!({"payloads": true, "fused": 1}), ""),
            (
                json!({"payloads": true, "fused": 1, "/a": "e4m3"}),
                "payloads need one product",
            ),
            (json!({"rounding": "ru"}), ""),
            (
                json!({"nan": "7f800000"}),
                "nan 7f800000 is not a NaN of fp32",
            ),
            (json!({"/accumulator": "tf32"}), "ignored bits"),
            (
                json!({"/accumulator": "e4m3", "nan": "7f"}),
                "cannot accumulate",
            ),
            (json!({"/instruction_k": 4}), "which changes nothing"),
            (json!({"fpmr": {"lscale": 127, "osm": true}}), ""),
            (
                json!({"fpmr": {"lscale": 128, "osm": true}}),
                "lscale is 128",
            ),
        ],
    );
    table(
        "arm fdot2 e4m3 fp16",
        &[
            (json!({"fpmr.lscale": 15}), ""),
            (
                json!({"fpmr.lscale": 16}),
                "lscale is 16; of fp16 results it must be 0 to 15",
            ),
        ],
    );
}
