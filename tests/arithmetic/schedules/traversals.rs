//! Orders of real kernels, worked out by hand from the published rules, against the traversal alone: the
//! instructions of each chain, and the tree of additions.

use tcverify::emu::schedule::{
    Empty, Grain, GrainByK, KIndices, KTraversal, Level, Merge, Node, Order, Parts, Residue,
    ScheduleSpec, SliceLength, Start, Sum, TileOfD,
};

use super::product::preset;

fn traversal(spec: &ScheduleSpec, k: usize, span: usize) -> KTraversal {
    spec.validate().expect("a kernel's spec");
    KTraversal::new(spec, k, span, TileOfD::ONLY).expect("nothing is open")
}

/// `[0-7][8-12]`: the k of each instruction; those that only have zeros are left out.
fn instructions(indices: &KIndices, span: usize) -> String {
    let all: Vec<usize> = (0..indices.len()).collect();
    let text = |group: &[usize]| {
        let k: Vec<usize> = group.iter().filter_map(|&i| indices.get(i).k).collect();
        let (Some(first), Some(last)) = (k.first(), k.last()) else {
            return String::new();
        };
        assert!(k.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{k:?}");
        format!("[{first}-{last}]")
    };
    all.chunks(span).map(text).collect()
}

/// `([0,128) + [128,256)) + ...`: which chains are added to which, every one as its k.
fn sums(node: &Node) -> String {
    match node {
        Node::Chain(chain) => {
            let k: Vec<usize> = (0..chain.indices.len())
                .filter_map(|i| chain.indices.get(i).k)
                .collect();
            let mut runs: Vec<(usize, usize)> = Vec::new();
            for k in k {
                match runs.last_mut() {
                    Some((_, end)) if *end == k => *end += 1,
                    _ => runs.push((k, k + 1)),
                }
            }
            let zeros = (0..chain.indices.len()).filter(|&i| chain.indices.get(i).k.is_none());
            let mut text: Vec<String> = runs
                .into_iter()
                .map(|(start, end)| format!("{start}..{end}"))
                .collect();
            if zeros.clone().count() > 0 {
                text.push(format!("{}z", zeros.count()));
            }
            format!("[{}]", text.join(" "))
        }
        Node::Sum(Sum { merge, parts, .. }) => {
            let Merge::Sum { order, start, .. } = merge else {
                let texts: Vec<_> = parts.iter().map(sums).collect();
                return format!("D({})", texts.join(", "));
            };
            let additions = order.additions(parts.len());
            let mut texts: Vec<String> = parts.iter().map(sums).collect();
            texts.resize(additions.width, "0".into());
            if *start == Start::Zero {
                texts[0] = format!("(0+{})", texts[0]);
            }
            for [into, from] in additions.steps {
                texts[into] = format!("({}+{})", texts[into], texts[from]);
            }
            texts.swap_remove(additions.result)
        }
    }
}

/// A CUTLASS kernel of cuBLAS: tiles of `tile` k, instructions of `instruction` k.
fn cutlass(tile: usize, instruction: usize, slices: Option<usize>) -> ScheduleSpec {
    let mut spec = preset("cublas-workspace-f32");
    spec.tile_k = Some(tile);
    spec.instruction_k = Some(instruction);
    match slices {
        None => spec.split = None,
        Some(slices) => *spec.split_count().expect("a split") = Some(slices),
    }
    spec
}

fn split(name: &str, slices: usize) -> ScheduleSpec {
    let mut spec = preset(name);
    *spec.split_count().expect("a split") = Some(slices);
    spec
}

fn one_chain(spec: &ScheduleSpec, k: usize, span: usize) -> String {
    let traversal = traversal(spec, k, span);
    let chains = traversal.root.chains();
    assert_eq!(chains.len(), 1);
    instructions(&chains[0].indices, span)
}

/// Hopper and later: the unit adds 16 products in a step. The partial instruction is inside of the leading
/// tile, behind whole ones.
#[test]
fn the_residue_comes_first() {
    for (tile, instruction, k, want) in [
        (32, 8, 45, "[0-7][8-12][13-20][21-28][29-36][37-44]"),
        (
            64,
            16,
            100,
            "[0-15][16-31][32-35][36-51][52-67][68-83][84-99]",
        ),
        (
            32,
            16,
            116,
            "[0-15][16-19][20-35][36-51][52-67][68-83][84-99][100-115]",
        ),
        (
            64,
            16,
            116,
            "[0-15][16-31][32-47][48-51][52-67][68-83][84-99][100-115]",
        ),
        (64, 16, 40, "[0-15][16-31][32-39]"),
        (64, 16, 64, "[0-15][16-31][32-47][48-63]"),
        (64, 16, 65, "[0-0][1-16][17-32][33-48][49-64]"),
    ] {
        let spec = cutlass(tile, instruction, None);
        assert_eq!(one_chain(&spec, k, 16), want, "{tile} {instruction} {k}");
    }
}

/// Where the unit adds 8 products in a step, an instruction of 16 is two steps, and one of 8 no shorter.
#[test]
fn instructions_longer_than_a_step_are_steps() {
    let long = cutlass(32, 16, None);
    let short = cutlass(32, 8, None);
    for k in [45, 64, 100] {
        assert_eq!(one_chain(&long, k, 8), one_chain(&short, k, 8), "{k}");
        assert_ne!(one_chain(&long, k, 16), one_chain(&short, k, 16), "{k}");
    }
}

/// The ends of the slices of K.
fn slices(spec: &ScheduleSpec, k: usize) -> Vec<(usize, usize)> {
    let traversal = traversal(spec, k, 1);
    let Node::Sum(sum) = &traversal.root else {
        return vec![(0, k)];
    };
    let ends = |part: &Node| {
        let k: Vec<usize> = part
            .chains()
            .into_iter()
            .flat_map(|chain| (0..chain.indices.len()).filter_map(|i| chain.indices.get(i).k))
            .collect();
        (k[0], k[k.len() - 1] + 1)
    };
    sum.parts.iter().map(ends).collect()
}

#[test]
fn slices_of_cutlass_kernels_of_cublas() {
    let of = |tile, instruction, s, k| slices(&cutlass(tile, instruction, Some(s)), k);
    assert_eq!(
        of(32, 8, 4, 4096),
        [(0, 1024), (1024, 2048), (2048, 3072), (3072, 4096)]
    );
    assert_eq!(of(64, 16, 2, 3000), [(0, 1504), (1504, 3000)]);
    assert_eq!(of(64, 16, 4, 3000)[0], (0, 752));
    assert_eq!(of(64, 16, 3, 200), [(0, 72), (72, 144), (144, 200)]);
    // 64 slices, not 592.
    let many = of(128, 16, 592, 4096);
    assert_eq!((many.len(), many[1]), (64, (64, 128)));
    // A100, K = 9728 in 5: 1984 each, then 1792.
    let five = of(64, 16, 5, 9728);
    let lengths: Vec<usize> = five.iter().map(|(start, end)| end - start).collect();
    assert_eq!(lengths, [1984, 1984, 1984, 1984, 1792]);
    for (s, first) in [(2, 4864), (3, 3264), (4, 2432)] {
        assert_eq!(of(64, 16, s, 9728)[0], (0, first));
    }
    // Each slice has a residue of its own.
    let spec = cutlass(64, 16, Some(2));
    let traversal = traversal(&spec, 3000, 16);
    let chains = traversal.root.chains();
    let second = instructions(&chains[1].indices, 16);
    assert!(
        second.starts_with("[1504-1519][1520-1527][1528-1543]"),
        "{second}"
    );
    let first = instructions(&chains[0].indices, 16);
    assert!(first.starts_with("[0-15][16-31][32-47]"), "{first}");
}

#[test]
fn slices_are_added_from_the_first_or_in_place() {
    let spec = cutlass(32, 8, Some(4));
    assert_eq!(
        sums(&traversal(&spec, 256, 8).root),
        "((([0..64]+[64..128])+[128..192])+[192..256])"
    );
    let spec = split("cublas-splitk-serial", 2);
    let in_place = sums(&traversal(&spec, 256, 8).root);
    assert_eq!(in_place, "D([0..128], [128..256])");
}

#[test]
fn slices_of_nvjet_kernels() {
    let nvjet = |s| split("cublas-nvjet-splitk", s);
    assert_eq!(
        slices(&nvjet(5), 1000),
        [(0, 256), (256, 512), (512, 768), (768, 1000)]
    );
    assert_eq!(
        slices(&nvjet(3), 9728),
        [(0, 3264), (3264, 6528), (6528, 9728)]
    );
}

/// Hopper without fast accumulation: chains of 128 k, the first as it is, in every slice.
#[test]
fn promotion_on_hopper() {
    let spec = preset("cublas-nvjet-fp8");
    assert_eq!(
        sums(&traversal(&spec, 300, 32).root),
        "(([0..128]+[128..256])+[256..300 84z])"
    );
    let spec = split("cublas-nvjet-fp8-splitk", 3);
    assert_eq!(
        sums(&traversal(&spec, 640, 32).root),
        "((([0..128]+[128..256])+([256..384]+[384..512]))+[512..640])"
    );
    assert_eq!(
        slices(&split("cublas-nvjet-fp8-splitk", 2), 1152),
        [(0, 640), (640, 1152)]
    );
    // The fourth slice would be empty.
    assert_eq!(
        slices(&split("cublas-nvjet-fp8-splitk", 4), 768),
        [(0, 256), (256, 512), (512, 768)]
    );
    assert_eq!(
        slices(&split("cublas-nvjet-fp8-splitk", 2), 200),
        [(0, 128), (128, 200)]
    );
}

/// Ada: tiles of 64 dealt out in turn.
#[test]
fn interleaved_tiles_on_ada() {
    let spec = |name: &str, slices, promoted: bool| {
        let mut spec = split(name, slices);
        if !promoted {
            spec.set_promotion(None);
        }
        spec
    };
    let serial = "cublas-ada-fp8-serial";
    assert_eq!(
        sums(&traversal(&spec(serial, 3, false), 200, 16).root),
        "(([0..64 192..200 56z]+[64..128])+[128..192])"
    );
    // A part without a tile is +0.
    assert_eq!(
        sums(&traversal(&spec(serial, 3, false), 80, 16).root),
        "(([0..64]+[64..80 48z])+[])"
    );
    assert_eq!(
        sums(&traversal(&spec(serial, 2, true), 512, 16).root),
        "(((0+[0..64 128..192])+[256..320 384..448])+((0+[64..128 192..256])+[320..384 448..512]))"
    );
    let pairwise = spec("cublas-ada-fp8-pairwise", 5, false);
    assert_eq!(
        sums(&traversal(&pairwise, 320, 16).root),
        "((([256..320]+([0..64]+[192..256]))+[64..128])+[128..192])"
    );
}

/// The slices that some versions of the library compute, and what they leave out.
#[test]
fn a_dropped_remainder_is_said() {
    let lost = |s, k| {
        let spec = split("cublas-nvjet-dropped-remainder", s);
        let lost = traversal(&spec, k, 16).omitted;
        let meant = split("cublas-nvjet-splitk", s);
        assert!(traversal(&meant, k, 16).omitted.is_empty());
        if lost.is_empty() {
            assert_eq!(slices(&spec, k), slices(&meant, k), "{s} {k}");
        }
        lost.into_iter()
            .map(|k| (k.start, k.end))
            .collect::<Vec<_>>()
    };
    assert_eq!(lost(9, 8648), [(8640, 8648)]);
    let nine: Vec<usize> = slices(&split("cublas-nvjet-dropped-remainder", 9), 8648)
        .iter()
        .map(|(start, end)| end - start)
        .collect();
    assert_eq!(nine, [960; 9]);
    assert_eq!(lost(2, 1032), []);
    assert_eq!(lost(16, 1032), [(1024, 1032)]);
    assert_eq!(lost(45, 57632), [(57600, 57632)]);
    assert_eq!(lost(45, 57664), []);
    assert_eq!(lost(9, 11528), [(11520, 11528)]);
    // The closed form.
    for s in 1..40 {
        for k in (s..3000).step_by(7) {
            let r = k % (64 * s);
            let want = if r > 0 && r < s {
                vec![(k - r, k)]
            } else {
                vec![]
            };
            assert_eq!(lost(s, k), want, "{s} {k}");
        }
    }
}

#[test]
fn simt_kernels() {
    let spec = preset("cublas-gemmsn");
    assert_eq!(
        sums(&traversal(&spec, 1200, 1).root),
        "((0+(((0+[0..256])+[256..512])+[512..600]))+(((0+[600..856])+[856..1112])+[1112..1200]))"
    );
    let mut four = preset("cublas-gemmsn");
    four.inner[0].parts = Parts::Slices {
        count: Some(4),
        grain: Some(Grain::K(1)),
        length: SliceLength::Ceil,
        empty: Empty::Zero,
    };
    four.inner[1] = Level::promotion(128);
    let text = sums(&traversal(&four, 700, 1).root);
    assert!(
        text.starts_with("((((0+((0+[0..128])+[128..175]))+((0+[175..303])"),
        "{text}"
    );
    let magma = preset("cublas-magma");
    assert_eq!(sums(&traversal(&magma, 5, 1).root), "[0..5]");
}

/// Lanes that take k in turn, or consecutive ones.
#[test]
fn gemv_kernels() {
    let lanes = |count, grain, order| ScheduleSpec {
        inner: vec![Level {
            parts: Parts::Interleaved {
                count: Some(count),
                grain: Some(Grain::K(grain)),
                empty: Empty::Zero,
            },
            merge: Merge::Sum {
                order,
                start: Start::First,
                partials: tcverify::emu::schedule::Partials::F32,
                sums: tcverify::emu::schedule::Partials::F32,
            },
        }],
        ..preset("cublas-gemv")
    };
    let four = lanes(4, 1, Order::Butterfly);
    assert_eq!(
        sums(&traversal(&four, 10, 1).root),
        "(([0..1 4..5 8..9]+[2..3 6..7])+([1..2 5..6 9..10]+[3..4 7..8]))"
    );
    // V = min(64, ceil(10/2)).
    let two = lanes(2, 5, Order::Butterfly);
    assert_eq!(sums(&traversal(&two, 10, 1).root), "([0..5]+[5..10])");
    // 32 lanes of ceil(581/32) consecutive k, chunks of 16.
    let slices = Level {
        parts: Parts::Slices {
            count: Some(32),
            grain: Some(Grain::K(1)),
            length: SliceLength::Ceil,
            empty: Empty::Zero,
        },
        merge: Merge::serial(Start::First),
    };
    let chunks = Level {
        merge: Merge::serial(Start::First),
        ..Level::promotion(16)
    };
    let spec = ScheduleSpec {
        inner: vec![slices, chunks],
        ..preset("cublas-gemv")
    };
    let text = sums(&traversal(&spec, 581, 1).root);
    assert!(text.ends_with("+[570..581])+[])"), "{text}");
    assert!(
        text.contains("(([0..16]+[16..19])+([19..35]+[35..38]))"),
        "{text}"
    );
}

/// The additions of the last kernel of a dot product, without the zeros that take part.
#[test]
fn dot_kernels() {
    let root = |blocks, k| traversal(&split("cublas-dot", blocks), k, 1).root;
    let Node::Sum(Sum { merge, parts, .. }) = root(64, 64 * 128) else {
        panic!("blocks are added");
    };
    assert_eq!(parts.len(), 64);
    let Merge::Sum { order, .. } = merge else {
        panic!("blocks are added");
    };
    let tree = |count: usize| {
        let additions = order.additions(count);
        let mut texts: Vec<String> = (0..additions.width)
            .map(|i| {
                if i < count {
                    format!("p{i}")
                } else {
                    String::new()
                }
            })
            .collect();
        for [into, from] in additions.steps {
            texts[into] = match (texts[into].is_empty(), texts[from].is_empty()) {
                (_, true) => texts[into].clone(),
                (true, false) => texts[from].clone(),
                _ => format!("({}+{})", texts[into], texts[from]),
            };
        }
        texts.swap_remove(additions.result)
    };
    assert_eq!(tree(4), "(((p0+p1)+p2)+p3)");
    let all = tree(64);
    let u0 = (1..8).fold("(p0+p32)".to_owned(), |sum, i| {
        format!("({sum}+(p{}+p{}))", 4 * i, 4 * i + 32)
    });
    assert!(all.contains(&format!("({u0}+((((")), "{all}");
}

/// Three partitions of one K by kernels of CUTLASS.
#[test]
fn partitions_of_cutlass() {
    let slices = |name: &str| slices(&split(name, 2), 160);
    assert_eq!(slices("cutlass-splitk-parallel"), [(0, 64), (64, 160)]);
    assert_eq!(slices("cutlass-splitk-serial"), [(0, 96), (96, 160)]);
    assert_eq!(slices("cutlass-splitk-universal"), [(0, 80), (80, 160)]);
}

/// Every k is in one chain, once, whatever the levels are.
#[test]
fn every_k_is_added_once() {
    let grains = [
        None,
        Some(Grain::K(8)),
        Some(Grain::ByK(GrainByK {
            wide: 64,
            narrow: 8,
        })),
    ];
    let mut tried = 0;
    for k in [1, 7, 64, 100, 129, 512, 1000] {
        for count in [1, 2, 3, 7, 40] {
            for grain in grains {
                for residue in [Residue::First, Residue::FirstAligned, Residue::Last] {
                    let empty = Empty::Zero;
                    let sliced = |length| Parts::Slices {
                        count: Some(count),
                        grain,
                        length,
                        empty,
                    };
                    let parts = [
                        sliced(SliceLength::Ceil),
                        sliced(SliceLength::Floor),
                        sliced(SliceLength::Balanced),
                        Parts::Interleaved {
                            count: Some(count),
                            grain,
                            empty,
                        },
                    ];
                    for parts in parts {
                        let spec = ScheduleSpec {
                            tile_k: Some(32),
                            residue,
                            instruction_k: Some(8),
                            split: Some(Level {
                                parts,
                                merge: Merge::serial(Start::First),
                            }),
                            inner: vec![
                                Level {
                                    parts: Parts::Interleaved {
                                        count: Some(2),
                                        grain: Some(Grain::K(16)),
                                        empty,
                                    },
                                    merge: Merge::serial(Start::First),
                                },
                                Level::promotion(48),
                            ],
                            ..ScheduleSpec::plain()
                        };
                        let traversal = traversal(&spec, k, 16);
                        let mut all: Vec<usize> = traversal
                            .root
                            .chains()
                            .into_iter()
                            .flat_map(|chain| {
                                let indices = &chain.indices;
                                (0..indices.len()).filter_map(|i| indices.get(i).k)
                            })
                            .collect();
                        all.sort_unstable();
                        assert!(all.into_iter().eq(0..k), "{k}: {spec:?}");
                        assert!(traversal.omitted.is_empty());
                        tried += 1;
                    }
                }
            }
        }
    }
    assert_eq!(tried, 7 * 5 * 3 * 3 * 4);
}
