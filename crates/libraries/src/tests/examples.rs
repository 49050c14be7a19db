//! All groups of worked examples, numbered as in the fact sheet.

use super::expression::Written;
use super::*;

const FP16: &str = "dtype=fp16,reduction=2,";

fn cutlass(stages: u32, splits: usize, k: usize) -> Plan {
    plan(&format!("{FP16}algo=21,stages={stages},splitK={splits}"), k)
}

fn only(plan: &Plan) -> String {
    assert_eq!(plan.slices.len(), 1);
    groups(&plan.slices[0].lanes[0])
}

#[test]
fn example_1_stages_0() {
    let plan = cutlass(0, 1, 45);
    assert_eq!(
        plan.tile,
        Some(Tile {
            k: 32,
            residue: Residue::First
        })
    );
    assert_eq!(only(&plan), "[0-7][8-12][13-20][21-28][29-36][37-44]");
}

#[test]
fn example_2_residue_inside_the_leading_tile() {
    let want = "[0-15][16-31][32-35][36-51][52-67][68-83][84-99]";
    assert_eq!(only(&cutlass(13, 1, 100)), want);
}

#[test]
fn example_3_tile_k_alone_decides() {
    let of_32 = only(&cutlass(7, 1, 116));
    let of_64 = only(&cutlass(13, 1, 116));
    assert!(of_32.starts_with("[0-15][16-19][20-35]") && of_32.ends_with("[100-115]"));
    assert!(
        of_64.starts_with("[0-15][16-31][32-47][48-51][52-67]") && of_64.ends_with("[100-115]")
    );
}

#[test]
fn example_4_short_and_even_k() {
    assert_eq!(only(&cutlass(13, 1, 40)), "[0-15][16-31][32-39]");
    assert_eq!(only(&cutlass(13, 1, 64)), "[0-15][16-31][32-47][48-63]");
    assert_eq!(
        only(&cutlass(13, 1, 65)),
        "[0-0][1-16][17-32][33-48][49-64]"
    );
}

#[test]
fn example_5_schemes() {
    let workspace = cutlass(0, 4, 4096);
    assert_eq!(lengths(&workspace), [1024; 4]);
    assert_eq!(merged(&workspace), "((p0 + p1) + p2) + p3");
    assert_eq!(workspace.merge.kept, Kept::F32);
    let serial = plan("dtype=fp16,algo=21,stages=0,splitK=2", 4096);
    assert_eq!(lengths(&serial), [2048; 2]);
    assert_eq!(serial.merge.kept, Kept::Running);
    let output = plan(
        "dtype=fp16,algo=21,stages=0,splitK=2,reduction=OUTPUT_TYPE",
        4096,
    );
    assert_eq!(output.merge.kept, Kept::Result);
}

#[test]
fn example_6_residue_of_every_slice() {
    let plan = cutlass(13, 2, 3000);
    assert_eq!((plan.grain, plan.chunk), (Some(8), Some(1504)));
    assert_eq!(slices(&plan), [(0, 1504), (1504, 3000)]);
    let second = groups(&plan.slices[1].lanes[0]);
    assert!(second.starts_with("[1504-1519][1520-1527][1528-1543]"));
    let first = groups(&plan.slices[0].lanes[0]);
    assert!(first.starts_with("[0-15][16-31][32-47]"));
    assert_eq!(cutlass(13, 4, 3000).chunk, Some(752));
}

#[test]
fn example_7_small_grain() {
    assert_eq!(
        slices(&cutlass(13, 3, 200)),
        [(0, 72), (72, 144), (144, 200)]
    );
}

#[test]
fn example_8_fewer_slices_than_asked_for() {
    let plan = cutlass(20, 592, 4096);
    assert_eq!((plan.chunk, plan.slices.len()), (Some(64), 64));
}

#[test]
fn example_9_nvjet() {
    let plan = plan("dtype=fp16,algo=66,stages=35,reduction=2,splitK=5", 1000);
    assert_eq!(
        slices(&plan),
        [(0, 256), (256, 512), (512, 768), (768, 1000)]
    );
    assert_eq!(plan.tile.unwrap().residue, Residue::Last);
}

#[test]
fn example_10_nvjet_by_name() {
    let name = "nvjet_sm90_tst_64x104_64x10_4x1_v_bz_splitK_TNT";
    let options = Options {
        split_k: Some(3),
        ..Options::default()
    };
    let plan = try_plan(name, 9728, &options).unwrap();
    assert_eq!(lengths(&plan), [3264, 3264, 3200]);
    assert_eq!(plan.merge.kept, Kept::F32);
    assert_eq!(plan.settings.split_k.as_ref().unwrap().how, How::Given);
    assert_eq!(plan.settings.result.value().unwrap(), Format::Bf16);
}

#[test]
fn example_11_a100_by_name() {
    let name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn";
    let with = |splits| {
        let options = Options {
            split_k: Some(splits),
            scheme: Some(Scheme::OutputType),
            ..Options::default()
        };
        try_plan(name, 9728, &options).unwrap()
    };
    assert_eq!(lengths(&with(5)), [1984, 1984, 1984, 1984, 1792]);
    assert_eq!(with(5).merge.kept, Kept::Result);
    for (splits, chunk) in [(2, 4864), (3, 3264), (4, 2432)] {
        assert_eq!(with(splits).chunk, Some(chunk));
    }
}

fn hopper_fp8(text: &str, k: usize) -> Plan {
    plan(
        &format!("dtype=e4m3,arch=sm_90,algo=66,stages=36,reduction=2,{text}"),
        k,
    )
}

fn chains(lane: &Traversal) -> Vec<(usize, usize)> {
    let chains = lane.chains();
    let ends = |chain: &Vec<std::ops::Range<usize>>| (chain[0].start, chain.last().unwrap().end);
    chains.iter().map(ends).collect()
}

#[test]
fn example_12_promotion() {
    let plan = hopper_fp8("fast_accum=0", 300);
    let lane = &plan.slices[0].lanes[0];
    assert_eq!(chains(lane), [(0, 128), (128, 256), (256, 300)]);
    assert_eq!(lane.restart.unwrap().from, Start::First);
    let fast = hopper_fp8("fast_accum=1", 300);
    assert_eq!(chains(&fast.slices[0].lanes[0]), [(0, 300)]);
    // No promotion on Blackwell.
    let text = "dtype=e4m3,arch=sm_100,algo=66,stages=36,fast_accum=0";
    assert_eq!(
        chains(&super::plan(text, 300).slices[0].lanes[0]),
        [(0, 300)]
    );
}

#[test]
fn example_13_fp8_slices() {
    let slow = hopper_fp8("fast_accum=0,splitK=3", 640);
    assert_eq!(slices(&slow), [(0, 256), (256, 512), (512, 640)]);
    assert_eq!(chains(&slow.slices[1].lanes[0]), [(256, 384), (384, 512)]);
    assert_eq!(merged(&slow), "(p0 + p1) + p2");
    assert_eq!(
        lengths(&hopper_fp8("fast_accum=1,splitK=2", 1152)),
        [640, 512]
    );
    assert_eq!(lengths(&hopper_fp8("fast_accum=1,splitK=4", 768)), [256; 3]);
    assert_eq!(
        lengths(&hopper_fp8("fast_accum=1,splitK=2", 200)),
        [128, 72]
    );
}

fn runs(slice: &Slice) -> Vec<(usize, usize)> {
    slice.lanes[0].runs().map(|k| (k.start, k.end)).collect()
}

#[test]
fn example_14_tiles_dealt_out() {
    let fast = plan("algo=60,stages=17,splitK=3,reduction=2,custom=0", 200);
    assert_eq!(runs(&fast.slices[0]), [(0, 64), (192, 200)]);
    assert_eq!(runs(&fast.slices[1]), [(64, 128)]);
    assert_eq!(runs(&fast.slices[2]), [(128, 192)]);
    let short = plan("algo=60,splitK=3,reduction=2,custom=0", 80);
    assert_eq!(runs(&short.slices[0]), [(0, 64)]);
    assert_eq!(runs(&short.slices[1]), [(64, 80)]);
    assert_eq!((short.slices.len(), runs(&short.slices[2])), (3, vec![]));
    let slow = plan("algo=35,splitK=2,reduction=2,custom=0", 512);
    let lane = &slow.slices[0].lanes[0];
    let of = |chain: &Vec<std::ops::Range<usize>>| {
        let first: Vec<usize> = chain.iter().map(|k| k.start).collect();
        (first[0], first[first.len() / 2])
    };
    assert_eq!(
        lane.chains().iter().map(of).collect::<Vec<_>>(),
        [(0, 128), (256, 384)]
    );
    assert_eq!(lane.restart.unwrap().from, Start::Zero);
}

#[test]
fn example_15_pairs() {
    let pairs = |splits: usize| {
        let text = format!("algo=60,splitK={splits},reduction=2,custom=1");
        merged(&plan(&text, 64 * splits))
    };
    assert_eq!(pairs(2), "p1 + p0");
    assert_eq!(pairs(3), "(p2 + p0) + p1");
    assert_eq!(pairs(4), "(p3 + (p0 + p2)) + p1");
    assert_eq!(pairs(5), "((p4 + (p0 + p3)) + p1) + p2");
    assert_eq!(pairs(7), "(((p6 + (p0 + p4)) + (p1 + p5)) + p2) + p3");
}

#[test]
fn example_16_the_dropped_remainder() {
    let text = "dtype=fp16,algo=66,stages=35,reduction=2,splitK=9";
    let split = plan(text, 8648);
    assert_eq!(
        split.lost,
        Some(DroppedRemainder {
            count: 8,
            first: 8640
        })
    );
    assert_eq!((lengths(&split), split.covered()), (vec![960; 9], 8640));
    let whole = Options {
        whole_remainder: true,
        ..Options::default()
    };
    let whole = try_plan(text, 8648, &whole).unwrap();
    assert_eq!(
        (whole.chunk, whole.lost, whole.covered()),
        (Some(1024), None, 8648)
    );
    let reading = read(text).unwrap();
    assert_eq!(
        reading
            .dropped_remainder(8648, &Options::default())
            .unwrap()
            .count,
        8
    );

    let short = |algo: u32, splits: usize| {
        let text = format!("dtype=fp16,algo={algo},stages=35,reduction=2,splitK={splits}");
        read(&text)
            .unwrap()
            .dropped_remainder(1032, &Options::default())
    };
    assert_eq!(short(66, 2), None);
    assert_eq!(short(66, 16).unwrap().count, 8);
    assert_eq!(short(23, 16), None);
    let observed = [
        (57_608, 9, 8),
        (57_608, 45, 8),
        (11_528, 9, 8),
        (57_632, 45, 32),
    ];
    for (k, splits, count) in observed {
        assert_eq!(
            dropped_remainder(k, 64, splits).unwrap().count,
            count,
            "{k}, {splits}"
        );
    }
    assert_eq!(dropped_remainder(57_664, 64, 45), None);
    // Predicted, and not verified: more slices than the grain has k.
    assert_eq!(dropped_remainder(19_200, 128, 149).unwrap().count, 128);
}

#[test]
fn example_17_gemm_sn() {
    let first = plan("algo=11,custom=0", 1200);
    let lanes = &first.slices[0].lanes;
    assert_eq!(chains(&lanes[0]), [(0, 256), (256, 512), (512, 600)]);
    assert_eq!(chains(&lanes[1]), [(600, 856), (856, 1112), (1112, 1200)]);
    let second = plan("algo=11,custom=1", 700);
    assert_eq!(second.slices[0].lanes.len(), 4);
    assert_eq!(chains(&second.slices[0].lanes[0]), [(0, 128), (128, 175)]);
}

fn gemv(text: &str, k: usize) -> Plan {
    let text = format!("algo=13,arch=sm_100,{text}");
    let shape = Shape { m: 1, n: 16, k };
    read(&text)
        .unwrap()
        .plan(&shape, &Options::default())
        .unwrap()
}

/// The whole sum: `(<0 4> + <1 5>)` is two chains of k.
fn sum_of(plan: &Plan) -> String {
    plan.evaluate(&Written).text()
}

#[test]
fn example_18_magma_and_gemv_of_pieces() {
    assert_eq!(sum_of(&plan("algo=16", 5)), "<0 1 2 3 4>");
    let plan = gemv("custom=5", 581);
    let lanes = &plan.slices[0].lanes;
    assert_eq!(chains(&lanes[0]), [(0, 16), (16, 19)]);
    assert_eq!(runs(&Slice::chain(lanes[30].clone())), [(570, 581)]);
    assert!(lanes[31].is_empty());
    assert_eq!(plan.slices[0].join, Sum::ascending(Start::First, 32));
}

#[test]
fn example_19_gemv() {
    let want = "((<0 4 8> + <2 6>) + (<1 5 9> + <3 7>))";
    assert_eq!(sum_of(&gemv("custom=41", 10)), want);
    let want = "(<0 1 2 3 4> + <5 6 7 8 9>)";
    assert_eq!(sum_of(&gemv("custom=48", 10)), want);
}

#[test]
fn example_20_dot() {
    let blocks = |count: usize| {
        let order = MergeOrder::DotBlocks.sum(count);
        let name = |i: usize| format!("p{i}");
        let add = |a: String, b: String| match (a.is_empty(), b.is_empty()) {
            (true, _) => b,
            (_, true) => a,
            _ => format!("({a}+{b})"),
        };
        order.fold(&String::new(), &name, &add)
    };
    let u0 =
        "(((((((p0+p32)+(p4+p36))+(p8+p40))+(p12+p44))+(p16+p48))+(p20+p52))+(p24+p56))+(p28+p60)";
    assert!(blocks(64).contains(&format!("({u0})")), "{}", blocks(64));
    assert_eq!(blocks(4), "(((p0+p1)+p2)+p3)");
    let shape = Shape {
        m: 1,
        n: 1,
        k: 70_000,
    };
    let reading = read("algo=14,splitK=64").unwrap();
    let plan = reading.plan(&shape, &Options::default()).unwrap();
    assert_eq!((plan.slices.len(), plan.slices[0].lanes.len()), (64, 256));
    assert_eq!(plan.covered(), 70_000);
}

#[test]
fn example_21_the_three_partitions_of_cutlass() {
    let with = |partition: &str| {
        let text = format!(
            "family=cutlass,tile_k=32,instruction_k=16,dtype=fp16,splitK=2,reduction=2,partition={partition}"
        );
        plan(&text, 160)
    };
    assert_eq!(lengths(&with("parallel-tiles")), [64, 96]);
    assert_eq!(
        with("parallel-tiles").merge.order,
        MergeOrder::AscendingFromZero
    );
    assert_eq!(lengths(&with("serial-tiles")), [96, 64]);
    assert_eq!(lengths(&with("universal")), [80, 80]);
}
