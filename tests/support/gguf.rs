//! llama.cpp's product of quantised rows once more, thread by thread in plain f32, and the wrong rules that vectors state.

use super::random::Random;
use super::{Folder, Npy};

/// What is done otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    Right,
    OtherWarps,
    NoFma,
    LanesInTurn,
}

/// Weights, N rows of K codes, and x, T rows of them; scales and sums by blocks of 32.
pub struct Quantised {
    /// Codes 0 to 15, minus 8.
    pub four_bits: bool,
    pub k: usize,
    pub w: Vec<i32>,
    pub w_d: Vec<f32>,
    pub x: Vec<i32>,
    pub x_d: Vec<f32>,
    pub x_s: Vec<f32>,
}

fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0 * x } else { x }
}

fn add(x: f32, y: f32) -> f32 {
    flushed(x + y)
}

impl Quantised {
    pub fn tokens(&self) -> usize {
        self.x.len() / self.k
    }

    /// D's codes, by tokens.
    pub fn by(&self, rule: Rule) -> Vec<u32> {
        let rows = self.w.len() / self.k;
        let each = (0..self.tokens()).flat_map(|token| (0..rows).map(move |row| (token, row)));
        each.map(|(token, row)| self.element(token, row, rule).to_bits())
            .collect()
    }

    fn element(&self, token: usize, row: usize, rule: Rule) -> f32 {
        let few = self.tokens() <= 4;
        let warps = if few == (rule != Rule::OtherWarps) {
            4
        } else {
            2
        };
        let of_thread = |thread: usize| self.thread([token, row, thread], warps, rule);
        let mut lanes: Vec<f32> = (0..32).map(of_thread).collect();
        for warp in 1..warps {
            for (lane, sum) in lanes.iter_mut().enumerate() {
                *sum = add(*sum, of_thread(32 * warp + lane));
            }
        }
        if rule == Rule::LanesInTurn {
            return lanes.into_iter().reduce(add).expect("32");
        }
        for apart in [16, 8, 4, 2, 1] {
            lanes = (0..32).map(|i| add(lanes[i], lanes[i ^ apart])).collect();
        }
        lanes[0]
    }

    fn thread(&self, [token, row, thread]: [usize; 3], warps: usize, rule: Rule) -> f32 {
        let sharing = if self.four_bits { 2 } else { 4 };
        let blocks = self.k / 32;
        let fused = |x: f32, y: f32, z: f32| {
            if rule == Rule::NoFma {
                add(flushed(x * y), z)
            } else {
                flushed(x.mul_add(y, z))
            }
        };
        let mut sum = 0.0;
        for block in (thread / sharing..blocks).step_by(32 * warps / sharing) {
            let first = 8 * (thread % sharing);
            let low = first..first + 8;
            let high = if self.four_bits { 16 } else { 32 };
            let places = low.clone().chain(low.map(|place| place + high));
            let products = places.filter(|place| *place < 32).map(|place| {
                let place = 32 * block + place;
                self.w[row * self.k + place] * self.x[token * self.k + place]
            });
            let integer = products.sum::<i32>() as f32;
            let d_w = self.w_d[row * blocks + block];
            let at = token * blocks + block;
            sum = if self.four_bits {
                let minus = -4.0 * self.x_s[at];
                fused(d_w, fused(integer, self.x_d[at], minus), sum)
            } else {
                fused(d_w * self.x_d[at], integer, sum)
            };
        }
        sum
    }

    /// Random ones.
    pub fn drawn(four_bits: bool, [tokens, rows, k]: [usize; 3]) -> Quantised {
        let mut random = Random::named(&format!("{four_bits} {tokens} {rows} {k}"));
        let blocks = k / 32;
        let half = |x: f32| half::f16::from_f32(x).to_f32();
        let mut halves = |count: usize, scale: f32| -> Vec<f32> {
            let mut one = || half(scale * random.between(500, 2000) as f32);
            (0..count).map(|_| one()).collect()
        };
        let (w_d, x_d) = (halves(rows * blocks, 1e-5), halves(tokens * blocks, 3e-5));
        let mut codes = |count: usize, low, high| -> Vec<i32> {
            (0..count).map(|_| random.between(low, high)).collect()
        };
        let x = codes(tokens * k, -127, 127);
        let (low, high) = if four_bits { (0, 15) } else { (-128, 127) };
        let w = codes(rows * k, low, high);
        let sums = x.chunks(32).zip(&x_d);
        let sums = sums.map(|(x, d)| half(x.iter().sum::<i32>() as f32 * d));
        Quantised {
            four_bits,
            k,
            x_s: sums.collect(),
            w,
            w_d,
            x,
            x_d,
        }
    }

    /// Its arrays as files, named as in the vectors.
    pub fn save(&self, folder: &Folder) {
        let bytes = |codes: &[i32]| codes.iter().map(|code| *code as u8).collect::<Vec<u8>>();
        let rows = self.w.len() / self.k;
        let descr = if self.four_bits { "|u1" } else { "|i1" };
        folder.save(
            "w_codes.npy",
            &Npy::new(descr, &[rows, self.k], bytes(&self.w)),
        );
        folder.save(
            "x_codes.npy",
            &Npy::new("|i1", &[self.tokens(), self.k], bytes(&self.x)),
        );
        for (name, of, rows) in [
            ("w_d.npy", &self.w_d, rows),
            ("x_d.npy", &self.x_d, self.tokens()),
            ("x_s.npy", &self.x_s, self.tokens()),
        ] {
            folder.save(
                name,
                &Npy::new("<f2", &[rows, self.k / 32], super::halves(of)),
            );
        }
    }
}
