//! Some parts run again; whoever handed them in could not know which.

use super::{Part, Plan, ShardError};
use crate::check::{Progress, Resources};
use crate::sample::{draw, miss_probability, smallest_caught};

/// Parts that were run again, and what their agreement proves.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    pub seed: u64,
    /// Parts of the plan.
    pub parts: u64,
    /// In order.
    pub drawn: Vec<usize>,
    /// Those of them whose second run gave something else.
    pub wrong: Vec<usize>,
}

impl Plan {
    /// The parts that a seed draws: each once, all equally likely.
    pub fn drawn(&self, parts: usize, seed: u64) -> Vec<usize> {
        let all = self.shards.len() as u64;
        let drawn = draw(all, all.min(parts as u64), seed);
        let mut drawn: Vec<_> = drawn.into_iter().map(|part| part as usize).collect();
        drawn.sort_unstable();
        drawn
    }

    /// Runs some parts again; `parts` are all of the plan, in order.
    ///
    /// # Errors
    /// If a file is no longer what the plan was made of.
    pub fn audit(
        &self,
        parts: &[Part],
        (count, seed): (usize, u64),
        resources: &Resources,
        progress: &dyn Progress,
    ) -> Result<Audit, ShardError> {
        let drawn = self.drawn(count, seed);
        let mut wrong = Vec::new();
        progress.begin(drawn.len() as u64);
        for &number in &drawn {
            let prepared = self.prepare_part(number, resources)?;
            let found = self.run_part(number, &prepared, &())?;
            if found.text(None)? != parts[number].text(None)? {
                wrong.push(number);
            }
            progress.advance(1);
        }
        Ok(Audit {
            seed,
            parts: self.shards.len() as u64,
            drawn,
            wrong,
        })
    }
}

impl Audit {
    /// How likely the draw misses so many forged parts.
    pub fn misses(&self, forged: u64) -> f64 {
        miss_probability(self.parts, self.drawn.len() as u64, forged)
    }

    /// So many forged parts, or more, are found with 99 % at least.
    pub fn caught_99_percent(&self) -> u64 {
        smallest_caught(self.parts, self.drawn.len() as u64, 0.01)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As one counts draws without putting back, part after part.
    #[test]
    fn odds_are_those_of_drawing_without_putting_back() {
        let audit = Audit {
            seed: 1,
            parts: 100,
            drawn: (0..10).collect(),
            wrong: Vec::new(),
        };
        let missed = |forged: u64| -> f64 {
            let left = |i: u64| (100 - forged - i) as f64 / (100 - i) as f64;
            (0..10).map(left).product()
        };
        for forged in [1, 2, 36, 37, 90] {
            assert!(
                (audit.misses(forged) - missed(forged)).abs() < 1e-12,
                "{forged}"
            );
        }
        let least = (1..=90).find(|&forged| missed(forged) <= 0.01);
        assert_eq!(Some(audit.caught_99_percent()), least);
    }
}
