//! Every model that has a shader, with operands of every kind.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use tcverify::emu::step::{Code, FusedFloor, IntegerOverflow, IntegerSum, Step};
use tcverify::emu::{Arithmetic, Catalogue, Engine, FastEngine, Problem, Replay};
use tcverify::gpu::shader;
use tcverify::num::{Format, Rounding};
use tcverify::random::SplitMix64;
use tcverify::tensor::Tensor;

use crate::case::{Case, Shape};
use crate::layout::Layout;
use crate::models::{self, Model};
use crate::operands::{ADDENDS, KINDS};
use crate::support::case::codes;
use crate::support::random::Random;
use crate::{adapter, gpu};

/// Ragged ones, a row, a column, and a batch; none so small that the CPU would compute it.
const SHAPES: [Shape; 6] = [
    Shape::new(37, 41, 57),
    Shape::new(65, 97, 30),
    Shape::new(1, 130, 300),
    Shape::new(130, 3, 129),
    Shape::new(33, 64, 64),
    Shape::batched(&[3], 34, 33, 44),
];

/// Compares products with the exact engine's; returns how many multiply-adds the GPU computed of all.
fn compare(models: &[Model], per_kind: usize) -> [u64; 2] {
    let Some(device) = adapter() else {
        return [1, 1];
    };
    let (own, all) = (AtomicU64::new(0), AtomicU64::new(0));
    let cases: Vec<_> = models
        .iter()
        .enumerate()
        .flat_map(|(i, model)| {
            let kinds = KINDS.iter().enumerate();
            kinds.flat_map(move |(j, &kind)| {
                (0..per_kind).map(move |n| {
                    let at = i + j + n;
                    let seed = (i * 1000 + j * 10 + n) as u64;
                    let mut case = Case::new(
                        model,
                        SHAPES[at % SHAPES.len()],
                        kind,
                        ADDENDS[at % ADDENDS.len()],
                        seed,
                    );
                    let mut random = Random::seeded(seed);
                    if n % 2 == 1 {
                        case.layouts = [(); 3].map(|()| Layout::random(&mut random));
                    }
                    case
                })
            })
        })
        .collect();
    cases.par_iter().for_each(|case| {
        let gpu = gpu(&device, case.seed);
        let operands = case.operands();
        let expected = codes(&case.exact(&operands));
        let found = catch_unwind(AssertUnwindSafe(|| case.by(&operands, Engine::With(&gpu))));
        let found = codes(&found.unwrap_or_else(|_| panic!("{case:?}: {:?}", gpu.failure())));
        let differs = expected.iter().zip(&found).position(|(x, y)| x != y);
        if let Some(at) = differs {
            panic!(
                "{case:?}\nelement {at} is {:x}, not {:x}",
                found[at], expected[at]
            );
        }
        let work = gpu.used().expect("a device");
        let plan = shader(&case.model.arithmetic).expect("those alone are compared");
        assert_eq!(
            work.tiles_computed_twice > 0,
            plan.takes(case.shape.k),
            "{case:?}"
        );
        own.fetch_add(work.multiply_adds, Ordering::Relaxed);
        let Shape { m, n, k, .. } = case.shape;
        let products = case.shape.batches() * m * n * k;
        all.fetch_add(products as u64, Ordering::Relaxed);
    });
    [own, all].map(AtomicU64::into_inner)
}

#[test]
fn every_fused_rule_of_the_catalogue() {
    let with_shader = |model: &Model| shader(&model.arithmetic).is_some();
    let models: Vec<_> = models::catalogue()
        .into_iter()
        .filter(with_shader)
        .collect();
    assert!(models.len() > 30, "{} models", models.len());
    let [own, all] = compare(&models, 1);
    // The rest are specials and overflow.
    assert!(2 * own > all, "{own} of {all} by shaders");
}

#[test]
fn models_that_nobody_has_built() {
    let with_shader = |model: &Model| shader(&model.arithmetic).is_some();
    let models: Vec<_> = models::made_up(800)
        .into_iter()
        .filter(with_shader)
        .take(12)
        .collect();
    assert_eq!(models.len(), 12);
    compare(&models, 1);
}

/// A few products at a time, to constants that nobody has built; some accumulate in BF16.
#[test]
fn few_products_that_nobody_has_built() {
    let with_shader = |model: &Model| shader(&model.arithmetic).is_some();
    let models: Vec<_> = models::few(40).into_iter().filter(with_shader).collect();
    assert!(models.len() > 20, "{} models", models.len());
    let [own, all] = compare(&models, 1);
    assert!(2 * own > all, "{own} of {all} by shaders");
}

/// Floored sums to other constants than CDNA 3's.
#[test]
fn floored_sums_that_nobody_has_built() {
    let mut models = Vec::new();
    for seed in 0..24 {
        let mut random = Random::seeded(0x666c_6f6f + seed);
        let operands = random.pick(&[Format::Bf16, Format::Fp16, Format::Tf32, Format::E5m2]);
        let accumulator = random.pick(&[Format::Fp32, Format::Fp32, Format::Fp16]);
        let sums = random.pick(&[1, 2]);
        let fraction_bits = random.between(10, 25) as u32;
        let window = random.between(0, 40) as u32;
        let step = FusedFloor {
            group: sums * random.pick(&[4, 8, 16]),
            sums,
            fraction_bits,
            sum_fraction_bits: fraction_bits + random.pick(&[0, 1, 8, 24]),
            addend_window: random.once_in(2).then_some(window),
            zero_exponent: random.pick(&[-126, -300, -14, 0]),
            result_fraction_bits: random.pick(&[23, 24, 30, 31]),
            rounding: Rounding::NearestEven,
            nan: Code(if accumulator == Format::Fp16 {
                0x7fff
            } else {
                0x7fff_ffff
            }),
        };
        let arithmetic = Arithmetic::plain([operands; 2], accumulator, Step::FusedFloor(step));
        assert_eq!(arithmetic.check(), Ok(()));
        let name = "made-up floors".into();
        models.push(Model { name, arithmetic });
    }
    models.retain(|model| shader(&model.arithmetic).is_some());
    assert!(models.len() > 12, "{} models", models.len());
    compare(&models, 1);
}

/// What `models` leaves out: integers, and operands with scales.
#[test]
fn integers_and_scaled_operands() {
    let Some(device) = adapter() else { return };
    let mut seen = BTreeSet::new();
    let mut arithmetics = Vec::new();
    for architecture in Catalogue::builtin().architectures() {
        for rule in architecture.instructions.iter().flat_map(|i| &i.rules) {
            for &operands in &rule.operands {
                let arithmetic = Arithmetic::of(rule, operands);
                let other = arithmetic.scale.is_some() || arithmetic.accumulator.is_integer();
                if other && shader(&arithmetic).is_some() && seen.insert(arithmetic.sha256()) {
                    arithmetics.push(arithmetic);
                }
            }
        }
    }
    let saturating = IntegerSum {
        group: 16,
        overflow: IntegerOverflow::Saturate,
    };
    arithmetics.push(Arithmetic::plain(
        [Format::Int8; 2],
        Format::Int32,
        Step::IntegerSum(saturating),
    ));
    assert!(arithmetics.len() > 10, "{}", arithmetics.len());
    for (seed, arithmetic) in arithmetics.iter().enumerate() {
        for any in [false, true] {
            let product = Product::new(arithmetic, any, seed as u64);
            let gpu = gpu(&device, 1);
            let [expected, found] =
                [Engine::Exact, Engine::With(&gpu)].map(|engine| product.by(arithmetic, engine));
            assert_eq!(expected, found, "{}", arithmetic.canonical_json());
            assert!(any || gpu.used().unwrap().multiply_adds > 0);
        }
    }
}

struct Product {
    operands: [Tensor; 3],
    scales: Option<([Tensor; 2], usize)>,
}

impl Product {
    fn new(arithmetic: &Arithmetic, any: bool, seed: u64) -> Product {
        let (m, n, k) = (39, 43, 133);
        let mut random = SplitMix64(seed);
        let mut matrix = |format: Format, rows: usize, columns: usize, any: bool| {
            let codes: Vec<_> = (0..rows * columns)
                .map(|_| {
                    let code = random.word() & format.max_code();
                    let finite = !matches!(
                        format.unpack(code).class,
                        tcverify::num::Class::Nan | tcverify::num::Class::Infinite
                    );
                    if finite || any && code.is_multiple_of(8) {
                        code
                    } else {
                        0
                    }
                })
                .collect();
            Tensor::from_codes(format, vec![rows, columns], &codes)
        };
        let operands = [
            matrix(arithmetic.a, m, k, any),
            matrix(arithmetic.b, k, n, any),
            // Near the ends for integers, so that sums wrap around or stay.
            matrix(arithmetic.addend(), m, n, false),
        ];
        let scales = arithmetic.scale.map(|scale| {
            let blocks = k.div_ceil(scale.block);
            let mut random = SplitMix64(seed + 77);
            let mut scales = |rows: usize, columns: usize| {
                let one = scale.format.bias() as u64;
                let codes: Vec<_> = (0..rows * columns)
                    .map(|_| {
                        if any {
                            random.word() & scale.format.max_code()
                        } else {
                            one - 20 + random.word() % 41
                        }
                    })
                    .collect();
                Tensor::from_codes(scale.format, vec![rows, columns], &codes)
            };
            ([scales(m, blocks), scales(blocks, n)], scale.block)
        });
        Product { operands, scales }
    }

    fn by(&self, arithmetic: &Arithmetic, engine: Engine) -> Vec<u64> {
        let [a, b, c] = &self.operands;
        let mut problem = Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap();
        if let Some(([a, b], block)) = &self.scales {
            problem = problem.with_scales(a.planes(), b.planes(), *block).unwrap();
        }
        let replay = Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        codes(&replay.collect(&|_| {}))
    }
}

/// More k than one dispatch takes, and more columns.
#[test]
fn a_product_in_many_dispatches() {
    let Some(device) = adapter() else { return };
    let model = &models::named("hopper wgmma fp16*fp16->fp32");
    let gpu = gpu(&device, 3);
    let case = Case::new(model, Shape::new(3, 300, 5001), KINDS[0], ADDENDS[1], 5);
    let operands = case.operands();
    let [expected, found] =
        [Engine::Exact, Engine::With(&gpu)].map(|engine| codes(&case.by(&operands, engine)));
    assert_eq!(expected, found);
}
