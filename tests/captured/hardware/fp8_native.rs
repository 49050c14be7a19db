//! FP8 where the unit multiplies it: Ada's `mma.sync` and Hopper's `wgmma`, with 13 fraction bits.

use super::controls::Controls;
use crate::support::wrong::*;

/// On Ada 16 products are a step, no fewer and no more, though the instruction takes 32.
#[test]
fn ada_takes_sixteen_products_a_step() {
    Controls {
        changes: [
            ("a bit less", one_bit_less),
            ("a bit more", one_bit_more),
            ("8 products a step", half_group),
            ("32 products a step", double_group),
            ("aligned to nearest", align_to_nearest),
            ("aligned down", align_down),
            ("rounded away", round_away),
            ("rounded down", round_down),
            ("a bit less of result", one_bit_less_of_result),
        ],
        counts: &[
            (
                "ada-e4m3-fp16",
                [340, 128, 832, 646, 143, 161, 270, 1481, 1264],
            ),
            (
                "ada-e4m3-fp32",
                [1356, 789, 507, 535, 1013, 690, 984, 456, 1241],
            ),
            (
                "ada-e5m2-fp16",
                [183, 85, 618, 630, 91, 81, 374, 1306, 1177],
            ),
            (
                "ada-e5m2-fp32",
                [1126, 579, 342, 366, 813, 338, 884, 408, 1119],
            ),
        ],
    }
    .verify("wrong models of Ada's FP8");
}

/// 14 significant bits of an FP32 result, truncated.
#[test]
fn fp32_results_keep_fourteen_bits() {
    Controls {
        changes: [
            ("15 bits", one_bit_more_of_result),
            ("rounded to nearest", round_to_nearest),
        ],
        counts: &[
            ("ada-e4m3-fp32", [473, 568]),
            ("ada-e5m2-fp32", [431, 482]),
            ("h100-e4m3-fp32", [587, 359]),
            ("h100-e5m2-fp32", [346, 213]),
        ],
    }
    .verify("wrong precision of FP8 results");
}

#[test]
fn hopper_takes_all_of_k_in_a_step() {
    Controls {
        changes: [
            ("a bit less", one_bit_less),
            ("a bit more", one_bit_more),
            ("16 products a step", half_group),
            ("aligned to nearest", align_to_nearest),
            ("aligned down", align_down),
            ("rounded away", round_away),
            ("rounded down", round_down),
            ("a bit less of result", one_bit_less_of_result),
        ],
        counts: &[
            ("h100-e4m3-fp32", [977, 441, 399, 441, 526, 587, 336, 860]),
            ("h100-e5m2-fp32", [511, 235, 186, 227, 265, 346, 189, 639]),
        ],
    }
    .verify("wrong models of Hopper's FP8");
}
