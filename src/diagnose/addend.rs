//! C added differently from as the start of the chain.

use crate::emu::{Element, Problem, Replay};
use crate::num::{Format, Rounding, Target, fma, result_code};
use crate::tensor::{Planes, Tensor};

/// How often C is added after the product, whose chain it may have started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The product starts at +0; C is added to it at the end, rounded to nearest even.
    Last,
    /// The chain starts with C, which is added once more at the end.
    Again,
    /// The chain starts with twice C.
    Doubled,
}

/// Elements of D so computed.
pub fn elements(replay: &Replay, c: Planes, way: Way, at: &[Element]) -> Vec<u64> {
    let arithmetic = replay.arithmetic;
    let (addend, accumulator) = (arithmetic.addend(), arithmetic.accumulator);
    let code = |at: &Element| c.plane(at.batch).code(at.row, at.column);
    let finished = |code: u64| match replay.convert_to {
        Some(to) => result_code(accumulator, code, to, Rounding::NearestEven),
        None => code,
    };
    let chain = Replay {
        convert_to: None,
        ..*replay
    };
    if way == Way::Doubled {
        let doubled = |at: &Element| {
            let twice = sum((addend, code(at)), (addend, code(at)));
            finished(started(&chain, at, twice))
        };
        return at.iter().map(doubled).collect();
    }
    let start = match way {
        Way::Last => None,
        _ => replay.problem.c,
    };
    let problem = Problem {
        c: start,
        ..replay.problem
    };
    let products = Replay { problem, ..chain }.elements(at);
    let added = products.into_iter().zip(at);
    added
        .map(|(product, at)| finished(sum((addend, code(at)), (accumulator, product))))
        .collect()
}

/// One element whose chain starts with this code.
fn started(chain: &Replay, at: &Element, start: u64) -> u64 {
    let c = Tensor::from_codes(chain.arithmetic.addend(), vec![1, 1], &[start]);
    let problem = chain.problem.matrix(at.batch);
    let problem = problem.part(at.row..at.row + 1, at.column..at.column + 1);
    let problem = Problem {
        c: Some(c.planes()),
        ..problem
    };
    let first = Element {
        batch: 0,
        row: 0,
        column: 0,
    };
    Replay { problem, ..*chain }.elements(&[first])[0]
}

/// `x + y` in the format of `y`, rounded once to nearest even; integers wrap.
fn sum((of_x, x): (Format, u64), (of_y, y): (Format, u64)) -> u64 {
    if of_y.is_integer() {
        return x.wrapping_add(y) & of_y.max_code();
    }
    let one = (of_x.bias() as u64) << of_x.fraction_bits();
    let target = Target::full(of_y, Rounding::NearestEven);
    fma(
        ([of_x; 2], of_x.unpack(x), of_x.unpack(one)),
        (of_y, of_y.unpack(y)),
        target,
        of_y.sign_mask() - 1,
    )
}
