//! Texts as libraries and profilers print them (public issues and READMEs), and texts nobody should send.

mod amd;
mod names;

use super::read;
use crate::num::Format;
use crate::{
    Capability, Compute, How, IfKnown, KernelError, KernelReading, Options, Plan, Scheme, Shape,
    Status,
};

const TRACE: &str = "[2025-11-03 19:02:38][cublasLt][557785][Trace][cublasLtMatmul] A=0X736CB315E800 Adesc=[type=R_8F_E4M3 rows=64 cols=1088 ld=64] B=0X736C9B644000 Bdesc=[type=R_8F_E4M3 rows=128 cols=1088 ld=128] C=0X0 Cdesc=[type=R_16BF rows=64 cols=128 ld=64] D=0X736CB30A4400 Ddesc=[type=R_16BF rows=64 cols=128 ld=64] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transb=OP_T aScalePointer=0x736cb30b4c00 bScalePointer=0x736cb30ba200 aScaleMode=VEC32_UE8M0 bScaleMode=VEC32_UE8M0] algo=[algoId=66 tile=MATMUL_TILE_128x128 stages=MATMUL_STAGES_128xAUTO customOption=3 clusterShape=CLUSTER_SHAPE_1x1x1] workSpace=0X0 workSpaceSizeInBytes=0 beta=0 outOfPlace=1 stream=0X0";
const SPLIT: &str = "[cublasLt][3794797][Trace][cublasLtSSSMatmul] A=0X1 Adesc=[type=R_32F rows=2304 cols=768 ld=2304] B=0X2 Bdesc=[type=R_32F rows=2304 cols=144 ld=2304] C=0X3 Cdesc=[type=R_32F rows=768 cols=144 ld=768] D=0X3 Ddesc=[type=R_32F rows=768 cols=144 ld=768] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T smCountTarget=128] algo=[algoId=0 tile=MATMUL_TILE_128x64 reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE numSplitsK=14] workSpace=0X4 workSpaceSizeInBytes=6193152 beta=0 outOfPlace=0 stream=0X0";

fn statuses(reading: &KernelReading, status: Status) -> Vec<&str> {
    let with = reading.tokens.iter().filter(|t| t.status == status);
    with.map(|token| token.key.as_str()).collect()
}

fn shape(m: usize, n: usize, k: usize) -> Shape {
    Shape { m, n, k }
}

fn said(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn planned(text: &str, shape: Shape, options: &Options) -> Result<Plan, String> {
    let planned = read(text).and_then(|reading| reading.plan(&shape, options));
    planned.map_err(|error| error.to_string())
}

/// The plan of a line's own product.
fn plan_of(line: &KernelReading) -> Plan {
    let shape = line.product.unwrap();
    line.plan(&shape, &Options::default()).unwrap()
}

#[test]
fn a_log_line_says_everything() {
    let reading = read(TRACE).unwrap();
    assert_eq!(reading.family.value.id, "nvjet");
    assert_eq!(reading.product, Some(shape(128, 64, 1088)));
    let settings = &reading.settings;
    assert_eq!(settings.result.value().unwrap(), Format::Bf16);
    assert_eq!(settings.operands.value().unwrap(), [Format::E4m3; 2]);
    assert_eq!(settings.tile_k.value().unwrap(), 128);
    assert_eq!(settings.split_k.as_ref().unwrap().how, How::Defaulted);
    assert_eq!(
        statuses(&reading, Status::Defaulted),
        ["numSplitsK", "reductionScheme"]
    );
    assert_eq!(statuses(&reading, Status::Unknown), [""; 0]);
    // The line says neither the GPU nor how FP8 accumulates.
    let open = reading.open(&Options::default()).unwrap();
    let asks: Vec<_> = open.iter().map(|open| open.ask).collect();
    assert_eq!(asks, ["arch", "accumulation"]);
}

#[test]
fn a_line_without_a_time_and_with_slices() {
    let reading = read(SPLIT).unwrap();
    assert_eq!(reading.product, Some(shape(144, 768, 2304)));
    assert_eq!(
        reading.settings.scheme.value().unwrap(),
        Scheme::ComputeType
    );
    let plan = plan_of(&reading);
    // FP32: 2304 is a multiple of 32, so slices are.
    assert_eq!(
        (plan.grain, plan.chunk, plan.slices.len()),
        (Some(32), Some(192), 12)
    );
    let workspace = reading
        .tokens
        .iter()
        .find(|token| token.key == "workSpaceSizeInBytes");
    assert!(workspace.unwrap().meaning.contains("slices in f32"));
    // Another order of keys is the same line.
    let turned = SPLIT.replace(
        "reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE numSplitsK=14",
        "numSplitsK=14 reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE",
    );
    assert_eq!(
        read(&turned).unwrap().settings.split_k,
        reading.settings.split_k
    );
    // A workspace of another size is said.
    let odd = SPLIT.replace("6193152", "6193153");
    assert!(read(&odd).unwrap().notes[0].contains("6193153"));
}

#[test]
fn unknown_keys_are_reported_and_assumed() {
    let text = SPLIT
        .replace("algo=[", "algo=[warpDance=7 ")
        .replace("computeDesc=[", "computeDesc=[frobnicate=1 ");
    let reading = read(&text).unwrap();
    assert_eq!(
        statuses(&reading, Status::Unknown),
        ["computeDesc.frobnicate", "warpDance"]
    );
    let words = "unrecognised words do not affect the result: computeDesc.frobnicate, warpDance";
    assert!(plan_of(&reading).assumed.contains(&words.to_owned()));
    let assumed = plan_of(&read(SPLIT).unwrap()).assumed.join("; ");
    assert!(!assumed.contains("unrecognised words"), "{assumed}");
}

#[test]
fn tf32_is_how_fp32_is_computed() {
    let text = SPLIT
        .replace("COMPUTE_32F ", "COMPUTE_32F_FAST_TF32 ")
        .replace("algoId=0 ", "algoId=21 stages=MATMUL_STAGES_32x5 ");
    let reading = read(&text).unwrap();
    assert_eq!(
        reading.settings.operands.value().unwrap(),
        [Format::Tf32; 2]
    );
    assert_eq!(reading.settings.compute.value().unwrap(), Compute::Tf32);
    assert_eq!(reading.settings.result.value().unwrap(), Format::Fp32);
    let plan = plan_of(&reading);
    assert_eq!(plan.slices[0].lanes[0].instruction_k, 8);
    assert!(!plan.assumed.is_empty());
}

#[test]
fn a_configuration_has_ids_or_names() {
    let ids = read("algo=66,stages=36,splitK=3,reduction=2,custom=1").unwrap();
    let names = read("algoId=66 stages=MATMUL_STAGES_128xAUTO numSplitsK=3; reductionScheme=COMPUTE_TYPE customOption=1").unwrap();
    let json = read(r#"{"CUBLASLT_ALGO_CONFIG_ID": 66, "CUBLASLT_ALGO_CONFIG_STAGES_ID": 36, "CUBLASLT_ALGO_CONFIG_SPLITK_NUM": 3, "CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME": "COMPUTE_TYPE", "CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION": 1, "CUBLASLT_ALGO_CONFIG_TILE_ID": 20, "CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING": 0, "CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID": 0, "CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID": 3}"#).unwrap();
    for reading in [&names, &json] {
        assert_eq!(reading.unknown().count(), 0);
        let value = |reading: &KernelReading| {
            let s = &reading.settings;
            let of = |said: &Option<crate::Sourced<u32>>| said.value();
            (
                of(&s.algo),
                of(&s.stages),
                of(&s.custom),
                s.split_k.value(),
                s.scheme.value(),
            )
        };
        assert_eq!(value(reading), value(&ids));
    }
    assert!(said("algo=66,colour=blue").contains("\"colour\" is not a known key"));
    assert!(said(r#"{"algo": 66, "colour": "blue"}"#).contains("\"colour\""));
    assert!(said(r#"{"algo": 66, "algo": 60}"#).contains("\"algo\" appears twice"));
}

/// A word that is understood, but that the kernels of its family do not have, is a word of another kernel.
#[test]
fn words_that_would_be_ignored() {
    let plan = |text: &str, options: &Options| planned(text, shape(64, 64, 4096), options);
    let none = Options::default();
    let unsplit = Options {
        split_k: Some(1),
        fast_accumulation: Some(true),
        ..none.clone()
    };
    let rotated = Options {
        rotation: Some(1),
        ..none.clone()
    };
    let nvjet = "algo=66,stages=35,dtype=bf16,splitK=3,reduction=2";
    let with = |more: &str| format!("{nvjet},{more}");
    let ada = "sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x64x128_stage4_warpsize2x2x1_tensor16x8x32_kernel";
    // Sums in FP16, by the letters of a name.
    let halves = [
        "nvjet_hhh_256x128_64x4_2x1_2cta_h_bz_NNN",
        "Cijk_Ailk_Bljk_HHH_BH_MT64x64x32_MI16x16x16x1_GSU1_SU0",
    ];
    for (text, options, words) in [
        (
            &*with("innerShape=MMA1688"),
            &none,
            "k of an instruction is 8",
        ),
        (
            &with("sliced=2"),
            &none,
            "the number of warps that share K is 2",
        ),
        (
            &with("partition=universal"),
            &none,
            "the partition of K is universal",
        ),
        (nvjet, &rotated, "the rotation is 1"),
        ("algo=16,tile_k=64", &none, "k of a tile is 64"),
        (ada, &unsplit, "k of a tile is 128"),
        (halves[0], &none, "accumulate in FP16"),
        (halves[1], &none, "accumulate in FP16"),
    ] {
        let refused = plan(text, options).unwrap_err();
        assert!(refused.contains(words), "{text}: {refused}");
    }
    assert!(plan(nvjet, &none).is_ok());
    assert!(plan(&with("innerShape=MMA16816"), &none).is_ok());
    assert!(plan(&ada.replace("64x128", "64x64"), &unsplit).is_ok());
    // Two warps along K share every tile.
    let unsplit = Options {
        split_k: Some(1),
        ..none
    };
    let sliced = "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage3_warpsize2x1x2_tensor16x8x16_kernel";
    for (text, lanes) in [(sliced, 2), (&sliced.replace("2x1x2", "2x2x1"), 1)] {
        let plan = plan(text, &unsplit).unwrap();
        assert_eq!(plan.slices[0].lanes.len(), lanes);
    }
    let other = SPLIT.replace("COMPUTE_32F ", "COMPUTE_32F_FAST_16BF ");
    assert!(said(&other).contains("computeType is COMPUTE_32F_FAST_16BF"));
    let scaled = read(&SPLIT.replace("beta=0", "beta=1")).unwrap();
    assert!(scaled.notes.iter().any(|note| note.contains("--c")));
}

#[test]
fn scales_of_blocks_are_not_scales_of_tensors() {
    let spec = |text: &str| {
        let options = Options {
            capability: Some(Capability::new(10, 0)),
            fast_accumulation: Some(true),
            ..Options::default()
        };
        let plan = read(text).unwrap().plan(&shape(128, 64, 1088), &options);
        plan.unwrap().spec()
    };
    let of_tensors = TRACE.replace("VEC32_UE8M0", "SCALAR_32F");
    assert!(spec(&of_tensors).unwrap().scales.is_some());
    let refused = spec(TRACE).unwrap_err().to_string();
    assert!(refused.contains("scales are VEC32_UE8M0"), "{refused}");
}

#[test]
fn other_products_and_gpus_are_refused_in_a_sentence() {
    let none = Options::default();
    let gpu = |major, minor| Options {
        capability: Some(Capability::new(major, minor)),
        ..none.clone()
    };
    let amd = Options {
        other_gpu: Some("cdna3".into()),
        ..none.clone()
    };
    let five = Options {
        split_k: Some(5),
        ..none.clone()
    };
    let small = shape(8, 8, 300);
    let nvjet = "algo=66,stages=35,dtype=fp16";
    for (text, shape, options, words) in [
        (SPLIT, shape(144, 768, 2305), none.clone(), "144x768x2304"),
        (SPLIT, shape(144, 768, 2305), none.clone(), "144x768x2305"),
        (
            "algo=21,stages=15,splitK=500,dtype=fp16,reduction=2",
            small,
            none.clone(),
            "500 parts, but K is 300",
        ),
        (
            "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_TNT",
            small,
            gpu(10, 0),
            "sm_90",
        ),
        (
            "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_TNT",
            small,
            gpu(10, 0),
            "sm_100",
        ),
        (nvjet, small, gpu(8, 0), "sm_90 and later"),
        ("algo=60,custom=0", small, gpu(9, 0), "Ada"),
        ("algo=60,custom=0", small, amd, "cdna3"),
        (
            &format!("{nvjet},splitK=4,reduction=2"),
            small,
            five,
            "the number of slices is 4, but the request says 5",
        ),
        ("algo=16", shape(8, 8, 0), none.clone(), "K is 0"),
    ] {
        let refused = planned(text, shape, &options).unwrap_err();
        assert!(refused.contains(words), "{text}: {refused}");
    }
    for algo in [10, 39, 41, 67, 70, 71, 12345] {
        let refused = planned(&format!("algo={algo}"), small, &none).unwrap_err();
        assert!(refused.contains("identify"), "{refused}");
    }
    // The transposed product is the same one, read column-major.
    assert!(planned(SPLIT, shape(768, 144, 2304), &none).is_ok());
}

#[test]
fn bad_texts_are_refused_in_a_sentence() {
    assert!(said("hello world").contains("kernels list"));
    assert!(said("").contains("kernels list"));
    assert!(said(&"x".repeat(70_000)).contains("70000 bytes"));
    assert!(said("algo=66,stages=99").contains("stages is \"99\""));
    assert!(said("algo=66,splitK=-3").contains("splitK"));
    assert!(said("algo=66,splitK=0").contains("at least 1"));
    assert!(said("algo=66,splitK=3,numSplitsK=4").contains("twice"));
    assert!(said(&format!("{SPLIT}\n{SPLIT}")).contains("2 products"));
    assert!(
        said(
            "[cublasLt][1][Api][cublasLtSSSMatmulAlgoGetHeuristic] maxWorkspaceSizeinBytes=33554432"
        )
        .contains("requests an algorithm")
    );
    assert!(said(&SPLIT[..SPLIT.len() - 120]).contains("not closed"));
    assert!(
        said(&SPLIT.replace("rows=2304 cols=144", "rows=2303 cols=144"))
            .contains("A has 2304 k, but B has 2303")
    );
    // Layouts that are of no one product.
    assert!(
        said(&SPLIT.replace("rows=2304 cols=144", "rows=2304 cols=145"))
            .contains("B is for 145 columns of D, but D has 144")
    );
    assert!(
        said(&SPLIT.replace("rows=2304 cols=768", "rows=2304 cols=769"))
            .contains("A is for 769 rows of D, but D has 768")
    );
    assert!(said("{\"algo\": [1]}").contains("neither a number nor a name"));
    assert!(said("{\"algo\": 66").contains("cannot read the JSON object"));
    let hostile = said("algo=\u{1b}[2J66");
    assert!(!hostile.contains('\u{1b}'), "{hostile:?}");
}

#[test]
fn what_is_open_can_be_searched() {
    let plans =
        |text: &str, shape: Shape| read(text).unwrap().candidates(&shape, &Options::default());
    let name = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT";
    let found = plans(name, shape(100, 2560, 1000)).unwrap();
    // 2 to 64 slices of 16 grains, those that come out alike once.
    let counts: Vec<usize> = found.iter().map(|plan| plan.slices.len()).collect();
    assert_eq!(counts, [2, 3, 4, 6, 8, 16]);
    assert!(
        found
            .iter()
            .all(|plan| plan.settings.split_k.as_ref().unwrap().how == How::Found)
    );
    let name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";
    let found = plans(name, shape(100, 2560, 9728)).unwrap();
    assert_eq!(found[0].slices.len(), 1);
    let like = |plan: &crate::Plan| (plan.chunk, plan.merge.kept);
    assert!(
        found
            .iter()
            .any(|plan| like(plan) == (Some(1984), crate::Kept::Result))
    );
    assert!(
        found
            .iter()
            .any(|plan| like(plan) == (Some(4864), crate::Kept::Running))
    );
    assert!(matches!(
        plans("algo=66", shape(8, 8, 640)),
        Err(KernelError::Missing { ask: "dtype", .. })
    ));
    assert!(matches!(
        plans("algo=41", shape(8, 8, 640)),
        Err(KernelError::UnknownOrder { .. })
    ));
}

#[test]
fn a_text_is_of_one_family() {
    for text in [
        "algo=66,family=cutlass,stages=15,dtype=fp16",
        "algo=66,stages=35,dtype=fp16,DepthU=64",
        "family=cutlass,DepthU=64",
    ] {
        let refused = said(text);
        assert!(
            refused.contains("the family of kernels is given twice"),
            "{refused}"
        );
    }
    assert_eq!(
        read("algo=66,family=nvjet").unwrap().family.value.id,
        "nvjet"
    );
    // Nobody knows whose ALGO_ID 20 is: whoever asks may say it.
    assert_eq!(
        read("algo=20,family=cutlass").unwrap().family.value.id,
        "cutlass"
    );
}

/// What nobody said are not the stages of id 0, whose tiles have 32 k and instructions 8.
#[test]
fn stages_that_nobody_said() {
    let planned = |text: &str| {
        read(text)
            .unwrap()
            .plan(&shape(8, 8, 256), &Options::default())
    };
    let text = "algo=21,dtype=bf16,splitK=1";
    assert!(matches!(
        planned(text),
        Err(KernelError::Missing { ask: "tile-k", .. })
    ));
    let plan = planned(&format!("{text},tileK=64")).unwrap();
    assert_eq!(plan.slices[0].lanes[0].instruction_k, 16);
    assert!(
        plan.assumed.iter().any(|what| what.contains("16 k")),
        "{:?}",
        plan.assumed
    );
    let stated = planned(&format!("{text},stages=0")).unwrap();
    assert_eq!(
        (
            stated.tile.unwrap().k,
            stated.slices[0].lanes[0].instruction_k
        ),
        (32, 8)
    );
    assert!(said("algo=21,stages=13,tileK=32").contains("K of a tile is given twice"));
    assert!(read("algo=21,stages=13,tileK=64").is_ok());
}

/// The groups of a log line, as the line itself, say everything once.
#[test]
fn fields_of_groups_are_said_once() {
    for (once, twice) in [
        ("Ddesc=[type=R_32F", "Ddesc=[type=R_16BF type=R_32F"),
        ("transa=OP_T", "transa=OP_T transa=OP_N"),
        ("numSplitsK=14", "numSplitsK=14 numSplitsK=14"),
    ] {
        let text = SPLIT.replace(once, twice);
        assert_ne!(text, SPLIT);
        assert!(said(&text).contains("appears twice"), "{twice}");
    }
}

/// Library and program see one launch from two sides: what it asks of M and N, and its operands, stay its own.
#[test]
fn a_product_has_two_orientations() {
    let line = |a: &str, b: &str, order: &str| {
        format!(
            "algo=[algoId=14 numSplitsK=3] Adesc=[type={a} rows=1 cols=600{order}] \
             Bdesc=[type={b} rows=600 cols=8{order}] Ddesc=[type=R_16BF rows=1 cols=8{order}] \
             computeDesc=[computeType=COMPUTE_32F]"
        )
    };
    let (e4m3, e5m2) = ("R_8F_E4M3", "R_8F_E5M2");
    let of = |text: &str, m, n, operands: Option<[Format; 2]>| {
        let options = Options {
            operands,
            ..Options::default()
        };
        read(text).unwrap().plan(&shape(m, n, 600), &options)
    };
    let columns = line("R_16BF", "R_16BF", "");
    assert_eq!(read(&columns).unwrap().product, Some(shape(8, 1, 600)));
    for (m, n) in [(8, 1), (1, 8)] {
        let plan = of(&columns, m, n, None).unwrap();
        assert_eq!(plan.slices[0].lanes.len(), 256, "{m}x{n}");
        assert_eq!(plan.shape, shape(m, n, 600));
    }
    // The library's A is the row-major B, unless its D is row-major.
    let mixed = [Format::E4m3, Format::E5m2];
    let turned = [Format::E5m2, Format::E4m3];
    let columns = line(e4m3, e5m2, "");
    assert!(of(&columns, 8, 1, Some(turned)).is_ok());
    assert!(of(&columns, 8, 1, Some(mixed)).is_err());
    assert!(of(&columns, 1, 8, Some(mixed)).is_ok());
    assert!(of(&columns, 1, 8, Some(turned)).is_err());
    let rows = line(e4m3, e5m2, " order=ORDER_ROW");
    assert_eq!(read(&rows).unwrap().product, Some(shape(1, 8, 600)));
    assert!(of(&rows, 1, 8, Some(mixed)).is_ok());
    assert!(of(&rows, 1, 8, Some(turned)).is_err());
    // Stored as they multiply: neither A nor B is turned.
    let transposed = read(&rows).unwrap().settings.transposed.value().unwrap();
    assert_eq!((transposed.a, transposed.b), (false, false));
}

#[test]
fn slices_of_gemv_that_nobody_said() {
    let options = Options {
        custom: Some(41),
        ..Options::default()
    };
    let plan = read("gemv2T_kernel_val")
        .unwrap()
        .plan(&shape(1, 8, 300), &options);
    let slices = plan.unwrap().settings.split_k.unwrap();
    assert_eq!((slices.value, slices.how), (1, How::Assumed));
}
