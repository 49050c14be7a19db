//! Which elements of D are examined before the rest.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::emu::{Element, Problem};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::sample::{Region, nearness};

/// Elements of D in the order in which they are tested.
#[derive(Clone, Debug)]
pub struct Sample {
    pub elements: Vec<Element>,
    /// Whether those come first that the sum's last bits decide.
    pub telling: bool,
}

impl Sample {
    /// At most `most` elements of D, each once, chosen by `seed`.
    pub fn of(problem: &Problem, most: usize, seed: u64) -> Sample {
        let region = Region {
            batches: problem.batches(),
            rows: 0..problem.m,
            columns: 0..problem.n,
        };
        let all = region.len();
        let elements: Vec<_> = if all <= most as u64 {
            region.elements().collect()
        } else {
            let mut random = SplitMix64(seed);
            let mut seen = HashSet::new();
            let draw = std::iter::from_fn(|| Some(random.word() % all));
            let fresh = draw.filter(|position| seen.insert(*position));
            let drawn = fresh.take(most);
            drawn.map(|position| region.element(position)).collect()
        };
        Sample {
            elements,
            telling: false,
        }
    }

    /// Those elements whose sums (`codes`, of the accumulator's format) lie nearest to where the rounding
    /// to D's format turns over: there a change of the last bits shows.
    pub fn telling(self, codes: &[u64], [from, to]: [Format; 2], most: usize) -> Sample {
        let mut order: Vec<_> = self.elements.iter().zip(codes).collect();
        order.sort_by_key(|(_, code)| Reverse(nearness(**code, [from, to])));
        let elements = order.into_iter().take(most).map(|(element, _)| *element);
        Sample {
            elements: elements.collect(),
            telling: true,
        }
    }
}
