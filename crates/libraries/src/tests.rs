//! The worked examples of orders, and what holds of every plan.

use proptest::prelude::*;

use super::plan::Arithmetic;
use super::*;
use crate::num::Format;

mod examples;
mod expression;
mod gemm_desc;
mod gpus;
mod marlin;
mod properties;
mod refused_gemm_desc;
mod schedules;

/// A plan of a configuration in words.
fn plan(text: &str, k: usize) -> Plan {
    try_plan(text, k, &Options::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn try_plan(text: &str, k: usize, options: &Options) -> Result<Plan, KernelError> {
    read(text)?.plan(&Shape { m: 16, n: 16, k }, options)
}

/// The instructions of a lane, as the fact sheet writes them: `[0-15][16-17]`.
fn groups(lane: &Traversal) -> String {
    let text = |k: std::ops::Range<usize>| format!("[{}-{}]", k.start, k.end - 1);
    lane.groups().map(text).collect()
}

/// First and last k of slices of consecutive k.
fn slices(plan: &Plan) -> Vec<(usize, usize)> {
    let ends = |slice: &Slice| {
        let runs: Vec<_> = slice.lanes[0].runs().collect();
        assert_eq!(slice.lanes.len(), 1);
        assert!(runs.windows(2).all(|w| w[0].end == w[1].start));
        (runs[0].start, runs.last().unwrap().end)
    };
    plan.slices.iter().map(ends).collect()
}

fn lengths(plan: &Plan) -> Vec<usize> {
    slices(plan)
        .iter()
        .map(|(start, end)| end - start)
        .collect()
}

fn merged(plan: &Plan) -> String {
    let order = plan.merge.order.sum(plan.slices.len());
    order.expression(&|i| format!("p{i}"))
}
