//! Pseudo-random operands, scales and C: what no directed case thought of.

use crate::builder::{K, SuiteBuilder};
use crate::emu::Scale;
use crate::families::mixed::Random;
use crate::num::{Class, Format};

pub const TELLS: &str = "units of other kinds, anywhere";

fn operand(random: &mut Random, format: Format) -> u64 {
    loop {
        let code = random.next() & format.max_code();
        if format.unpack(code).class == Class::Finite {
            return code;
        }
    }
}

pub fn write(set: &mut SuiteBuilder, scale: Scale) {
    let (a, b, acc) = (set.a, set.b, set.accumulator);
    let (block, blocks) = (scale.block, K / scale.block);
    let (least, most) = set.scale_reach();
    let mut random = Random(0x3c6e_f372_fe94_f82b);
    for index in 0..1300 {
        let between = |random: &mut Random, from: i32, to: i32| {
            from + random.below((to - from + 1) as u64) as i32
        };
        let spread = [0, 1, 3, 8, 20, 40][random.below(6) as usize];
        let middle = match index % 4 {
            0 | 1 => 0,
            2 => between(&mut random, -62, 62),
            _ => between(&mut random, least, most),
        };
        let mut codes = Vec::new();
        for _ in 0..blocks {
            let mut code = || match random.below(24) {
                0 if index % 3 == 0 => random.next() & scale.format.max_code(),
                _ => {
                    let e = between(&mut random, middle - spread, middle + spread);
                    let code = set.scale_code(e.clamp(least, most));
                    let code = code.expect("within reach");
                    // Any significand there is.
                    match random.below(2) {
                        0 => code,
                        _ => code | random.next() & ((1 << scale.format.fraction_bits()) - 1),
                    }
                }
            };
            codes.push([code(), code()]);
        }
        let n = match index % 5 {
            0 => K,
            1 => 2 * block,
            _ => 1 + random.below(40) as usize,
        };
        // One step, or many with nothing between.
        let stride = if n > 40 {
            1
        } else {
            [1, 1, 3, 5, 6][random.below(5) as usize]
        };
        let from_end = index % 2 == 1;
        let mut terms: Vec<(usize, u64, u64)> = (0..n)
            .map(|i| {
                let k = if from_end {
                    K - 1 - i * stride
                } else {
                    i * stride
                };
                (k, operand(&mut random, a), operand(&mut random, b))
            })
            .collect();
        // Some are taken back, by a block with the same scales or by their own.
        for _ in 0..random.below(4) {
            let [from, to] = [(); 2].map(|()| random.below(n as u64) as usize);
            let (x, y) = (terms[from].1, terms[from].2);
            (terms[to].1, terms[to].2) = (x ^ a.sign_mask(), y);
            codes[terms[to].0 / block] = codes[terms[from].0 / block];
        }
        let size = 2 * middle;
        let c = match index % 3 {
            0 => 0,
            1 => random.code(acc, size.clamp(-140, 120), 30),
            _ => random.code(acc, size.clamp(-140, 120), 4),
        };
        let case = set.case(format!(
            "{n} pseudo-random products and scales, number {index}"
        ));
        let case = terms
            .into_iter()
            .fold(case, |case, (k, x, y)| case.codes(k, (x, y)));
        let codes = codes.into_iter().enumerate();
        let case = codes.fold(case, |case, (block, codes)| case.scales(block, codes));
        case.c_code(c).done();
    }
}
