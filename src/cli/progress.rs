//! A progress bar for replays that take longer than a moment.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Until then nothing is drawn, so that quick work stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts multiply-adds; draws on standard error if that is a terminal and the work lasts.
pub struct Meter {
    bar: ProgressBar,
    started: Instant,
    drawn: AtomicBool,
    done: AtomicU64,
}

impl Meter {
    pub fn new(work: u64) -> Meter {
        let style = "{bar:40} {percent:>3} %  {elapsed} of about {duration}";
        let bar = ProgressBar::with_draw_target(Some(work), ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Meter {
            bar,
            started: Instant::now(),
            // Where nothing may ever be drawn, it counts as drawn.
            drawn: AtomicBool::new(!std::io::stderr().is_terminal()),
            done: AtomicU64::new(0),
        }
    }

    /// Adds finished work.
    pub fn add(&self, work: u64) {
        let done = self.done.fetch_add(work, Ordering::Relaxed) + work;
        if self.started.elapsed() > PATIENCE && !self.drawn.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
