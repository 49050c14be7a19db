//! Few columns of D, as rows: D^T = B^T A^T. A strip of columns is wide, and of one column all but one would
//! be filling. Every step takes the products in the same order.

use super::Slab;
use crate::context::{Context, Work};
use crate::tile::MicroKernel;
use tcverify_tensor::{Problem, ScalePlanes};

impl<K: MicroKernel> Slab<'_, K> {
    /// Whether less is computed for tiles that are cut off that way. Operands of two formats stay: the kernel
    /// was made for A's and B's.
    pub(super) fn is_cheaper_transposed(&self) -> bool {
        let (tall, wide) = self.kernel.tile();
        let (rows, columns) = (self.rows.len(), self.context.work.problem.n);
        let computed = |rows: usize, columns: usize| {
            rows.next_multiple_of(tall) * columns.next_multiple_of(wide)
        };
        let formats = self.context.work.formats;
        let symmetric = formats.a == formats.b && self.kernel.commutes();
        symmetric && computed(columns, rows) < computed(rows, columns)
    }

    pub(super) fn fill_transposed(&self, out: &mut [u64]) {
        let Problem {
            a,
            b,
            c,
            scales,
            n,
            k,
            ..
        } = *self.context.work.problem;
        let count = self.rows.len();
        let problem = Problem {
            a: b.transposed(),
            b: a.part(self.rows.clone(), 0..k).transposed(),
            c: c.map(|c| c.part(self.rows.clone(), 0..n).transposed()),
            scales: scales.map(|s| ScalePlanes {
                a: s.b.transposed(),
                b: s.a.part(self.rows.clone(), 0..s.a.columns()).transposed(),
                block: s.block,
            }),
            selected: None,
            m: n,
            n: count,
            k,
        };
        let slab = Slab {
            context: Context {
                work: Work {
                    problem: &problem,
                    ..self.context.work
                },
                ..self.context
            },
            kernel: self.kernel,
            batch: self.batch,
            rows: 0..n,
            tasks: self.tasks,
        };
        let mut transposed = vec![0; out.len()];
        slab.fill(&mut transposed);
        for (row, out) in out.chunks_mut(n).enumerate() {
            for (column, out) in out.iter_mut().enumerate() {
                *out = transposed[column * count + row];
            }
        }
    }
}
