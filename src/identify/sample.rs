//! Which elements of D are examined before the rest.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::emu::{Element, Problem};
use crate::num::{Class, Format};
use crate::random::SplitMix64;
use crate::sample::Region;

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
        order.sort_by_key(|(_, code)| Reverse(nearness(**code, from, to)));
        let elements = order.into_iter().take(most).map(|(element, _)| *element);
        Sample {
            elements: elements.collect(),
            telling: true,
        }
    }
}

/// The larger, the nearer a code is to the middle between two neighbours of a format of fewer fraction
/// bits. An estimate: it orders elements and decides nothing.
fn nearness(code: u64, from: Format, to: Format) -> u64 {
    let dropped = from.fraction_bits().saturating_sub(to.fraction_bits());
    if dropped == 0 || from.unpack(code).class != Class::Finite {
        return 0;
    }
    let low = code & ((1 << dropped) - 1);
    let middle = 1u64 << (dropped - 1);
    middle - low.abs_diff(middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halfway_is_nearest() {
        let near = |code| nearness(code, Format::Fp32, Format::Bf16);
        let (halfway, above, exact) = (0x3f80_8000, 0x3f80_8001, 0x3f80_0000);
        assert!(near(halfway) > near(above) && near(above) > near(exact));
        assert_eq!(near(0x7f80_8000), 0, "a NaN");
        assert_eq!(nearness(halfway, Format::Fp32, Format::Fp32), 0);
    }
}
