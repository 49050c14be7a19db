//! Which format an array is read in.

use super::*;
use crate::reader::float_format;

fn descr(text: &str) -> Descr {
    Descr::parse(text).expect("a descr")
}

#[test]
fn the_format_of_d() {
    use Format::{Bf16, Fp16, Fp32, Fp64, Int32};
    for (text, accumulator, format) in [
        ("<f4", Fp32, Fp32),
        // Values of the accumulator in a wider array: whether they are is examined later.
        ("<f4", Fp16, Fp16),
        ("<f8", Fp32, Fp32),
        ("<f2", Fp32, Fp16),
        ("<f2", Fp64, Fp16),
        ("|V2", Fp32, Bf16),
        ("<i4", Int32, Int32),
        // Codes as wide as the accumulator's.
        ("<u4", Fp32, Fp32),
        ("<u4", Int32, Int32),
        ("<u8", Fp64, Fp64),
        ("<u2", Fp16, Fp16),
    ] {
        assert_eq!(
            d_format(&descr(text), accumulator),
            Ok(format),
            "{text} {accumulator}"
        );
    }
    for (text, accumulator, said) in [
        (
            "<u2",
            Fp32,
            "does not distinguish fp16 from bf16; give `d_dtype`",
        ),
        ("<u2", Int32, "are 2 bytes wide"),
        ("<u2", Fp64, "are 2 bytes wide"),
        ("<u4", Fp16, "are 4 bytes wide"),
        ("<u4", Fp64, "are 4 bytes wide"),
        ("|u1", Fp32, "are 1 bytes wide"),
        ("|u1", Int32, "are 1 bytes wide"),
        ("<u8", Int32, "are 8 bytes wide"),
    ] {
        let refused = d_format(&descr(text), accumulator).expect_err(text);
        assert!(refused.contains(said), "{text} {accumulator}: {refused}");
    }
}

#[test]
fn the_format_of_a_bias() {
    use Format::{Bf16, Fp16, Fp32};
    for (text, format) in [
        ("<f4", Fp32),
        ("<f8", Fp32),
        ("<f2", Fp16),
        ("|V2", Bf16),
        ("<u4", Fp32),
    ] {
        assert_eq!(
            float_format(&descr(text), "bias_dtype"),
            Ok(format),
            "{text}"
        );
    }
    for text in ["<u2", "|u1", "<u8"] {
        let refused = float_format(&descr(text), "bias_dtype").expect_err(text);
        assert!(refused.contains("give `bias_dtype`"), "{refused}");
    }
}
