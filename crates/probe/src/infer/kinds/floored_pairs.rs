//! Dot-adds of floored pairs.

use serde_json::{Value, json};

use super::chained::{self, least_leading, least_leadings, likely, nans};
use super::{Clues, Searched};
use crate::emu::step::FlooredPairs;

impl Searched for FlooredPairs {
    /// The widths that are known, of any groups.
    fn hypotheses(clues: &Clues) -> Vec<FlooredPairs> {
        let Some(nan) = nans(clues) else {
            return Vec::new();
        };
        let least = clues.formats.accumulator.min_exponent();
        let all = likely().map(|groups| FlooredPairs {
            groups,
            product_bits: 24,
            leading_bits: 26,
            least_leading: least_leading(clues).unwrap_or(least),
            vanishing_c: least_leading(clues),
            nan,
        });
        all.collect()
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        match constant {
            "least_leading" => Some(least_leadings()),
            "vanishing_c" => Some(vec![Value::Null, json!(-126), json!(-14)]),
            other => chained::values(&self.groups, other),
        }
    }

    fn with_widths(&self, product_bits: u32, leading_bits: u32) -> Option<FlooredPairs> {
        Some(FlooredPairs {
            product_bits,
            leading_bits,
            ..self.clone()
        })
    }
}
