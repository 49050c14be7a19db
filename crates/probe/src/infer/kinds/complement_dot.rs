//! Dot-adds in one's complement.

use serde_json::Value;

use super::chained::{self, least_leading, least_leadings, likely, nans};
use super::{Clues, Searched};
use crate::emu::step::ComplementDot;

impl Searched for ComplementDot {
    /// The widths that are known, of any groups.
    fn hypotheses(clues: &Clues) -> Vec<ComplementDot> {
        let Some(nan) = nans(clues) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for groups in likely() {
            for [flush_operands, flush_sums] in
                [[false, true], [true, true], [false, false], [true, false]]
            {
                all.push(ComplementDot {
                    groups: groups.clone(),
                    product_bits: 24,
                    leading_bits: 26,
                    least_leading: least_leading(clues),
                    flush_operands,
                    flush_sums,
                    nan,
                });
            }
        }
        all
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        match constant {
            "least_leading" => Some([vec![Value::Null], least_leadings()].concat()),
            other => chained::values(&self.groups, other),
        }
    }

    fn with_widths(&self, product_bits: u32, leading_bits: u32) -> Option<ComplementDot> {
        Some(ComplementDot {
            product_bits,
            leading_bits,
            ..self.clone()
        })
    }
}
