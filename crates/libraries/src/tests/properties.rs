//! What holds of every plan.

use super::*;

/// Configurations of every family that plans without a name.
pub fn configuration() -> impl Strategy<Value = String> {
    let splits = prop_oneof![1usize..12, 1usize..200];
    let nvjet = (splits.clone(), any::<bool>(), any::<bool>()).prop_map(|(s, fp8, fast)| {
        let format = if fp8 { "e4m3" } else { "bf16" };
        let fast = u8::from(fast);
        format!("algo=66,reduction=2,arch=sm_90,dtype={format},fast_accum={fast},splitK={s}")
    });
    let cutlass =
        (splits.clone(), 0usize..6, 0usize..4, any::<bool>()).prop_map(|(s, i, r, nt)| {
            let stages = [0, 7, 13, 15, 19, 25][i];
            let scheme = [0, 1, 2, 4][r];
            let layout = if nt { "nt" } else { "tn" };
            format!(
                "algo=21,stages={stages},reduction={scheme},dtype=fp16,layout={layout},splitK={s}"
            )
        });
    let direct = (1usize..8, 1usize..4, any::<bool>()).prop_map(|(s, warps, parallel)| {
        let partition = if parallel { "parallel-tiles" } else { "serial-tiles" };
        let warps = 1 << (warps - 1);
        format!("family=cutlass,tile_k=64,instruction_k=16,dtype=fp16,reduction=2,sliced={warps},partition={partition},splitK={s}")
    });
    let ada = (1usize..30, any::<bool>(), 0u32..3).prop_map(|(s, fast, custom)| {
        let algo = if fast { 60 } else { 35 };
        format!("algo={algo},reduction=2,custom={custom},splitK={s}")
    });
    let simt = (splits.clone(), 1usize..3).prop_map(|(s, warps)| {
        format!(
            "algo=0,dtype=fp32,reduction=2,splitK={s},sliced={},tile_k=8",
            2 * warps
        )
    });
    let small = (0u32..2).prop_map(|custom| format!("algo=11,custom={custom}"));
    let gemv = (splits.clone(), 0usize..12).prop_map(|(s, i)| {
        let custom = [0, 6, 7, 11, 12, 10, 49, 41, 37, 48, 36, 42][i];
        format!("algo=13,arch=sm_90,custom={custom},splitK={s}")
    });
    let dot = (1usize..300).prop_map(|s| format!("algo=14,splitK={s}"));
    let tensile = (1usize..6, any::<bool>(), 0u32..2).prop_map(|(gsu, coalesced, lsu)| {
        let lsu = 1 << lsu;
        format!(
            "DepthU=32,GSU={gsu},GSUC={},LSU={lsu},SU=0,MatrixInstruction=16x16x16",
            u8::from(coalesced)
        )
    });
    prop_oneof![nvjet, cutlass, direct, ada, simt, small, gemv, dot, tensile]
}

proptest! {
    /// Every k once, except those that a defect loses; no slice out of its range.
    #[test]
    fn every_k_is_summed_once(text in configuration(), k in prop_oneof![1usize..300, 1usize..5000]) {
        let shape = Shape { m: 1, n: 7, k };
        let plan = match read(&text).unwrap().plan(&shape, &Options::default()) {
            Ok(plan) => plan,
            Err(KernelError::TooManySplits { .. } | KernelError::UnknownOrder { .. }) => return Ok(()),
            Err(error) => panic!("{text}, {k}: {error}"),
        };
        let mut seen = vec![0; k];
        for slice in &plan.slices {
            for lane in &slice.lanes {
                let mut count = 0;
                for group in lane.chains().into_iter().flatten() {
                    prop_assert!(!group.is_empty() && group.len() <= lane.instruction_k);
                    count += group.len();
                    for k in group {
                        seen[k] += 1;
                    }
                }
                prop_assert_eq!(count, lane.len());
                let mut groups = lane.groups().enumerate();
                let partial = groups.find(|(_, group)| group.len() < lane.instruction_k);
                prop_assert_eq!(lane.partial(), partial.map(|(i, group)| (i, group.len())));
            }
        }
        let covered = plan.lost.map_or(k, |lost| lost.first);
        prop_assert_eq!(plan.covered(), covered);
        prop_assert!(seen[..covered].iter().all(|&n| n == 1), "{}", text);
        prop_assert!(seen[covered..].iter().all(|&n| n == 0));
    }

    /// Slices ascend and are whole multiples of the grain, all but the last one of one length.
    #[test]
    fn slices_follow_the_rules_of_chunks(text in configuration(), k in 1usize..5000) {
        let reading = read(&text).unwrap();
        let family = reading.family.value.id;
        prop_assume!(["nvjet", "cutlass", "simt"].contains(&family));
        let Ok(plan) = reading.plan(&Shape { m: 1, n: 7, k }, &Options::default()) else {
            return Ok(());
        };
        let of = |slice: &Slice| {
            let runs = slice.lanes.iter().flat_map(Traversal::runs);
            let (starts, ends): (Vec<_>, Vec<_>) = runs.map(|k| (k.start, k.end)).unzip();
            (starts.into_iter().min().unwrap(), ends.into_iter().max().unwrap())
        };
        let ends: Vec<_> = plan.slices.iter().map(of).collect();
        prop_assert_eq!(ends[0].0, 0);
        prop_assert!(ends.windows(2).all(|w| w[0].1 == w[1].0));
        let (chunk, grain) = (plan.chunk.unwrap(), plan.grain.unwrap());
        let splits = plan.settings.split_k.value().unwrap();
        prop_assert!(plan.slices.len() <= splits);
        if plan.slices.len() > 1 {
            prop_assert_eq!(chunk % grain, 0);
            let all = &ends[..ends.len() - 1];
            prop_assert!(all.iter().all(|(start, end)| end - start == chunk));
        }
    }

    /// The closed form is the published condition wherever the grain has as many k as there are slices.
    #[test]
    fn the_dropped_remainder_is_the_published_condition(k in 1usize..60_000, wide in any::<bool>(), s in 2usize..=128) {
        let grain = if wide { 128 } else { 64 };
        prop_assume!(s <= grain && s <= k);
        let tail = k % grain;
        let published = tail != 0 && (k / grain) % s == 0 && s > tail;
        let lost = dropped_remainder(k, grain, s);
        prop_assert_eq!(lost.map(|lost| lost.count), published.then_some(tail));
    }

    /// A loss is what slices of the rounded-down length leave out, and the two lengths differ only there.
    #[test]
    fn slices_too_short_are_what_loses_k(k in 1usize..60_000, wide in any::<bool>(), s in 2usize..400) {
        prop_assume!(s <= k);
        let grain: usize = if wide { 128 } else { 64 };
        let short = (k / s).div_ceil(grain) * grain;
        let long = k.div_ceil(grain).div_ceil(s) * grain;
        let left_out = k.saturating_sub(short * s);
        let lost = dropped_remainder(k, grain, s).map_or(0, |lost| lost.count);
        prop_assert_eq!(left_out, lost);
        prop_assert_eq!(short == long, lost == 0);
    }

    /// The pairs of the fact sheet, written out as its formula.
    #[test]
    fn pairs_follow_the_formula(s in 2usize..40) {
        let half = s.div_ceil(2);
        let mut want = format!("p{}", s - 1);
        for i in 0..half.min(s - 1) {
            let slot = if i + half < s - 1 { format!("(p{i} + p{})", i + half) } else { format!("p{i}") };
            want = format!("({want} + {slot})");
        }
        let have = Sum::pairwise(s).expression(&|i| format!("p{i}"));
        prop_assert_eq!(format!("({have})"), want);
        for i in 0..s {
            let term = format!("p{i}");
            prop_assert_eq!(have.split(|c: char| !c.is_alphanumeric()).filter(|t| **t == term).count(), 1);
        }
    }

    /// No text panics, and none is read for long.
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read(&text);
    }

    #[test]
    fn any_words_of_a_name_are_read_or_refused(
        first in proptest::sample::select(&[
            "sm", "smart", "sm9", "sm80", "sm90", "nvjet", "cutlass", "ampere", "Cijk_Ailk_Bljk", "magma",
        ][..]),
        words in proptest::collection::vec(proptest::sample::select(&[
            "xmma_gemm", "gemm", "s16816gemm", "dgemm", "f16f16", "f16f32", "tilesize64x64x64", "tilesize1x1x0",
            "tensor16x8x16", "64x64", "64x0", "80", "tst", "bias", "splitK", "TNT", "tn", "HHS", "MT64x64x32",
            "MI16x16x16x1", "GSU0", "GSU4", "LSU4", "SU0", "WG16", "8", "sliced1x2", "kernel", "",
        ][..]), 0..12),
        k in 1usize..5000,
    ) {
        let text = [&[first], &words[..]].concat().join("_");
        if let Ok(reading) = read(&text) {
            let _ = reading.plan(&Shape { m: 1, n: 7, k }, &Options::default());
        }
    }

    #[test]
    fn any_words_of_the_field_are_read_or_refused(
        words in proptest::collection::vec(proptest::sample::select(&[
            "algo", "=", "66", "[", "]", " ", "stages", "35", "nvjet", "_", "64x64", "sm90", "tst",
            "numSplitsK", "{", "}", "\"", ":", ",", "Cijk", "MT", "x", "Adesc", "rows", "type=R_16F",
            "s16816gemm", "ampere", "xmma_gemm", "sm80", "tilesize", "MI", "0", "-1", "18446744073709551616",
            "\u{1b}[31m", "é", "DepthU", "computeDesc", "algo=[", "[cublasLt]", "k_cuts",
        ][..]), 0..30),
        k in 1usize..5000,
    ) {
        let text = words.concat();
        if let Ok(reading) = read(&text) {
            let _ = reading.plan(&Shape { m: 1, n: 7, k }, &Options::default());
            let plain = |text: &str| !text.contains(char::is_control);
            prop_assert!(reading.tokens.iter().all(|token| plain(&token.key) && plain(&token.value)));
        }
    }
}
