//! Kinds of faults that are injected, with the shares that were published.

use super::fault::{Fault, Place, Stuck};
use super::fault_search::{NEIGHBOURS, bits, hypotheses, paths};
use crate::emu::Arithmetic;
use crate::random::SplitMix64;
use crate::words::words;

words! {
    /// What happens to a number.
    pub enum Kind {
        /// One bit is stuck at 0 or at 1
        Stuck = "stuck",
        /// One bit is inverted
        Inverted = "inverted",
        /// 2 to 16 neighbouring bits are inverted
        Several = "several",
        /// The number is lost and counts as zero
        Zero = "zero",
        /// 51 % zero, 19 % one bit inverted, 30 % several: NVIDIA, arXiv 2605.04213, on a production GPU (of its bit flips less
        /// than 40 % are single; 1 % NaN and infinities are left out)
        Published = "published",
    }
}

/// Of a hundred published faults.
const SHARES: [(Kind, u64); 3] = [(Kind::Zero, 51), (Kind::Inverted, 19), (Kind::Several, 30)];

impl Kind {
    /// So many faults of a place, or all there are.
    pub fn drawn(
        self,
        unit: (&Arithmetic, Place),
        count: usize,
        random: &mut SplitMix64,
    ) -> Vec<Fault> {
        let (arithmetic, place) = unit;
        let listed = |wanted: fn(&Fault) -> bool| {
            let all = hypotheses(arithmetic).into_iter();
            all.filter(move |fault| fault.place == place && wanted(fault))
                .collect::<Vec<_>>()
        };
        let mut all = match self {
            Kind::Stuck => listed(|fault| fault.stuck != Stuck::Flip && !fault.is_zero()),
            Kind::Inverted => listed(|fault| fault.stuck == Stuck::Flip),
            Kind::Zero => listed(Fault::is_zero),
            Kind::Several => (0..count).map(|_| several(unit, random)).collect(),
            Kind::Published => {
                let mut kinds = Vec::new();
                for _ in 0..count {
                    let mut rest = random.word() % 100;
                    let kind = SHARES.iter().find(|(_, share)| {
                        let here = rest < *share;
                        rest = rest.saturating_sub(*share);
                        here
                    });
                    kinds.push(kind.map_or(Kind::Several, |(kind, _)| *kind));
                }
                let one = |kind: Kind| kind.drawn(unit, 1, random);
                return kinds.into_iter().flat_map(one).collect();
            }
        };
        for i in 0..count.min(all.len()) {
            let other = i + (random.word() % (all.len() - i) as u64) as usize;
            all.swap(i, other);
        }
        all.truncate(count);
        all
    }
}

/// Neighbouring bits, inverted.
fn several((arithmetic, place): (&Arithmetic, Place), random: &mut SplitMix64) -> Fault {
    let range = bits(arithmetic, place);
    let there = u64::from(range.end - range.start);
    let count = match there {
        0..=2 => there,
        _ => 2 + random.word() % (there.min(u64::from(NEIGHBOURS)) - 1),
    };
    let first = range.start + (random.word() % (there - count + 1)) as u32;
    let k = random.word() as usize % paths(arithmetic, place);
    let mask = ((1u128 << count) - 1) << first;
    Fault::always(place, mask, Stuck::Flip, k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emu::Catalogue;
    use crate::num::Format;

    /// Shares, and that bits lie within the place.
    #[test]
    fn published_shares() {
        let hopper = Catalogue::builtin().find("hopper").unwrap();
        let choice = hopper.select(Some("mma"), [Format::Fp16; 2], None).unwrap();
        for place in [
            Place::Operand,
            Place::Product,
            Place::Aligner,
            Place::Adder,
            Place::Rounding,
        ] {
            let unit = (&choice.arithmetic, place);
            let mut random = SplitMix64(7);
            let all = Kind::Published.drawn(unit, 4000, &mut random);
            let share = |wanted: fn(&Fault) -> bool| {
                all.iter().filter(|fault| wanted(fault)).count() as f64 / all.len() as f64
            };
            assert!((share(Fault::is_zero) - 0.51).abs() < 0.03);
            assert!((share(|fault| fault.bits.count_ones() == 1) - 0.19).abs() < 0.03);
            let range = bits(&choice.arithmetic, place);
            for fault in all.iter().filter(|fault| !fault.is_zero()) {
                let lowest = fault.bits.trailing_zeros();
                assert!(
                    lowest >= range.start && fault.bits >> range.end == 0,
                    "{fault}"
                );
                assert!(fault.bits.count_ones() <= 16, "{fault}");
            }
        }
    }
}
