//! Block-scaled dot-adds with two windows.

use serde_json::Value;

use super::{Clues, Searched, block_dot, numbers};
use crate::emu::step::BlockWindow;

impl Searched for BlockWindow {
    /// The published constants, and their neighbours.
    fn hypotheses(clues: &Clues) -> Vec<BlockWindow> {
        let Some(scale) = clues.formats.scale else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for group in [64, 32, 128] {
            for part in block_dot::parts(Some(scale), group).filter(|part| *part >= 4) {
                for product_part in [4, part] {
                    for (addend_cuts, least_sum) in [(true, Some(-174)), (false, None)] {
                        all.push(BlockWindow {
                            group,
                            part,
                            product_part,
                            product_bits: 39,
                            scale_bits: 35,
                            addend_bits: 35,
                            addend_cuts,
                            least_sum,
                            nan: clues.nan,
                        });
                    }
                }
            }
        }
        all
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        match constant {
            "product_part" => Some(numbers(1..=32)),
            "product_bits" | "scale_bits" | "addend_bits" => Some(numbers(0..=64)),
            "addend_cuts" => Some(vec![false.into(), true.into()]),
            "least_sum" => {
                let all = (-190..=-140).map(Value::from);
                Some(all.chain([Value::Null]).collect())
            }
            _ => None,
        }
    }
}
