//! Wrong loops against cuBLAS's kernels: each off by one decision.

use tcverify::num::Format::{Bf16, E4m3};

use super::own::{add, fma, mul, narrow, widen};
use super::product::Dot;
use super::straight::{Open, partial_tile_first, zeros_at_the_end};
use super::straight_cublas::{ada, before_conversion, cutlass_slices, finished, pairwise, serial};
use super::wrong::differs;

/// Sums of slices, each a main loop over tiles of 64 with the partial one first.
fn sums(dot: &Dot, slices: &[(usize, usize)]) -> Vec<u32> {
    let sum = |&(begin, end): &(usize, usize)| partial_tile_first(dot, begin, end, 64);
    slices.iter().map(sum).collect()
}

fn own(dot: &Dot, open: Open) -> Vec<(usize, usize)> {
    cutlass_slices(dot.a.len(), open.slices)
}

#[test]
fn cutlass_kernels() {
    let stored = |dot: &Dot, sum| widen(narrow(sum, dot.result), dot.result);
    differs("cublas-workspace", Bf16, "partials in f32", |dot, open| {
        finished(dot, serial(&sums(dot, &own(dot, open))))
    });
    differs(
        "cublas-workspace",
        Bf16,
        "the total rounded after every slice",
        |dot, open| {
            let sums = sums(dot, &own(dot, open)).into_iter();
            let total = sums.map(|sum| stored(dot, sum));
            let total = total.reduce(|total, sum| stored(dot, add(total, sum)));
            finished(dot, total.expect("a slice"))
        },
    );
    differs(
        "cublas-workspace-f32",
        Bf16,
        "slices of whole tiles",
        |dot, open| {
            let each = dot.a.len().div_ceil(64).div_ceil(open.slices) * 64;
            let slices: Vec<_> = (0..dot.a.len())
                .step_by(each)
                .map(|begin| (begin, (begin + each).min(dot.a.len())))
                .collect();
            finished(dot, serial(&sums(dot, &slices)))
        },
    );
    differs(
        "cublas-workspace-f32",
        Bf16,
        "zeros in front",
        |dot, open| {
            let slices = own(dot, open);
            let sum = |&(begin, end): &(usize, usize)| {
                let missing = (64 - (end - begin) % 64) % 64;
                let filled =
                    |codes: &[u32]| [vec![0; missing], codes[begin..end].to_vec()].concat();
                dot.unit.mma(0, &filled(&dot.a), &filled(&dot.b))
            };
            finished(dot, serial(&slices.iter().map(sum).collect::<Vec<_>>()))
        },
    );
    differs(
        "cublas-splitk-serial",
        Bf16,
        "D rounded at the end alone",
        |dot, open| {
            let sums = sums(dot, &own(dot, open));
            let first = before_conversion(dot, sums[0]);
            let d = sums[1..]
                .iter()
                .fold(first, |d, &sum| fma(dot.alpha, sum, d));
            narrow(d, dot.result)
        },
    );
}

#[test]
fn nvjet_kernels() {
    differs("cublas-nvjet-fp8", E4m3, "no promotion", |dot, _| {
        finished(dot, zeros_at_the_end(dot, 0, dot.a.len(), 128))
    });
}

#[test]
fn ada_kernels() {
    differs(
        "cublas-ada-fp8-pairwise",
        E4m3,
        "one after the other",
        |dot, open| finished(dot, ada(dot, open.slices, serial)),
    );
    differs("cublas-ada-fp8-serial", E4m3, "in pairs", |dot, open| {
        finished(dot, ada(dot, open.slices, pairwise))
    });
    differs("cublas-ada-fp8-serial", E4m3, "no split", |dot, _| {
        finished(dot, ada(dot, 1, serial))
    });
    differs("cublas-ada-fp8", E4m3, "two multiplications", |dot, _| {
        let mut one = dot.clone();
        let sum = ada(dot, 1, serial);
        let (a, b) = (dot.scale_a[0], dot.scale_b[0]);
        (one.scale_a, one.scale_b) = (Vec::new(), Vec::new());
        finished(&one, mul(mul(sum, a), b))
    });
}
