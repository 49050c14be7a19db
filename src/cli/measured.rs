//! Tools of `bench` and `benches/`: random operands and a clock.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::kernels::Platform;
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;

/// How long work takes, in seconds. For one thread it is processor time where the system reports it, so that
/// other load matters less.
fn timed(work: impl FnOnce()) -> f64 {
    let (start, spent) = (Instant::now(), processor_time());
    work();
    let elapsed = start.elapsed();
    // The system accounts a thread's time when it stops, a moment after the work.
    std::thread::sleep(Duration::from_millis(2));
    let spent = spent.zip(processor_time());
    let spent = spent.map(|(before, after)| after.saturating_sub(before));
    // The time of a thread that did not stop lags by a tick of the scheduler.
    let spent = spent.filter(|spent| *spent > Duration::from_millis(10));
    match rayon::current_num_threads() {
        1 => spent.unwrap_or(elapsed).as_secs_f64(),
        _ => elapsed.as_secs_f64(),
    }
}

/// Processor time of this process's threads so far: the first number of each `schedstat` (Linux).
fn processor_time() -> Option<Duration> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let spent = threads.map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    spent.sum::<Option<u64>>().map(Duration::from_nanos)
}

/// Two kinds of work in turn, so that what else the machine does changes little in their ratio.
#[derive(Clone, Copy)]
pub struct Rounds {
    pub most: usize,
    /// No further round begins after this long.
    pub budget: Duration,
}

impl Rounds {
    /// Seconds of both kinds of work and the ratio of the second to the first, each as a median.
    pub fn in_turn(self, mut first: impl FnMut(), mut second: impl FnMut()) -> Medians {
        let start = Instant::now();
        let mut times: Vec<[f64; 2]> = Vec::new();
        while times.is_empty() || times.len() < self.most && start.elapsed() < self.budget {
            let one = timed(&mut first);
            times.push([one, timed(&mut second)]);
        }
        let median = |of: fn(&[f64; 2]) -> f64| {
            let mut numbers: Vec<f64> = times.iter().map(of).collect();
            numbers.sort_by(f64::total_cmp);
            numbers[numbers.len() / 2]
        };
        Medians {
            first: median(|times| times[0]),
            second: median(|times| times[1]),
            ratio: median(|times| times[1] / times[0]),
            best: times
                .iter()
                .map(|times| times[1] / times[0])
                .fold(0.0, f64::max),
        }
    }
}

pub struct Medians {
    pub first: f64,
    pub second: f64,
    pub ratio: f64,
    /// The highest ratio of all runs.
    pub best: f64,
}

/// What a measurement depends on beside what was measured.
#[derive(Clone, Serialize)]
pub struct Settings {
    /// Vendor, family and model, as the system numbers them, or the architecture alone.
    pub processor: String,
    /// The instruction set of the vector kernels.
    pub kernels: &'static str,
    pub threads: usize,
    /// M, N and K, where they are all alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
}

impl Settings {
    pub fn of(platform: Platform, size: Option<usize>) -> Settings {
        Settings {
            processor: processor(),
            kernels: platform.name(),
            threads: rayon::current_num_threads(),
            size,
        }
    }
}

/// The processor, such as `AuthenticAMD 26 2`; without Linux's file the name of the architecture.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find_map(|(key, value)| (key.trim() == name).then_some(value.trim()))
    };
    let numbers = ["vendor_id", "cpu family", "model"].map(value);
    match numbers {
        [Some(vendor), Some(family), Some(model)] => format!("{vendor} {family} {model}"),
        _ => std::env::consts::ARCH.to_owned(),
    }
}

pub struct Random(pub SplitMix64);

/// Scales for a whole operand, every one 1: the time does not depend on them.
pub fn ones(format: Format, shape: Vec<usize>) -> Tensor {
    let one = (format.bias() as u64) << format.fraction_bits();
    let codes = vec![one; shape.iter().product()];
    Tensor::from_codes(format, shape, &codes)
}

impl Random {
    /// Integers, or finite numbers over a few binades below one, as activations and weights are.
    pub fn matrix(&mut self, format: Format, n: usize) -> Tensor {
        self.tensor(format, vec![n, n])
    }

    /// Numbers like those of `matrix` in any shape.
    pub fn tensor(&mut self, format: Format, shape: Vec<usize>) -> Tensor {
        let count: usize = shape.iter().product();
        if format.is_integer() {
            let codes: Vec<_> = (0..count)
                .map(|_| self.0.word() & format.max_code())
                .collect();
            return Tensor::from_codes(format, shape, &codes);
        }
        let bias = format.bias() as u64;
        let width = format.bytes();
        // Large tensors, too: only the payload is in memory.
        let mut payload = vec![0; count * width];
        for code in payload.chunks_exact_mut(width) {
            let random = self.0.word();
            let depth = u64::from((random >> 8 | 1 << 6).trailing_zeros());
            let field = bias.saturating_sub(depth + 1);
            let fraction = random >> 32 & ((1 << format.fraction_bits()) - 1);
            let number = (field << format.fraction_bits() | fraction) << format.ignored_bits();
            let sign = if random >> 31 & 1 == 1 {
                format.sign_mask()
            } else {
                0
            };
            code.copy_from_slice(&(number | sign).to_le_bytes()[..width]);
        }
        Tensor::from_payload(format, shape, payload)
    }
}

/// The worker threads of this run, in words.
pub fn threads() -> String {
    match rayon::current_num_threads() {
        1 => "1 thread".to_owned(),
        n => format!("{n} threads"),
    }
}
