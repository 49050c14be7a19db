//! A few rows of a product, copied together.

use super::Problem;
use crate::tensor::Tensor;

/// The operands of some rows of D.
pub struct GatheredRows {
    a: Tensor,
    b: Tensor,
    c: Option<Tensor>,
    scales: Option<([Tensor; 2], usize)>,
}

impl GatheredRows {
    /// Copies these rows of A and C, and all of B, of a single matrix.
    pub fn of(problem: &Problem, rows: &[usize]) -> GatheredRows {
        let all = |count: usize| (0..count).collect::<Vec<_>>();
        GatheredRows {
            a: problem.a.gather(rows),
            b: problem.b.gather(&all(problem.k)),
            c: problem.c.map(|c| c.gather(rows)),
            scales: problem.scales.map(|scales| {
                let b = scales.b.gather(&all(scales.b.rows()));
                ([scales.a.gather(rows), b], scales.block)
            }),
        }
    }

    /// The product of what was copied.
    pub fn problem(&self) -> Problem<'_> {
        let c = self.c.as_ref().map(Tensor::planes);
        let problem = Problem::with_any_k(self.a.planes(), self.b.planes(), c);
        let problem = problem.expect("parts of operands that fit");
        match &self.scales {
            None => problem,
            Some(([a, b], block)) => {
                let scaled = problem.with_scales(a.planes(), b.planes(), *block);
                scaled.expect("parts of scales that fit")
            }
        }
    }
}
