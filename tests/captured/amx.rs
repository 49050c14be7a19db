//! Results captured on tiles of AMX: every case of them, and wrong rules that fail.

use serde_json::{Value, json};
use tcverify::emu::Arithmetic;
use tcverify::emu::step::Step;
use tcverify::num::Format;
use tcverify::tensor::Tensor;

use crate::support::case::{Case, codes};
use crate::support::engines::engines;
use crate::support::say;
use crate::support::vectors::{AMX, amx};

fn with(step: &Step, changes: Value) -> Step {
    let mut all = serde_json::to_value(step).expect("plain data");
    for (name, value) in changes.as_object().expect("constants") {
        all[name] = value.clone();
    }
    serde_json::from_value(all).expect("constants of the step")
}

fn is_bf16(case: &Case) -> bool {
    case.a.format() == Format::Bf16
}

/// The same tile filled up with products of +0 and +0.
fn padded(case: &Case) -> Case {
    let (a, b) = (case.a.planes(), case.b.planes());
    let (k, full) = (a.columns(), 32);
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for batch in 0..a.batches() {
        let (a, b) = (a.plane(batch), b.plane(batch));
        for row in 0..a.rows {
            rows.extend((0..full).map(|at| if at < k { a.code(row, at) } else { 0 }));
        }
        for at in 0..full {
            columns
                .extend((0..b.columns).map(|column| if at < k { b.code(at, column) } else { 0 }));
        }
    }
    let n = a.batches();
    let mut padded = case.clone();
    padded.a = Tensor::from_codes(Format::Bf16, vec![n, a.rows(), full], &rows);
    padded.b = Tensor::from_codes(Format::Bf16, vec![n, full, b.columns()], &columns);
    padded
}

/// D if the chains' NaN went on before C's: what a C of +0 gives, where that is a NaN.
fn products_before_c(case: &Case) -> usize {
    let zeros = vec![0; case.c.len()];
    let mut other = case.clone();
    other.c = Tensor::from_codes(Format::Fp32, case.c.shape().to_vec(), &zeros);
    let arithmetic = case.choice().arithmetic;
    let sums = other.replay(&arithmetic, tcverify::emu::Engine::Exact);
    let given = codes(&case.d).into_iter();
    let differing = given.zip(sums).zip(codes(&case.c));
    let nan = |code: u64| Format::Fp32.unpack(code).is_nan();
    differing
        .filter(|&((d, sum), c)| nan(c) && nan(sum) && d != sum)
        .count()
}

/// A wrong rule: what it is, and the elements of a case that differ, of those it concerns.
type Wrong = (&'static str, fn(&Case) -> Option<usize>);

fn changed(case: &Case, changes: Value) -> usize {
    let right = case.choice().arithmetic;
    let step = with(&right.step, changes);
    case.mismatches(&Arithmetic { step, ..right })
}

const WRONG: [Wrong; 8] = [
    ("the Intrinsics Guide's chain from C", |case| {
        is_bf16(case).then(|| changed(case, json!({"chains": [[0, 1]]})))
    }),
    ("one chain from C, the odd product first", |case| {
        is_bf16(case).then(|| changed(case, json!({"chains": [[1, 0]]})))
    }),
    ("the chain of odd k first", |case| {
        let chains = [1, 0].map(|first| (first..32).step_by(2).collect::<Vec<usize>>());
        is_bf16(case).then(|| changed(case, json!({"chains": chains})))
    }),
    ("subnormal numbers kept", |case| {
        is_bf16(case).then(|| changed(case, json!({"flush": false})))
    }),
    ("another NaN of invalid operations", |case| {
        is_bf16(case).then(|| changed(case, json!({"invalid": "7fc00000"})))
    }),
    ("a NaN of products before C's", |case| {
        is_bf16(case).then(|| products_before_c(case))
    }),
    ("narrow tiles filled up with zeros", |case| {
        let narrow = is_bf16(case) && case.a.planes().columns() < 32;
        narrow.then(|| padded(case).mismatches(&case.choice().arithmetic))
    }),
    ("sums of bytes that saturate", |case| {
        (!is_bf16(case)).then(|| changed(case, json!({"overflow": "saturate"})))
    }),
];

#[test]
fn every_case_is_reproduced_and_wrong_rules_are_not() {
    let Some(cases) = amx("captured results of AMX") else {
        return;
    };
    let mut identical = 0;
    for case in &cases {
        let arithmetic = case.choice().arithmetic;
        let differing = |engine| case.differing(&arithmetic, engine).len();
        let differing: usize = engines().into_iter().map(differing).sum();
        assert_eq!(differing, 0, "{}", case.name);
        identical += 1;
    }
    for (what, wrong) in WRONG {
        let found: Vec<usize> = cases.iter().filter_map(wrong).collect();
        let differ: usize = found.iter().sum();
        say(format_args!(
            "{AMX}: {what}: {differ} elements of {} cases differ",
            found.len()
        ));
        assert!(differ > 0, "{what}: no captured element refutes it");
    }
    say(format_args!(
        "{AMX}: {identical} of {} cases identical, {} wrong rules differ as stated",
        cases.len(),
        WRONG.len()
    ));
}
