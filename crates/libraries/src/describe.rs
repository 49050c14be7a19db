//! Plans for people.

use super::{
    Cut, DroppedRemainder, How, KCut, Kept, MergeOrder, Plan, Residue, Settings, Slice, Sourced,
    Start,
};
use crate::forms::InWords as _;
use crate::num::Format;
use crate::words::Word as _;

impl Settings {
    /// What decides bits, one row each: name, value, where it comes from, and the words it was read in.
    pub fn rows(&self) -> Vec<(&'static str, String, How, String)> {
        fn row<T>(
            name: &'static str,
            setting: &Option<Sourced<T>>,
            show: impl Fn(&T) -> String,
        ) -> Option<(&'static str, String, How, String)> {
            let Sourced { value, how, from } = setting.as_ref()?;
            Some((name, show(value), *how, from.clone()))
        }
        let pair = |[a, b]: &[Format; 2]| {
            if a == b {
                a.to_string()
            } else {
                format!("{a} * {b}")
            }
        };
        let fast = |fast: &bool| if *fast { "fast" } else { "slow" }.to_owned();
        let cuts = |cuts: &Vec<KCut>| {
            let cuts: Vec<_> = cuts.iter().map(ToString::to_string).collect();
            cuts.join("; then ")
        };
        let rows = [
            row("GPU", &self.capability, ToString::to_string),
            row("ALGO_ID", &self.algo, ToString::to_string),
            row("operands", &self.operands, pair),
            row("D", &self.result, ToString::to_string),
            row("tile k", &self.tile_k, ToString::to_string),
            row("instruction k", &self.instruction_k, ToString::to_string),
            row("slices", &self.split_k, ToString::to_string),
            row("reduction", &self.scheme, ToString::to_string),
            row(
                "multiprocessors",
                &self.multiprocessors,
                ToString::to_string,
            ),
            row("partition", &self.partition, ToString::to_string),
            row("warps per tile", &self.sliced, ToString::to_string),
            row("weights", &self.marlin, ToString::to_string),
            row("custom option", &self.custom, ToString::to_string),
            row("accumulation", &self.fast_accumulation, fast),
            row("algorithm", &self.algorithm, |a| a.word().into()),
            row("cuts of K", &self.cuts, cuts),
            row("epilogue", &self.epilogue, Clone::clone),
        ];
        rows.into_iter().flatten().collect()
    }
}

impl DroppedRemainder {
    /// `this D omits the last 8 k ...`.
    pub fn sentence(self) -> String {
        format!(
            "this D omits the last {} k (from k={}): a known defect of cuBLAS's split nvjet kernels (ALGO 66). They \
            drop the last K mod (grain * slices) k when there are fewer of those than slices",
            self.count, self.first
        )
    }
}

impl Plan {
    /// One line: `4 slices of 256 k, added in order in f32; tiles of 64 k, the partial one last`.
    pub fn summary(&self) -> String {
        if let Some(order) = &self.order {
            return order.in_words();
        }
        let mut parts = vec![self.slices_text()];
        if let Some(tile) = self.tile {
            let residue = match tile.residue {
                Residue::Last => "last",
                Residue::First | Residue::FirstAligned => "first",
            };
            parts.push(format!("tiles of {} k, the partial one {residue}", tile.k));
        }
        let lane = self.lanes().next();
        if let Some(lane) = lane {
            parts.push(match lane.instruction_k {
                1 => "fused multiply-adds".into(),
                k => format!("instructions of {k} k"),
            });
            if let Some(restart) = lane.restart {
                let from = match restart.from {
                    Start::First => "",
                    Start::Zero => ", from +0",
                };
                parts.push(format!(
                    "added to an {} sum every {} k{from}",
                    self.sums(),
                    restart.every
                ));
            }
        }
        parts.join("; ")
    }

    fn slices_text(&self) -> String {
        let lanes = self.slices.first().map_or(1, |slice| slice.lanes.len());
        let shared = match lanes {
            1 => String::new(),
            lanes => format!(", {lanes} lanes each"),
        };
        if self.slices.len() == 1 {
            return match lanes {
                1 => "one chain over K".into(),
                _ => format!("K shared by {lanes} lanes"),
            };
        }
        let length = match (self.cut, self.chunk, self.grain) {
            (Cut::Even | Cut::RoundedDown | Cut::LastTakesRest, Some(chunk), _) => {
                format!(" of {chunk} k")
            }
            (Cut::Dealt, _, Some(grain)) => format!(", dealt round-robin, {grain} k at a time"),
            _ => String::new(),
        };
        format!(
            "{} slices{length}{shared}, {}",
            self.slices.len(),
            self.merge_text()
        )
    }

    /// How the sums of slices meet, in words.
    pub fn merge_text(&self) -> String {
        let words = match (self.merge.order, self.merge.kept) {
            (MergeOrder::Alone, Kept::Result) => "one sum, rounded to the format of D",
            (MergeOrder::Alone, Kept::As(Format::Fp16)) => "one sum, rounded to FP16",
            (MergeOrder::Alone, Kept::As(_)) => "one sum, rounded to BF16",
            (MergeOrder::Alone, _) => "one sum",
            (_, Kept::Running) => "added to D in order, rounded to its format each time",
            (MergeOrder::Pairwise, _) => "added in f32 in pairs, last pair first",
            (MergeOrder::DotBlocks, _) => {
                "added in f32 by a second kernel: 128 threads, folded to 32, then to 4"
            }
            (MergeOrder::Adjacent, Kept::F32) => "added in f32 in pairs of neighbours",
            (MergeOrder::Adjacent, _) => "each rounded, then added in f32 in pairs of neighbours",
            (_, Kept::As(Format::Fp16)) => "each rounded to FP16, added in f32 in order",
            (_, Kept::As(_)) => "each rounded to BF16, added in f32 in order",
            (MergeOrder::AscendingFromZero, Kept::F32) => "added in f32 in order, from +0",
            (MergeOrder::Ascending, Kept::F32) => "added in f32 in order, from the first",
            (_, Kept::Result) => "each rounded to D's format, added in f32 in order",
        };
        words.replace("f32", self.sums())
    }

    /// The format of sums.
    fn sums(&self) -> &'static str {
        match self.settings.operand() {
            Some(format) if format.is_integer() => "int32",
            Some(Format::Fp64) => "f64",
            _ => "f32",
        }
    }

    /// `((p0 + p1) + p2)`, where that is short.
    pub fn merge_expression(&self) -> Option<String> {
        let few =
            (2..=12).contains(&self.slices.len()) && self.merge.order != MergeOrder::DotBlocks;
        few.then(|| {
            let sum = self.merge.order.sum(self.slices.len());
            sum.expression(&|i| format!("p{i}"))
        })
    }

    /// One line a slice, at most so many.
    pub fn slice_lines(&self, most: usize) -> Vec<String> {
        let count = self.slices.len();
        let line = |i: usize| format!("p{i}: {}", self.slice_line(&self.slices[i]));
        if count <= most {
            return (0..count).map(line).collect();
        }
        let mut lines: Vec<String> = (0..most - 2).map(line).collect();
        lines.push(format!("... {} more", count - (most - 1)));
        lines.push(line(count - 1));
        lines
    }

    fn slice_line(&self, slice: &Slice) -> String {
        let k: usize = slice.lanes.iter().map(super::Traversal::len).sum();
        match &slice.lanes[..] {
            [lane] => {
                let tile = self.tile.map_or(0, |tile| k % tile.k);
                let residue = match (tile, lane.partial()) {
                    (0, _) => String::new(),
                    (residue, Some((i, length))) => format!(
                        "; residue {residue}: instruction {i} has {length} of {} k",
                        lane.instruction_k
                    ),
                    (residue, None) => format!("; residue {residue}"),
                };
                format!("{k} k, {}{residue}", lane.describe())
            }
            lanes => {
                let shown: Vec<String> = lanes
                    .iter()
                    .take(3)
                    .map(super::Traversal::describe)
                    .collect();
                let more = match lanes.len() {
                    0..=3 => String::new(),
                    count => format!(", ... {count} lanes"),
                };
                format!("{k} k: {}{more}", shown.join(" | "))
            }
        }
    }
}
