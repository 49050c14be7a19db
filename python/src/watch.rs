//! Long work: on a thread of its own, while this one listens to signals and tells how far it is.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
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

/// Threads do not survive `fork`, but what waits for them does: a child that used its parent's pool would wait forever.
/// So there is a pool for each process, and nothing here uses the one of the library's own.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

fn pool() -> Arc<ThreadPool> {
    let own = std::process::id();
    // Locked by another thread: perhaps for ever, if it was when the parent forked.
    let Ok(mut kept) = POOL.try_lock() else {
        return started();
    };
    if let Some((process, pool)) = &*kept
        && *process == own
    {
        return pool.clone();
    }
    let pool = started();
    // Threads of the parent cannot be waited for, which is what dropping their pool would do.
    std::mem::forget(kept.replace((own, pool.clone())));
    pool
}

fn started() -> Arc<ThreadPool> {
    let pool = ThreadPoolBuilder::new()
        .thread_name(|i| format!("tcverify-{i}"))
        .build();
    let alone = || {
        ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .build()
    };
    // Where not even one thread can be had, there is nothing to compute with.
    Arc::new(pool.or_else(|_| alone()).expect("a thread for the work"))
}

/// Leaves the pool to work that does not end: whoever comes next gets one of its own.
fn abandon() {
    if let Ok(mut kept) = POOL.try_lock()
        && matches!(*kept, Some((process, _)) if process == std::process::id())
    {
        *kept = None;
    }
}

/// Some work on the pool of this process.
pub fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    pool().install(work)
}

/// Does some work without the interpreter's lock.
///
/// # Errors
/// `KeyboardInterrupt`, or what `progress` raises: the work has ended then, or does within moments.
pub fn attended<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&(dyn Progress + Sync)) -> T + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (send, receive) = channel();
    let theirs = watch.clone();
    let started = std::thread::Builder::new()
        .name("tcverify".into())
        .spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| in_pool(|| work(&*theirs))));
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
                    if py.detach(|| wait(GRACE)).is_err() {
                        abandon();
                    }
                    return Err(stop);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the work ended without a result"));
            }
        }
    }
}
