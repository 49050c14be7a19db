//! Units that add their products a few at a time.

use serde_json::{Value, json};

use super::{Clues, numbers};
use crate::emu::step::{Groups, Nans};
use crate::num::Format;

/// The codes of NaN that answers show.
pub fn nans(clues: &Clues) -> Option<Nans> {
    let [operand, invalid] = clues.nans?;
    Some(Nans { operand, invalid })
}

/// Groups that 16 products may come in, those that are known first.
pub fn likely() -> impl Iterator<Item = Groups> {
    [2, 4, 8, 1, 16].into_iter().flat_map(|size| {
        let all = orders(16 / size).into_iter();
        all.map(move |order| Groups { size, order })
    })
}

/// The values of a constant of these, or of those that both rules have besides.
pub fn values(groups: &Groups, constant: &str) -> Option<Vec<Value>> {
    match constant {
        "size" => Some(numbers([1, 2, 3, 4, 6, 8, 16, 32])),
        "order" => {
            // Of groups in ascending k nothing shows how many an instruction has.
            let n = groups.order.len();
            let all = orders(n).into_iter();
            let all = all.chain([(0..if n == 1 { 2 } else { 1 }).collect()]);
            Some(all.map(|order| json!(order)).collect())
        }
        "product_bits" | "leading_bits" => Some(numbers(14..=36)),
        "flush_operands" | "flush_sums" => Some(vec![json!(false), json!(true)]),
        _ => None,
    }
}

/// Orders of some groups: ascending, the even ones first, halves interleaved, descending.
fn orders(n: usize) -> Vec<Vec<usize>> {
    let halves = (0..n / 2).flat_map(|i| [i, i + n / 2]);
    let mut all: Vec<Vec<usize>> = vec![
        (0..n).collect(),
        (0..n).step_by(2).chain((1..n).step_by(2)).collect(),
        halves.chain((n % 2 == 1).then_some(n - 1)).collect(),
        (0..n).rev().collect(),
    ];
    all.sort_by_key(|order| !order.is_sorted());
    all.dedup();
    all
}

/// What C's highest bit may count as at least: about the ends of formats, and some between.
pub fn least_leadings() -> Vec<Value> {
    let all = [
        -252, -150, -149, -148, -127, -126, -125, -60, -25, -24, -16, -15, -14, -13, -12, 0,
    ];
    all.into_iter().map(|n| json!(n)).collect()
}

/// The least that C's highest bit counts as: only units that narrow to FP16 are known to have one.
pub fn least_leading(clues: &Clues) -> Option<i32> {
    (clues.formats.accumulator == Format::Fp16).then(|| Format::Fp16.min_exponent())
}
