//! FP16 with FP16 results: they pin the group and the precision of the result, but neither the
//! fraction bits nor what becomes of a tie.

use super::controls::Controls;
use crate::support::wrong::*;

#[test]
fn group_and_rounding_are_pinned() {
    Controls {
        changes: [
            ("half of K a step", half_group),
            ("rounded toward zero", round_to_zero),
            ("rounded down", round_down),
            ("a bit less of result", one_bit_less_of_result),
        ],
        counts: &[
            ("a100-fp16-fp16", [655, 1246, 1219, 1238]),
            ("ada-fp16-fp16", [684, 1250, 1264, 1283]),
            ("b200-fp16-fp16", [646, 1243, 1263, 1234]),
            ("h100-fp16-fp16", [652, 1239, 1284, 1234]),
            ("v100-fp16-fp16", [670, 1210, 1281, 1233]),
        ],
    }
    .verify("wrong models of FP16 results");
}

/// Why the catalogue calls these constants literature: wrong ones pass unnoticed.
#[test]
fn fraction_bits_and_ties_hardly_show() {
    Controls {
        changes: [
            ("a bit less", one_bit_less),
            ("a bit more", one_bit_more),
            ("aligned to nearest", align_to_nearest),
            ("aligned down", align_down),
            ("ties away", round_away),
        ],
        counts: &[
            ("a100-fp16-fp16", [1, 0, 0, 0, 0]),
            ("ada-fp16-fp16", [0, 0, 0, 0, 0]),
            ("b200-fp16-fp16", [0, 0, 0, 0, 0]),
            ("h100-fp16-fp16", [0, 0, 1, 0, 0]),
            ("v100-fp16-fp16", [0, 0, 0, 0, 0]),
        ],
    }
    .compare("what FP16 results do not pin");
}
