//! What a GEMMDesc must not say, and the sentence that refuses it.

use serde_json::{Value, json};

use super::gemm_desc::{cut, matrix, merge, planned, scalar};
use super::schedules::shape;
use super::*;

/// The rows of a table: some fields, and words of the sentence that refuses them.
fn rows(table: &str) -> impl Iterator<Item = (Value, Vec<&str>)> {
    let lines = table.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(|line| {
        let mut columns = line.split(" | ");
        let fields = serde_json::from_str(columns.next().unwrap());
        (fields.expect(line), columns.collect())
    })
}

/// The rules of the type's constructor, values that nobody knows, and what is not planned: each in a sentence that
/// names the key.
#[test]
fn what_is_refused() {
    let refused = |fields: Value, words: &[&str]| {
        let error = planned(&fields, 100)
            .err()
            .unwrap_or_else(|| panic!("{fields}"));
        let error = error.to_string();
        for word in words {
            assert!(error.contains(word), "{fields}\n{error}\n{word}");
        }
    };
    let with = |more: Value| matrix(json!({"k_cuts": [cut(more)]}));
    let of_scalar = |more: Value| {
        let mut fields = scalar(json!([]));
        merge(&mut fields, more);
        fields
    };
    let strided = |more: Value| {
        let mut own = json!({"span": 8, "layout": "STRIDED", "count": 4});
        merge(&mut own, more);
        with(own)
    };
    let integers =
        json!({"operand_dtype": "int8", "accumulate_dtype": "int32", "output_dtype": "int32"});
    let of_integers = |more: Value| {
        let mut fields = matrix(integers.clone());
        merge(&mut fields, more);
        fields
    };
    for (more, words) in rows(
        r#"
        {"operand_dtype": "complex64"} | operand_dtype is "complex64"
        {"operand_dtype": "bool"} | operand_dtype
        {"operand_dtype": "int32", "accumulate_dtype": "int32", "output_dtype": "int32"} | operand_dtype
        {"operand_dtype": null} | operand_dtype is missing
        {"accumulate_dtype": "float8_e4m3fn"} | accumulate_dtype
        {"accumulate_dtype": "bfloat16"} | accumulate_dtype
        {"accumulate_dtype": "int32"} | all be floating point or all be integer
        {"accumulate_dtype": "float16"} | accumulate_dtype is float16 | float32
        {"accumulate_dtype": "float64"} | accumulate_dtype is float64
        {"output_dtype": "complex64"} | output_dtype
        {"instruction_k": null} | MMA_SYNC | instruction_k
        {"instruction_k": 0} | instruction_k
        {"instruction_k": -16} | instruction_k is "-16"
        {"instruction_k": "4"} | instruction_k
        {"instruction_k": true} | instruction_k
        {"use_fast_accum": null} | use_fast_accum
        {"use_fast_accum": 1} | use_fast_accum is "1"
        {"k_loop_step": 0} | k_loop_step
        {"k_loop_step": 6} | k_loop_step is 6 | instruction_k
        {"input_precision": "TF32"} | input_precision TF32 | float32
        {"input_precision": "TF32X3"} | input_precision TF32X3
        {"input_precision": "bf16x3"} | input_precision is "bf16x3"
        {"input_precision": "TF32X3", "operand_dtype": "float32"} | input_precision is TF32X3 | cutlass-3xtf32
        {"algorithm": 1} | algorithm is "1"
        {"algorithm": "matrix_instruction"} | algorithm is "matrix_instruction"
        {"algorithm": null} | algorithm is missing
        {"epilogue": "RELU"} | epilogue is "RELU"
        {"epilogue": 2} | epilogue
        {"scale_apply": "folded"} | scale_apply is "folded"
        {"k_split": 4} | k_split | not a known field
        {"k_cuts": 1024} | k_cuts must be a list
        {"k_cuts": [1024]} | k_cuts[0] must be an object
        {"operand_dtype": "float8_e4m3fn", "use_fast_accum": false} | use_fast_accum is false with FP8
        "#,
    ) {
        refused(matrix(more), &words);
    }
    refused(
        matrix(json!({"k_cuts": [cut(json!({"span": 8})), 64]})),
        &["k_cuts[1] must be an object"],
    );
    for (more, words) in rows(
        r#"
        {"instruction_k": 1} | instruction_k must be absent or null | SCALAR_FUSED_MULTIPLY_ADD
        {"use_fast_accum": false} | use_fast_accum must be absent or null
        {"k_loop_step": 64} | k_loop_step must be absent or null
        {"input_precision": "TF32"} | matrix instruction
        {"algorithm": "SCALAR_MULTIPLY_THEN_ADD"} | algorithm is SCALAR_MULTIPLY_THEN_ADD
        "#,
    ) {
        refused(of_scalar(more), &words);
    }
    for (more, words) in rows(
        r#"
        {"output_dtype": "int64"} | output_dtype
        {"output_dtype": "float16"} | all be floating point or all be integer
        {"output_dtype": "int8"} | output_dtype is int8 | saturates
        {"accumulate_dtype": "int64"} | accumulate_dtype is int64 | 64-bit formats
        "#,
    ) {
        refused(of_integers(more), &words);
    }
    refused(
        of_integers(json!({"k_cuts": [cut(json!({"span": 8}))]})),
        &["k_cuts[0].partial_dtype"],
    );
    for (more, words) in rows(
        r#"
        {} | k_cuts[0].span is missing
        {"span": 0} | k_cuts[0].span
        {"span": -8} | k_cuts[0].span is "-8"
        {"span": 8, "count": 4} | count | STRIDED
        {"span": 8, "period": 8} | period | STRIDED
        {"span": 8, "divisor": 2} | divisor | STRIDED
        {"span": 8, "partial_dtype": "int32"} | k_cuts[0].partial_dtype is int32
        {"span": 8, "merge_dtype": "int32"} | k_cuts[0].merge_dtype is int32
        {"span": 8, "partial_dtype": "float8_e5m2"} | k_cuts[0].partial_dtype
        {"span": 8, "merge_dtype": "int8"} | k_cuts[0].merge_dtype
        {"span": 8, "merge_dtype": null} | k_cuts[0].merge_dtype is missing
        {"span": 8, "merge_dtype": "float64"} | k_cuts[0].merge_dtype is fp64
        {"span": 8, "merge_dtype": "bfloat16"} | k_cuts[0].merge_dtype is bf16
        {"span": 8, "partial_dtype": "float16", "merge_dtype": "float16"} | k_cuts[0].merge_dtype
        {"span": 8, "merge": "PAIRWISE_TREE"} | k_cuts[0].merge is PAIRWISE_TREE of 13 parts
        {"span": 8, "merge": "SEQUENTIAL", "merge_order": "SEQUENTIAL"} | k_cuts[0].merge is given twice
        {"span": 8, "merge": "TREE"} | k_cuts[0].merge is "TREE"
        {"span": 8, "layout": 1} | k_cuts[0].layout
        {"span": 8, "stride": 4} | k_cuts[0].stride | not a known field
        "#,
    ) {
        refused(with(more), &words);
    }
    for (more, words) in rows(
        r#"
        {"count": null} | k_cuts[0].count
        {"count": 1} | k_cuts[0].count
        {"divisor": 4} | divisor is 4 | period
        {"period": 0} | k_cuts[0].period
        {"period": 8, "divisor": 0} | k_cuts[0].divisor
        {"span": 6} | instruction_k 4 | two tiles
        "#,
    ) {
        refused(strided(more), &words);
    }
    let inner = |more: Value| matrix(json!({"k_cuts": [cut(json!({"span": 64})), cut(more)]}));
    refused(
        inner(json!({"span": 8, "partial_dtype": "float16"})),
        &["k_cuts[1].partial_dtype"],
    );
    refused(
        inner(json!({"span": 8, "merge_dtype": "float64"})),
        &["k_cuts[1].merge_dtype"],
    );
    // A key that stands there twice is one that would be passed over.
    let twice = matrix(json!({}))
        .to_string()
        .replacen('{', r#"{"instruction_k": 8, "#, 1);
    assert!(
        read(&twice)
            .unwrap_err()
            .to_string()
            .contains("instruction_k")
    );
    // An answer to what the description says itself.
    let mut options = Options {
        tile_k: Some(64),
        ..Options::default()
    };
    let text = matrix(json!({})).to_string();
    let refused = |options: &Options| read(&text).unwrap().plan(&shape(100), options).unwrap_err();
    assert!(refused(&options).to_string().contains("K of a tile"));
    options = Options {
        split_k: Some(2),
        ..Options::default()
    };
    assert!(
        refused(&options)
            .to_string()
            .contains("the number of slices")
    );
}
