//! Products of slices of significands.

use serde_json::{Value, json};

use super::{Clues, Searched, numbers};
use crate::emu::step::{Dropping, Droppings, Sliced};
use crate::num::Format;
use crate::words::Word;

impl Searched for Sliced {
    /// Every fidelity and every phase alone, with the fault and without; none where infinities are not numbers.
    fn hypotheses(clues: &Clues) -> Vec<Sliced> {
        let formats = clues.formats;
        if clues.infinities {
            return Vec::new();
        }
        let narrow_bits = match formats.accumulator {
            Format::Fp32 => 0,
            // A sum of 24 bits, cut to 11.
            _ => 13,
        };
        let mut all = Vec::new();
        for zero_exponent in [None, Some(2 * formats.a.min_exponent() - 2)] {
            for minus_one in [None, Some(27)] {
                for (tile, phases) in likely_loops() {
                    all.push(Sliced {
                        group: 8,
                        groups: 2,
                        tile,
                        phases,
                        a_slice: 7,
                        b_slice: 5,
                        zero_exponent,
                        narrow_bits,
                        rounding: Droppings {
                            product: Dropping::NearestAway,
                            sum: Dropping::NearestUp,
                            addend: Dropping::NearestAway,
                            result: Dropping::NearestAway,
                        },
                        blocks: None,
                        minus_one,
                    });
                }
            }
        }
        all
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        let or_none = |mut values: Vec<Value>| {
            values.push(Value::Null);
            values
        };
        Some(match constant {
            "groups" => numbers(1..=8),
            "a_slice" => numbers(6..=11),
            "b_slice" => numbers(1..=11),
            "narrow_bits" => numbers(0..=16),
            "minus_one" => or_none(numbers(1..=32)),
            "zero_exponent" => or_none((-160..=20).map(|n| json!(n)).collect()),
            "product" | "sum" | "addend" | "result" => Dropping::ALL
                .iter()
                .map(|(_, word, _)| json!(word))
                .collect(),
            other => return loop_values(other),
        })
    }
}

/// Tiles and phases that kernels have: every fidelity, and every phase alone.
pub fn likely_loops() -> impl Iterator<Item = (usize, Vec<u32>)> {
    [32, 16].into_iter().flat_map(|tile| {
        let phases = [0..1, 0..2, 0..3, 0..4, 1..2, 2..3, 3..4];
        phases.map(|phases| (tile, phases.collect()))
    })
}

/// The values of the constants of the loops over products.
pub fn loop_values(constant: &str) -> Option<Vec<Value>> {
    match constant {
        // Some of the phases, each once.
        "phases" => {
            let some = (1..16).map(|bits| (0..4).filter(|phase| bits >> phase & 1 == 1).collect());
            Some(some.map(|phases: Vec<u32>| json!(phases)).collect())
        }
        "tile" => Some(numbers([8, 16, 24, 32, 48, 64, 96, 128])),
        _ => None,
    }
}
