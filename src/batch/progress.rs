//! The share that one check has in the progress of a batch.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::check::Progress;

/// Steps that a check takes, however much work it is.
pub(super) const STEPS: u64 = 1000;

/// Passes on how far one check is. When it goes, that check is over.
pub(super) struct Share<'a> {
    whole: &'a dyn Progress,
    work: AtomicU64,
    done: AtomicU64,
}

impl<'a> Share<'a> {
    pub fn of(whole: &'a dyn Progress) -> Share<'a> {
        Share {
            whole,
            work: AtomicU64::new(1),
            done: AtomicU64::new(0),
        }
    }
}

impl Progress for Share<'_> {
    fn begin(&self, work: u64) {
        self.work.store(work.max(1), Ordering::Relaxed);
    }

    fn advance(&self, more: u64) {
        let work = self.work.load(Ordering::Relaxed);
        let before = self.done.fetch_add(more, Ordering::Relaxed);
        let steps =
            |done: u64| (u128::from(done.min(work)) * u128::from(STEPS) / u128::from(work)) as u64;
        self.whole
            .advance(steps(before.saturating_add(more)) - steps(before));
    }

    fn interrupted(&self) -> bool {
        self.whole.interrupted()
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.advance(self.work.load(Ordering::Relaxed));
    }
}
