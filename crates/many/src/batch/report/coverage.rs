//! How much of what ran the cases are: a recording says what it saw, and the verdict says what of it was judged.

use serde::{Deserialize, Serialize};

/// What a recording saw of a program. A call that may hold products counts as one product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// Products that ran.
    pub seen: u64,
    /// Those that were recorded.
    pub recorded: u64,
    /// Calls that are not cases, with the reason.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
}

/// Calls that are not a case, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// What was called: `aten::convolution`.
    pub op: String,
    /// The part of the program that called it.
    #[serde(default)]
    pub module: String,
    pub why: String,
    pub calls: u64,
    /// Whether the recording was asked to pass over it.
    #[serde(default)]
    pub on_request: bool,
}

/// The coverage as a report has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Covered {
    /// Products that have a verdict.
    pub judged: u64,
    /// Products that ran.
    pub seen: u64,
    /// Those that were recorded.
    pub recorded: u64,
    /// Calls that are not cases, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Recorded ones that no case is of: somebody took it out.
    #[serde(skip)]
    pub(super) absent: u64,
}

impl Coverage {
    /// Whether the numbers agree with each other, and with the number of products among the cases.
    ///
    /// # Errors
    /// Which do not.
    pub fn confirm(&self, products: u64) -> Result<(), String> {
        let calls = self.left_out.iter().map(|one| one.calls);
        let out = calls.fold(0, u64::saturating_add);
        if self.recorded.checked_add(out) != Some(self.seen) {
            let (seen, recorded) = (self.seen, self.recorded);
            return Err(format!(
                "seen is {seen}, but recorded ({recorded}) and the calls of left_out ({out}) do not add up to it"
            ));
        }
        if products > self.recorded {
            let recorded = self.recorded;
            return Err(format!(
                "recorded is {recorded}, but the manifest has {products} products"
            ));
        }
        Ok(())
    }

    /// Calls that nobody asked to pass over.
    pub fn missed(&self) -> u64 {
        missed(&self.left_out)
    }
}

fn missed(all: &[LeftOut]) -> u64 {
    let missed = all.iter().filter(|one| !one.on_request);
    missed.fold(0, |sum, one| sum.saturating_add(one.calls))
}

impl Covered {
    /// Calls that nobody asked to pass over.
    pub fn missed(&self) -> u64 {
        missed(&self.left_out)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.judged >= self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_add_up_are_refused() {
        let coverage = |seen, recorded, calls| Coverage {
            seen,
            recorded,
            left_out: vec![LeftOut {
                op: "aten::convolution".into(),
                module: String::new(),
                why: "its products are not seen".into(),
                calls,
                on_request: false,
            }],
        };
        assert!(coverage(3, 2, 1).confirm(2).is_ok());
        // Fewer cases than were recorded: somebody took one out, and the verdict will say so.
        assert!(coverage(3, 2, 1).confirm(1).is_ok());
        assert!(coverage(2, 2, 1).confirm(2).is_err());
        assert!(coverage(3, 2, 1).confirm(3).is_err());
        assert!(coverage(u64::MAX, u64::MAX, u64::MAX).confirm(0).is_err());
    }
}
