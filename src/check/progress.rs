//! How far a check is, and how it is interrupted.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::deadline;

/// Receives the progress of a check; `()` ignores it.
pub trait Progress: Sync {
    /// The number of multiply-adds to come.
    fn begin(&self, _work: u64) {}

    /// The number of multiply-adds done since the last call.
    fn advance(&self, _work: u64) {}

    /// Whether nobody waits for the result any more. All threads call it now and then; `true` ends the work with
    /// [`CheckError::Interrupted`](super::CheckError::Interrupted).
    fn interrupted(&self) -> bool {
        false
    }
}

impl Progress for () {}

impl dyn Progress + '_ {
    /// Reports more work; unwinds to [`interruptible`](crate::deadline::interruptible) if nobody waits.
    pub fn step(&self, work: u64) {
        self.advance(work);
        deadline::poll();
        if self.interrupted() {
            deadline::interrupt();
        }
    }
}

/// Counts multiply-adds: those that were promised, and those that were done.
#[derive(Debug, Default)]
pub struct Counted([AtomicU64; 2]);

impl Counted {
    pub fn counts(self) -> [u64; 2] {
        self.0.map(AtomicU64::into_inner)
    }
}

impl Progress for Counted {
    fn begin(&self, work: u64) {
        self.0[0].fetch_add(work, Ordering::Relaxed);
    }

    fn advance(&self, work: u64) {
        self.0[1].fetch_add(work, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Format;
    use crate::tensor::Tensor;
    use crate::{Check, CheckError, Prepared, Resources, Tensors};

    /// Waits for so many multiply-adds and no more.
    struct Impatient(AtomicU64);

    impl Progress for Impatient {
        fn advance(&self, work: u64) {
            let left = self.0.load(Ordering::Relaxed);
            self.0.store(left.saturating_sub(work), Ordering::Relaxed);
        }

        fn interrupted(&self) -> bool {
            self.0.load(Ordering::Relaxed) == 0
        }
    }

    #[test]
    fn a_replay_that_nobody_waits_for_ends() {
        use crate::Subject;

        let ones = |shape: Vec<usize>, code| {
            let count = shape.iter().product();
            Tensor::from_codes(Format::Fp16, shape, &vec![code; count])
        };
        let (a, b) = (ones(vec![256, 64], 0x3c00), ones(vec![64, 128], 0x3c00));
        let d = Tensor::from_codes(Format::Fp32, vec![256, 128], &[0x4280_0000; 256 * 128]);
        let check = Check::in_memory("h100", Format::Fp16);
        let prepared =
            Prepared::from_tensors(&check, &Resources::default(), Tensors::of(a, b, d)).unwrap();
        for patience in [1, 300_000] {
            let ended = prepared.run(&Impatient(patience.into()));
            assert!(matches!(ended, Err(CheckError::Interrupted)));
            let ended = prepared.stream(&Impatient(patience.into()), &mut |_| {});
            assert!(matches!(ended, Err(CheckError::Interrupted)));
        }
        assert!(prepared.run(&Impatient(u64::MAX.into())).is_ok());
    }
}
