//! Products of a compressed A as dense ones: A's elements stand at the k that they belong to, zeros elsewhere, and a
//! step is as much longer as B has more rows than A has columns.
//!
//! The sums are those of the selected products alone, if zeros leave no trace:
//!
//! * A longer step takes the products of one step. The metadata say so of every element, or the product is not computed
//!   here.
//! * A step adds its products without an order. `models` widens no other.
//! * Zero times infinity or NaN is NaN: B has neither.
//! * In a fused dot-add a zero raises the largest exponent to `zero_exponent`. Where the exponents of all other products
//!   are not below that one, every step reaches it without more zeros: it has a product, which is zero or not.

use std::ops::Range;

use tcverify_emu::engine::Work;
use tcverify_emu::{Arithmetic, Problem};
use tcverify_num::{Class, Format};
use tcverify_tensor::{Plane, Planes, Tensor, parallel};

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
        let a = widened.dense(&problem, rows.clone())?;
        widened.leaves_no_trace(&a, &problem).then_some(())?;
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
    /// Some rows of a compressed A with zeros for what they leave out. None if a product would change its step.
    fn dense(&self, problem: &Problem, rows: Range<usize>) -> Option<Tensor> {
        let a = problem.a;
        let (format, all) = (a.tensor().format(), problem.b.rows());
        let line = |i| self.line(problem, rows.start + i);
        let lines = parallel::map(rows.len(), line).into_iter();
        let payload = lines.collect::<Option<Vec<_>>>()?.concat();
        let shape = vec![rows.len(), all];
        Some(Tensor::from_payload(format, shape, payload))
    }

    /// The bytes of one row.
    fn line(&self, problem: &Problem, row: usize) -> Option<Vec<u8>> {
        let (k, all) = (problem.k, problem.b.rows());
        let width = problem.a.tensor().format().bytes();
        let mut codes = Vec::new();
        problem.a.plane(0).read_codes(row, 0..k, &mut codes);
        let mut bytes = vec![0; all * width];
        let mut taken = vec![false; all];
        let places = problem.selected?.row(row, k);
        for (i, (code, &place)) in codes.iter().zip(places).enumerate() {
            let place = place as usize;
            let same = self.step_and_part(i, 1) == self.step_and_part(place, all / k);
            if !same || std::mem::replace(&mut taken[place], true) {
                return None;
            }
            bytes[place * width..][..width].copy_from_slice(&code.to_le_bytes()[..width]);
        }
        Some(bytes)
    }

    /// Which step takes a product, and in which part, if steps are so many times as long.
    fn step_and_part(&self, k: usize, times: usize) -> (usize, bool) {
        let k = k / times;
        let first = self.first.as_ref();
        let part = first.is_some_and(|(period, first)| first.contains(&(k % period)));
        (k / self.span, part)
    }

    /// Whether zeros beside the products of some rows of A and all columns of B change no sum.
    fn leaves_no_trace(&self, a: &Tensor, problem: &Problem) -> bool {
        let least_of = |planes: Planes| {
            let format = planes.tensor().format();
            let lines = parallel::map(planes.rows(), |row| least(format, planes.plane(0), row));
            let mut all = lines.into_iter();
            all.try_fold(i32::MAX, |low, least| Some(low.min(least?)))
        };
        // Infinities and NaNs of A meet the same elements of B as before.
        let Some(of_b) = least_of(problem.b) else {
            return false;
        };
        let Some(zero) = self.zero_exponent else {
            return true;
        };
        let [lowest_a, lowest_b] =
            [a.format(), problem.b.tensor().format()].map(Format::min_exponent);
        lowest_a + lowest_b >= zero
            || least_of(a.planes()).is_some_and(|of_a| of_a.saturating_add(of_b) >= zero)
    }
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
