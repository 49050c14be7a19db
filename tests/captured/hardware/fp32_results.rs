//! FP16, BF16 and TF32 with FP32 results: they pin the alignment and the rounding to the bit.

use super::controls::Controls;
use crate::support::wrong::*;

/// Fraction bits one off, and every other way to align and to round.
#[test]
fn alignment_and_rounding_are_pinned() {
    Controls {
        changes: [
            ("a bit less", one_bit_less),
            ("a bit more", one_bit_more),
            ("aligned to nearest", align_to_nearest),
            ("aligned down", align_down),
            ("rounded to nearest", round_to_nearest),
            ("rounded away", round_away),
            ("rounded down", round_down),
            ("a bit less of result", one_bit_less_of_result),
        ],
        counts: &[
            ("a100-bf16-fp32", [523, 224, 220, 13, 620, 902, 457, 1079]),
            ("a100-fp16-fp32", [849, 376, 468, 396, 629, 942, 473, 1059]),
            ("a100-tf32-fp32", [584, 223, 259, 165, 562, 879, 373, 1019]),
            ("ada-bf16-fp32", [465, 223, 245, 17, 597, 867, 443, 1021]),
            ("ada-fp16-fp32", [827, 425, 513, 397, 651, 959, 485, 1061]),
            ("ada-tf32-fp32", [590, 246, 279, 160, 555, 847, 364, 1068]),
            ("b200-bf16-fp32", [239, 91, 96, 13, 765, 1023, 707, 1129]),
            ("b200-fp16-fp32", [603, 252, 337, 375, 877, 1096, 754, 1170]),
            ("b200-tf32-fp32", [229, 88, 98, 62, 722, 949, 509, 1108]),
            ("h100-bf16-fp32", [226, 82, 94, 16, 838, 1077, 695, 1117]),
            ("h100-fp16-fp32", [596, 274, 366, 383, 898, 1087, 738, 1179]),
            ("h100-tf32-fp32", [269, 77, 87, 62, 680, 930, 499, 1078]),
            ("v100-fp16-fp32", [1130, 631, 718, 399, 318, 582, 173, 920]),
        ],
    }
    .verify("wrong models of FP32 results");
}

/// Thirteen directed sums, of which two tell 24 fraction bits from 23 and two from 25.
#[test]
fn directed_sums_pin_the_fraction_bits() {
    Controls {
        changes: [("a bit less", one_bit_less), ("a bit more", one_bit_more)],
        counts: &[("rtx3080-fp16-fp32", [2, 2])],
    }
    .verify("wrong fraction bits on an RTX 3080");
}

/// All K products of an instruction are added at once.
#[test]
fn half_the_products_a_step_fail() {
    Controls {
        changes: [("half of K a step", half_group)],
        counts: &[
            ("a100-bf16-fp32", [380]),
            ("a100-fp16-fp32", [627]),
            ("a100-tf32-fp32", [411]),
            ("ada-bf16-fp32", [362]),
            ("ada-fp16-fp32", [595]),
            ("ada-tf32-fp32", [426]),
            ("b200-bf16-fp32", [487]),
            ("b200-fp16-fp32", [804]),
            ("h100-bf16-fp32", [450]),
            ("h100-fp16-fp32", [770]),
            ("v100-fp16-fp32", [418]),
        ],
    }
    .verify("half the products a step");

    // Captured with K = 4, half of what the unit takes.
    Controls {
        changes: [("half of K a step", quarter_group)],
        counts: &[("b200-tf32-fp32", [478]), ("h100-tf32-fp32", [457])],
    }
    .verify("half the products a step, TF32");
}
