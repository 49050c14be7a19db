//! Every kernel of this machine, and with feature `emulated-neon` NEON's, against the exact engine over
//! every plan of the catalogue; each passes its self-test.

use serde_json::{Value, json};
use tcverify::emu::{Arithmetic, Catalogue, Engine, Problem, Replay};
use tcverify::kernels::{self, KernelConfig, Platform};
use tcverify::num::Format;
use tcverify::random::SplitMix64;
use tcverify::tensor::Tensor;

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Within some binades of one.
    Near,
    /// All codes, subnormals and specials among them.
    Any,
    Largest,
    /// The largest in the first half of k, their opposites after.
    Turning,
    /// Products of 2^-126, 2^-138 and 2^-150, and now and then any code.
    Tiny,
}

#[cfg(feature = "emulated-neon")]
fn platforms(plan: &KernelConfig) -> Vec<Platform> {
    let mut platforms = Platform::with_emulated();
    // Chains that round down, where they are used.
    if matches!(plan, KernelConfig::Group(plan) if plan.nudge.is_some()) {
        platforms.push(Platform::portable_down());
    }
    platforms
}

#[cfg(not(feature = "emulated-neon"))]
fn platforms(_: &KernelConfig) -> Vec<Platform> {
    Platform::available()
}

const KINDS: [Kind; 4] = [Kind::Near, Kind::Any, Kind::Largest, Kind::Turning];

fn code(format: Format, kind: Kind, second_half: bool, random: u64) -> u64 {
    match kind {
        Kind::Near if format.is_integer() => random & format.max_code(),
        Kind::Near => {
            let field = (format.bias() - 1) as u64 - random % 3;
            let fraction = random >> 32 & ((1 << format.fraction_bits()) - 1);
            let sign = if random >> 31 & 1 == 1 {
                format.sign_mask()
            } else {
                0
            };
            (field << format.fraction_bits() | fraction) << format.ignored_bits() | sign
        }
        Kind::Any => random & format.max_code(),
        Kind::Largest => format.max_finite(false),
        Kind::Tiny if random.is_multiple_of(29) => random >> 8 & format.max_code(),
        Kind::Tiny if format.bias() == 127 => {
            let exponent = if random >> 40 & 1 == 1 { 63 } else { 75 };
            let sign = if random >> 41 & 1 == 1 {
                format.sign_mask()
            } else {
                0
            };
            ((format.bias() as u64 - exponent) << format.fraction_bits()) << format.ignored_bits()
                | sign
        }
        Kind::Tiny => 0,
        Kind::Turning => format.max_finite(second_half),
    }
}

fn check(arithmetic: &Arithmetic, kind: Kind, seed: u64, at_least: usize) {
    // A rest of rows, of columns in strips of every width, and of k.
    let span = arithmetic.step.span();
    let longest = arithmetic.longest_k().unwrap_or(usize::MAX);
    let plan = kernels::plan(arithmetic).expect("a kernel");
    // Some kernels want more than a strip of rows.
    let m = match &plan {
        KernelConfig::Group(plan) if plan.nudge.is_some() => 11,
        _ => 6,
    };
    let (n, k) = (70, (2 * span.max(16) + 3).max(at_least).min(longest));
    let mut random = SplitMix64(seed);
    let mut matrix =
        |format: Format, rows: usize, columns: usize, at_k: fn(usize, usize) -> usize| {
            let codes: Vec<_> = (0..rows * columns)
                .map(|i| {
                    let second = at_k(i / columns, i % columns) >= k / 2;
                    code(format, kind, second, random.word())
                })
                .collect();
            Tensor::from_codes(format, vec![rows, columns], &codes)
        };
    let a = matrix(arithmetic.a, m, k, |_, column| column);
    let b = matrix(arithmetic.b, k, n, |_, _| 0);
    let mut c = matrix(arithmetic.addend(), m, n, |_, _| 0);
    if let (Kind::Tiny, Format::Fp32) = (kind, arithmetic.addend()) {
        // Zeros and the smallest normal numbers of both signs, and their neighbours.
        let mut draw = || {
            let magnitude = [0, 0, 0x80_0000, 0x80_0001, 0x7f_ffff, 1];
            let word = random.word();
            magnitude[word as usize % 6] | (word >> 63) << 31
        };
        let codes: Vec<u64> = (0..m * n).map(|_| draw()).collect();
        c = Tensor::from_codes(Format::Fp32, vec![m, n], &codes);
    }
    let scales = arithmetic.scale.map(|scale| {
        let blocks = k.div_ceil(scale.block);
        let one = (scale.format.bias() as u64) << scale.format.fraction_bits();
        let mut scales = |rows: usize, columns: usize| {
            let code = |_| match (kind, random.word()) {
                (Kind::Near, word) => one + word % 9 - 4,
                (Kind::Any, word) => word & scale.format.max_code(),
                (_, word) => one + word % 64 - 32,
            };
            let codes: Vec<_> = (0..rows * columns).map(code).collect();
            Tensor::from_codes(scale.format, vec![rows, columns], &codes)
        };
        (scales(m, blocks), scales(blocks, n), scale.block)
    });
    for c in [None, Some(c.planes())] {
        let replay = |engine| {
            let mut problem = Problem::new(a.planes(), b.planes(), c).expect("the shapes fit");
            if let Some((a, b, block)) = &scales {
                let scaled = problem.with_scales(a.planes(), b.planes(), *block);
                problem = scaled.expect("a scale for every block");
            }
            Replay {
                problem,
                arithmetic,
                convert_to: None,
                engine,
                kernel: None,
            }
        };
        let expected = replay(Engine::Exact).collect(&|_| {});
        for platform in platforms(&plan) {
            let vouched = platform.vouched(&plan, arithmetic.formats());
            assert_eq!(vouched, Ok(platform), "{plan:?}");
            let fast = replay(platform.engine());
            let found = fast.collect(&|_| {});
            let name = platform.name();
            let differ = |(x, y): (&[u8], &[u8])| x != y;
            let codes = |d: &'_ Tensor| d.as_payload().expect("canonical").to_vec();
            let (x, y) = (codes(&expected), codes(&found));
            let width = expected.format().bytes();
            let at = x.chunks(width).zip(y.chunks(width)).position(differ);
            assert!(
                at.is_none(),
                "{name} {kind:?} {seed} {} at {at:?}: {:x?} is {:x?}, C {}",
                arithmetic.canonical_json(),
                &x[at.unwrap_or(0) * width..][..width],
                &y[at.unwrap_or(0) * width..][..width],
                c.is_some(),
            );
            // Of doubles that lie between two floats, some are too near the middle.
            let share = fast.exact_share();
            if let (Kind::Near, None) = (kind, c) {
                assert!(
                    share.exact <= share.total / 500,
                    "{name} computed {share:?}"
                );
            }
        }
    }
}

/// The rules of the catalogue whose steps are of a kind, each once, of their first operands; and how many came before.
fn known() -> Vec<(String, u64, Arithmetic)> {
    let mut known: Vec<(String, u64, Arithmetic)> = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for rule in architecture.instructions.iter().flat_map(|i| &i.rules) {
            let arithmetic = Arithmetic::of(rule, rule.operands[0]);
            if known.iter().any(|(_, _, other)| *other == arithmetic) {
                continue;
            }
            let step = serde_json::to_value(&arithmetic.step).expect("plain data");
            let kind = step["kind"].as_str().expect("a kind").to_owned();
            known.push((kind, known.len() as u64, arithmetic));
        }
    }
    known
}

fn kernels_of(kind: &str) {
    let mut count = 0;
    for (_, seed, arithmetic) in known().iter().filter(|(of, ..)| of == kind) {
        if kernels::plan(arithmetic).is_some() {
            count += 1;
            for operands in KINDS {
                check(arithmetic, operands, *seed, 0);
            }
        }
    }
    assert!(count > 0, "{kind}");
}

/// Results that are tiny, or were rounded up to the smallest normal number; infinities and NaNs beside them.
#[test]
fn ordered_chains_of_tiny_results() {
    for (_, seed, arithmetic) in known().iter().filter(|(of, ..)| of == "ordered_fma") {
        for seed in (0..8).map(|i| 8 * seed + i) {
            if kernels::plan(arithmetic).is_some() {
                check(arithmetic, Kind::Tiny, seed, 0);
            }
        }
    }
}

/// Slices in phases that no fidelity has, through memory in blocks, at any floor, with any fault.
#[test]
fn slices_that_nobody_takes() {
    let pick =
        |random: &mut SplitMix64, all: &[Value]| all[random.word() as usize % all.len()].clone();
    let mut random = SplitMix64(38);
    let all: Vec<_> = known()
        .into_iter()
        .filter(|(of, ..)| of == "sliced")
        .collect();
    let mut blocks = 0;
    for seed in 0..60 {
        let (_, _, mut arithmetic) = all[random.word() as usize % all.len()].clone();
        let mut step = serde_json::to_value(&arithmetic.step).expect("plain data");
        let phase = |random: &mut SplitMix64| json!(random.word() % 4);
        let phases = 1 + random.word() % 4;
        step["phases"] = (0..phases).map(|_| phase(&mut random)).collect();
        step["tile"] = pick(&mut random, &[json!(16), json!(32)]);
        if arithmetic.accumulator == Format::Fp32 {
            step["minus_one"] = pick(&mut random, &[json!(null), json!(0), json!(20), json!(28)]);
        }
        if arithmetic.accumulator != Format::Fp16 && random.word().is_multiple_of(2) {
            let reload = match arithmetic.accumulator {
                Format::Fp32 => pick(&mut random, &[json!("exact"), json!("tf32"), json!("bf16")]),
                _ => json!("exact"),
            };
            let added = arithmetic.accumulator == Format::Fp32 && random.word().is_multiple_of(2);
            step["blocks"] = json!({"k": 32, "l1_acc": added, "reload": reload});
            blocks += 1;
        }
        arithmetic.step = serde_json::from_value(step).expect("a step");
        arithmetic.check().expect("it could be built");
        for operands in KINDS {
            check(&arithmetic, operands, seed, 131);
        }
    }
    assert!(blocks > 10);
}

macro_rules! kernels {
    ($($kind:ident,)*) => {
        $(#[test]
        fn $kind() {
            kernels_of(stringify!($kind));
        })*

        #[test]
        fn no_kind_is_left_out() {
            for (kind, _, arithmetic) in known() {
                let tested = [$(stringify!($kind)),*].contains(&kind.as_str());
                assert!(tested || kernels::plan(&arithmetic).is_none(), "{kind}");
            }
        }
    };
}

kernels!(
    block_dot,
    complement_dot,
    exact_dot,
    exact_sum,
    floored_pairs,
    fma_chain,
    fused,
    fused_floor,
    fused_halves,
    half_chain,
    integer_sum,
    ordered_fma,
    pairwise_flush,
    rounded_dot,
    sliced,
    sticky_rne,
);
