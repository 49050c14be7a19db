//! Loops for one element of D, as above, of what is published about cuBLAS's kernels.

use tcverify::num::Format;

use super::own::{add, fma, mul, narrow, widen};
use super::product::Dot;
use super::straight::{Open, partial_tile_first, real, tile, zeros_at_the_end};

/// The element of D that a kernel of cuBLAS computes, if it is one of these.
pub fn element(name: &str, dot: &Dot, open: Open) -> Option<u64> {
    let k = dot.a.len();
    let slices = open.slices;
    Some(match name {
        "cublas-sm80" => finished(dot, partial_tile_first(dot, 0, k, 64)),
        "cublas-splitk-serial" => in_place(dot, slices),
        "cublas-workspace" => {
            let stored = |sum| widen(narrow(sum, dot.result), dot.result);
            let sums = cutlass_slices(k, slices);
            let sums = sums
                .iter()
                .map(|&(begin, end)| stored(partial_tile_first(dot, begin, end, 64)));
            finished(dot, from_the_first(sums))
        }
        "cublas-workspace-f32" => {
            let sums = cutlass_slices(k, slices);
            let sums = sums
                .iter()
                .map(|&(begin, end)| partial_tile_first(dot, begin, end, 64));
            finished(dot, from_the_first(sums))
        }
        "cublas-nvjet" => finished(dot, zeros_at_the_end(dot, 0, k, 64)),
        "cublas-nvjet-splitk" => nvjet(dot, k.div_ceil(64).div_ceil(slices) * 64, slices),
        "cublas-nvjet-dropped-remainder" => nvjet(dot, (k / slices).div_ceil(64) * 64, slices),
        "cublas-nvjet-fp8" => finished(dot, blocks(dot, 0, k)),
        "cublas-nvjet-fp8-splitk" => {
            let chunk = k.div_ceil(128).div_ceil(slices) * 128;
            let sums = (0..k).step_by(chunk);
            let sums = sums.map(|begin| blocks(dot, begin, (begin + chunk).min(k)));
            finished(dot, from_the_first(sums))
        }
        "cublas-ada-fp8" => finished(dot, ada(dot, 1, serial)),
        "cublas-ada-fp8-serial" => finished(dot, ada(dot, slices, serial)),
        "cublas-ada-fp8-pairwise" => finished(dot, ada(dot, slices, pairwise)),
        "cublas-gemmsn" => finished(dot, gemm_sn(dot, 2, 256)),
        "cublas-magma" => finished(dot, dot.unit.mma(0, &dot.a, &dot.b)),
        "cublas-gemv" => finished(dot, gemv(dot, 4, 32)),
        "cublas-dot" => finished(dot, dot_kernel(dot, slices)),
        _ => return None,
    })
}

/// beta*C is +0 where there is no C; scales of one number each are alpha.
pub fn finished(dot: &Dot, sum: u32) -> u64 {
    let x = before_conversion(dot, real(dot, sum));
    narrow(x, dot.result)
}

pub fn before_conversion(dot: &Dot, sum: u32) -> u32 {
    let alpha = match (dot.scale_a.first(), dot.scale_b.first()) {
        (Some(&a), Some(&b)) => mul(a, b),
        _ => dot.alpha,
    };
    let c = match dot.c {
        Some((code, format)) if f32::from_bits(dot.beta) != 0.0 => {
            mul(dot.beta, widen(code, format))
        }
        _ => 0,
    };
    let x = fma(alpha, sum, c);
    let x = dot.bias.map_or(x, |bias| add(x, bias));
    match (dot.result, dot.scale_result) {
        (Format::E4m3 | Format::E5m2, Some(scale)) => mul(x, scale),
        _ => x,
    }
}

fn from_the_first(sums: impl Iterator<Item = u32>) -> u32 {
    sums.reduce(add).expect("K is not 0")
}

/// Rounded up to 128 bytes of 16-bit operands where those divide K, else to 16.
pub fn cutlass_slices(k: usize, slices: usize) -> Vec<(usize, usize)> {
    let grain = if k.is_multiple_of(64) { 64 } else { 8 };
    let chunk = k.div_ceil(grain).div_ceil(slices) * grain;
    let begins = (0..k).step_by(chunk);
    begins
        .map(|begin| (begin, (begin + chunk).min(k)))
        .collect()
}

fn in_place(dot: &Dot, slices: usize) -> u64 {
    let mut d = None;
    for (begin, end) in cutlass_slices(dot.a.len(), slices) {
        let sum = partial_tile_first(dot, begin, end, 64);
        d = Some(match d {
            None => finished(dot, sum),
            Some(d) => narrow(fma(dot.alpha, sum, widen(d, dot.result)), dot.result),
        });
    }
    d.expect("K is not 0")
}

fn nvjet(dot: &Dot, chunk: usize, slices: usize) -> u64 {
    let k = dot.a.len();
    let begins = (0..slices).map(|slice| slice * chunk);
    let sums = begins.filter(|&begin| begin < k);
    let sums = sums.map(|begin| zeros_at_the_end(dot, begin, (begin + chunk).min(k), 64));
    finished(dot, from_the_first(sums))
}

/// A chain from zero for every 128 k; the first one is where the sum starts.
fn blocks(dot: &Dot, begin: usize, end: usize) -> u32 {
    let chain = |begin| zeros_at_the_end(dot, begin, (begin + 128).min(end), 128);
    from_the_first((begin..end).step_by(128).map(chain))
}

/// Tile t goes to part t mod `parts`; a part's accumulator is added to another one after every two tiles
/// of its own.
pub fn ada(dot: &Dot, parts: usize, together: fn(&[u32]) -> u32) -> u32 {
    let k = dot.a.len();
    let sums: Vec<u32> = (0..parts)
        .map(|part| {
            let (mut main, mut accumulator, mut tiles) = (0, 0, 0);
            for begin in (64 * part..k).step_by(64 * parts) {
                let end = (begin + 64).min(k);
                let a = tile(&dot.a[begin..end], 0, begin + 64 - end);
                let b = tile(&dot.b[begin..end], 0, begin + 64 - end);
                accumulator = dot.unit.mma(accumulator, &a, &b);
                tiles += 1;
                if tiles == 2 {
                    main = add(main, accumulator);
                    (accumulator, tiles) = (0, 0);
                }
            }
            if tiles == 0 {
                main
            } else {
                add(main, accumulator)
            }
        })
        .collect();
    together(&sums)
}

pub fn serial(sums: &[u32]) -> u32 {
    sums.iter().copied().reduce(add).expect("a part")
}

/// The last one, and then slots of one or two each.
pub fn pairwise(sums: &[u32]) -> u32 {
    let last = sums.len() - 1;
    let half = sums.len().div_ceil(2);
    let mut total = sums[last];
    for i in 0..half.min(last) {
        let slot = if i + half < last {
            add(sums[i], sums[i + half])
        } else {
            sums[i]
        };
        total = add(total, slot);
    }
    total
}

/// Threads of consecutive k; each adds up blocks from zero, and their sums are added from zero.
fn gemm_sn(dot: &Dot, threads: usize, block: usize) -> u32 {
    let k = dot.a.len();
    let each = k.div_ceil(threads);
    let mut total = 0;
    for thread in 0..threads {
        let mut sum = 0;
        let end = ((thread + 1) * each).min(k);
        for begin in (thread * each..end).step_by(block) {
            let end = (begin + block).min(end);
            sum = add(sum, dot.unit.mma(0, &dot.a[begin..end], &dot.b[begin..end]));
        }
        total = add(total, sum);
    }
    total
}

/// x[l] + x[l + half], then of that half, until lane 0 has all.
fn butterfly(mut lanes: Vec<u32>) -> u32 {
    let mut half = lanes.len() / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] = add(lanes[lane], lanes[lane + half]);
        }
        half /= 2;
    }
    lanes[0]
}

/// Lane l takes `vector` k, then the next lane does.
fn gemv(dot: &Dot, vector: usize, lanes: usize) -> u32 {
    let mut sums = vec![0; lanes];
    for k in 0..dot.a.len() {
        let sum = &mut sums[k / vector % lanes];
        *sum = dot.unit.mma(*sum, &dot.a[k..=k], &dot.b[k..=k]);
    }
    butterfly(sums)
}

fn dot_kernel(dot: &Dot, blocks: usize) -> u32 {
    let mut sums = vec![vec![0; 128]; blocks];
    for k in 0..dot.a.len() {
        let sum = &mut sums[k / 128 % blocks][k % 128];
        *sum = dot.unit.mma(*sum, &dot.a[k..=k], &dot.b[k..=k]);
    }
    // The second kernel: 128 threads over all blocks, then halves of those, then four strides.
    let blocks: Vec<u32> = sums.into_iter().map(butterfly).collect();
    let mut threads = [0; 128];
    for (i, &block) in blocks.iter().enumerate() {
        threads[i % 128] = if i < 128 {
            block
        } else {
            add(threads[i % 128], block)
        };
    }
    for half in [64, 32] {
        for i in 0..half {
            threads[i] = add(threads[i], threads[i + half]);
        }
    }
    let stride = |j: usize| (1..8).fold(threads[j], |sum, i| add(sum, threads[4 * i + j]));
    add(add(add(stride(0), stride(1)), stride(2)), stride(3))
}
