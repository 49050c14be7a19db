//! A progress bar for work that takes longer than a moment.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::check::Progress;
use crate::io::console::Console;

/// Nothing is drawn before this time, so that quick work stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// Draws on standard error if it is a terminal and the work takes long.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    drawn: AtomicBool,
    done: AtomicU64,
}

impl Bar {
    pub fn new() -> Bar {
        let style = "{bar:40} {percent:>3} %  {elapsed} of about {duration}";
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Bar {
            bar,
            started: Instant::now(),
            // Without a terminal it counts as drawn, so that it never is.
            drawn: AtomicBool::new(
                Console::current().is_some() || !std::io::stderr().is_terminal(),
            ),
            done: AtomicU64::new(0),
        }
    }
}

impl Bar {
    /// Prints something while the bar is hidden.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Progress for Bar {
    fn begin(&self, work: u64) {
        self.bar.set_length(work);
    }

    fn advance(&self, work: u64) {
        let done = self.done.fetch_add(work, Ordering::Relaxed) + work;
        if self.started.elapsed() > PATIENCE && !self.drawn.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
