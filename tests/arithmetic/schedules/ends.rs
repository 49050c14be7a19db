//! Splits at their ends: one slice, slices without k, slices that do not divide K, workers of every number.

use tcverify::emu::Engine;
use tcverify::emu::schedule::{
    Empty, Grain, Group, Level, Merge, Order, Partials, Parts, Raster, Residue, ScheduleSpec,
    SliceLength, Start,
};
use tcverify::num::Format::{Bf16, Fp16, Fp32};

use super::operands::Kind;
use super::own::{add, narrow};
use super::presets::closed;
use super::product::{Product, Shape, Unit, Wish, preset, shape};
use super::straight::{Open, element, epilogue, partial_tile_first, stream_k, zeros_at_the_end};
use crate::support::engines::engines;
use crate::support::random::Random;

fn fp16() -> Unit {
    Unit::new("ampere", "mma", Fp16, Fp32)
}

fn draw(unit: &Unit, wish: Wish) -> Product {
    Product::draw(unit, wish, &mut Random::named("ends"))
}

/// From one slice to more slices than tiles, for K that divide and do not.
#[test]
fn any_number_of_slices() {
    let unit = fp16();
    for preset in [
        "cutlass-splitk-serial",
        "cutlass-splitk-parallel",
        "cublas-workspace",
    ] {
        for k in [1, 31, 32, 33, 96, 150, 320] {
            for slices in [1, 2, 3, 4, 5, 7, 11, 64] {
                let wish = Wish {
                    c: Some(Fp32),
                    alpha: 0xbf2a_aaab,
                    beta: 0x3e99_999a,
                    result: [Bf16, Fp16, Fp32][slices % 3],
                    ..Wish::plain(shape(2, 3, k), Kind::Normal)
                };
                let product = draw(&unit, wish);
                let open = Open { slices, workers: 1 };
                let own = product.straight(&unit, |dot| element(preset, dot, open));
                for engine in engines() {
                    let library = product.replay(&unit, &closed(preset, open), engine);
                    assert_eq!(library, own, "{preset}, K = {k}, {slices} slices");
                }
            }
        }
    }
}

/// D of a product of one element, in FP16, all its k alike.
fn single(name: &str, slices: usize, a: u16, b: u16, k: usize) -> u64 {
    let unit = fp16();
    let wish = Wish {
        result: Fp16,
        ..Wish::plain(shape(1, 1, k), Kind::Normal)
    };
    let mut product = draw(&unit, wish);
    product.a.fill(a.into());
    product.b.fill(b.into());
    let open = Open { slices, workers: 1 };
    product.replay(&unit, &closed(name, open), Engine::Exact)[0]
}

/// -2^-24 * 2^-14 is -0 in FP16. What is added to it afterwards, were it +0, makes it +0.
#[test]
fn a_slice_without_k_adds_its_zero() {
    let (a, b) = (0x8001, 0x0400);
    assert_eq!(single("cutlass-splitk-serial", 1, a, b, 1), 0x8000);
    assert_eq!(single("cutlass-splitk-serial", 2, a, b, 1), 0);
    // The second slice has k of its own, whose sum is no zero in f32.
    assert_eq!(single("cutlass-splitk-serial", 2, a, b, 64), 0x8000);
    assert_eq!(single("cutlass-splitk-serial", 3, a, b, 64), 0);
    // What a workspace keeps in FP16 is -0 as well, but C counts as +0.
    assert_eq!(single("cublas-workspace", 1, a, b, 1), 0);
    assert_eq!(single("cutlass-splitk-parallel", 1, a, b, 1), 0x8000);
    assert_eq!(single("cutlass-splitk-parallel", 9, a, b, 1), 0x8000);
    assert_eq!(single("cutlass-sm80", 1, a, b, 1), 0x8000);
}

/// One slice of f32 partials is no split at all.
#[test]
fn one_slice_is_the_whole() {
    let unit = fp16();
    let wish = Wish {
        result: Bf16,
        ..Wish::plain(shape(5, 6, 150), Kind::Cancelling)
    };
    let product = draw(&unit, wish);
    let open = Open {
        slices: 1,
        workers: 1,
    };
    let whole = product.replay(&unit, &preset("cutlass-sm80"), Engine::Exact);
    for name in ["cutlass-splitk-serial", "cutlass-splitk-parallel"] {
        assert_eq!(
            product.replay(&unit, &closed(name, open), Engine::Exact),
            whole
        );
    }
}

#[test]
fn chunks_begin_where_the_spec_says() {
    let unit = fp16();
    for k in [1, 64, 65, 128, 129, 300, 400] {
        let product = draw(&unit, Wish::plain(shape(3, 4, k), Kind::Normal));
        let ends = [64, 128, 320, 400].map(|end| end.min(k));
        let ranges = [0, 64, 128, 320].into_iter().zip(ends);
        let ranges = ranges.filter(|(start, end)| start < end);
        let spec = ScheduleSpec {
            split: Some(Level {
                parts: Parts::Ranges {
                    parts: ranges.map(|(start, end)| vec![[start, end]]).collect(),
                },
                merge: Merge::serial(Start::First),
            }),
            ..preset("cutlass-sm90")
        };
        let own = product.straight(&unit, |dot| {
            let ends = [64, 128, 320, usize::MAX];
            let mut total = None;
            for (begin, end) in [0, 64, 128, 320].into_iter().zip(ends) {
                if begin < k {
                    let sum = zeros_at_the_end(dot, begin, end.min(k), 64);
                    total = Some(total.map_or(sum, |total| add(total, sum)));
                }
            }
            epilogue(dot, total.expect("K is not zero"))
        });
        for engine in engines() {
            assert_eq!(product.replay(&unit, &spec, engine), own, "K = {k}");
        }
    }
}

/// Any number of warps of a tile, also more than it has stripes.
#[test]
fn warps_take_stripes_in_turn() {
    let unit = fp16();
    for (warps, stripe) in [(1, 32), (2, 16), (3, 16), (4, 16), (4, 32), (9, 64)] {
        let spec = ScheduleSpec {
            inner: vec![Level {
                parts: Parts::Interleaved {
                    count: Some(warps),
                    grain: Some(Grain::K(stripe)),
                    empty: Empty::Zero,
                },
                merge: Merge::serial(Start::First),
            }],
            ..preset("cublas-sliced")
        };
        for k in [1, 63, 64, 200] {
            let product = draw(&unit, Wish::plain(shape(2, 5, k), Kind::Normal));
            let own = product.straight(&unit, |dot| {
                // All tiles, what is left over first, zeros behind it.
                let left = k % 64;
                let mut a = dot.a.clone();
                let mut b = dot.b.clone();
                if left > 0 {
                    let zeros = std::iter::repeat_n(0, 64 - left);
                    a.splice(left..left, zeros.clone());
                    b.splice(left..left, zeros);
                }
                let mut sums = vec![0; warps];
                for (i, (a, b)) in a.chunks(stripe).zip(b.chunks(stripe)).enumerate() {
                    sums[i % warps] = unit.mma(sums[i % warps], a, b);
                }
                narrow(sums.into_iter().reduce(add).expect("a warp"), Fp32)
            });
            for engine in engines() {
                let library = product.replay(&unit, &spec, engine);
                assert_eq!(library, own, "{warps} warps, stripes of {stripe}, K = {k}");
            }
        }
    }
}

/// All tiles of D shared.
fn stream(workers: usize, raster: Raster) -> Level {
    let workers = Some(workers);
    Level {
        parts: Parts::Tiles {
            tile: [4, 5],
            raster,
            groups: vec![Group {
                tiles: None,
                parts: Parts::Shared {
                    workers,
                    grain: None,
                },
            }],
        },
        merge: Merge::serial(Start::First),
    }
}

/// Against a simulation that deals tiles out one by one: few workers and many, shares that divide and do
/// not, tiles of D that are cut off by its edges, both rasters, batches.
#[test]
fn stream_k_deals_tiles_out() {
    let unit = fp16();
    let shapes = [
        shape(9, 10, 200),
        shape(4, 4, 64),
        shape(1, 17, 129),
        Shape {
            batch: Some(2),
            ..shape(7, 9, 320)
        },
    ];
    for shape in shapes {
        let product = draw(&unit, Wish::plain(shape, Kind::Normal));
        for workers in [1, 2, 3, 4, 5, 7, 8, 13, 24, 25, 100, 5000] {
            for raster in [Raster::AlongRows, Raster::AlongColumns] {
                let spec = ScheduleSpec {
                    split: Some(stream(workers, raster)),
                    tile_k: Some(64),
                    residue: Residue::Last,
                    ..preset("cutlass-stream-k")
                };
                let own = product.straight(&unit, |dot| match raster {
                    Raster::AlongRows => epilogue(dot, stream_k(dot, workers, [4, 5], 64)),
                    Raster::AlongColumns => {
                        // Rows and columns change their roles.
                        let mut turned = dot.clone();
                        turned.at.reverse();
                        turned.size.reverse();
                        epilogue(dot, stream_k(&turned, workers, [5, 4], 64))
                    }
                });
                for engine in engines() {
                    let library = product.replay(&unit, &spec, engine);
                    assert!(library == own, "{shape:?}, {workers} workers, {raster:?}");
                }
            }
        }
    }
}

/// One worker computes every tile whole, and so do as many as there are tiles of D.
#[test]
fn one_worker_a_tile_is_no_split() {
    let unit = fp16();
    let product = draw(&unit, Wish::plain(shape(9, 10, 200), Kind::Normal));
    let whole = product.replay(&unit, &preset("cutlass-sm90"), Engine::Exact);
    for workers in [1, 2, 3, 6] {
        let spec = ScheduleSpec {
            split: Some(stream(workers, Raster::AlongRows)),
            ..preset("cutlass-stream-k")
        };
        assert_eq!(
            product.replay(&unit, &spec, Engine::Exact),
            whole,
            "{workers}"
        );
    }
}

/// A partial sum in D's format is rounded, one in f32 is not: with results in FP32 both are one.
#[test]
fn partials_of_an_fp32_result_are_f32() {
    let unit = fp16();
    let product = draw(&unit, Wish::plain(shape(4, 4, 150), Kind::Normal));
    let spec = |partials| ScheduleSpec {
        split: Some(Level {
            parts: Parts::Slices {
                count: Some(3),
                grain: None,
                length: SliceLength::Ceil,
                empty: Empty::Zero,
            },
            merge: Merge::Sum {
                order: Order::Serial,
                start: Start::Zero,
                partials,
                sums: Partials::F32,
            },
        }),
        ..preset("cutlass-splitk-parallel")
    };
    let [kept, rounded] = [Partials::F32, Partials::Result]
        .map(|partials| product.replay(&unit, &spec(partials), Engine::Exact));
    assert_eq!(kept, rounded);
    let own = product.straight(&unit, |dot| {
        let sums = [0, 64, 128].map(|begin| {
            let end = (begin + 64).min(150);
            partial_tile_first(dot, begin, end, 32)
        });
        epilogue(dot, sums.into_iter().fold(0, add))
    });
    assert_eq!(kept, own);
}

/// C that is missing counts as +0 in cuBLAS's epilogue, and not at all in CUTLASS's.
#[test]
fn a_missing_c_decides_the_sign_of_zero() {
    let unit = fp16();
    let wish = Wish {
        alpha: 0xbf80_0000,
        result: Fp16,
        ..Wish::plain(shape(1, 1, 1), Kind::Normal)
    };
    let mut product = draw(&unit, wish);
    product.a.fill(0);
    for engine in engines() {
        assert_eq!(product.replay(&unit, &preset("cublas-sm80"), engine), [0]);
        assert_eq!(
            product.replay(&unit, &preset("cutlass-sm80"), engine),
            [0x8000]
        );
    }
}

/// D of slices that do not reach the end of K is the product without that end.
#[test]
fn a_dropped_remainder_is_missing_from_d() {
    let unit = Unit::new("hopper", "wgmma", Bf16, Fp32);
    // 385 = 2 * (64 * 3) + 1.
    let product = draw(&unit, Wish::plain(shape(3, 4, 385), Kind::Normal));
    let open = Open {
        slices: 3,
        workers: 1,
    };
    let lost = closed("cublas-nvjet-dropped-remainder", open);
    let meant = closed("cublas-nvjet-splitk", open);
    let mut cut = draw(&unit, Wish::plain(shape(3, 4, 384), Kind::Normal));
    cut.a = product
        .a
        .chunks(385)
        .flat_map(|row| &row[..384])
        .copied()
        .collect();
    cut.b = product.b[..384 * 4].to_vec();
    for engine in engines() {
        let d = product.replay(&unit, &lost, engine);
        assert_eq!(d, cut.replay(&unit, &meant, engine));
        assert_ne!(d, product.replay(&unit, &meant, engine));
    }
}
