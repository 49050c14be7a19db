//! Loops for one element of D, as in `straight`, of what is published about kernels of Arm processors.

use std::ops::Range;

use super::own::{add, fma, narrow, widen};
use super::product::Dot;
use super::straight::{tile, zeros_at_the_end};
use super::straight_cublas::finished;

/// One instruction after the other from C on, zeros behind K.
pub fn from_c(dot: &Dot) -> u64 {
    let c = dot.c.map_or(0, |(code, _)| code as u32);
    let zeros = dot.a.len().next_multiple_of(4) - dot.a.len();
    let [a, b] = [&dot.a, &dot.b].map(|codes| tile(codes, 0, zeros));
    let sum = dot.unit.mma(c, &a, &b);
    narrow(dot.bias.map_or(sum, |bias| add(sum, bias)), dot.result)
}

/// Blocks of 256 k; what is left, between one and two of them, is halved. Each is added to D.
pub fn blocks(dot: &Dot, sum: fn(&Dot, Range<usize>) -> u32) -> u64 {
    let (mut begin, mut d) = (0, None);
    while begin < dot.a.len() {
        let left = dot.a.len() - begin;
        let length = match left {
            512.. => 256,
            257.. => left.div_ceil(2),
            _ => left,
        };
        let sum = sum(dot, begin..begin + length);
        d = Some(match d {
            None => finished(dot, sum),
            Some(d) => narrow(fma(dot.alpha, sum, widen(d, dot.result)), dot.result),
        });
        begin += length;
    }
    d.expect("K is not 0")
}

pub fn one_chain(dot: &Dot, k: Range<usize>) -> u32 {
    zeros_at_the_end(dot, k.start, k.end, 4)
}

/// The first and the second four of every eight.
pub fn two_chains(dot: &Dot, k: Range<usize>) -> u32 {
    let zeros = k.len().next_multiple_of(8) - k.len();
    let [a, b] = [&dot.a, &dot.b].map(|codes| tile(&codes[k.clone()], 0, zeros));
    let mut sums = [0, 0];
    for (i, (a, b)) in a.chunks(4).zip(b.chunks(4)).enumerate() {
        sums[i % 2] = dot.unit.mma(sums[i % 2], a, b);
    }
    add(sums[0], sums[1])
}
