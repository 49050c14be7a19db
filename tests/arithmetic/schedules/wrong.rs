//! Wrong loops, each off by one decision, differ from the library: agreement is no accident.

use rayon::prelude::*;
use tcverify::emu::Engine;
use tcverify::kernels::Platform;
use tcverify::num::Format::{self, Bf16, E4m3, Fp16, Fp32, Int8, Int32, Tf32};

use super::operands::Kind;
use super::own::{add, fma, mul, narrow, sub, tf32_half_ulp, tf32_truncated, widen};
use super::presets::{closed, wish};
use super::product::{Dot, ONE, Product, Unit, shape};
use super::straight::{
    Open, before_conversion, element, epilogue, partial_tile_first, promoted, rounded,
    shifted_by_the_residue, three_products, tile, tiles_of_32, truncated, whole_tiles,
    zeros_at_the_end,
};
use crate::support::random::Random;

/// Fails unless the loop, right but for one decision, makes something else than the library of some of
/// the operands of which the right one makes the same.
pub fn differs(
    preset: &str,
    operands: Format,
    what: &str,
    wrong: impl Fn(&Dot, Open) -> u64 + Sync,
) {
    let unit = match operands {
        _ if preset.starts_with("cublas-ada") => Unit::new("ada", "mma", operands, Fp32),
        Tf32 => Unit::new("ampere", "mma", Tf32, Fp32),
        Int8 => Unit::new("ampere", "mma", Int8, Int32),
        other => Unit::new("hopper", "wgmma", other, Fp32),
    };
    let found = (0..120).into_par_iter().any(|draw| {
        let mut random = Random::named(&format!("wrong {draw}"));
        let kind = random.pick(&[Kind::Normal, Kind::Cancelling, Kind::Wide]);
        let k = random.pick(&[311, 256, 129, 121, 200]);
        let wish = wish(preset, &unit, shape(3, 5, k), kind, &mut random);
        let product = Product::draw(&unit, wish, &mut random);
        let open = Open {
            slices: 3 + draw % 2,
            workers: 3,
        };
        let engine = Platform::available()
            .pop()
            .map_or(Engine::Exact, Platform::engine);
        let library = product.replay(&unit, &closed(preset, open), engine);
        let right = product.straight(&unit, |dot| element(preset, dot, open));
        assert!(right == library, "{preset} against {what}: {wish:?}");
        product.straight(&unit, |dot| wrong(dot, open)) != library
    });
    assert!(found, "{preset}: nothing shows that it is not this: {what}");
}

fn tiled(dot: &Dot) -> u32 {
    partial_tile_first(dot, 0, dot.a.len(), 32)
}

#[test]
fn tiles_and_their_zeros() {
    let whole = |dot: &Dot| (0, dot.a.len());
    differs(
        "cutlass-sm80",
        Bf16,
        "zeros before the first tile",
        |dot, _| epilogue(dot, shifted_by_the_residue(dot, 32)),
    );
    differs("cutlass-sm80", Bf16, "the partial tile last", |dot, _| {
        let (begin, end) = whole(dot);
        epilogue(dot, zeros_at_the_end(dot, begin, end, 32))
    });
    differs("cutlass-sm80", Bf16, "tiles of 64", |dot, _| {
        epilogue(dot, partial_tile_first(dot, 0, dot.a.len(), 64))
    });
    differs(
        "cute-sm80",
        Bf16,
        "zeros behind the first tile",
        |dot, _| epilogue(dot, tiled(dot)),
    );
    differs("cutlass-sm90", Bf16, "the partial tile first", |dot, _| {
        epilogue(dot, partial_tile_first(dot, 0, dot.a.len(), 64))
    });
    differs(
        "batch-invariant",
        Bf16,
        "k from the last to the first",
        |dot, _| {
            let mut back = dot.clone();
            back.a.reverse();
            back.b.reverse();
            epilogue(dot, zeros_at_the_end(&back, 0, dot.a.len(), 64))
        },
    );
}

#[test]
fn epilogues() {
    let real = |dot: &Dot| zeros_at_the_end(dot, 0, dot.a.len(), 64);
    let c = |dot: &Dot| dot.c.filter(|_| f32::from_bits(dot.beta) != 0.0);
    differs(
        "cutlass-sm90",
        Bf16,
        "alpha*sum + beta*C, each rounded",
        |dot, _| {
            let x = match c(dot) {
                Some((code, format)) => add(
                    mul(dot.alpha, real(dot)),
                    mul(dot.beta, widen(code, format)),
                ),
                None => mul(dot.alpha, real(dot)),
            };
            narrow(dot.bias.map_or(x, |bias| add(x, bias)), dot.result)
        },
    );
    differs("cutlass-sm90", Bf16, "fma(beta, C, alpha*sum)", |dot, _| {
        let x = match c(dot) {
            Some((code, format)) => fma(dot.beta, widen(code, format), mul(dot.alpha, real(dot))),
            None => mul(dot.alpha, real(dot)),
        };
        narrow(dot.bias.map_or(x, |bias| add(x, bias)), dot.result)
    });
    differs(
        "cutlass-sm90",
        Bf16,
        "the bias before alpha and C",
        |dot, _| {
            let mut without = dot.clone();
            without.bias = None;
            let sum = real(dot);
            epilogue(&without, dot.bias.map_or(sum, |bias| add(sum, bias)))
        },
    );
    differs("cutlass-sm90", Bf16, "rounded before the bias", |dot, _| {
        let mut without = dot.clone();
        without.bias = None;
        let d = epilogue(&without, real(dot));
        match dot.bias {
            Some(bias) => narrow(add(widen(d, dot.result), bias), dot.result),
            None => d,
        }
    });
    differs("cutlass-sm90", Bf16, "results cut off", |dot, _| {
        let x = before_conversion(dot, real(dot));
        let kept = match dot.result {
            Bf16 => x & 0xffff_0000,
            Fp16 => x & 0xffff_e000,
            _ => x,
        };
        narrow(kept, dot.result)
    });
    differs("cutlass-sm90", Bf16, "FP8 without saturation", |dot, _| {
        let x = before_conversion(dot, real(dot));
        let beyond = f32::from_bits(x).abs() > 480.0;
        match dot.result {
            E4m3 if beyond => 0x7f,
            result => narrow(x, result),
        }
    });
    differs(
        "cutlass-sm90",
        Bf16,
        "C in the first accumulator",
        |dot, _| {
            let mut without = dot.clone();
            without.c = None;
            let start = dot
                .c
                .map_or(0, |(code, format)| mul(dot.beta, widen(code, format)));
            epilogue(&without, dot.unit.mma(start, &dot.a, &dot.b))
        },
    );
    differs("plain", Bf16, "C in an epilogue", |dot, _| {
        let sum = dot.unit.mma(0, &dot.a, &dot.b);
        epilogue(dot, sum)
    });
}

/// A serial split with one decision left out.
fn serial(dot: &Dot, order: &[usize], slices: usize, next: impl Fn(u64, u32) -> u64) -> u64 {
    let sum = |i: usize| {
        let (begin, end) = whole_tiles(dot.a.len(), slices)[i];
        partial_tile_first(dot, begin, end, 32)
    };
    let first = epilogue(dot, sum(order[0]));
    order[1..].iter().fold(first, |d, &i| next(d, sum(i)))
}

#[test]
fn serial_splits() {
    let preset = "cutlass-splitk-serial";
    let up = |n: usize| (0..n).collect::<Vec<_>>();
    let later =
        |dot: &Dot, d: u64, sum: u32| narrow(fma(dot.alpha, sum, widen(d, dot.result)), dot.result);
    differs(preset, Bf16, "the last slice first", |dot, open| {
        let down: Vec<_> = (0..open.slices).rev().collect();
        serial(dot, &down, open.slices, |d, sum| later(dot, d, sum))
    });
    differs(preset, Bf16, "beta for what is stored", |dot, open| {
        serial(dot, &up(open.slices), open.slices, |d, sum| {
            let source = mul(dot.beta, widen(d, dot.result));
            narrow(fma(dot.alpha, sum, source), dot.result)
        })
    });
    differs(
        preset,
        Bf16,
        "alpha in the first slice alone",
        |dot, open| {
            serial(dot, &up(open.slices), open.slices, |d, sum| {
                narrow(add(sum, widen(d, dot.result)), dot.result)
            })
        },
    );
    differs(preset, Bf16, "alpha*sum rounded by itself", |dot, open| {
        serial(dot, &up(open.slices), open.slices, |d, sum| {
            narrow(add(mul(dot.alpha, sum), widen(d, dot.result)), dot.result)
        })
    });
    differs(preset, Bf16, "D rounded at the end alone", |dot, open| {
        let mut exact = dot.clone();
        exact.result = Fp32;
        let sum = serial(&exact, &up(open.slices), open.slices, |d, sum| {
            fma(dot.alpha, sum, d as u32).into()
        });
        narrow(sum as u32, dot.result)
    });
    differs(preset, Bf16, "slices of equal length", |dot, open| {
        let k = dot.a.len();
        let at = |i: usize| k * i / open.slices;
        let sum = |i: usize| partial_tile_first(dot, at(i), at(i + 1), 32);
        (1..open.slices).fold(epilogue(dot, sum(0)), |d, i| later(dot, d, sum(i)))
    });
}

/// The slices of a parallel split: the last one is the longest.
fn slices(dot: &Dot, open: Open) -> Vec<(usize, usize)> {
    let length = dot.a.len();
    let each = length / 32 / open.slices * 32;
    let end = |i: usize| if i == open.slices { length } else { each * i };
    (0..open.slices).map(|i| (end(i), end(i + 1))).collect()
}

#[test]
fn workspaces() {
    let preset = "cutlass-splitk-parallel";
    let stored = |dot: &Dot, sum| widen(narrow(sum, dot.result), dot.result);
    let sum = |dot: &Dot, (begin, end)| partial_tile_first(dot, begin, end, 32);
    differs(preset, Bf16, "partials in D's format", |dot, open| {
        let slices = slices(dot, open).into_iter();
        let sums = slices.map(|slice| stored(dot, sum(dot, slice)));
        epilogue(dot, sums.fold(0, add))
    });
    differs(preset, Bf16, "one accumulator for all slices", |dot, _| {
        epilogue(dot, tiled(dot))
    });
    differs(preset, Bf16, "the last slice first", |dot, open| {
        let slices = slices(dot, open).into_iter().rev();
        let sums = slices.map(|slice| sum(dot, slice));
        epilogue(dot, sums.fold(0, add))
    });
    differs(preset, Bf16, "the last slice shorter", |dot, open| {
        let slices = whole_tiles(dot.a.len(), open.slices).into_iter();
        let sums = slices.map(|slice| sum(dot, slice));
        epilogue(dot, sums.fold(0, add))
    });
}

#[test]
fn stripes_and_chunks() {
    differs("cublas-sliced", Bf16, "two halves of K", |dot, _| {
        let middle = dot.a.len().div_ceil(128) * 64;
        let middle = middle.min(dot.a.len());
        let first = partial_tile_first(dot, 0, middle, 64);
        epilogue(
            dot,
            add(first, partial_tile_first(dot, middle, dot.a.len(), 64)),
        )
    });
    differs("cublas-sliced", Bf16, "one warp", |dot, _| {
        epilogue(dot, partial_tile_first(dot, 0, dot.a.len(), 64))
    });
    let chunks = |dot: &Dot, lengths: &[usize], reverse: bool| {
        let mut from = 0;
        let mut sums = Vec::new();
        for &length in lengths {
            let to = (from + 64 * length).min(dot.a.len());
            if to > from {
                sums.push(zeros_at_the_end(dot, from, to, 64));
            }
            from = to;
        }
        if reverse {
            sums.reverse();
        }
        let total = sums.into_iter().reduce(add);
        epilogue(dot, total.expect("K is not zero"))
    };
    // K up to 311 is up to 5 tiles of 64, for 3 workers.
    let shares = |dot: &Dot| {
        let tiles = dot.a.len().div_ceil(64);
        [0, 1, 2].map(|worker| tiles / 3 + usize::from(worker < tiles % 3))
    };
    differs(
        "cutlass-stream-k",
        Bf16,
        "the last chunk first",
        |dot, _| chunks(dot, &shares(dot), true),
    );
    differs(
        "cutlass-stream-k",
        Bf16,
        "the longer shares last",
        |dot, _| {
            let [one, two, three] = shares(dot);
            chunks(dot, &[three, two, one], false)
        },
    );
    differs("cutlass-stream-k", Bf16, "one chunk", |dot, _| {
        epilogue(dot, zeros_at_the_end(dot, 0, dot.a.len(), 64))
    });
}

type Products = fn(&Dot, u32, &[u32], &[u32]) -> u32;

/// 3xTF32 with other products, for every so many k of a tile.
fn parts(dot: &Dot, every: usize, products: Products) -> u32 {
    let mut accumulator = 0;
    for (begin, end) in tiles_of_32(dot.a.len()) {
        let zeros = 32 - (end - begin);
        let a = tile(&dot.a[begin..end], 0, zeros);
        let b = tile(&dot.b[begin..end], 0, zeros);
        for (a, b) in a.chunks(every).zip(b.chunks(every)) {
            accumulator = products(dot, accumulator, a, b);
        }
    }
    accumulator
}

#[test]
fn products_of_parts() {
    let wrong: [(&str, usize, Products); 7] = [
        ("big and small rounded", 8, |dot, x, a, b| {
            three_products(dot, x, a, b, rounded)
        }),
        ("small cut off", 8, |dot, x, a, b| {
            three_products(dot, x, a, b, |x| {
                let big = tf32_truncated(x);
                (big, tf32_truncated(sub(x, big)))
            })
        }),
        ("big rounded, small cut off", 8, |dot, x, a, b| {
            three_products(dot, x, a, b, |x| {
                let big = tf32_half_ulp(x);
                (big, tf32_truncated(sub(x, big)))
            })
        }),
        ("a tile at a time", 32, |dot, x, a, b| {
            three_products(dot, x, a, b, truncated)
        }),
        ("4 k at a time", 4, |dot, x, a, b| {
            three_products(dot, x, a, b, truncated)
        }),
        ("big*small before small*big", 8, |dot, x, a, b| {
            // A and B change places in the products, which changes nothing but their order.
            three_products(dot, x, b, a, truncated)
        }),
        ("big*big alone", 8, |dot, x, a, b| dot.unit.mma(x, a, b)),
    ];
    for (what, every, products) in wrong {
        differs("cutlass-3xtf32", Tf32, what, |dot, _| {
            epilogue(dot, parts(dot, every, products))
        });
    }
    differs(
        "cutlass-3xtf32-staged",
        Tf32,
        "one accumulator",
        |dot, open| element("cutlass-3xtf32", dot, open),
    );
    differs(
        "cutlass-3xtf32-staged",
        Tf32,
        "added after every tile",
        |dot, _| {
            let mut accumulator = 0;
            for (begin, end) in tiles_of_32(dot.a.len()) {
                let mut one = dot.clone();
                (one.a, one.b) = (dot.a[begin..end].to_vec(), dot.b[begin..end].to_vec());
                let products =
                    |dot: &Dot, x, a: &[u32], b: &[u32]| three_products(dot, x, a, b, truncated);
                accumulator = add(accumulator, parts(&one, 8, products));
            }
            epilogue(dot, accumulator)
        },
    );
    differs(
        "triton-tf32x3",
        Tf32,
        "8 k at a time, the partial tile first",
        |dot, _| {
            epilogue(
                dot,
                parts(dot, 8, |dot, x, a, b| three_products(dot, x, a, b, rounded)),
            )
        },
    );
    differs("triton-tf32x3", Tf32, "big cut off", |dot, _| {
        let mut accumulator = 0;
        for begin in (0..dot.a.len()).step_by(32) {
            let end = (begin + 32).min(dot.a.len());
            let a = tile(&dot.a[begin..end], 0, begin + 32 - end);
            let b = tile(&dot.b[begin..end], 0, begin + 32 - end);
            accumulator = three_products(dot, accumulator, &a, &b, truncated);
        }
        epilogue(dot, accumulator)
    });
}

#[test]
fn promotions_and_scales() {
    differs("cutlass-fp8-promote", E4m3, "never promoted", |dot, _| {
        epilogue(dot, zeros_at_the_end(dot, 0, dot.a.len(), 128))
    });
    differs(
        "cutlass-fp8-promote",
        E4m3,
        "promoted every 64",
        |dot, _| {
            let mut main = 0;
            for begin in (0..dot.a.len()).step_by(64) {
                let end = (begin + 64).min(dot.a.len());
                main = add(main, zeros_at_the_end(dot, begin, end, 64));
            }
            epilogue(dot, main)
        },
    );
    differs(
        "cutlass-fp8-promote",
        E4m3,
        "the rest is not promoted",
        |dot, _| {
            let whole = dot.a.len() / 128 * 128;
            let mut main = 0;
            for begin in (0..whole).step_by(128) {
                main = add(main, zeros_at_the_end(dot, begin, begin + 128, 128));
            }
            epilogue(dot, main)
        },
    );
    let s = |dot: &Dot, i: usize| (dot.scale_a[i], dot.scale_b[i]);
    differs("deepgemm-sm90", E4m3, "fma(sum*sA, sB, main)", |dot, _| {
        let sum = promoted(dot, |i, main, sum| {
            let (a, b) = s(dot, i);
            fma(mul(sum, a), b, main)
        });
        epilogue(dot, sum)
    });
    differs("deepgemm-sm90", E4m3, "main + sum*(sA*sB)", |dot, _| {
        let sum = promoted(dot, |i, main, sum| {
            let (a, b) = s(dot, i);
            add(main, mul(sum, mul(a, b)))
        });
        epilogue(dot, sum)
    });
    differs(
        "deepgemm-sm90",
        E4m3,
        "the scales of the first block",
        |dot, _| {
            let sum = promoted(dot, |_, main, sum| {
                let (a, b) = s(dot, 0);
                fma(sum, mul(a, b), main)
            });
            epilogue(dot, sum)
        },
    );
    differs("triton-fp8-block", E4m3, "(sum*sB) * sA", |dot, _| {
        let sum = promoted(dot, |i, main, sum| {
            let (a, b) = s(dot, i);
            add(main, mul(mul(sum, b), a))
        });
        epilogue(dot, sum)
    });
    differs(
        "triton-fp8-block",
        E4m3,
        "the last product fused",
        |dot, _| {
            let sum = promoted(dot, |i, main, sum| {
                let (a, b) = s(dot, i);
                fma(mul(sum, a), b, main)
            });
            epilogue(dot, sum)
        },
    );
    let row = "torch-scaled-mm-rowwise";
    let promoted = |dot: &Dot| promoted(dot, |_, main, sum| add(main, sum));
    differs(row, E4m3, "w_scale first", |dot, _| {
        let (a, b) = s(dot, 0);
        epilogue(dot, mul(mul(promoted(dot), b), a))
    });
    differs(row, E4m3, "one product of scales", |dot, _| {
        let (a, b) = s(dot, 0);
        epilogue(dot, mul(promoted(dot), mul(a, b)))
    });
    differs(row, E4m3, "the last scale and the bias fused", |dot, _| {
        let (a, b) = s(dot, 0);
        match (dot.bias, dot.c) {
            (Some(bias), None) if dot.alpha == ONE => {
                narrow(fma(mul(promoted(dot), a), b, bias), dot.result)
            }
            _ => epilogue(dot, mul(mul(promoted(dot), a), b)),
        }
    });
}

#[test]
fn orders_of_k() {
    let tiles = |dot: &Dot, order: &dyn Fn(usize) -> usize| {
        let mut accumulator = 0;
        for begin in (0..dot.a.len()).step_by(32) {
            let end = (begin + 32).min(dot.a.len());
            let of = |codes: &[u32]| -> Vec<u32> {
                let tile = tile(&codes[begin..end], 0, begin + 32 - end);
                (0..32).map(|i| tile[order(i)]).collect()
            };
            accumulator = dot.unit.mma(accumulator, &of(&dot.a), &of(&dot.b));
        }
        epilogue(dot, accumulator)
    };
    differs("triton-kwidth8", Bf16, "as they come", |dot, _| {
        tiles(dot, &|i| i)
    });
    differs(
        "triton-kwidth8",
        Bf16,
        "instructions the other way round",
        |dot, _| {
            tiles(dot, &|i| {
                8 * (i % 8 / 2) + 4 * (1 - i / 16) + 2 * (i / 8 % 2) + i % 2
            })
        },
    );
    differs("triton-kwidth8", Bf16, "kWidth 4", |dot, _| {
        tiles(dot, &|i| {
            16 * (i / 16) + 4 * (i % 8 / 2) + 2 * (i / 8 % 2) + i % 2
        })
    });
}
