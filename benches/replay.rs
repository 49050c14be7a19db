//! Multiply-adds a second of every kernel and of the exact engine: `cargo bench`.
//!
//! One small product per distinct arithmetic of the catalogue on one thread, so that kernels are
//! compared rather than memory or threads; then what a NaN, and a column of values that only the
//! exact engine can compute, cost a larger product.

use std::hint::black_box;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::kernels::{self, Platform};
use tcverify::num::Format;
use tcverify::random::SplitMix64;
use tcverify::tensor::Tensor;

/// Numbers over a few binades below one.
fn codes(format: Format, n: usize, seed: u64) -> Vec<u64> {
    let mut random = SplitMix64(seed);
    let code = |random: u64| {
        let depth = u64::from((random >> 8 | 1 << 6).trailing_zeros());
        let field = (format.bias() as u64).saturating_sub(depth + 1);
        let fraction = random >> 32 & ((1 << format.fraction_bits()) - 1);
        let sign = if random >> 31 & 1 == 1 {
            format.sign_mask()
        } else {
            0
        };
        (field << format.fraction_bits() | fraction) << format.ignored_bits() | sign
    };
    (0..n * n).map(|_| code(random.word())).collect()
}

fn replay(
    group: &mut BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    arithmetic: &Arithmetic,
    engine: Engine,
    (a, b): (&Tensor, &Tensor),
) {
    let problem = Problem::new(a.planes(), b.planes(), None).expect("square matrices");
    let replay = Replay {
        problem,
        arithmetic,
        convert_to: None,
        engine,
        kernel: None,
    };
    group.throughput(Throughput::Elements(problem.work()));
    group.bench_function(name, |bencher| {
        bencher.iter(|| black_box(replay.collect(&|_| {})));
    });
}

fn arithmetics() -> Vec<(String, Arithmetic)> {
    let mut all: Vec<(String, Arithmetic)> = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for instruction in &architecture.instructions {
            for rule in &instruction.rules {
                let arithmetic = Arithmetic::of(rule, rule.operands[0]);
                // Operands here have no scales, and one step of a model whose D is no C says little.
                let plain = arithmetic.scale.is_none() && arithmetic.longest_k().is_none();
                if plain && all.iter().all(|(_, known)| *known != arithmetic) {
                    let name = format!(
                        "{} {} {}*{}-{}",
                        architecture.name,
                        instruction.name,
                        arithmetic.a,
                        arithmetic.b,
                        arithmetic.accumulator
                    );
                    all.push((name, arithmetic));
                }
            }
        }
    }
    all
}

fn kernels(criterion: &mut Criterion) {
    for platform in Platform::available() {
        let mut group = criterion.benchmark_group(format!("kernel {}", platform.name()));
        group.sample_size(10);
        for (name, arithmetic) in arithmetics() {
            if kernels::plan(&arithmetic).is_none() {
                continue;
            }
            let n = 256;
            let a = Tensor::from_codes(arithmetic.a, vec![n, n], &codes(arithmetic.a, n, 1));
            let b = Tensor::from_codes(arithmetic.b, vec![n, n], &codes(arithmetic.b, n, 2));
            replay(&mut group, &name, &arithmetic, platform.engine(), (&a, &b));
        }
    }
}

fn exact(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exact");
    group.sample_size(10);
    for (name, arithmetic) in arithmetics() {
        let n = 64;
        let a = Tensor::from_codes(arithmetic.a, vec![n, n], &codes(arithmetic.a, n, 1));
        let b = Tensor::from_codes(arithmetic.b, vec![n, n], &codes(arithmetic.b, n, 2));
        replay(&mut group, &name, &arithmetic, Engine::Exact, (&a, &b));
    }
}

fn awkward(criterion: &mut Criterion) {
    let platform = *Platform::available()
        .last()
        .expect("portable is always there");
    let mut group = criterion.benchmark_group("awkward values");
    group.sample_size(10);
    let n = 1024;
    let hopper = Catalogue::builtin()
        .find("hopper")
        .expect("in the catalogue");
    for (format, name, awkward) in [
        (Format::Fp16, "fp16, none", None),
        (Format::Fp16, "fp16, one NaN", Some(0x7e00)),
        (Format::Bf16, "bf16, none", None),
        (Format::Bf16, "bf16, one element of 2^-126", Some(0x0080)),
    ] {
        let choice = hopper
            .select(None, [format; 2], None)
            .expect("in the catalogue");
        let mut a = codes(format, n, 1);
        if let Some(awkward) = awkward {
            a[n * n / 2 + 7] = awkward;
        }
        let a = Tensor::from_codes(format, vec![n, n], &a);
        let b = Tensor::from_codes(format, vec![n, n], &codes(format, n, 2));
        let engine = platform.engine();
        replay(&mut group, name, &choice.arithmetic, engine, (&a, &b));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = kernels, exact, awkward
}
criterion_main!(benches);
