//! Every preset, by the library and by loops of our own.

use rayon::prelude::*;
use tcverify::emu::schedule::{BiasAdded, Multiply, ScheduleSpec, presets};
use tcverify::num::Format::{Bf16, E4m3, E5m2, Fp16, Fp32, Int8, Int32, Tf32};

use super::operands::{KINDS, Kind};
use super::product::{Product, Shape, Unit, Wish, preset, shape};
use super::straight::{self, NAMES, Open};
use crate::support::engines::{engines, name};
use crate::support::random::Random;

/// Tiles of K are 32 to 128 long.
const SHAPES: [Shape; 10] = [
    shape(3, 5, 256),
    shape(2, 3, 129),
    shape(4, 33, 121),
    shape(1, 6, 200),
    shape(5, 1, 311),
    shape(3, 4, 31),
    shape(2, 2, 1),
    shape(1, 1, 65),
    Shape {
        batch: Some(3),
        m: 2,
        n: 4,
        k: 150,
    },
    // Larger than a tile of D, and than what engines compute together.
    shape(131, 2, 100),
];

/// Presets that `tests/captured/emulated` proves by vectors of models that share no code with this one, each with wrong
/// rules; `tests/commands/schedules/emulated.rs` compares engines on them.
const BY_VECTORS: [&str; 16] = [
    "triton-tf32x3-second",
    "triton-tf32x3-third",
    "triton-bf16x3",
    "triton-bf16x6",
    "xla-bf16x9",
    "cutlass-bf16x9",
    "cutlass-bf16x9-4-bands",
    "cutlass-bf16x9-3-bands",
    "cublas-bf16x9",
    "cublasdx-fp64-slices",
    "cublas-fp64-slices",
    "rl-kernel-det-gemm",
    "rl-kernel-det-gemm-scalar",
    "sglang-tp-inv",
    "sglang-tp-inv-fp16",
    "sglang-tp-inv-fp32",
];

/// What a preset is tried with.
fn units(name: &str) -> Vec<Unit> {
    let unit = |arch, instruction, operands| Unit::new(arch, instruction, operands, Fp32);
    let halves = [
        unit("volta", "mma", Fp16),
        unit("ampere", "mma", Fp16),
        unit("ampere", "mma", Bf16),
        unit("ada", "mma", Bf16),
        unit("hopper", "mma", Bf16),
        unit("hopper", "wgmma", Fp16),
        unit("cdna3", "mfma", Bf16),
    ];
    let eighths = [
        unit("hopper", "wgmma", E4m3),
        unit("hopper", "wgmma", E5m2),
        unit("ada", "mma", E4m3),
    ];
    let tf32 = [unit("ampere", "mma", Tf32), unit("hopper", "wgmma", Tf32)];
    let int8 = || Unit::new("ampere", "mma", Int8, Int32);
    let all = |some: &[&[Unit]]| some.concat();
    match name {
        "plain" | "batch-invariant" | "cutlass-sm80" | "cute-sm80" | "cutlass-sm90" => {
            all(&[&halves, &eighths[..1], &tf32[..1], &[int8()]])
        }
        "cutlass-3xtf32" | "cutlass-3xtf32-staged" | "triton-tf32x3" => tf32.to_vec(),
        "cutlass-fp8-promote"
        | "deepgemm-sm90"
        | "torch-scaled-mm-rowwise"
        | "triton-fp8-block" => all(&[&eighths, &halves[5..6]]),
        "vllm-scaled-mm" => all(&[&eighths, &[int8()]]),
        "vllm-int8-azp" | "vllm-int8-azp-token" => vec![int8()],
        "triton-kwidth8" => halves[1..5].to_vec(),
        "cublas-nvjet-fp8" | "cublas-nvjet-fp8-splitk" => eighths[..2].to_vec(),
        "cublas-ada-fp8" | "cublas-ada-fp8-serial" | "cublas-ada-fp8-pairwise" => {
            eighths[2..].to_vec()
        }
        "cublas-gemmsn" | "cublas-magma" | "cublas-gemv" | "cublas-dot" => [Fp16, Bf16, Fp32]
            .map(|format| unit("ieee-fma", "fma", format))
            .to_vec(),
        "openblas-neoverse-n2" | "openblas-neoverse-v1" | "iree-bf16" => {
            vec![unit("arm", "bfmmla", Bf16)]
        }
        _ => all(&[&halves, &tf32[..1]]),
    }
}

/// A wish of everything that a product may have, drawn.
pub fn wish(name: &str, unit: &Unit, shape: Shape, kind: Kind, random: &mut Random) -> Wish {
    let spec = preset(name);
    let integers = unit.arithmetic.accumulator == Int32;
    let serial = spec.is_in_place();
    let factor =
        |random: &mut Random| random.pick(&[0x3f80_0000, 0x3f80_0000, 0xbf2a_aaab, 0x4048_f5c3]);
    let results = [Fp32, Fp32, Fp16, Bf16, E4m3, E5m2];
    let mut wish = Wish {
        c: random.once_in(2).then(|| random.pick(&[Fp32, Fp16, Bf16])),
        bias: !serial && random.once_in(3),
        per: spec.scales.as_ref().map(|scaling| scaling.per),
        zero_point: spec.zero_point,
        alpha: factor(random),
        beta: random.pick(&[0x3f80_0000, 0, 0x8000_0000, 0x3e99_999a]),
        result: random.pick(&results),
        ..Wish::plain(shape, kind)
    };
    if spec.epilogue.result_scale.is_some() && random.once_in(2) {
        wish.scale_result = Some(random.pick(&[0x3f99_999a, 0x4048_f5c3, 0xbe99_999a]));
    }
    if spec
        .scales
        .is_some_and(|scaling| scaling.multiply == Multiply::Alpha)
    {
        // They are alpha.
        wish.alpha = 0x3f80_0000;
    }
    if spec.epilogue.bias != BiasAdded::Add {
        // Nothing stands between the scales and the bias.
        (wish.c, wish.alpha) = (None, 0x3f80_0000);
    }
    if ["plain", "iree-bf16"].contains(&name) {
        // There is no epilogue, and C is the instruction's.
        (wish.alpha, wish.beta) = (0x3f80_0000, 0x3f80_0000);
        wish.c = wish.c.map(|_| unit.arithmetic.addend());
        if integers && !wish.bias {
            wish.result = random.pick(&[Int32, Fp32, Fp16]);
        }
    }
    wish
}

/// NVIDIA's schedules say what a NaN of NVIDIA's CUDA cores is; AMD's instruction has NaNs of its own. The loops here know
/// NVIDIA's alone, and on Arm infinities of wide numbers make others.
fn kinds(unit: &Unit) -> Vec<Kind> {
    let [cdna, arm] = ["cdna", "arm"].map(|name| unit.name.starts_with(name));
    let nan = |kind| kind == Kind::Special && (cdna || arm) || kind == Kind::Wide && arm;
    KINDS.into_iter().filter(|&kind| !nan(kind)).collect()
}

/// A preset's spec with what it leaves open.
pub fn closed(name: &str, open: Open) -> ScheduleSpec {
    let mut spec = preset(name);
    if let Some(count) = spec.split_count() {
        *count = Some(open.slices);
    }
    if let Some(workers) = spec.workers() {
        *workers = Some(open.workers);
    }
    spec
}

fn proves(schedule: &str) {
    let cases: Vec<(Unit, usize, Kind)> = units(schedule)
        .into_iter()
        .flat_map(|unit| {
            let each = |i: usize| kinds(&unit).into_iter().map(move |kind| (i, kind));
            let cases: Vec<_> = (0..SHAPES.len()).flat_map(each).collect();
            cases
                .into_iter()
                .map(move |(i, kind)| (unit.clone(), i, kind))
        })
        .collect();
    assert!(!cases.is_empty());
    cases.into_par_iter().for_each(|(unit, i, kind)| {
        let case = format!("{schedule} {} {i} {kind:?}", unit.name);
        let mut random = Random::named(&case);
        let wish = wish(schedule, &unit, SHAPES[i], kind, &mut random);
        let product = Product::draw(&unit, wish, &mut random);
        let open = Open {
            slices: 1 + random.below(5.min(SHAPES[i].k)),
            workers: 1 + random.below(9),
        };
        let own = product.straight(&unit, |dot| straight::element(schedule, dot, open));
        let spec = closed(schedule, open);
        for engine in engines() {
            let library = product.replay(&unit, &spec, engine);
            assert_eq!(library.len(), own.len());
            let wrong = (0..own.len()).find(|&i| own[i] != library[i]);
            assert!(
                wrong.is_none(),
                "{case}, {open:?}, {wish:?}: element {} is {:x}, and {:x} by the {} engine",
                wrong.unwrap_or(0),
                own[wrong.unwrap_or(0)],
                library[wrong.unwrap_or(0)],
                name(engine),
            );
        }
    });
}

macro_rules! proofs {
    ($($test:ident: $name:literal),* $(,)?) => {
        $(#[test] fn $test() { proves($name); })*

        #[test]
        fn every_preset_is_written_down() {
            let names = presets().iter().map(|schedule| schedule.name.as_str());
            let (vectors, names): (Vec<_>, Vec<_>) =
                names.partition(|name| BY_VECTORS.contains(name));
            assert_eq!(names, NAMES);
            assert_eq!(vectors, BY_VECTORS);
            assert_eq!([$($name),*], NAMES);
        }
    };
}

proofs! {
    plain: "plain",
    batch_invariant: "batch-invariant",
    cutlass_sm80: "cutlass-sm80",
    cute_sm80: "cute-sm80",
    cutlass_sm90: "cutlass-sm90",
    cutlass_splitk_serial: "cutlass-splitk-serial",
    cutlass_splitk_universal: "cutlass-splitk-universal",
    cutlass_splitk_parallel: "cutlass-splitk-parallel",
    cutlass_stream_k: "cutlass-stream-k",
    cutlass_3xtf32: "cutlass-3xtf32",
    cutlass_3xtf32_staged: "cutlass-3xtf32-staged",
    cublas_sm80: "cublas-sm80",
    cublas_splitk_serial: "cublas-splitk-serial",
    cublas_workspace: "cublas-workspace",
    cublas_workspace_f32: "cublas-workspace-f32",
    cublas_sliced: "cublas-sliced",
    cublas_nvjet: "cublas-nvjet",
    cublas_nvjet_splitk: "cublas-nvjet-splitk",
    cublas_nvjet_dropped_remainder: "cublas-nvjet-dropped-remainder",
    cublas_nvjet_fp8: "cublas-nvjet-fp8",
    cublas_nvjet_fp8_splitk: "cublas-nvjet-fp8-splitk",
    cublas_ada_fp8: "cublas-ada-fp8",
    cublas_ada_fp8_serial: "cublas-ada-fp8-serial",
    cublas_ada_fp8_pairwise: "cublas-ada-fp8-pairwise",
    cublas_gemmsn: "cublas-gemmsn",
    cublas_magma: "cublas-magma",
    cublas_gemv: "cublas-gemv",
    cublas_dot: "cublas-dot",
    cutlass_fp8_promote: "cutlass-fp8-promote",
    deepgemm_sm90: "deepgemm-sm90",
    torch_scaled_mm_rowwise: "torch-scaled-mm-rowwise",
    vllm_scaled_mm: "vllm-scaled-mm",
    vllm_int8_azp: "vllm-int8-azp",
    vllm_int8_azp_token: "vllm-int8-azp-token",
    triton_kwidth8: "triton-kwidth8",
    triton_fp8_block: "triton-fp8-block",
    triton_tf32x3: "triton-tf32x3",
    vllm_awq_gemm: "vllm-awq-gemm",
    openblas_neoverse_n2: "openblas-neoverse-n2",
    openblas_neoverse_v1: "openblas-neoverse-v1",
    iree_bf16: "iree-bf16",
}
