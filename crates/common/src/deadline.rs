//! Deadlines: when work must end, and how unfinished work stops.
//!
//! Long work calls `poll` now and then; it unwinds to `interruptible` when the time of its thread is over. So
//! loops need no argument for it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuildError;

thread_local! {
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// When work has to be over, if ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

/// A pool whose threads have as much stack as the main thread: without optimisation the frames of a batch exceed the two
/// megabytes that a thread gets otherwise. Memory is only taken as it is used.
pub fn worker_pool() -> rayon::ThreadPoolBuilder {
    rayon::ThreadPoolBuilder::new().stack_size(8 << 20)
}

impl Deadline {
    /// Ends after this time from now; never without one.
    pub fn after(time: Option<Duration>) -> Deadline {
        Deadline(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// The deadline of this thread.
    pub fn current() -> Deadline {
        Deadline(END.get())
    }

    /// This deadline, or the other where there is none.
    #[must_use]
    pub fn or(self, other: Deadline) -> Deadline {
        Deadline(self.0.or(other.0))
    }

    pub fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }

    /// So many threads that have this deadline.
    ///
    /// # Errors
    /// If they cannot be started.
    pub fn pool(self, threads: usize) -> Result<rayon::ThreadPool, ThreadPoolBuildError> {
        let pool = worker_pool().num_threads(threads);
        pool.start_handler(move |_| END.set(self.0)).build()
    }

    /// Does some work, by threads of its own if there is a deadline that this thread has not.
    ///
    /// # Errors
    /// If threads cannot be started.
    pub fn within<T: Send>(
        self,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, ThreadPoolBuildError> {
        if self.0.is_none() || self == Deadline::current() {
            Ok(work())
        } else {
            Ok(self.pool(rayon::current_num_threads())?.install(work))
        }
    }
}

/// Why work ended before it was done; it unwinds the threads of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its result is no longer wanted.
    Interrupted,
    /// It cannot go on: a device failed, say.
    Failed(String),
}

/// Ends the work.
pub fn interrupt() -> ! {
    resume_unwind(Box::new(Ended::Interrupted))
}

/// Ends the work with a reason.
pub fn fail(reason: String) -> ! {
    resume_unwind(Box::new(Ended::Failed(reason)))
}

/// Ends the work if the time of this thread is over.
pub fn poll() {
    if Deadline::current().is_over() {
        interrupt();
    }
}

/// A report of progress that only calls [`poll`].
pub fn unheard(_: u64) {
    poll();
}

/// What the work gives. Other panics go on.
///
/// # Errors
/// Why it ended before.
pub fn interruptible<T>(work: impl FnOnce() -> T) -> Result<T, Ended> {
    // Nothing that the work touched is used again.
    let panic = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => return Ok(done),
        Err(panic) => panic,
    };
    match panic.downcast::<Ended>() {
        Ok(ended) => Err(*ended),
        Err(panic) => resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn every_thread_of_the_work_looks_at_the_time() {
        let polled = |time: Option<Duration>| {
            let work = || (0..64).into_par_iter().for_each(|_| poll());
            let within = Deadline::after(time).within(|| interruptible(work));
            within.unwrap().is_ok()
        };
        assert!(polled(None));
        assert!(polled(Some(Duration::from_secs(1000))));
        assert!(!polled(Some(Duration::ZERO)));
        assert!(!Deadline::current().is_over(), "it is not this thread's");
    }

    #[test]
    fn a_failure_says_why() {
        let ended = interruptible(|| (0..64).into_par_iter().for_each(|_| fail("why".into())));
        assert_eq!(ended, Err(Ended::Failed("why".into())));
    }

    #[test]
    fn other_panics_go_on() {
        let ended = catch_unwind(|| interruptible(|| resume_unwind(Box::new(1))));
        assert_eq!(ended.unwrap_err().downcast_ref(), Some(&1));
    }
}
