//! A progress bar for replays that take longer than a moment.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Until then nothing is drawn, so that quick work stays silent.
const PATIENCE: Duration = Duration::from_secs(1);

/// Draws on standard error if that is a terminal and the work lasts.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    drawn: AtomicBool,
    done: AtomicU64,
}

/// Steps of a bar that one of several checks takes.
const STEPS: u64 = 1000;

impl Bar {
    /// For several checks, one after the other or side by side.
    pub fn new(checks: usize) -> Bar {
        Bar::of(checks as u64 * STEPS)
    }

    fn of(work: u64) -> Bar {
        let style = "{bar:40} {percent:>3} %  {elapsed} of about {duration}";
        let bar = ProgressBar::with_draw_target(Some(work), ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Bar {
            bar,
            started: Instant::now(),
            // Where nothing may ever be drawn, it counts as drawn.
            drawn: AtomicBool::new(!std::io::stderr().is_terminal()),
            done: AtomicU64::new(0),
        }
    }

    fn add(&self, work: u64) {
        let done = self.done.fetch_add(work, Ordering::Relaxed) + work;
        if self.started.elapsed() > PATIENCE && !self.drawn.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }

    /// The meter of one of the checks; when it goes, that check is over.
    pub fn meter(&self, work: u64) -> Meter<'_> {
        Meter::Part {
            bar: self,
            work: work.max(1),
            done: AtomicU64::new(0),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Counts the multiply-adds of one check.
pub enum Meter<'a> {
    Alone(Bar),
    Part {
        bar: &'a Bar,
        work: u64,
        done: AtomicU64,
    },
}

impl Meter<'static> {
    pub fn new(work: u64) -> Meter<'static> {
        Meter::Alone(Bar::of(work))
    }
}

impl Meter<'_> {
    /// Adds finished work.
    pub fn add(&self, more: u64) {
        match self {
            Meter::Alone(bar) => bar.add(more),
            Meter::Part { bar, work, done } => {
                let before = done.fetch_add(more, Ordering::Relaxed);
                let steps =
                    |done: u64| (done.min(*work) as u128 * STEPS as u128 / *work as u128) as u64;
                bar.add(steps(before.saturating_add(more)) - steps(before));
            }
        }
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        let rest = match self {
            Meter::Alone(_) => 0,
            Meter::Part { work, .. } => *work,
        };
        self.add(rest);
    }
}
