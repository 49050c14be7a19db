//! The answers of this machine's processor.

use tcverify_kernels::{Lanes, Native};

use super::Suite;

/// The architecture and the instruction that the catalogue has of it.
pub fn model(native: Native) -> [&'static str; 2] {
    match native {
        Native::Tdpbf16ps => ["amx", "tdpbf16ps-sdm"],
        tiles if tiles.has_tiles() => ["amx", "tdpb"],
        other => ["avx512", other.name()],
    }
}

/// The answers of a chain of an instruction over K, from C, to the cases of a suite of its formats. None if this
/// processor does not have it.
pub fn answers(native: Native, suite: &Suite) -> Option<Vec<u64>> {
    debug_assert_eq!([suite.a, suite.b, suite.accumulator], native.formats());
    let in_a_word = native.operands_in_a_word();
    let mut answers = Vec::with_capacity(suite.cases.len());
    for cases in suite.cases.chunks(Lanes::default().len()) {
        let lanes = |of: &dyn Fn(&super::Case) -> u64| {
            let mut lanes = Lanes::default();
            for (lane, case) in lanes.iter_mut().zip(cases) {
                *lane = of(case) as u32;
            }
            lanes
        };
        // The operands from some k on, word after word; missing ones are zeros.
        let words = |of: &dyn Fn(&super::Case) -> &[u64], first: usize, width: u32| -> Vec<Lanes> {
            let word = |word: usize| {
                lanes(&|case| {
                    let codes = of(case)
                        .iter()
                        .skip(first + word * in_a_word)
                        .take(in_a_word);
                    codes.rev().fold(0, |packed, code| packed << width | code)
                })
            };
            (0..native.words()).map(word).collect()
        };
        let mut d = lanes(&|case| case.c);
        for first in (0..suite.k).step_by(native.words() * in_a_word) {
            let a = words(&|case| &case.a, first, suite.a.width());
            let b = words(&|case| &case.b, first, suite.b.width());
            d = native.run(&d, &a, &b)?;
        }
        answers.extend(d[..cases.len()].iter().map(|&code| u64::from(code)));
    }
    Some(answers)
}
