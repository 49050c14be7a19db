//! The random numbers of torch on CUDA: `torch.randn` and `torch.rand` in FP32, and the words of `torch.randint`, bit by
//! bit, of GPUs with 2,048 threads an SM.
//!
//! Philox4x32-10 gives each thread four words at a time, Box-Muller four numbers of them by CUDA's `logf` and the special
//! function unit (PyTorch, `DistributionTemplates.h`; cuRAND's headers; libdevice). Digests of an H100's products of such
//! numbers are reproduced: `tests/fixtures/cuda-digests`.

use super::{Arith, Exactly, ONE, Ops, expf_parts, negated, sine};

/// One call of `randn`.
#[derive(Clone, Copy, Debug)]
pub struct Randn {
    seed: u64,
    /// Of the generator, in fours.
    turn: u64,
    /// Of all blocks.
    threads: u64,
}

impl Randn {
    /// `n` numbers from an offset of the generator, which is a multiple of 4, on a GPU with so many SMs.
    pub fn new(seed: u64, offset: u64, sms: u32, n: usize) -> Randn {
        const THREADS_OF_A_BLOCK: u64 = 256;
        const BLOCKS_OF_AN_SM: u64 = 2048 / THREADS_OF_A_BLOCK;
        let blocks = (n as u64).div_ceil(THREADS_OF_A_BLOCK);
        Randn {
            seed,
            turn: offset / 4,
            threads: THREADS_OF_A_BLOCK * blocks.min(u64::from(sms) * BLOCKS_OF_AN_SM),
        }
    }

    /// The number of an index, from 0 on.
    #[inline(always)]
    pub fn at<A: Arith>(&self, a: A, index: u64) -> u32 {
        let (words, lane) = self.words(index);
        let pair = if lane < 2 {
            [words[0], words[1]]
        } else {
            [words[2], words[3]]
        };
        // z * 1 + 0: of -0 it makes +0.
        a.fma(normal(a, pair, lane as u32 & 1), ONE, 0)
    }

    /// The word of an index, of which `randint` takes the remainder.
    #[inline(always)]
    pub fn word(&self, index: u64) -> u32 {
        let (words, lane) = self.words(index);
        words[lane as usize]
    }

    /// The four words of which one is an index's, and which.
    #[inline(always)]
    fn words(&self, index: u64) -> ([u32; 4], u64) {
        let (round, place) = (index / (4 * self.threads), index % (4 * self.threads));
        let (lane, thread) = (place / self.threads, place % self.threads);
        (
            philox(self.seed, self.turn.wrapping_add(round), thread),
            lane,
        )
    }
}

/// A number of `rand`: cuRAND's are above 0 and at most 1, and torch makes 0 of a 1.
#[inline(always)]
pub fn uniform<A: Arith>(a: A, word: u32) -> u32 {
    match above_zero(a, word) {
        ONE => 0,
        u => u,
    }
}

/// cuRAND's uniform number.
#[inline(always)]
fn above_zero<A: Arith>(a: A, word: u32) -> u32 {
    a.fma((word as f32).to_bits(), 0x2f80_0000, 0x2f00_0000) // 2^-32, 2^-33
}

/// Philox4x32-10.
#[inline(always)]
fn philox(seed: u64, counter: u64, thread: u64) -> [u32; 4] {
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let ([c0, c1], [c2, c3], [mut k0, mut k1]) = (halves(counter), halves(thread), halves(seed));
    let mut c = [c0, c1, c2, c3];
    for _ in 0..10 {
        let [low0, high0] = halves(u64::from(c[0]) * 0xd251_1f53);
        let [low1, high1] = halves(u64::from(c[2]) * 0xcd9e_8d57);
        c = [high1 ^ c[1] ^ k0, low1, high0 ^ c[3] ^ k1, low0];
        k0 = k0.wrapping_add(0x9e37_79b9);
        k1 = k1.wrapping_add(0xbb67_ae85);
    }
    c
}

/// Box-Muller: the sine's number, or with a quarter turn the cosine's.
#[inline(always)]
fn normal<A: Arith>(a: A, [x, y]: [u32; 2], quarters: u32) -> u32 {
    let float = |word: u32| (word as f32).to_bits();
    let u = above_zero(a, x);
    let angle = a.fma(float(y), 0x30c9_0fdb, 0x3049_0fdb); // pi 2^-31, pi 2^-32
    let radius = a.sqrt(a.mul(0xc000_0000, logf(a, u)));
    a.mul(sine(toward_zero(angle, 0x3e22_f983), quarters), radius)
}

/// `x * y` of positive normal numbers, rounded toward zero.
#[inline(always)]
fn toward_zero(x: u32, y: u32) -> u32 {
    let exact = f64::from(f32::from_bits(x)) * f64::from(f32::from_bits(y));
    let near = exact as f32;
    near.to_bits() - u32::from(f64::from(near) > exact)
}

/// CUDA's `logf`, of positive normal numbers.
#[inline(always)]
fn logf<A: Arith>(a: A, x: u32) -> u32 {
    let exponent = x.wrapping_sub(0x3f2a_aaab) & 0xff80_0000;
    let m = a.sub(x.wrapping_sub(exponent), ONE);
    let k = a.mul((exponent as i32 as f32).to_bits(), 0x3400_0000); // 2^-23
    let coefficients = [
        0x3e10_39f6,
        0xbdf8_cdcc,
        0x3e0f_2955,
        0xbe2a_d8b9,
        0x3e4c_ed0b,
        0xbe7f_ff22,
        0x3eaa_aa78,
        0xbf00_0000,
    ];
    let p = coefficients
        .into_iter()
        .fold(0xbe05_5027, |p, c| a.fma(p, m, c));
    a.fma(k, 0x3f31_7218, a.fma(a.mul(m, p), m, m))
}

/// `x / (1 + expf(-x))`, the exponential's last product and the sum in one operation.
pub fn silu(x: u32) -> u32 {
    let [significand, power] = expf_parts(Exactly, negated(x));
    Exactly.div(x, Exactly.fma(significand, power, ONE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Natively;

    /// Seed 420, 132 SMs, 31 rows of 14,336.
    fn x() -> Randn {
        Randn::new(420, 0, 132, 31 * 14336)
    }

    /// Seed 420: words of thread 0 as the digests' source has them, for numbers that lie a launch's threads apart.
    #[test]
    fn uniform_numbers_and_words() {
        let (x, threads) = (x(), 256 * 1056);
        let words = [0xf013_1b4a, 0x5be1_aed7, 0xa188_190a, 0xffb8_c46a];
        for (lane, word) in words.into_iter().enumerate() {
            assert_eq!(x.word(lane as u64 * threads), word);
        }
        assert_eq!(x.word(4 * threads), 0x9da0_0a99);
        assert_ne!(x.word(1), words[1], "a thread's numbers are not neighbours");
        for (word, number) in [
            (words[0], 0x3f70_131b),
            (words[2], 0x3f21_8819),
            (0, 0x2f00_0000),
            (0xffff_ff7f, 0x3f7f_ffff),
            (0xffff_ff80, 0),
            (u32::MAX, 0),
        ] {
            assert_eq!(uniform(Natively::new(), word), number, "{word:08x}");
            assert_eq!(uniform(Exactly, word), number, "{word:08x}");
        }
    }

    #[test]
    fn words_and_pairs() {
        assert_eq!(
            philox(420, 0, 0),
            [0xf013_1b4a, 0x5be1_aed7, 0xa188_190a, 0xffb8_c46a]
        );
        assert_eq!(
            philox(420, 0, 270335),
            [0x32ee_be72, 0xd072_2347, 0x0341_eb90, 0x564d_e5be]
        );
        assert_eq!(
            philox(420, 1, 0),
            [0x9da0_0a99, 0x9766_1dc1, 0xc6bd_c9c3, 0x9c4e_483a]
        );
        for (pair, log, turns, trig, numbers) in [
            (
                [0xf013_1b4a, 0x5be1_aed7],
                0xbd83_89c4,
                0x3eb7_c35d,
                [0x3f46_5ca4, 0xbf21_d429],
                [0x3e8e_303a, 0xbe68_007d],
            ),
            (
                [0xa188_190a, 0xffb8_c46a],
                0xbeeb_c392,
                0x3f7f_b8c3,
                [0xbbdf_cbe0, 0x3f7f_fe79],
                [0xbbd6_c4e3, 0x3f75_ab01],
            ),
        ] {
            let float = |word: u32| (word as f32).to_bits();
            let u = Exactly.fma(float(pair[0]), 0x2f80_0000, 0x2f00_0000);
            let v = Exactly.fma(float(pair[1]), 0x30c9_0fdb, 0x3049_0fdb);
            assert_eq!(logf(Exactly, u), log);
            assert_eq!(toward_zero(v, 0x3e22_f983), turns);
            for quarters in 0..2 {
                assert_eq!(sine(turns, quarters), trig[quarters as usize]);
                let number = numbers[quarters as usize];
                assert_eq!(normal(Exactly, pair, quarters), number);
                assert_eq!(normal(Natively::new(), pair, quarters), number);
            }
        }
    }

    /// Of one call, and of the second after it, which the number of SMs decides.
    #[test]
    fn numbers_by_index() {
        let first = [
            0x3e8e_303a,
            0x3e96_8c6c,
            0x3f7c_685b,
            0xbecf_ac36,
            0x3f9c_28d4,
            0xbf6e_9628,
            0xbea2_4524,
            0x3e89_1137,
            0xbfab_b6c3,
            0x4017_9837,
            0xbf2d_108d,
            0x3f6c_c11c,
            0xb922_27cc,
            0xbeee_ee5f,
            0xbf4a_1dab,
            0xbf36_a41f,
        ];
        for (index, number) in first.into_iter().enumerate() {
            assert_eq!(x().at(Exactly, index as u64), number, "{index}");
        }
        for (index, number) in [
            (255, 0x3f09_9181),
            (256, 0x3fb2_ce2c),
            (270335, 0xbfd3_8927),
            (270336, 0xbe68_007d),
            (440000, 0xbf53_b09b),
            (444415, 0xbe6d_addc),
            (115901, 0xc0a1_99dd),
            (134348, 0x4090_d151),
        ] {
            assert_eq!(x().at(Exactly, index), number, "{index}");
            assert_eq!(x().at(Natively::new(), index), number, "{index}");
        }
        let w = Randn::new(420, 4, 132, 5376 * 14336);
        for (index, number) in [
            (0, 0xbf08_f658),
            (1, 0xbfc0_8768),
            (2, 0x3f09_7395),
            (3, 0x3ede_6dfa),
            (38_003_861, 0xc0c1_2997),
            (20_167_025, 0x40b3_64f1),
        ] {
            assert_eq!(w.at(Exactly, index), number, "{index}");
        }
        // An A100 has other threads, and so other numbers beyond its last one.
        let a100 = Randn::new(420, 4, 108, 5376 * 14336);
        assert_eq!(a100.at(Exactly, 0), 0xbf08_f658);
        assert_ne!(a100.at(Exactly, 20_167_025), 0x40b3_64f1);
    }

    #[test]
    fn silu_of_the_first() {
        for (x, y) in [
            (0x3e8e_303a, 0x3e21_ce60),
            (0x3e96_8c6c, 0x3e2c_8629),
            (0x3f7c_685b, 0x3f37_d37d),
            (0xbecf_ac36, 0xbe26_1fa7),
            (0x3f9c_28d4, 0x3f71_213f),
            (0xbf6e_9628, 0xbe86_d006),
            (0xbea2_4524, 0xbe08_c4ce),
            (0x3e89_1137, 0x3e1b_4e38),
        ] {
            assert_eq!(silu(x), y, "{x:x}");
        }
    }
}
