//! One dot product through a replay.

use tcverify::emu::{Arithmetic, Engine, Problem, Replay};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use crate::support::case::codes;

/// Operands as codes, k ascending, with a scale for every block or none.
#[derive(Clone, Debug)]
pub struct Dot {
    pub a: Vec<u64>,
    pub b: Vec<u64>,
    pub c: u64,
    pub scales: Option<[Vec<u64>; 2]>,
}

impl Dot {
    pub fn plain(a: &[u64], b: &[u64], c: u64) -> Dot {
        Dot {
            a: a.to_vec(),
            b: b.to_vec(),
            c,
            scales: None,
        }
    }

    pub fn replay(&self, arithmetic: &Arithmetic) -> u64 {
        self.times(1, arithmetic, Engine::Exact)[0]
    }

    /// So many rows and columns of it.
    pub fn times(&self, side: usize, arithmetic: &Arithmetic, engine: Engine) -> Vec<u64> {
        let lines = |format: Format, line: &[u64]| {
            Tensor::from_codes(format, vec![side, line.len()], &line.repeat(side))
        };
        let (a, b) = (lines(arithmetic.a, &self.a), lines(arithmetic.b, &self.b));
        let c = vec![self.c; side * side];
        let c = Tensor::from_codes(arithmetic.addend(), vec![side; 2], &c);
        let scales = self.scales.as_ref().zip(arithmetic.scale);
        let scales = scales
            .map(|([x, y], scale)| (lines(scale.format, x), lines(scale.format, y), scale.block));
        let problem = Problem::new(a.planes(), b.planes().transposed(), Some(c.planes()));
        let mut problem = problem.unwrap();
        if let Some((x, y, block)) = &scales {
            let with = problem.with_scales(x.planes(), y.planes().transposed(), *block);
            problem = with.unwrap();
        }
        let replay = Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine,
            kernel: None,
        };
        codes(&replay.collect(&|_| {}))
    }
}
