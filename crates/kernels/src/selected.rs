//! Products of a compressed A as dense ones: A's elements stand at the k that they belong to, zeros elsewhere, and a
//! step is as much longer as B has more rows than A has columns.
//!
//! The sums are those of the selected products alone, if zeros leave no trace:
//!
//! * A longer step takes the products of one step. The metadata say so of every element, or the product is not computed
//!   here.
//! * A step adds its products without an order. `models` widens no other.
//! * Zero times infinity or NaN is NaN: B has neither.
//! * In a fused dot-add a zero raises the largest exponent to `zero_exponent`. Every step (every half of one) reaches that
//!   without more zeros: in each row of A it has a product whose exponent is not below it in any column, or which is zero.

use std::ops::Range;

use tcverify_emu::engine::Work;
use tcverify_emu::{Arithmetic, Problem};
use tcverify_num::{Class, Format};
use tcverify_tensor::{Plane, Tensor, parallel};

use super::{KernelConfig, Platform, fill as fill_dense};

/// A model of longer steps, for products with zeros between those of another one.
pub struct Widened {
    pub arithmetic: Arithmetic,
    /// Products of a step before it was widened.
    pub span: usize,
    /// Which of so many neighbouring products belong to the first half of a step that was not widened, if it has halves.
    pub first: Option<(usize, Vec<usize>)>,
    /// The exponent with which zeros take part in the largest, if they do.
    pub zero_exponent: Option<i32>,
}

/// Computes rows of D as [`super::fill`] does. None if zeros could show.
pub fn fill(
    work: Work,
    (widened, plan, platform): (&Widened, KernelConfig, Platform),
    first_row: usize,
    out: &mut [u64],
) -> Option<u64> {
    let times = work.problem.b.rows() / work.problem.k;
    let pieces = work.problem.by_matrix(first_row, out).into_iter();
    let dense = pieces.map(|(batch, rows, out)| {
        let problem = work.problem.matrix(batch);
        let a = widened.dense(&problem, rows.clone(), &lowest(&problem)?)?;
        Some((a, problem, rows, out))
    });
    // All of it, or nothing is written.
    let dense = dense.collect::<Option<Vec<_>>>()?;
    let progress = |count: u64| (work.progress)(count / times as u64);
    let mut exact = 0;
    for (a, problem, rows, out) in dense {
        let problem = Problem {
            a: a.planes(),
            c: problem.c.map(|c| c.part(rows.clone(), 0..problem.n)),
            selected: None,
            m: rows.len(),
            k: problem.b.rows(),
            ..problem
        };
        let work = Work {
            problem: &problem,
            exact: &widened.arithmetic,
            progress: &progress,
            ..work
        };
        exact += fill_dense(work, (plan.clone(), platform), 0, out)?;
    }
    Some(exact / times as u64)
}

impl Widened {
    /// Some rows of a compressed A with zeros for what they leave out. None if a product would change its step, or zeros
    /// could show. `lowest` has the least exponent of each row of B.
    fn dense(&self, problem: &Problem, rows: Range<usize>, lowest: &[i32]) -> Option<Tensor> {
        let a = problem.a;
        let (format, all) = (a.tensor().format(), problem.b.rows());
        let line = |i| self.line(problem, rows.start + i, lowest);
        let lines = parallel::map(rows.len(), line).into_iter();
        let payload = lines.collect::<Option<Vec<_>>>()?.concat();
        let shape = vec![rows.len(), all];
        Some(Tensor::from_payload(format, shape, payload))
    }

    /// The bytes of one row.
    fn line(&self, problem: &Problem, row: usize, lowest: &[i32]) -> Option<Vec<u8>> {
        let (k, all) = (problem.k, problem.b.rows());
        let format = problem.a.tensor().format();
        let width = format.bytes();
        let mut codes = Vec::new();
        problem.a.plane(0).read_codes(row, 0..k, &mut codes);
        let mut bytes = vec![0; all * width];
        let mut taken = vec![false; all];
        // Of each part of a step whether it has a product yet, and one beside which zeros do not count.
        let mut parts = vec![(false, false); 2 * k.div_ceil(self.span)];
        let zero = self.zero_exponent.unwrap_or(i32::MIN);
        let places = problem.selected?.row(row, k);
        for (i, (code, &place)) in codes.iter().zip(places).enumerate() {
            let place = place as usize;
            let (step, part) = self.step_and_part(i, 1);
            let same = (step, part) == self.step_and_part(place, all / k);
            if !same || std::mem::replace(&mut taken[place], true) {
                return None;
            }
            bytes[place * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
            let number = format.unpack(*code);
            // A special number decides the result.
            let reaches = number.class != Class::Finite
                || number.significand == 0
                || number.exponent.saturating_add(lowest[place]) >= zero;
            let found = &mut parts[2 * step + usize::from(part)];
            *found = (true, found.1 || reaches);
        }
        let shown = parts.into_iter().any(|(any, reaches)| any && !reaches);
        (!shown).then_some(bytes)
    }

    /// Which step takes a product, and in which part, if steps are so many times as long.
    fn step_and_part(&self, k: usize, times: usize) -> (usize, bool) {
        let k = k / times;
        let first = self.first.as_ref();
        let part = first.is_some_and(|(period, first)| first.contains(&(k % period)));
        (k / self.span, part)
    }
}

/// The least exponents of the numbers in each row of B. None if one is infinite or not a number.
fn lowest(problem: &Problem) -> Option<Vec<i32>> {
    let (format, plane) = (problem.b.tensor().format(), problem.b.plane(0));
    let rows = parallel::map(plane.rows, |row| least(format, plane, row));
    rows.into_iter().collect()
}

/// The least exponent among the numbers of a row that are not zero. None if one is infinite or not a number.
fn least(format: Format, plane: Plane, row: usize) -> Option<i32> {
    let mut codes = Vec::new();
    plane.read_codes(row, 0..plane.columns, &mut codes);
    let mut least = i32::MAX;
    for code in codes {
        let number = format.unpack(code);
        if number.class != Class::Finite {
            return None;
        }
        if number.significand != 0 {
            least = least.min(number.exponent);
        }
    }
    Some(least)
}
