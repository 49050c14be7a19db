//! Long work: on a thread of its own, while this one listens to signals and tells how far it is.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tcverify::check::Progress;

/// How often signals are looked for.
const BEAT: Duration = Duration::from_millis(50);
/// How long threads may take to see that nobody waits any more; those that take longer end by themselves.
const GRACE: Duration = Duration::from_millis(250);

/// How far the work is, and whether somebody waits for it.
#[derive(Default)]
struct Watch {
    work: AtomicU64,
    done: AtomicU64,
    interrupted: AtomicBool,
}

impl Progress for Watch {
    fn begin(&self, work: u64) {
        self.work.store(work, Ordering::Relaxed);
    }

    fn advance(&self, work: u64) {
        self.done.fetch_add(work, Ordering::Relaxed);
    }

    fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

impl Watch {
    /// Calls `progress(done, work)`.
    fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        let work = self.work.load(Ordering::Relaxed);
        if let Some(progress) = progress.filter(|_| work > 0) {
            let done = self.done.load(Ordering::Relaxed).min(work);
            progress.call1(py, (done, work))?;
        }
        Ok(())
    }
}

/// Does some work without the interpreter's lock.
///
/// # Errors
/// `KeyboardInterrupt`, or what `progress` raises: the work has ended then, or does within moments.
pub fn attended<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&dyn Progress) -> T + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (send, receive) = channel();
    let theirs = watch.clone();
    let started = std::thread::Builder::new()
        .name("tcverify".into())
        .spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&*theirs)));
            // Perhaps nobody waits any more.
            let _ = send.send(done);
        });
    started
        .map_err(|error| PyRuntimeError::new_err(format!("no thread can be started: {error}")))?;
    let receive = Mutex::new(receive);
    let wait = |time| {
        let receive = receive.lock().unwrap_or_else(PoisonError::into_inner);
        receive.recv_timeout(time)
    };
    loop {
        match py.detach(|| wait(BEAT)) {
            Ok(Ok(done)) => {
                watch.tell(py, progress)?;
                return Ok(done);
            }
            Ok(Err(panic)) => resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => {
                let going = py.check_signals().and_then(|()| watch.tell(py, progress));
                if let Err(stop) = going {
                    watch.interrupted.store(true, Ordering::Relaxed);
                    let _ = py.detach(|| wait(GRACE));
                    return Err(stop);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work ended without a result"));
            }
        }
    }
}
