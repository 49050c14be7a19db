//! Wrong models against recorded counts.

use crate::support::case::Case;
use crate::support::vectors::captured;
use crate::support::wrong::{Change, changed};

/// A test's wrong models and, for each case, how many results each of them gets wrong.
pub struct Controls<'a, const N: usize> {
    pub changes: [(&'a str, Change); N],
    pub counts: &'a [(&'a str, [usize; N])],
}

impl<const N: usize> Controls<'_, N> {
    /// Counts, and compares all counts before failing. Every control has to get something wrong.
    pub fn verify(&self, what: &str) {
        self.compare(what);
        for (case, counts) in self.counts {
            for ((name, _), count) in self.changes.iter().zip(counts) {
                assert_ne!(*count, 0, "{case} does not refute {name}");
            }
        }
    }

    /// The same where some wrong models are known to pass unnoticed.
    pub fn compare(&self, what: &str) {
        let Some(cases) = captured(what) else {
            return;
        };
        let mut unexpected = Vec::new();
        for &(name, expected) in self.counts {
            let case = named(&cases, name);
            let right = case.choice().arithmetic;
            let wrong = |change: Change| case.mismatches(&changed(&right, change));
            let counted = self.changes.map(|(_, change)| wrong(change));
            if counted != expected {
                unexpected.push(format!("(\"{name}\", {counted:?}), not {expected:?}"));
            }
        }
        let names = self.changes.map(|(name, _)| name);
        assert!(
            unexpected.is_empty(),
            "wrong results of {names:?}:\n{}",
            unexpected.join("\n")
        );
    }
}

pub fn named<'a>(cases: &'a [Case], name: &str) -> &'a Case {
    let mut matching = cases.iter().filter(|case| case.name == name);
    let found = matching.next();
    found.unwrap_or_else(|| panic!("no case is called {name}"))
}
