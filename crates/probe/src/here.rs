//! The answers of this machine's processor.

use tcverify_kernels::{Lanes, Native};

use super::Suite;
use crate::num::Format;

/// The answers of a chain of an instruction over K, from C, to the cases of a suite of its formats. None if this
/// processor does not have it.
pub fn answers(native: Native, suite: &Suite) -> Option<Vec<u64>> {
    debug_assert_eq!([suite.a, suite.b, suite.accumulator], native.formats());
    let mut answers = Vec::with_capacity(suite.cases.len());
    for cases in suite.cases.chunks(Lanes::default().len()) {
        let lanes = |of: &dyn Fn(&super::Case) -> u64| {
            let mut lanes = Lanes::default();
            for (lane, case) in lanes.iter_mut().zip(cases) {
                *lane = of(case) as u32;
            }
            lanes
        };
        let mut d = lanes(&|case| case.c);
        for first in (0..suite.k).step_by(span(suite.a)) {
            let a = lanes(&|case| packed(suite.a, &case.a[first..]));
            let b = lanes(&|case| packed(suite.b, &case.b[first..]));
            d = native.run(&d, &a, &b)?;
        }
        answers.extend(d[..cases.len()].iter().map(|&code| u64::from(code)));
    }
    Some(answers)
}

/// How many operands of this format a lane has.
fn span(format: Format) -> usize {
    32 / format.width() as usize
}

/// The next operands of a lane; missing ones are zeros.
fn packed(format: Format, codes: &[u64]) -> u64 {
    let codes = codes.iter().take(span(format)).rev();
    codes.fold(0, |packed, code| packed << format.width() | code)
}
