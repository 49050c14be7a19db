//! Every preset once more, as loops over k for one element of D, from what is published about the kernels.
//! Nothing here knows specs: only a single step of the instruction is the library's.

use tcverify::num::Format;

use super::own::{add, fma, from_int, mul, narrow, sub, tf32_half_ulp, tf32_truncated, widen};
use super::product::Dot;
use super::straight_arm;
use super::straight_cublas::{self, cutlass_slices};

/// What some presets leave open.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    pub slices: usize,
    pub workers: usize,
}

pub const NAMES: [&str; 41] = [
    "plain",
    "batch-invariant",
    "cutlass-sm80",
    "cute-sm80",
    "cutlass-sm90",
    "cutlass-splitk-serial",
    "cutlass-splitk-universal",
    "cutlass-splitk-parallel",
    "cutlass-stream-k",
    "cutlass-3xtf32",
    "cutlass-3xtf32-staged",
    "cublas-sm80",
    "cublas-splitk-serial",
    "cublas-workspace",
    "cublas-workspace-f32",
    "cublas-sliced",
    "cublas-nvjet",
    "cublas-nvjet-splitk",
    "cublas-nvjet-dropped-remainder",
    "cublas-nvjet-fp8",
    "cublas-nvjet-fp8-splitk",
    "cublas-ada-fp8",
    "cublas-ada-fp8-serial",
    "cublas-ada-fp8-pairwise",
    "cublas-gemmsn",
    "cublas-magma",
    "cublas-gemv",
    "cublas-dot",
    "cutlass-fp8-promote",
    "deepgemm-sm90",
    "torch-scaled-mm-rowwise",
    "vllm-scaled-mm",
    "vllm-int8-azp",
    "vllm-int8-azp-token",
    "triton-kwidth8",
    "triton-fp8-block",
    "triton-tf32x3",
    "vllm-awq-gemm",
    "openblas-neoverse-n2",
    "openblas-neoverse-v1",
    "iree-bf16",
];

/// The element of D that a kernel computes.
pub fn element(name: &str, dot: &Dot, open: Open) -> u64 {
    let k = dot.a.len();
    match name {
        "plain" => plain(dot),
        "batch-invariant" | "cutlass-sm90" => epilogue(dot, zeros_at_the_end(dot, 0, k, 64)),
        "cutlass-sm80" => epilogue(dot, partial_tile_first(dot, 0, k, 32)),
        "cute-sm80" => epilogue(dot, shifted_by_the_residue(dot, 32)),
        "cutlass-splitk-serial" => serial(dot, whole_tiles(k, open.slices)),
        "cutlass-splitk-universal" => serial(dot, cutlass_slices(k, open.slices)),
        "cutlass-splitk-parallel" => workspace(dot, open.slices),
        "cublas-sliced" => epilogue(dot, two_warps(dot)),
        "cutlass-stream-k" => epilogue(dot, stream_k(dot, open.workers, [128, 128], 64)),
        "cutlass-3xtf32" => epilogue(dot, three_tf32(dot)),
        "cutlass-3xtf32-staged" => epilogue(dot, three_tf32_in_stages(dot)),
        "cutlass-fp8-promote" => epilogue(dot, promoted(dot, |_, main, sum| add(main, sum))),
        "deepgemm-sm90" => {
            let scaled = |block: usize, main, sum| {
                fma(sum, mul(dot.scale_a[block], dot.scale_b[block]), main)
            };
            epilogue(dot, promoted(dot, scaled))
        }
        "triton-fp8-block" => {
            let scaled = |block: usize, main, sum| {
                add(main, mul(mul(sum, dot.scale_a[block]), dot.scale_b[block]))
            };
            epilogue(dot, promoted(dot, scaled))
        }
        "torch-scaled-mm-rowwise" => {
            let sum = promoted(dot, |_, main, sum| add(main, sum));
            epilogue(dot, mul(mul(sum, dot.scale_a[0]), dot.scale_b[0]))
        }
        "vllm-scaled-mm" => {
            let x = mul(dot.scale_b[0], real(dot, dot.unit.mma(0, &dot.a, &dot.b)));
            let scale = dot.scale_a[0];
            let x = dot
                .bias
                .map_or_else(|| mul(scale, x), |bias| fma(scale, x, bias));
            narrow(x, dot.result)
        }
        "vllm-int8-azp" => vllm(dot, |[_, column]| column),
        "vllm-int8-azp-token" => vllm(dot, |[row, column]| row.wrapping_mul(column)),
        "triton-kwidth8" => epilogue(dot, eight_consecutive_k_a_thread(dot)),
        "triton-tf32x3" => epilogue(dot, three_dots_a_tile(dot)),
        "iree-bf16" => straight_arm::from_c(dot),
        "openblas-neoverse-n2" => straight_arm::blocks(dot, straight_arm::one_chain),
        "openblas-neoverse-v1" => straight_arm::blocks(dot, straight_arm::two_chains),
        "vllm-awq-gemm" => epilogue(dot, blocks_dealt_out(dot, open.slices)),
        other => straight_cublas::element(other, dot, open)
            .unwrap_or_else(|| panic!("nobody has written {other} down")),
    }
}

/// D = A*B + C as one instruction after the other has it.
fn plain(dot: &Dot) -> u64 {
    let c = dot.c.map_or(0, |(code, _)| code as u32);
    let sum = dot.unit.mma(c, &dot.a, &dot.b);
    if dot.result == Format::Int32 {
        return sum.into();
    }
    let x = real(dot, sum);
    narrow(dot.bias.map_or(x, |bias| add(x, bias)), dot.result)
}

/// acc - adj in int32, then in f32 times scale_b, and an fma with scale_a and the bias, or 0.
fn vllm(dot: &Dot, adj: fn([u32; 2]) -> u32) -> u64 {
    let sum = dot.unit.mma(0, &dot.a, &dot.b);
    let adj = adj(dot.zero_points.expect("drawn"));
    let x = mul(dot.scale_b[0], from_int(sum.wrapping_sub(adj)));
    let x = fma(dot.scale_a[0], x, dot.bias.unwrap_or(0));
    narrow(x, dot.result)
}

/// An accumulator as an f32.
pub fn real(dot: &Dot, sum: u32) -> u32 {
    match dot.unit.arithmetic.accumulator {
        Format::Int32 => from_int(sum),
        _ => sum,
    }
}

/// alpha * sum + beta * C, the bias, the conversion.
pub fn epilogue(dot: &Dot, sum: u32) -> u64 {
    narrow(before_conversion(dot, real(dot, sum)), dot.result)
}

pub fn before_conversion(dot: &Dot, sum: u32) -> u32 {
    let x = match dot.c {
        // A beta of zero means that C is not read.
        Some((code, format)) if f32::from_bits(dot.beta) != 0.0 => {
            fma(dot.alpha, sum, mul(dot.beta, widen(code, format)))
        }
        _ => mul(dot.alpha, sum),
    };
    dot.bias.map_or(x, |bias| add(x, bias))
}

/// So many places of shared memory: k of the product, and zeros before and after them.
pub fn tile(codes: &[u32], before: usize, after: usize) -> Vec<u32> {
    let mut tile = vec![0; before];
    tile.extend(codes);
    tile.resize(tile.len() + after, 0);
    tile
}

/// CUTLASS 2.x: what is left over of K comes first, zeros behind it; then whole tiles.
pub fn partial_tile_first(dot: &Dot, begin: usize, end: usize, size: usize) -> u32 {
    let mut accumulator = 0;
    let mut k = begin;
    while k < end {
        let left_over = (end - k) % size;
        let next = if left_over == 0 {
            k + size
        } else {
            k + left_over
        };
        let zeros = size - (next - k);
        let a = tile(&dot.a[k..next], 0, zeros);
        let b = tile(&dot.b[k..next], 0, zeros);
        accumulator = dot.unit.mma(accumulator, &a, &b);
        k = next;
    }
    accumulator
}

/// CuTe for sm80: pointers are moved back so that the first tile starts before the operands do.
pub fn shifted_by_the_residue(dot: &Dot, size: usize) -> u32 {
    let length = dot.a.len();
    let tiles = length.div_ceil(size);
    let missing = tiles * size - length;
    let mut accumulator = 0;
    for i in 0..tiles {
        let of = |codes: &[u32]| -> Vec<u32> {
            let place = |p: usize| (i * size + p).checked_sub(missing).map_or(0, |k| codes[k]);
            (0..size).map(place).collect()
        };
        accumulator = dot.unit.mma(accumulator, &of(&dot.a), &of(&dot.b));
    }
    accumulator
}

/// TMA, and masked loads: what lies behind the operands reads as zeros.
pub fn zeros_at_the_end(dot: &Dot, begin: usize, end: usize, size: usize) -> u32 {
    let mut accumulator = 0;
    for k in (begin..end).step_by(size) {
        let next = (k + size).min(end);
        let zeros = k + size - next;
        let a = tile(&dot.a[k..next], 0, zeros);
        let b = tile(&dot.b[k..next], 0, zeros);
        accumulator = dot.unit.mma(accumulator, &a, &b);
    }
    accumulator
}

/// Whole tiles of 32 of each slice, alike but for the last ones, which may be empty.
pub fn whole_tiles(length: usize, slices: usize) -> Vec<(usize, usize)> {
    let each = 32 * length.div_ceil(32).div_ceil(slices);
    let slice = |i: usize| ((each * i).min(length), (each * i + each).min(length));
    (0..slices).map(slice).collect()
}

/// Slices in FP16, 8 of them if nothing else is asked, of every so many blocks of 32; every fourth together, then those.
fn blocks_dealt_out(dot: &Dot, count: usize) -> u32 {
    let mut slices = vec![0; count];
    for (block, (a, b)) in dot.a.chunks(32).zip(dot.b.chunks(32)).enumerate() {
        let slice = &mut slices[block % count];
        *slice = dot.unit.mma(*slice, a, b);
    }
    let kept = slices.into_iter();
    let mut kept: Vec<u32> = kept
        .map(|sum| widen(narrow(sum, Format::Fp16), Format::Fp16))
        .collect();
    if let [only] = kept[..] {
        return only;
    }
    // Missing ones are +0.
    kept.resize(count.next_multiple_of(4), 0);
    let sum = |first: usize| kept.iter().skip(first).step_by(4).copied().reduce(add);
    let sums = [0, 1, 2, 3].map(|first| sum(first).expect("one at least"));
    sums.into_iter().reduce(add).expect("four")
}

/// Every slice runs the epilogue; from the second on D takes C's place, with a beta of 1.
pub fn serial(dot: &Dot, slices: Vec<(usize, usize)>) -> u64 {
    let mut d = None;
    for (begin, end) in slices {
        let sum = partial_tile_first(dot, begin, end, 32);
        d = Some(match d {
            None => epilogue(dot, sum),
            Some(d) => {
                let source = mul(0x3f80_0000, widen(d, dot.result));
                narrow(fma(dot.alpha, sum, source), dot.result)
            }
        });
    }
    d.expect("at least one slice")
}

/// Every slice keeps its sum; a second kernel adds them up from zero and runs the epilogue. Slices have
/// as many whole tiles as all can have, and the last one the rest.
pub fn workspace(dot: &Dot, slices: usize) -> u64 {
    let length = dot.a.len();
    let each = 32 * (length / 32 / slices);
    let mut total = 0;
    for i in 0..slices {
        let end = if i + 1 == slices {
            length
        } else {
            each * (i + 1)
        };
        total = add(total, partial_tile_first(dot, each * i, end, 32));
    }
    epilogue(dot, total)
}

/// Of every tile of 64, the first warp takes the first 32 k and the second one the others.
pub fn two_warps(dot: &Dot) -> u32 {
    let length = dot.a.len();
    let mut warps = [0, 0];
    let mut k = 0;
    while k < length {
        let left_over = (length - k) % 64;
        let next = if left_over == 0 {
            k + 64
        } else {
            k + left_over
        };
        let zeros = 64 - (next - k);
        let a = tile(&dot.a[k..next], 0, zeros);
        let b = tile(&dot.b[k..next], 0, zeros);
        warps[0] = dot.unit.mma(warps[0], &a[..32], &b[..32]);
        warps[1] = dot.unit.mma(warps[1], &a[32..], &b[32..]);
        k = next;
    }
    add(warps[0], warps[1])
}

/// Tiles of K of all tiles of D are dealt out one by one: worker 0 takes its share, then worker 1.
pub fn stream_k(dot: &Dot, workers: usize, [rows, columns]: [usize; 2], size: usize) -> u32 {
    let [down, across] = [dot.size[0].div_ceil(rows), dot.size[1].div_ceil(columns)];
    let mine = dot.at[0] / rows * across + dot.at[1] / columns;
    chunks_added(dot, workers, down * across, mine, size)
}

/// The sum of the chunks that workers compute of tile `mine` of D, of so many.
pub fn chunks_added(dot: &Dot, workers: usize, of_d: usize, mine: usize, size: usize) -> u32 {
    let length = dot.a.len();
    let depth = length.div_ceil(size);
    let all = of_d * depth;
    let mut chunks: Vec<(usize, usize, usize)> = Vec::new();
    let (mut worker, mut taken) = (0, 0);
    for tile in 0..of_d {
        for k_tile in 0..depth {
            let share = |worker: usize| all / workers + usize::from(worker < all % workers);
            while taken == share(worker) {
                (worker, taken) = (worker + 1, 0);
            }
            taken += 1;
            if tile != mine {
                continue;
            }
            let (begin, end) = (k_tile * size, ((k_tile + 1) * size).min(length));
            match chunks.last_mut() {
                Some((owner, _, to)) if *owner == worker => *to = end,
                _ => chunks.push((worker, begin, end)),
            }
        }
    }
    let mut total = None;
    for (_, begin, end) in chunks {
        let sum = zeros_at_the_end(dot, begin, end, size);
        total = Some(total.map_or(sum, |total| add(total, sum)));
    }
    total.expect("a tile has a chunk")
}

/// small*big, big*small, big*big of the same k.
pub fn three_products(dot: &Dot, mut accumulator: u32, a: &[u32], b: &[u32], split: Split) -> u32 {
    let parts = |codes: &[u32]| -> (Vec<u32>, Vec<u32>) { codes.iter().map(|&x| split(x)).unzip() };
    let (big_a, small_a) = parts(a);
    let (big_b, small_b) = parts(b);
    accumulator = dot.unit.mma(accumulator, &small_a, &big_b);
    accumulator = dot.unit.mma(accumulator, &big_a, &small_b);
    dot.unit.mma(accumulator, &big_a, &big_b)
}

/// The big and the small part of an FP32 number.
pub type Split = fn(u32) -> (u32, u32);

pub fn truncated(x: u32) -> (u32, u32) {
    let big = tf32_truncated(x);
    (big, tf32_half_ulp(sub(x, big)))
}

/// Triton rounds the big part; the unit ignores what TF32 lacks of the small one.
pub fn rounded(x: u32) -> (u32, u32) {
    let big = tf32_half_ulp(x);
    (big, tf32_truncated(sub(x, big)))
}

/// Where tiles of 32 begin and end when what is left over comes first.
pub fn tiles_of_32(length: usize) -> Vec<(usize, usize)> {
    let mut tiles = Vec::new();
    let mut k = 0;
    while k < length {
        let left_over = (length - k) % 32;
        let next = if left_over == 0 {
            k + 32
        } else {
            k + left_over
        };
        tiles.push((k, next));
        k = next;
    }
    tiles
}

fn three_tf32(dot: &Dot) -> u32 {
    let mut accumulator = 0;
    for (begin, end) in tiles_of_32(dot.a.len()) {
        let zeros = 32 - (end - begin);
        let a = tile(&dot.a[begin..end], 0, zeros);
        let b = tile(&dot.b[begin..end], 0, zeros);
        for group in 0..4 {
            let at = 8 * group..8 * group + 8;
            accumulator = three_products(dot, accumulator, &a[at.clone()], &b[at], truncated);
        }
    }
    accumulator
}

/// A temporary accumulator is added, and cleared, after the first group of 8 k of every tile.
fn three_tf32_in_stages(dot: &Dot) -> u32 {
    let (mut accumulator, mut temporary) = (0, 0);
    for (begin, end) in tiles_of_32(dot.a.len()) {
        let zeros = 32 - (end - begin);
        let a = tile(&dot.a[begin..end], 0, zeros);
        let b = tile(&dot.b[begin..end], 0, zeros);
        for group in 0..4 {
            let at = 8 * group..8 * group + 8;
            temporary = three_products(dot, temporary, &a[at.clone()], &b[at], truncated);
            if group == 0 {
                accumulator = add(accumulator, temporary);
                temporary = 0;
            }
        }
    }
    add(accumulator, temporary)
}

/// Triton: each of the three products over all of a tile before the next one.
fn three_dots_a_tile(dot: &Dot) -> u32 {
    let mut accumulator = 0;
    for begin in (0..dot.a.len()).step_by(32) {
        let end = (begin + 32).min(dot.a.len());
        let zeros = begin + 32 - end;
        let a = tile(&dot.a[begin..end], 0, zeros);
        let b = tile(&dot.b[begin..end], 0, zeros);
        accumulator = three_products(dot, accumulator, &a, &b, rounded);
    }
    accumulator
}

/// Four wgmma of 32 k from zero on, then a promotion; what TMA filled up takes part.
pub fn promoted(dot: &Dot, promote: impl Fn(usize, u32, u32) -> u32) -> u32 {
    let mut main = 0;
    for (block, begin) in (0..dot.a.len()).step_by(128).enumerate() {
        let end = (begin + 128).min(dot.a.len());
        let zeros = begin + 128 - end;
        let a = tile(&dot.a[begin..end], 0, zeros);
        let b = tile(&dot.b[begin..end], 0, zeros);
        let mut accumulator = 0;
        for wgmma in 0..4 {
            let at = 32 * wgmma..32 * wgmma + 32;
            accumulator = dot.unit.mma(accumulator, &a[at.clone()], &b[at]);
        }
        main = promote(block, main, accumulator);
    }
    main
}

/// mma.m16n8k16: thread t of a quad holds k = 2t, 2t+1, 2t+8, 2t+9 of an instruction. With kWidth 8 it has
/// loaded the k from 8t to 8t+7 of 32 instead, and gives them to two instructions, four each.
pub fn eight_consecutive_k_a_thread(dot: &Dot) -> u32 {
    let length = dot.a.len();
    let mut accumulator = 0;
    for begin in (0..length).step_by(32) {
        for instruction in 0..2 {
            let (mut a, mut b) = ([0; 16], [0; 16]);
            for thread in 0..4 {
                for value in 0..4 {
                    let k = begin + 8 * thread + 4 * instruction + value;
                    let place = 2 * thread + value % 2 + 8 * (value / 2);
                    if k < length {
                        (a[place], b[place]) = (dot.a[k], dot.b[k]);
                    }
                }
            }
            accumulator = dot.unit.mma(accumulator, &a, &b);
        }
    }
    accumulator
}
