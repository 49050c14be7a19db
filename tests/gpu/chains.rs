//! Sums of chains that a device adds up itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tcverify::emu::engine::{Merging, Promotion, Work};
use tcverify::emu::{Arithmetic, Engine, FastEngine, Problem};
use tcverify::gpu::{Gpu, Vetted, adapters, shader, source};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use crate::case::{Case, Shape};
use crate::operands::{ADDENDS, KINDS};
use crate::support::random::Random;
use crate::{adapter, gpu, models};

/// f32 sums, whose NaNs have one code.
struct Sum;

const NAN: u32 = 0x7fff_ffff;

impl Merging for Sum {
    fn merge(&self, _: usize, _: [usize; 2], main: &mut [u32], sums: &[u32]) {
        for (main, &sum) in main.iter_mut().zip(sums) {
            let total = f32::from_bits(*main) + f32::from_bits(sum);
            *main = if total.is_nan() { NAN } else { total.to_bits() };
        }
    }

    fn is_sum(&self) -> bool {
        true
    }
}

/// The same, of which nobody says that it is a sum.
struct Unknown;

impl Merging for Unknown {
    fn merge(&self, chain: usize, at: [usize; 2], main: &mut [u32], sums: &[u32]) {
        Sum.merge(chain, at, main, sums);
    }

    fn is_sum(&self) -> bool {
        false
    }
}

fn zeros(shape: [usize; 2]) -> Tensor {
    Tensor::from_codes(Format::Fp16, shape.to_vec(), &vec![0; shape[0] * shape[1]])
}

fn work<'a>(arithmetic: &'a Arithmetic, problem: &'a Problem<'a>) -> Work<'a> {
    Work {
        problem,
        formats: arithmetic.formats(),
        exact: arithmetic,
        progress: &|_| {},
    }
}

/// Chain by chain, by the exact engine.
fn expected(case: &Case, problem: &Problem, promotion: Promotion) -> Vec<u32> {
    let mut totals = vec![0; problem.m * problem.n];
    let mut first = 0;
    for (chain, &end) in promotion.ends.iter().enumerate() {
        let c = problem.c.filter(|_| chain == 0);
        let mut sums = vec![0; totals.len()];
        let part = Problem {
            c,
            ..problem.part_k(first..end)
        };
        Engine::Exact.fill(&case.model.arithmetic, &part, 0, &mut sums, &|_| {});
        let sums: Vec<_> = sums.into_iter().map(|code| code as u32).collect();
        if chain == 0 && promotion.from_first {
            totals = sums;
        } else {
            promotion.merge.merge(chain, [0, 0], &mut totals, &sums);
        }
        first = end;
    }
    totals
}

/// Models that promote, and operands of every kind, cut anywhere that a step ends.
#[test]
fn chains_are_added_up_as_the_exact_engine_would() {
    let Some(device) = adapter() else { return };
    let promotes = |model: &models::Model| shader(&model.arithmetic)?.promoting();
    let models = models::catalogue().into_iter();
    let models: Vec<_> = models.filter(|model| promotes(model).is_some()).collect();
    assert!(models.len() > 15, "{} models", models.len());
    // Each has to pass two self-tests.
    let models: Vec<_> = models.iter().step_by(models.len() / 6).collect();
    let (mut own, mut all, mut otherwise) = (0, 0, 0);
    for (seed, &kind) in KINDS.iter().enumerate() {
        let model = models[seed % models.len()];
        let plan = promotes(model).unwrap();
        let mut random = Random::seeded(seed as u64);
        let shape = Shape::new(33, 41, 96 + random.below(80));
        let addend = ADDENDS[seed % ADDENDS.len()];
        let case = Case::new(model, shape, kind, addend, seed as u64);
        let operands = case.operands();
        let tensor = |format: Format, rows, columns, codes: &[u64]| {
            Tensor::from_codes(format, vec![rows, columns], codes)
        };
        let Shape { m, n, k, .. } = shape;
        let a = tensor(model.arithmetic.a, m, k, &operands.a);
        let b = tensor(model.arithmetic.b, k, n, &operands.b);
        let c = (operands.c.as_ref()).map(|c| tensor(model.arithmetic.accumulator, m, n, c));
        let c = c.as_ref().map(Tensor::planes);
        let problem = Problem::new(a.planes(), b.planes(), c).unwrap();
        let mut ends: Vec<usize> = (0..random.below(4))
            .map(|_| 32 * (1 + random.below(3)))
            .collect();
        ends.push(k);
        ends.sort_unstable();
        ends.dedup();
        let promotion = Promotion {
            ends: &ends,
            from_first: random.once_in(2),
            merge: &Sum,
        };
        let work = work(&model.arithmetic, &problem);
        let want = expected(&case, &problem, promotion);
        let gpu = gpu(&device, seed as u64);
        assert!(gpu.promotes(&model.arithmetic));
        let found = catch_unwind(AssertUnwindSafe(|| {
            gpu.promoted(&model.arithmetic, work, promotion)
        }));
        let found = found.unwrap_or_else(|_| panic!("{case:?}: {:?}", gpu.failure()));
        let lengths = |first: usize| {
            ends.iter().scan(first, |first, &end| {
                Some(end - std::mem::replace(first, end))
            })
        };
        if !lengths(0).all(|length| plan.takes(length)) {
            continue;
        }
        let (have, _) = found.expect("whole steps");
        assert_eq!(have, want, "{case:?} {ends:?}");
        own += gpu.used().unwrap().multiply_adds;
        all += (m * n * k) as u64;
        // Another order of sums gives other bits.
        if ends.len() > 1 {
            let one = Promotion {
                ends: &[k],
                from_first: true,
                merge: &Sum,
            };
            otherwise += usize::from(expected(&case, &problem, one) != want);
            let unknown = Promotion {
                merge: &Unknown,
                ..promotion
            };
            assert!(gpu.promoted(&model.arithmetic, work, unknown).is_none());
        }
    }
    assert!(2 * own > all, "{own} of {all} by shaders");
    assert!(otherwise > 5, "{otherwise}");
}

/// A device that adds up wrong does not pass the self-test.
#[test]
fn wrong_sums_of_chains_fail_the_self_test() {
    if adapter().is_none() {
        return;
    }
    let model = models::named("hopper wgmma fp16*fp16->fp32");
    let (a, b) = (zeros([32, 64]), zeros([64, 32]));
    let problem = Problem::new(a.planes(), b.planes(), None).unwrap();
    for (from, to) in [
        // No difference; the last bit; the start of a chain.
        ("", ""),
        ("(shifted << shift) != whole", "false"),
        ("select(code, 0u, size.ends == 1u)", "code"),
    ] {
        let text = move |plan: &_| source(plan).replace(from, to);
        let text = move |plan: &_| {
            if from.is_empty() {
                source(plan)
            } else {
                text(plan)
            }
        };
        let device = adapters()[0].open_with(text).expect("it opens");
        let gpu = gpu(&Arc::new(Vetted::new(device)), 1);
        let promotion = Promotion {
            ends: &[32, 64],
            from_first: true,
            merge: &Sum,
        };
        let work = work(&model.arithmetic, &problem);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            gpu.promoted(&model.arithmetic, work, promotion)
        }));
        let failure = gpu.failure().unwrap_or_default().to_owned();
        assert_eq!(ended.is_ok(), from.is_empty(), "{from}");
        assert_eq!(
            failure.contains("fails its self-test"),
            !from.is_empty(),
            "{from}: {failure}"
        );
    }
}

/// An engine of the CPU that promotes only what it says.
#[derive(Debug)]
struct Promoting(bool);

impl FastEngine for Promoting {
    fn computes(&self, _: &Arithmetic) -> bool {
        false
    }

    fn fill(&self, _: &Arithmetic, _: Work, _: usize, _: &mut [u64]) -> Option<u64> {
        None
    }

    fn promotes(&self, _: &Arithmetic) -> bool {
        self.0
    }

    fn promoted(&self, _: &Arithmetic, _: Work, _: Promotion) -> Option<(Vec<u32>, u64)> {
        assert!(self.0, "it was asked for what it does not promote");
        Some((vec![7], 0))
    }
}

/// What is too small for a device goes to the CPU, if that promotes it.
#[test]
fn small_chains_go_to_a_cpu_that_promotes_them() {
    let Some(device) = adapter() else { return };
    let model = models::named("hopper wgmma fp16*fp16->fp32");
    let (a, b) = (zeros([1, 64]), zeros([64, 1]));
    let problem = Problem::new(a.planes(), b.planes(), None).unwrap();
    let promotion = Promotion {
        ends: &[32, 64],
        from_first: true,
        merge: &Sum,
    };
    for (cpu, want) in [
        (&Promoting(true), Some((vec![7], 0))),
        (&Promoting(false), None),
    ] {
        let gpu = Gpu::new(device.clone(), Engine::With(cpu), 1);
        assert!(gpu.promotes(&model.arithmetic));
        let work = work(&model.arithmetic, &problem);
        let found = gpu.promoted(&model.arithmetic, work, promotion);
        assert_eq!(found, want, "{cpu:?}");
    }
}
