//! What a search costs, by shape and by kernel: `cargo bench --bench identify`.
//!
//! An Ampere BF16 product, D in FP32 and in BF16: one chain, split and sliced. Work counts are the same on every
//! run; processor time is of all cores together, and longer where others use them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tcverify::check::{Check, Expected, Prepared, Progress, ScheduleRequest, Source, Tensors};
use tcverify::emu::schedule::Overrides;
use tcverify::engines::resources;
use tcverify::generate::Spec;
use tcverify::identify::{Formats, Identify};
use tcverify::io;
use tcverify::io::memory::Memory;
use tcverify::num::Format;
use tcverify::role::Role;
use tcverify::tensor::Tensor;

const SHAPES: [[usize; 3]; 4] = [
    [64, 64, 1024],
    [32, 32, 1000],
    [512, 512, 4096],
    [1024, 1024, 4096],
];

/// A preset and its slices; none is one chain.
type Schedule = Option<(&'static str, Option<usize>)>;

const KERNELS: [(&str, Schedule); 3] = [
    ("one chain", None),
    ("split in 3", Some(("cutlass-splitk-parallel", Some(3)))),
    ("sliced", Some(("cublas-sliced", None))),
];

/// Multiply-adds that the budget was told of.
#[derive(Default)]
struct Work(AtomicU64);

impl Progress for Work {
    fn advance(&self, work: u64) {
        self.0.fetch_add(work, Ordering::Relaxed);
    }
}

/// Normal numbers in BF16.
fn operand(rows: usize, columns: usize, seed: u64, role: Role) -> Tensor {
    let spec = Spec::read(&format!("generate:{seed}:normal:{rows}x{columns}"));
    let spec = spec.expect("a specification");
    let tensor = spec.tensor(Format::Bf16, role, &Memory::default());
    tensor.expect("memory for an operand")
}

/// Seconds of all cores, where the system says so.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn main() {
    println!("shape, D, kernel: processor s, wall s, million multiply-adds; fits, left");
    for shape @ [m, n, k] in SHAPES {
        for result in [Format::Fp32, Format::Bf16] {
            for (name, schedule) in KERNELS {
                let line = search(shape, result, schedule);
                println!("{m}x{n}x{k} {result} {name}: {line}");
            }
        }
    }
}

fn search([m, n, k]: [usize; 3], result: Format, schedule: Schedule) -> String {
    let (a, b) = (operand(m, k, 1, Role::A), operand(k, n, 2, Role::B));
    let mut check = Check::in_memory("ampere", Format::Bf16);
    check.expected = Expected::Nothing;
    check.d_dtype = (result != Format::Fp32).then_some(result);
    if let Some((preset, split_k)) = schedule {
        let overrides = Overrides {
            split_k,
            ..Overrides::default()
        };
        check.schedule = ScheduleRequest::preset(preset, &overrides);
    }
    let tensors = Tensors::from_iter([(Role::A, a.clone()), (Role::B, b.clone())]);
    let made = Prepared::from_tensors(&check, &resources(), tensors).expect("a product");
    let d = made.replay().collect(&|_| {});
    let mut request = Identify::new([Source::Memory, Source::Memory, Source::Memory]);
    request.formats = Formats {
        a: Some(Format::Bf16),
        ..Formats::default()
    };
    let mut arrays = [("a", Some(a)), ("b", Some(b)), ("d", Some(d))];
    let prepared = request.prepare_with(&mut |field| {
        let (name, array) = arrays.iter_mut().find(|(name, _)| *name == field)?;
        io::Source::of_tensor(name.as_ref(), array.take()?).ok()
    });
    let prepared = prepared.expect("arrays");
    let work = Work::default();
    let (start, before) = (Instant::now(), processor_seconds());
    let found = prepared.run(&work).expect("a search");
    let wall = start.elapsed().as_secs_f64();
    let mut line = String::new();
    let processor = processor_seconds()
        .zip(before)
        .map(|(now, then)| now - then);
    match processor {
        Some(seconds) => write!(line, "{seconds:.1}"),
        None => write!(line, "?"),
    }
    .expect("a string");
    let sampled = found.fits.iter().filter(|fit| !fit.in_full).count();
    let untested = found.untested + found.schedules.as_ref().map_or(0, |s| s.untested);
    let million = work.0.into_inner() / 1_000_000;
    write!(
        line,
        ", {wall:.1}, {million}; {} fit, {sampled} of them not in full, {untested} untested",
        found.fits.len()
    )
    .expect("a string");
    line
}
