//! Dot products of a few products, every sum of them rounded.

use serde_json::{Value, json};

use super::{Clues, Searched, numbers};
use crate::emu::step::{Direction, RoundedDot};

const DIRECTIONS: [Direction; 5] = [
    Direction::Odd,
    Direction::NearestEven,
    Direction::TowardZero,
    Direction::Up,
    Direction::Down,
];

impl Searched for RoundedDot {
    /// Without payloads and scales.
    fn hypotheses(clues: &Clues) -> Vec<RoundedDot> {
        let mut all = Vec::new();
        for (group, fused) in [(2, 1), (2, 2), (4, 1), (4, 2), (4, 4), (8, 8)] {
            for rounding in DIRECTIONS {
                for [flush, with_c] in [[true, false], [false, false], [false, true]] {
                    all.push(RoundedDot {
                        group,
                        fused,
                        rounding,
                        flush,
                        nan: clues.nan,
                        with_c,
                        payloads: false,
                        fpmr: None,
                    });
                }
            }
        }
        all.retain(|step| !step.with_c || step.fused == step.group);
        all
    }

    fn values(&self, constant: &str, _: usize) -> Option<Vec<Value>> {
        match constant {
            "fused" => Some(numbers([1, 2, 4, 8])),
            "rounding" => Some(DIRECTIONS.map(|direction| json!(direction)).into()),
            "flush" | "with_c" | "payloads" => Some(vec![json!(false), json!(true)]),
            _ => None,
        }
    }
}
