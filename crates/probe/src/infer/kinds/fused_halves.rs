//! Two fused dot-adds over interleaved halves.

use serde_json::{Value, json};

use super::{Clues, Searched, numbers, roundings};
use crate::emu::step::{Fused, FusedHalves, Step};
use crate::num::Rounding;

/// Of `span` products, those with `k mod period` in `first` are added before the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halves {
    pub span: usize,
    pub period: usize,
    pub first: Vec<usize>,
}

/// The step of such halves.
pub fn of(halves: &Halves, half: Fused, closing: Rounding) -> Step {
    let Halves {
        span,
        period,
        first,
    } = halves.clone();
    Step::from(FusedHalves {
        span,
        period,
        first,
        half,
        closing,
    })
}

impl Searched for FusedHalves {
    fn hypotheses(clues: &Clues) -> Vec<FusedHalves> {
        let halves = <Fused as Searched>::hypotheses(clues);
        let mut all = Vec::new();
        for span in [32usize, 16, 64, 8] {
            let patterns = [
                (4, vec![0, 1]),
                (2, vec![0]),
                (4, vec![2, 3]),
                (4, vec![0, 3]),
                (4, vec![1, 2]),
                (2, vec![1]),
                (8, vec![0, 1, 2, 3]),
                (span, (0..span / 2).collect()),
            ];
            for (period, first) in patterns {
                for half in halves.iter().filter(|half| half.group == clues.groups[0]) {
                    let depth = clues.zero_exponent - half.zero_exponent;
                    if depth != half.fraction_bits as i32 {
                        continue;
                    }
                    for closing in [Rounding::NearestEven, Rounding::TowardZero] {
                        all.push(FusedHalves {
                            span,
                            period,
                            first: first.clone(),
                            half: Fused {
                                group: span / 2,
                                minus_zero: false,
                                ..half.clone()
                            },
                            closing,
                        });
                    }
                }
            }
        }
        all
    }

    fn values(&self, constant: &str, k: usize) -> Option<Vec<Value>> {
        match constant {
            "rounding" => Some(roundings()),
            // Halves that are not full add a zero product: any size beyond is the same.
            "group" => Some(numbers((1..=k / 2).chain([k, 1024]))),
            "first" => Some(patterns(self.period)),
            _ => None,
        }
    }

    fn follow(&mut self, changed: &str) {
        if changed == "period" {
            // A pattern of another length: the first half of it.
            self.first = (0..self.period / 2).collect();
        }
    }
}

/// Ways to deal a pattern to two halves.
fn patterns(period: usize) -> Vec<Value> {
    if period <= 8 {
        // Each half must get something.
        let subsets = 1..(1u32 << period) - 1;
        let members = |set: u32| (0..period).filter(move |&k| set >> k & 1 == 1);
        return subsets
            .map(|set| json!(members(set).collect::<Vec<_>>()))
            .collect();
    }
    let mut all = Vec::new();
    for run in (0..)
        .map(|i| 1usize << i)
        .take_while(|run| run * 2 <= period)
    {
        for half in 0..2 {
            let first = (0..period).filter(|k| k / run % 2 == half);
            all.push(json!(first.collect::<Vec<_>>()));
        }
    }
    all
}
