//! Accumulators of FP8 steps that are emulated in two halves: the second register of a pair adds the first one's new sum
//! instead of its own old one.

use super::Variation;
use crate::deadline;
use crate::diagnose::defects::known;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::step::Step;
use crate::emu::{Element, Problem, Replay};
use crate::num::Format;
use crate::tensor::{Tensor, parallel};

/// What reports call this test.
pub const TRIED: &str = "accumulators overwritten by those of the row eight above";

/// Rows between the two registers of a pair.
const APART: usize = 8;

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let replay = case.replay;
    let problem = &replay.problem;
    let halves = matches!(replay.arithmetic.step, Step::FusedHalves(_));
    let plain = replay.kernel.is_none() && problem.selected.is_none() && problem.scales.is_none();
    if !halves || !plain || replay.arithmetic.accumulator != Format::Fp32 || problem.m <= APART {
        return Ok(Vec::new());
    }
    let known = known("accumulator_overwritten", case.architecture);
    let what = format!(
        "rows 8 to 15 of every 16 add the finished sum of the row eight above, not their own{known}"
    );
    let one = Variation::new(case, Hypothesis::AccumulatorOverwritten, what);
    Ok(vec![one.ending(|replay, at| {
        parallel::map(at.len(), |i| overwritten(replay, at[i]))
    })])
}

fn overwritten(replay: &Replay, at: Element) -> u64 {
    if at.row % (2 * APART) < APART {
        return replay.elements(&[at])[0];
    }
    let row = at.row - APART;
    let sums = Replay {
        convert_to: None,
        ..*replay
    };
    let above = sums.elements(&[Element { row, ..at }])[0];
    // What the row's own earlier steps gave is lost.
    let problem = &replay.problem;
    let first =
        problem.k.saturating_sub(1) / replay.arithmetic.step.span() * replay.arithmetic.step.span();
    let [a, b] = [problem.a.plane(at.batch), problem.b.plane(at.batch)];
    let of_a: Vec<u64> = (first..problem.k).map(|k| a.code(at.row, k)).collect();
    let of_b: Vec<u64> = (first..problem.k).map(|k| b.code(k, at.column)).collect();
    let a = Tensor::from_codes(replay.arithmetic.a, vec![1, of_a.len()], &of_a);
    let b = Tensor::from_codes(replay.arithmetic.b, vec![of_b.len(), 1], &of_b);
    let c = Tensor::from_codes(Format::Fp32, vec![1, 1], &[above]);
    let problem = Problem::new(a.planes(), b.planes(), Some(c.planes()));
    let problem = problem.expect("shapes fit each other");
    Replay { problem, ..*replay }.part(0, 0..1, 0..1, &deadline::unheard)[0]
}
