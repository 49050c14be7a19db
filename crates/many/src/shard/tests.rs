//! Plans that cover D and such as do not, and how much of the work a part is.

use super::*;
use crate::check::{Check, Counted, Naming, Prepared, Tensors};
use crate::engines::resources;
use crate::num::Format;
use crate::report::Verdict;
use crate::tensor::Tensor;

/// Two matrices of five rows, of ones: every sum is 8. One of them is said to be 9.
fn planned(parts: u64) -> (Prepared, Plan) {
    let tensor = |format, shape: [usize; 3], code| {
        let count = shape.iter().product();
        Tensor::from_codes(format, shape.to_vec(), &vec![code; count])
    };
    let (a, b) = (
        tensor(Format::Fp16, [2, 5, 8], 0x3c00),
        tensor(Format::Fp16, [2, 8, 4], 0x3c00),
    );
    let mut codes = vec![0x4100_0000; 40];
    codes[27] = 0x4110_0000;
    let d = Tensor::from_codes(Format::Fp32, vec![2, 5, 4], &codes);
    let mut check = Check::in_memory("a100", Format::Fp16);
    check.causes = false;
    check.naming = Naming::Tree {
        block_rows: Some(2),
    };
    let prepared =
        Prepared::from_tensors(&check, &resources(), Tensors::of(a, b, d)).expect("a product");
    let plan = Plan::make(&prepared, parts, &()).expect("a plan");
    (prepared, plan)
}

#[test]
fn plans_cover_d() {
    let (_, plan) = planned(3);
    assert_eq!(plan.covers_d(), Ok(()));
    let rows: Vec<_> = plan.shards.iter().map(|share| share.rows).collect();
    assert_eq!((rows[0][0], rows[2][1]), (0, 10));
    let wrong = |change: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        change(&mut plan);
        plan.covers_d().expect_err("not all of D")
    };
    let leaf = "not have one leaf per block";
    assert!(wrong(&|plan| plan.leaves.truncate(4)).contains(leaf));
    assert!(wrong(&|plan| plan.leaves.push(plan.leaves[0])).contains(leaf));
    let follow = "are not consecutive";
    assert!(wrong(&|plan| plan.shards.swap(0, 1)).contains(follow));
    assert!(wrong(&|plan| plan.shards.retain(|share| share.rows != rows[1])).contains(follow));
    assert!(wrong(&|plan| plan.shards[1].rows[0] += 1).contains(follow));
    assert!(wrong(&|plan| plan.shards[0].rows[1] = 0).contains(follow));
    // In the middle of a block.
    assert!(
        wrong(&|plan| {
            plan.shards[0].rows[1] = 1;
            plan.shards[1].rows[0] = 1;
        })
        .contains(follow)
    );
    let up = "do not cover D";
    assert!(wrong(&|plan| plan.shards.truncate(2)).contains(up));
    assert!(wrong(&|plan| plan.shards[2].rows[1] += 2).contains(up));
    assert!(wrong(&|plan| plan.shards.clear()).contains(up));
}

/// Each part does what it said that it would; together they find the one element.
#[test]
fn parts_of_the_work() {
    let (prepared, plan) = planned(3);
    let mut parts = Vec::new();
    for (i, share) in plan.shards.iter().enumerate() {
        let counted = Counted::default();
        let part = plan.run_part(i, &prepared, &counted).expect("a part");
        let done = (share.rows[1] - share.rows[0]) * 4 * 8;
        assert_eq!(counted.counts(), [done; 2]);
        parts.push((part, "part.json".as_ref()));
    }
    let parts = plan.collect(parts).expect("all parts");
    let report = merge(&plan, &prepared, parts, &[]).expect("a report");
    assert_eq!(report.verdict, Verdict::Different);
    assert_eq!(crate::compose::verify::contradictions(&report), [""; 0]);
    let whole = prepared.run(&()).expect("a verdict");
    let written = |outcome| serde_json::to_value(outcome).expect("figures");
    assert_eq!(written(&report.outcome), written(&whole.outcome));
    assert_eq!(report.reproduced.tree, whole.reproduced.tree);
}

/// A part that found nothing, and whose leaves are others than D's, is refused; so is the opposite.
#[test]
fn leaves_that_contradict_a_part() {
    let (prepared, plan) = planned(3);
    let honest = || -> Vec<Part> {
        let parts = (0..3).map(|i| plan.run_part(i, &prepared, &()).expect("a part"));
        parts.collect()
    };
    let merged = |parts: Vec<Part>| {
        let named = parts.into_iter().map(|part| (part, "part.json".as_ref()));
        let parts = plan.collect(named.collect())?;
        merge(&plan, &prepared, parts, &[]).map(drop)
    };
    merged(honest()).expect("three honest parts");
    let mut forged = honest();
    forged[0].leaves[0] = crate::io::tree::Hash::of([&b"another"[..]]);
    let refused = merged(forged).expect_err("a leaf of nothing").to_string();
    assert!(
        refused.contains("found no differing bit, but its leaves are not"),
        "{refused}"
    );
    for part in 0..3 {
        let mut forged = honest();
        let first = (forged[part].rows[0] / plan.block_rows) as usize;
        let own = &plan.leaves[first..first + forged[part].leaves.len()];
        if forged[part].leaves != own {
            forged[part].leaves = own.to_vec();
            let refused = merged(forged).expect_err("D's own leaves").to_string();
            assert!(
                refused.contains("found differing bits, but its leaves are"),
                "{refused}"
            );
        }
    }
}
