//! Marlin's stripes against a walk of every block through its share, as both sources do it, and its tiles.

use super::*;
use crate::emu::schedule::{KTraversal, Node, Parts, Role, ScheduleSpec, TileOfD};

fn options(sms: u32, weights: Weights, groups: usize) -> Options {
    Options {
        operands: Some([Format::Fp16; 2]),
        multiprocessors: Some(sms),
        weights: Some(weights),
        groups: Some(groups),
        ..Options::default()
    }
}

fn order(text: &str, shape: Shape, options: &Options) -> Result<ScheduleSpec, KernelError> {
    Ok(read(text)?
        .plan(&shape, options)?
        .order
        .expect("a schedule"))
}

/// Tiles of K of every slice of a tile of D.
fn slices(spec: &ScheduleSpec, k: usize, tile: TileOfD) -> Vec<(usize, usize)> {
    let tile_k = spec.tile_k.expect("tiles");
    let traversal = KTraversal::new(spec, k, 16, tile).expect("a traversal");
    let parts: Vec<&Node> = match &traversal.root {
        Node::Sum(sum) if sum.role == Role::Split => sum.parts.iter().collect(),
        root => vec![root],
    };
    let ends = |part: &Node| {
        let chains = part.chains();
        let all = chains
            .iter()
            .flat_map(|chain| (0..chain.indices.len()).filter_map(|i| chain.indices.get(i).k));
        let all: Vec<usize> = all.collect();
        let (first, last) = (all.iter().min(), all.iter().max());
        let (first, last) = (*first.expect("some"), *last.expect("some") + 1);
        assert_eq!(last - first, all.len());
        (first / tile_k, last / tile_k)
    };
    parts.into_iter().map(ends).collect()
}

/// What every block computes of every tile of D: whole tiles in turn, then its stripe.
fn walked(vllm: bool, [tiles, depth, blocks, grain]: [usize; 4]) -> Vec<Vec<(usize, usize)>> {
    let mut all = vec![Vec::new(); tiles];
    let mut whole = 0;
    if vllm && tiles > blocks {
        let mut cut = tiles % blocks;
        if cut * 3 <= blocks {
            cut += blocks;
        }
        whole = tiles - cut;
    }
    all[..whole].fill(vec![(0, depth)]);
    let mut share = (depth * (tiles - whole)).div_ceil(blocks);
    while !share.is_multiple_of(grain) {
        share += 1;
    }
    for block in 0..blocks {
        let (mut place, mut left) = (share * block, share);
        while left > 0 && place < depth * (tiles - whole) {
            let (tile, first) = (place / depth, place % depth);
            let last = depth.min(first + left);
            all[whole + tile].push((first, last));
            left -= last - first;
            place += last - first;
        }
    }
    all
}

#[test]
fn stripes_are_those_of_the_blocks() {
    let mut tried = 0;
    for (name, [tile_k, tile_n, threads]) in [
        ("original", [128, 128, 256]),
        ("original", [64, 256, 256]),
        ("vllm", [128, 128, 256]),
        ("vllm", [64, 256, 256]),
        ("vllm", [64, 128, 128]),
        ("vllm", [128, 64, 128]),
    ] {
        for columns in [1, 2, 3, 7, 13] {
            for depth in [2, 3, 4, 10, 16] {
                for blocks in [1, 2, 3, 5, 7, 30] {
                    for (group, rows) in [(None, 16), (Some(128), 16), (Some(64), 200), (None, 64)]
                    {
                        let k: usize = depth * tile_k;
                        if group.is_some_and(|group| !k.is_multiple_of(group)) {
                            continue;
                        }
                        let shape = Shape {
                            m: rows,
                            n: columns * tile_n,
                            k,
                        };
                        let groups = group.map_or(1, |group| k / group);
                        // A group that is all of K is one scale a column.
                        let group = group.filter(|_| groups > 1);
                        let options = options(blocks as u32, Weights::U4b8, groups);
                        let text = format!("marlin-{name},{tile_k}x{tile_n}x{threads}");
                        let spec = order(&text, shape, &options).expect("a plan");
                        let grain = group.map_or(1, |group| (group / tile_k).max(1));
                        // 200 rows are three parts of 64 together, then 8 rows.
                        let launches: &[usize] = if rows == 200 { &[3, 1] } else { &[1] };
                        let down: usize = launches.iter().sum();
                        let mut first = 0;
                        for parts in launches {
                            let tiles = parts * columns;
                            let wanted = walked(name == "vllm", [tiles, depth, blocks, grain]);
                            for (tile, wanted) in wanted.iter().enumerate() {
                                let at = [first + tile / columns, tile % columns];
                                let tile = TileOfD {
                                    at,
                                    count: [down, columns],
                                };
                                let found = slices(&spec, k, tile);
                                assert_eq!(found, *wanted, "{text} {shape} {blocks} {group:?}");
                                tried += 1;
                            }
                            first += parts;
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 10_000, "{tried}");
}

/// By M, N, K, multiprocessors and shared memory.
#[test]
fn tiles_are_chosen() {
    let tile = |text: &str, [m, n, k]: [usize; 3], options: &Options| {
        let spec = order(text, Shape { m, n, k }, options).expect("a plan");
        let Some(Parts::Tiles { tile, .. }) = spec.split.map(|split| split.parts) else {
            panic!("tiles of D differ");
        };
        (spec.tile_k.expect("tiles"), tile[1])
    };
    let a100 = options(108, Weights::U4b8, 32);
    let vllm = "marlin-vllm";
    assert_eq!(tile(vllm, [16, 4096, 4096], &a100), (128, 128));
    assert_eq!(tile(vllm, [17, 8192, 4096], &a100), (64, 256));
    // Few tiles for so many multiprocessors.
    assert_eq!(tile(vllm, [16, 1024, 4096], &a100), (128, 64));
    assert_eq!(tile(vllm, [17, 6912, 4096], &a100), (128, 64));
    assert_eq!(tile(vllm, [17, 7168, 4096], &a100), (64, 256));
    // What does not divide.
    assert_eq!(tile(vllm, [16, 4096 + 64, 4096], &a100), (128, 64));
    assert_eq!(
        tile(vllm, [16, 8192, 2048 + 64], &options(20, Weights::U4b8, 1)),
        (64, 128)
    );
    let original = "marlin-original";
    assert_eq!(tile(original, [16, 1024, 4096], &a100), (128, 128));
    assert_eq!(tile(original, [17, 1024, 4096], &a100), (64, 256));
    // 8 bits by groups of 32 need more memory than an RTX 4090 has for the widest tile.
    let mut ada = options(128, Weights::U8b128, 4096 / 32);
    ada.capability = Some(Capability::new(8, 9));
    assert_eq!(tile(vllm, [64, 16384, 4096], &ada), (64, 128));
    ada.groups = Some(4096 / 128);
    assert_eq!(tile(vllm, [64, 16384, 4096], &ada), (64, 256));
    ada.capability = Some(Capability::new(9, 0));
    ada.groups = Some(4096 / 32);
    assert_eq!(tile(vllm, [64, 16384, 4096], &ada), (64, 256));
}

#[test]
fn kernels_names_are_read() {
    let shape = Shape {
        m: 16,
        n: 1024,
        k: 4096,
    };
    let options = options(108, Weights::U4b8, 32);
    let named = |name: &str, text: &str| {
        let [one, other] = [name, text].map(|text| order(text, shape, &options).expect("a plan"));
        assert_eq!(one, other, "{name}");
    };
    named(
        "void Marlin<(int)256, (int)1, (int)8, (int)8, (int)4, (int)8>(int4 const*, int4*)",
        "marlin-original g128 128x128x256",
    );
    named(
        "void marlin::Marlin<1125899906909960L, 1125899907892224L, 1125899906909960L, 1125899906909960L, 128, 1, 4, 8, \
         true, 4, 8, false>(int4 const*)",
        "marlin-vllm,128x64x128",
    );
    let refused = |text: &str, options: &Options, words: &str| {
        let error = order(text, shape, options).expect_err(text).to_string();
        assert!(error.contains(words), "{text}: {error}");
    };
    refused("Marlin<256, 1, 8>", &options, "six numbers");
    refused("Marlin<256, 1, 8, -8, 4, 8>", &options, "blocks of 16");
    refused("marlin-vllm,atomic", &options, "no order exists");
    refused(
        "void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 4>(half const*)",
        &options,
        "no order exists",
    );
    refused("marlin", &options, "marlin-original");
    refused("marlin-vllm g64", &options, "64 k");
    refused("marlin-vllm,128x96x256", &options, "does not divide");
    refused("marlin-vllm,128x128x1000", &options, "warps");
    let without = |change: fn(&mut Options)| {
        let mut options = options.clone();
        change(&mut options);
        options
    };
    refused(
        "marlin-vllm",
        &without(|o| o.weights = None),
        "give weights",
    );
    refused("marlin-vllm", &without(|o| o.groups = None), "give scale-b");
    refused(
        "marlin-vllm",
        &without(|o| o.multiprocessors = None),
        "A100 108",
    );
    refused(
        "marlin-vllm",
        &without(|o| o.multiprocessors = Some(0)),
        "no multiprocessors",
    );
    refused(
        "marlin-original",
        &without(|o| o.weights = Some(Weights::U4)),
        "u4b8",
    );
    refused(
        "marlin-vllm",
        &without(|o| o.capability = Some(Capability::new(7, 5))),
        "sm_80",
    );
    refused(
        "marlin-vllm",
        &without(|o| o.scheme = Some(Scheme::Inplace)),
        "COMPUTE_TYPE",
    );
    let shape = Shape {
        m: 1 << 40,
        n: 16384,
        k: 4096,
    };
    let error = order("marlin-vllm", shape, &options).expect_err("too many launches");
    assert!(error.to_string().contains("limit"), "{error}");
    // 64 rows, and 2 with other tiles.
    let shape = Shape {
        m: 66,
        n: 16384,
        k: 4096,
    };
    let error = order("marlin-vllm", shape, &options).expect_err("two tiles");
    assert!(error.to_string().contains("rows 0..64 and 64.."), "{error}");
}
