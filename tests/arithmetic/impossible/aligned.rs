//! Steps that align terms to a grid.

use serde_json::json;

use super::{nan_and_rounding, said, table};

#[test]
fn fused_sums() {
    table(
        "hopper wgmma fp16 fp32",
        &[
            (json!({"group": 0}), "group is 0"),
            (json!({"group": 1}), ""),
            (json!({"group": 1024}), ""),
            (json!({"group": 1025}), "group is 1025"),
            (json!({"fraction_bits": 96}), ""),
            (json!({"fraction_bits": 97}), "fraction_bits is 97"),
            (json!({"zero_exponent": 4096}), ""),
            (json!({"zero_exponent": 4097}), "zero_exponent is 4097"),
            (json!({"zero_exponent": -4096}), ""),
            (json!({"zero_exponent": -4097}), "zero_exponent is -4097"),
            (
                json!({"precision": 0}),
                "precision is 0; fp32 has 1 to 24 bits",
            ),
            (json!({"precision": 1}), ""),
            (
                json!({"precision": 25}),
                "precision is 25; fp32 has 1 to 24 bits",
            ),
            (json!({"sum_bits": 24, "rounding": "rne"}), ""),
            (json!({"sum_bits": 127, "rounding": "rd"}), ""),
            (
                json!({"sum_bits": 23, "rounding": "rne"}),
                "sum_bits is 23; it must be precision, which is 24, to 127",
            ),
            (
                json!({"sum_bits": 128, "rounding": "rne"}),
                "sum_bits is 128",
            ),
            (
                json!({"sum_bits": 26}),
                "changes nothing where rounding is rz",
            ),
            (json!({"nan": "7f800000"}), "not a NaN of fp32"),
            (
                json!({"/accumulator": "e4m3", "precision": 4, "nan": "7f"}),
                "cannot accumulate: it has no infinity",
            ),
            (
                json!({"/accumulator": "int32"}),
                "this step takes floats, not int32",
            ),
            (json!({"/a": "int8"}), "this step takes floats, not int8"),
            (json!({"/b": "ue8m0"}), "this step takes floats, not ue8m0"),
            (
                json!({"/addend": "fp16"}),
                "this step needs one format for both",
            ),
            (json!({"/addend": "fp32"}), "leave it out"),
            (json!({"/scale": {"format": "ue8m0", "block": 32}}), ""),
            (
                json!({"/scale": {"format": "ue4m3", "block": 32}}),
                "scales of ue8m0, not ue4m3",
            ),
        ],
    );
    table(
        "hopper mma e4m3 fp32",
        &[
            (json!({"period": 0}), "positions beyond period"),
            (json!({"first": [4]}), "positions beyond period"),
            (json!({"first": [0, 3]}), ""),
            (json!({"closing": "rna"}), "closing must be rne or rz"),
            (json!({"span": 0}), "span must be a multiple of period"),
            (json!({"span": 30}), "span must be a multiple of period"),
            (json!({"span": 28}), ""),
            (json!({"span": 1028, "half.group": 1024}), "at most 1024"),
            (json!({"span": 1024, "half.group": 1024}), ""),
            (json!({"span": 36}), "halves of 18 and 18 products exceed"),
            (
                json!({"first": [0, 1, 2]}),
                "halves of 24 and 8 products exceed",
            ),
            (json!({"first": [0]}), "halves of 8 and 24 products exceed"),
            (
                json!({"half.minus_zero": true}),
                "half.minus_zero has no effect",
            ),
            (json!({"half.fraction_bits": 97}), "fraction_bits is 97"),
        ],
    );
}

#[test]
fn floored_sums() {
    nan_and_rounding("cdna3 mfma fp16 fp32");
    table(
        "cdna3 mfma fp16 fp32",
        &[
            (json!({"group": 0}), "group is 0"),
            (json!({"sums": 0}), "sums is 0"),
            (json!({"sums": 8}), ""),
            (json!({"sums": 9}), "sums is 9; it must be 1 to group"),
            (json!({"fraction_bits": 32}), ""),
            (
                json!({"fraction_bits": 33}),
                "fraction_bits is 33 and sum_fraction_bits 32",
            ),
            (json!({"sum_fraction_bits": 96}), ""),
            (json!({"sum_fraction_bits": 97}), "that at most 96"),
            (json!({"result_fraction_bits": 23}), ""),
            (
                json!({"result_fraction_bits": 22}),
                "result_fraction_bits is 22; it must be 23 to 4096",
            ),
            (json!({"result_fraction_bits": 4096}), ""),
            (
                json!({"result_fraction_bits": 4097}),
                "result_fraction_bits is 4097",
            ),
            (json!({"addend_window": 4096}), ""),
            (
                json!({"addend_window": 4097}),
                "addend_window must be at most 4096",
            ),
            (json!({"zero_exponent": -4096}), ""),
            (json!({"zero_exponent": -4097}), "zero_exponent is -4097"),
            (json!({"zero_exponent": 4096}), ""),
            (json!({"zero_exponent": 4097}), "zero_exponent is 4097"),
            (
                json!({"/accumulator": "e4m3", "nan": "7f"}),
                "cannot accumulate",
            ),
        ],
    );
}

#[test]
fn sums_of_blocks() {
    table(
        "blackwell tcgen05-mxf4 e2m1 fp32",
        &[
            (json!({"/scale": null}), "this step needs scales"),
            (json!({"group": 1040}), "group is 1040"),
            (json!({"part": 0}), "part is 0; it must divide group"),
            (
                json!({"part": 64}),
                "part is 64; it must divide group, 64, and scale.block, 32",
            ),
            (
                json!({"part": 48, "group": 96, "/scale": {"format": "ue8m0", "block": 32}}),
                "part is 48",
            ),
            (
                json!({"part": 32, "group": 48}),
                "part is 32; it must divide group, 48",
            ),
            (json!({"part": 32}), ""),
            (
                json!({"/a": "fp16"}),
                "operands must be finite narrow formats, unlike fp16",
            ),
            (
                json!({"/b": "e4m3"}),
                "operands must be finite narrow formats, unlike e4m3",
            ),
            (json!({"/b": "e3m2"}), ""),
            (json!({"fraction_bits": 64}), ""),
            (json!({"fraction_bits": 65}), "fraction_bits is 65"),
            (json!({"zero_exponent": -4096}), ""),
            (json!({"zero_exponent": -4097}), "zero_exponent is -4097"),
            (json!({"zero_exponent": 4097}), "zero_exponent is 4097"),
            (json!({"precision": 0}), "precision is 0"),
            (json!({"precision": 24}), ""),
            (json!({"precision": 25}), "fp32 has 1 to 24 bits"),
            (json!({"nan": "7f800000"}), "not a NaN of fp32"),
            (
                json!({"/accumulator": "e4m3", "precision": 4, "nan": "7f"}),
                "cannot accumulate",
            ),
        ],
    );
}

#[test]
fn sums_with_a_sticky_bit() {
    let narrow = "vortex-tfr fedp fp16 fp32";
    table(
        narrow,
        &[
            (
                json!({"/b": "bf16"}),
                "the unit multiplies one format, not fp16 and bf16",
            ),
            (
                json!({"/accumulator": "fp16", "nan": "7fff"}),
                "the unit accumulates fp32, not fp16",
            ),
            (json!({"lanes": 4, "group": 4}), ""),
            (json!({"lanes": 6, "group": 6}), "lanes is 6"),
            (json!({"group": 16}), "8 lanes hold 8 products of fp16"),
            (
                json!({"/a": "fp32", "/b": "fp32"}),
                "the unit does not multiply fp32",
            ),
            (json!({"pair": "tfr"}), "fp16 has no pair"),
            (json!({"scaling": "mxfp4"}), "scales are missing"),
            (
                json!({"/scale": {"format": "ue8m0", "block": 32}}),
                "it has scales, but no scaling",
            ),
            (json!({"fraction_bits": 23}), ""),
            (json!({"fraction_bits": 22}), "fraction_bits is 22"),
            (json!({"fraction_bits": 48, "width": 48}), ""),
            (
                json!({"fraction_bits": 49, "width": 50}),
                "fraction_bits is 49",
            ),
            (json!({"width": 24}), ""),
            (json!({"width": 23}), "width is 23"),
            (json!({"width": 64}), ""),
            (json!({"width": 65}), "width is 65"),
            (json!({"zero_exponent": -253}), ""),
            (json!({"zero_exponent": -252}), "it must be -4096 to -253"),
            (json!({"zero_exponent": -4096}), ""),
            (json!({"zero_exponent": -4097}), "zero_exponent is -4097"),
            (json!({"nan": "7f800000"}), "not a NaN of fp32"),
        ],
    );
    table(
        "vortex-tfr fedp tf32 fp32",
        &[(json!({"group": 8}), "8 lanes hold 4 products of tf32")],
    );
    table(
        "vortex-tfr fedp e4m3 fp32 e4m3",
        &[
            (json!({"pair": null}), "e4m3 needs pair"),
            (json!({"group": 8}), "8 lanes hold 16 products of e4m3"),
        ],
    );
    table(
        "vortex-tfr fedp e2m1 fp32 e2m1 ue8m0",
        &[
            (json!({"group": 16}), "8 lanes hold 32 products of e2m1"),
            (
                json!({"/scale": null, "scaling": null}),
                "scales are missing for e2m1",
            ),
            (json!({"scaling": null}), "it has scales, but no scaling"),
            (
                json!({"scaling": "nvfp4"}),
                "this scaling does not support e2m1 with scales of ue8m0",
            ),
            (
                json!({"scaling": "lane_exponent"}),
                "this scaling does not support e2m1 with scales of ue8m0",
            ),
            (
                json!({"/scale": {"format": "ue8m0", "block": 30}}),
                "scale.block is 30; it must be a multiple of 4",
            ),
            (json!({"/scale": {"format": "ue8m0", "block": 4}}), ""),
        ],
    );
    let of = "vortex-tfr fedp e4m3 fp32 e4m3 ue8m0";
    said(
        of,
        &json!({"scaling": "mxfp4"}),
        "this scaling does not support e4m3 with scales of ue8m0",
    );
}
