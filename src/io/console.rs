//! The standard streams of a command: those of the process, or buffers where another program runs the command.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Buffers in place of the standard streams. They are the streams of each thread that has entered.
#[derive(Default)]
pub struct Console {
    stdin: Mutex<Vec<u8>>,
    stdout: Mutex<Vec<u8>>,
    stderr: Mutex<Vec<u8>>,
    coloured: AtomicBool,
}

thread_local! {
    static CONSOLE: RefCell<Option<Arc<Console>>> = const { RefCell::new(None) };
}

/// Leaves the console when dropped.
pub struct Entered;

impl Console {
    pub fn with_stdin(stdin: Vec<u8>) -> Arc<Console> {
        Arc::new(Console {
            stdin: Mutex::new(stdin),
            ..Console::default()
        })
    }

    /// The one that this thread has entered; none means the streams of the process.
    pub fn current() -> Option<Arc<Console>> {
        CONSOLE.with_borrow(Option::clone)
    }

    /// From now on this thread's standard streams are these.
    pub fn enter(self: &Arc<Console>) -> Entered {
        CONSOLE.set(Some(self.clone()));
        Entered
    }

    pub fn set_coloured(&self, coloured: bool) {
        self.coloured.store(coloured, Ordering::Relaxed);
    }

    pub fn coloured(&self) -> bool {
        self.coloured.load(Ordering::Relaxed)
    }

    pub fn write_stdout(&self, bytes: &[u8]) {
        locked(&self.stdout).extend_from_slice(bytes);
    }

    pub fn write_stderr(&self, bytes: &[u8]) {
        locked(&self.stderr).extend_from_slice(bytes);
    }

    /// What is left of standard input.
    pub fn take_stdin(&self) -> impl Read + 'static {
        io::Cursor::new(std::mem::take(&mut *locked(&self.stdin)))
    }

    /// What was written to standard output and standard error.
    pub fn take_written(&self) -> (Vec<u8>, Vec<u8>) {
        let take = |buffer| std::mem::take(&mut *locked(buffer));
        (take(&self.stdout), take(&self.stderr))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CONSOLE.set(None);
    }
}

/// A panic elsewhere leaves nothing behind these locks half done: a command that crashed has still written what it
/// wrote.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives `write` standard output without colours, and writes all of it before this returns.
pub fn to_stdout(write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    match Console::current() {
        Some(console) => {
            let mut out = Vec::new();
            let done = write(&mut out);
            console.write_stdout(&out);
            done
        }
        None => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            write(&mut out).and_then(|()| out.flush())
        }
    }
}
