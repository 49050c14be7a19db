//! One dot product through a replay.

use tcverify::emu::{Arithmetic, Engine, Problem, Replay};
use tcverify::num::Format;
use tcverify::tensor::Tensor;

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
        let k = self.a.len();
        let tensor = |format: Format, shape: [usize; 2], codes: &[u64]| {
            Tensor::from_codes(format, shape.to_vec(), codes)
        };
        let a = tensor(arithmetic.a, [1, k], &self.a);
        let b = tensor(arithmetic.b, [k, 1], &self.b);
        let c = tensor(arithmetic.addend(), [1, 1], &[self.c]);
        let scales = self
            .scales
            .as_ref()
            .zip(arithmetic.scale)
            .map(|([x, y], scale)| {
                let x = tensor(scale.format, [1, x.len()], x);
                let y = tensor(scale.format, [y.len(), 1], y);
                (x, y, scale.block)
            });
        let mut problem = Problem::new(a.planes(), b.planes(), Some(c.planes())).unwrap();
        if let Some((x, y, block)) = &scales {
            problem = problem.with_scales(x.planes(), y.planes(), *block).unwrap();
        }
        let replay = Replay {
            problem,
            arithmetic,
            convert_to: None,
            engine: Engine::Exact,
            kernel: None,
        };
        replay.collect(&|_| {}).planes().plane(0).code(0, 0)
    }
}
