//! A plan and its schedule are one order: the same k in the same instructions, and the same bits.

use std::ops::Range;

use super::properties::configuration;
use super::*;
use crate::emu::schedule::{BoundSchedule, Exactly, KTraversal, Ops, Schedule, TileOfD, Values};
use crate::emu::{Catalogue, Choice, Engine, Problem, Replay};
use crate::num::Format;
use crate::random::SplitMix64;
use crate::tensor::Tensor;
use tcverify_kernels::Platform;

/// The k of every instruction, chain after chain; a chain without any is left out.
fn of_plan(plan: &Plan) -> Vec<Vec<Range<usize>>> {
    let chains = plan.lanes().flat_map(Traversal::chains);
    chains.filter(|chain| !chain.is_empty()).collect()
}

fn of_schedule(plan: &Plan, schedule: &Schedule) -> Vec<Vec<Range<usize>>> {
    let span = plan.lanes().next().unwrap().instruction_k;
    let all = KTraversal::new(&schedule.spec, plan.shape.k, span, TileOfD::ONLY).unwrap();
    let lost = plan.lost.map(|lost| lost.first..plan.shape.k);
    assert_eq!(all.omitted, lost.into_iter().collect::<Vec<_>>());
    let mut chains = Vec::new();
    for chain in all.root.chains() {
        let mut groups: Vec<Range<usize>> = Vec::new();
        for start in (0..chain.indices.len()).step_by(span) {
            let end = (start + span).min(chain.indices.len());
            let ks: Vec<usize> = (start..end)
                .filter_map(|i| chain.indices.get(i).k)
                .collect();
            if let (Some(first), Some(last)) = (ks.first(), ks.last()) {
                // Values first, in order, then zeros.
                assert_eq!(chain.indices.get(start).k, Some(*first));
                assert_eq!(ks.len(), last - first + 1);
                groups.push(*first..last + 1);
            }
        }
        if !groups.is_empty() {
            chains.push(groups);
        }
    }
    chains
}

/// The model that computes a plan, and the operands' format.
fn model(plan: &Plan) -> Choice<'static> {
    let format = plan.settings.operand();
    let (architecture, instruction, format) = match plan.family {
        "nvjet" => ("hopper", "wgmma", format.unwrap()),
        "cutlass" => ("hopper", "mma", format.unwrap()),
        "ada-fp8" => ("ada", "mma", Format::E4m3),
        "tensile" => ("cdna3", "mfma", Format::Fp16),
        "gemm-desc" if plan.settings.instruction_k.value().unwrap() > 1 => {
            ("hopper", "mma", format.unwrap())
        }
        "gemm-desc" => ("ieee-fma", "fma", format.unwrap()),
        "simt" => ("ieee-fma", "fma", format.unwrap()),
        _ => ("ieee-fma", "fma", Format::Bf16),
    };
    let architecture = Catalogue::builtin().find(architecture).unwrap();
    architecture
        .select(Some(instruction), [format; 2], Some(Format::Fp32))
        .unwrap()
}

/// Finite operands of magnitudes that round and cancel.
fn operand(format: Format, random: &mut SplitMix64) -> u64 {
    let word = random.word();
    let sign = word & 1;
    let pick = |exponent: u64, fraction: u32, width: u32| {
        sign << (width - 1) | exponent << fraction | (word >> 20) & ((1 << fraction) - 1)
    };
    match format {
        Format::Fp16 => pick(11 + (word >> 1) % 8, 10, 16),
        Format::Bf16 => pick(122 + (word >> 1) % 10, 7, 16),
        Format::E4m3 => pick(2 + (word >> 1) % 12, 3, 8),
        Format::Fp32 => pick(120 + (word >> 1) % 14, 23, 32),
        other => panic!("{other}"),
    }
}

/// A product of one element, and how one instruction of it is computed.
struct Dot {
    choice: Choice<'static>,
    a: Vec<u64>,
    b: Vec<u64>,
    result: Format,
    instruction_k: usize,
}

const OPS: Exactly = Exactly { nan: 0x7fff_ffff };

impl Dot {
    fn new(plan: &Plan, result: Format, seed: u64) -> Dot {
        let choice = model(plan);
        let mut random = SplitMix64(seed);
        let (of_a, of_b) = (choice.arithmetic.a, choice.arithmetic.b);
        Dot {
            a: (0..plan.shape.k)
                .map(|_| operand(of_a, &mut random))
                .collect(),
            b: (0..plan.shape.k)
                .map(|_| operand(of_b, &mut random))
                .collect(),
            choice,
            result,
            instruction_k: plan.lanes().next().unwrap().instruction_k,
        }
    }

    fn replayed(
        &self,
        a: &[u64],
        b: &[u64],
        c: Option<u64>,
        kernel: Option<(&Schedule, Engine)>,
    ) -> u64 {
        let arithmetic = &self.choice.arithmetic;
        let a = Tensor::from_codes(arithmetic.a, vec![1, a.len()], a);
        let b = Tensor::from_codes(arithmetic.b, vec![b.len(), 1], b);
        let c = c.map(|c| Tensor::from_codes(Format::Fp32, vec![1, 1], &[c]));
        let c = c.as_ref().map(Tensor::planes);
        let problem = Problem::new(a.planes(), b.planes(), c).unwrap();
        let values = Values::default();
        let made = kernel.map(|(schedule, _)| {
            BoundSchedule::check(&schedule.spec, &values, arithmetic, &problem, self.result)
                .unwrap();
            BoundSchedule::new(&schedule.spec, &values, &problem)
        });
        let replay = Replay {
            problem,
            arithmetic,
            convert_to: kernel.map(|_| self.result),
            engine: kernel.map_or(Engine::Exact, |(_, engine)| engine),
            kernel: made,
        };
        replay.collect(&|_| {}).planes().plane(0).code(0, 0)
    }
}

impl Arithmetic for Dot {
    type Number = u32;

    fn zero(&self) -> u32 {
        0
    }

    fn instruction(&self, accumulator: u32, k: Range<usize>) -> u32 {
        let fill = |codes: &[u64]| {
            let mut codes = codes[k.clone()].to_vec();
            codes.resize(self.instruction_k, 0);
            codes
        };
        self.replayed(
            &fill(&self.a),
            &fill(&self.b),
            Some(accumulator.into()),
            None,
        ) as u32
    }

    fn add(&self, a: u32, b: u32) -> u32 {
        OPS.add(a, b)
    }

    fn rounded(&self, sum: u32, format: Option<Format>) -> u32 {
        let format = format.unwrap_or(self.result);
        OPS.widen(OPS.round(sum, format), format)
    }
}

/// The plan run by straight loops, its schedule by both engines; the plan's result.
pub(super) fn agree(
    text: &str,
    shape: Shape,
    options: &Options,
    seed: u64,
) -> Result<u64, KernelError> {
    let plan = read(text)?.plan(&shape, options)?;
    let schedule = plan.schedule()?;
    let json = serde_json::to_string(&schedule).unwrap();
    assert_eq!(Schedule::from_json(&json).as_ref(), Ok(&schedule), "{text}");
    assert_eq!(
        of_plan(&plan),
        of_schedule(&plan, &schedule),
        "{text}, {shape}"
    );
    let mut last = 0;
    for result in [Format::Fp32, Format::Bf16] {
        let dot = Dot::new(&plan, result, seed);
        let want = OPS.round(plan.evaluate(&dot), result);
        for engine in [Engine::Exact, Platform::detect().unwrap().engine()] {
            let have = dot.replayed(&dot.a, &dot.b, None, Some((&schedule, engine)));
            assert_eq!(have, want, "{text}, {shape}, {result}, {engine:?}");
        }
        last = last << 32 | want;
    }
    Ok(last)
}

/// One element of a product of this K.
pub(super) fn shape(k: usize) -> Shape {
    Shape { m: 1, n: 7, k }
}

#[test]
fn the_worked_examples_are_schedules() {
    let cutlass =
        |stages, splits| format!("dtype=fp16,reduction=2,algo=21,stages={stages},splitK={splits}");
    let fp8 = |more| format!("dtype=e4m3,arch=sm_90,algo=66,stages=36,reduction=2,{more}");
    let direct = |partition| {
        format!(
            "family=cutlass,tile_k=32,instruction_k=16,dtype=fp16,splitK=2,reduction=2,partition={partition}"
        )
    };
    let gemv = |custom| format!("algo=13,arch=sm_100,custom={custom}");
    let nvjet = |splits| format!("dtype=fp16,algo=66,stages=35,reduction=2,splitK={splits}");
    let ada =
        |algo, splits, custom| format!("algo={algo},splitK={splits},reduction=2,custom={custom}");
    let mut all = vec![
        (cutlass(0, 1), 45),
        (cutlass(13, 1), 100),
        (cutlass(7, 1), 116),
        (cutlass(13, 1), 116),
        (cutlass(13, 1), 40),
        (cutlass(13, 1), 64),
        (cutlass(13, 1), 65),
        (cutlass(0, 4), 4096),
        ("dtype=fp16,algo=21,stages=0,splitK=2".into(), 4096),
        (
            "dtype=fp16,algo=21,stages=0,splitK=2,reduction=4".into(),
            4096,
        ),
        (cutlass(13, 2), 3000),
        (cutlass(13, 4), 3000),
        (cutlass(13, 3), 200),
        (cutlass(20, 592), 4096),
        (nvjet(5), 1000),
        (nvjet(3), 9728),
        (
            "dtype=bf16,algo=21,stages=15,splitK=5,reduction=4".into(),
            9728,
        ),
        (fp8("fast_accum=0"), 300),
        (fp8("fast_accum=0,splitK=3"), 640),
        (fp8("fast_accum=1,splitK=2"), 1152),
        (fp8("fast_accum=0,splitK=4"), 768),
        (fp8("fast_accum=0,splitK=2"), 200),
        (ada(60, 3, 0), 200),
        (ada(60, 3, 0), 80),
        (ada(35, 2, 0), 512),
        (nvjet(9), 8648),
        (nvjet(2), 1032),
        (nvjet(16), 1032),
        ("algo=11,custom=0".into(), 1200),
        ("algo=11,custom=1".into(), 700),
        ("algo=16".into(), 5),
        (gemv("5"), 581),
        (gemv("41"), 10),
        (gemv("48"), 10),
        ("algo=14,splitK=64".into(), 9000),
        ("algo=14,splitK=4".into(), 600),
        (direct("parallel-tiles"), 160),
        (direct("serial-tiles"), 160),
        (direct("universal"), 160),
    ];
    all.extend([2, 3, 4, 5, 7].map(|splits| (ada(60, splits, 1), 64 * splits)));
    for (text, k) in all {
        agree(&text, shape(k), &Options::default(), 7).unwrap();
    }
    let column = Shape {
        m: 7,
        n: 1,
        k: 3000,
    };
    agree("algo=14,splitK=3", column, &Options::default(), 7).unwrap();
}

/// Orders that differ give other bits: what the agreement above would not see if it compared too little.
/// (Sums of FP8 slices of like magnitudes are exact in f32, in pairs or not; captured ones are not.)
#[test]
fn other_orders_differ() {
    // One product may agree by chance.
    let bits = |text: &str, k| {
        let bits = |seed| agree(text, shape(k), &Options::default(), seed).unwrap();
        (0..12).map(bits).collect::<Vec<u64>>()
    };
    let cutlass = "dtype=fp16,algo=21,reduction=2";
    let pairs = [
        (
            format!("{cutlass},stages=7"),
            format!("{cutlass},stages=13"),
            116,
        ),
        (
            format!("{cutlass},stages=0"),
            format!("{cutlass},stages=7"),
            256,
        ),
        (
            format!("{cutlass},stages=13,splitK=2"),
            format!("{cutlass},stages=13,splitK=3"),
            3000,
        ),
        (
            "algo=60,reduction=2,splitK=2,custom=0".into(),
            "algo=35,reduction=2,splitK=2,custom=0".into(),
            512,
        ),
        ("algo=11,custom=0".into(), "algo=11,custom=1".into(), 700),
        (
            "algo=13,arch=sm_100,custom=41".into(),
            "algo=13,arch=sm_100,custom=48".into(),
            600,
        ),
    ];
    for (one, other, k) in pairs {
        assert_ne!(bits(&one, k), bits(&other, k), "{one} and {other}");
    }
    let text = "dtype=fp16,algo=66,stages=35,reduction=2,splitK=9";
    let whole = Options {
        whole_remainder: true,
        ..Options::default()
    };
    let all = agree(text, shape(8648), &whole, 0).unwrap();
    assert_ne!(bits(text, 8648)[0], all);
}

#[test]
fn rotated_loops_wrap_around() {
    for (text, rotation) in [
        ("DepthU=32,GSU=1,SU=32", 3),
        ("DepthU=32,GSU=2,SU=32", 2),
        ("DepthU=32,GSU=3,GSUC=1,SU=8", 1),
    ] {
        let options = Options {
            rotation: Some(rotation),
            ..Options::default()
        };
        let plan = read(text).unwrap().plan(&shape(500), &options).unwrap();
        assert_eq!(plan.covered(), 500);
        agree(text, shape(500), &options, 3).unwrap();
    }
    let options = Options {
        rotation: Some(3),
        ..Options::default()
    };
    let plan = read("DepthU=32,SU=32")
        .unwrap()
        .plan(&shape(500), &options)
        .unwrap();
    let runs: Vec<_> = plan.slices[0].lanes[0].runs().collect();
    assert_eq!(runs, [96..480, 0..96, 480..500]);
}

/// DepthU is the request's `tile_k` if the text lacks it; a search tries some.
#[test]
fn tensile_without_depth_u() {
    let reading = read("GSU=2,SU=0").unwrap();
    let given = Options {
        tile_k: Some(64),
        ..Options::default()
    };
    assert_eq!(reading.open(&given).unwrap().len(), 0);
    let same = read("DepthU=64,GSU=2,SU=0").unwrap();
    let of = |reading: &KernelReading, options| reading.plan(&shape(500), options).unwrap().slices;
    assert_eq!(of(&reading, &given), of(&same, &Options::default()));
    let found = reading.candidates(&shape(500), &Options::default());
    assert_eq!(found.unwrap().len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn schedules_are_their_plans(text in configuration(), k in prop_oneof![1usize..200, 1usize..2000], seed in any::<u64>()) {
        match agree(&text, shape(k), &Options::default(), seed) {
            Ok(_) | Err(KernelError::TooManySplits { .. } | KernelError::UnknownOrder { .. }) => {}
            Err(error) => panic!("{text}, {k}: {error}"),
        }
    }
}
