//! What `compare` found, as data. `docs/comparing.md` is its contract.

use serde::Serialize;

use crate::forms::MismatchMap;
use crate::identify::document::Identified;
use crate::num::Format;
use crate::report::{Bucket, Cause, Classes, Comparison, Input, Kind, Largest, Place, Tool};

/// Value of the `schema` field.
pub const COMPARED: &str = "tcverify.compared/1";

/// Everything that there is to say of two results. Holds nothing that differs between two runs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Compared {
    pub schema: &'static str,
    pub tool: Tool,
    pub verdict: Answer,
    /// Which of the two something gives; absent where they are equal, or nothing is known of what was multiplied.
    pub explained: Option<Explained>,
    /// What separates the two explanations.
    pub relation: Option<Relation>,
    /// Whether no pair of explanations as likely is separated by something else.
    pub only_relation: bool,
    /// The one that only a fault or a loss of products gives, where the other is right by its own rule.
    pub wrong: Option<Side>,
    pub mismatch_count: u64,
    /// In which both were compared.
    pub format: Format,
    /// The one that was rounded to it, to nearest even.
    pub rounded: Option<Side>,
    /// Both files are of FP32, and all their numbers are of `format`.
    pub widened: bool,
    /// Whether one is the other transposed.
    pub transposed: bool,
    /// The rows that were compared, first and one past the last, if not all were: of the left, of the right.
    pub rows: Option<[[usize; 2]; 2]>,
    pub left: ResultFound,
    pub right: ResultFound,
    /// The operands of each side.
    pub operands: Vec<OperandPair>,
    pub differences: Differing,
    /// What places and bits say, in sentences.
    pub pattern: Vec<String>,
    pub places: Vec<Place>,
    pub correctly_rounded: Option<CorrectlyRounded>,
    /// What libraries say of the two kernels, if they were asked.
    pub kernels: Option<KernelsCompared>,
    /// The first element that differs, as both compute it.
    pub side_by_side: Option<SideBySide>,
    #[serde(skip)]
    pub comparison: Comparison,
    #[serde(skip)]
    pub map: Option<MismatchMap>,
    /// Commands that tell more.
    pub next: Vec<String>,
    /// The result that each of them is about.
    #[serde(skip)]
    pub next_of: Vec<Side>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Equal,
    Different,
    /// So do the operands.
    InputsDiffer,
}

/// Which results something gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Explained {
    Both,
    Left,
    Right,
    Neither,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Left,
    Right,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::Left, Side::Right];

    pub(super) fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
        }
    }
}

/// What two computations do not have in common, what separates least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Nothing: the same computation, of other operands.
    Same,
    /// The format that the same sums were rounded to.
    Rounding,
    /// What becomes of the same sums: factors or a function.
    Epilogue,
    /// The order of additions, by the same unit.
    Order,
    /// The unit, in the same order of additions.
    Unit,
    UnitAndOrder,
    /// The format in which operands are multiplied, and with it the unit.
    Operands,
}

/// One result, and what gives it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ResultFound {
    pub input: Input,
    /// What was searched for, if anything was.
    pub searched: Option<Searched>,
    /// What gives it: of those that do, the one that has most in common with the other side's.
    pub by: Option<By>,
    /// Of a result that nothing gives: what its differences from the other side's rule come from, if that is known.
    pub causes: Vec<Cause>,
}

/// How much was searched for one result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Searched {
    /// Models alone, and candidates under schedules.
    pub models: usize,
    pub schedules: usize,
    pub untested: usize,
    pub fits: usize,
    /// Some of those that give the result as well as the one that is told.
    pub others: Vec<String>,
}

/// A computation that gives a result.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct By {
    #[serde(flatten)]
    pub model: Identified,
    /// Whether it gives every element, or those of a sample.
    pub in_full: bool,
    /// Elements of the sample that it was tested on.
    pub tested: usize,
}

/// An operand of both sides.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OperandPair {
    /// `a`, `b`, `c` ...
    pub role: &'static str,
    /// SHA-256 of the elements: left, right.
    pub payload_sha256: [String; 2],
    pub same: bool,
}

/// Which elements differ, and how; ulps count from left to right.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Differing {
    pub elements: u64,
    pub mismatches: u64,
    pub mismatch_percent: f64,
    pub rows: u64,
    pub rows_touched: u64,
    pub columns: u64,
    pub columns_touched: u64,
    pub classes: Classes,
    pub largest: Option<Largest>,
    pub histogram: Vec<Bucket>,
    /// The first in index order.
    pub first: Vec<Difference>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Difference {
    pub index: Vec<usize>,
    /// Codes in hexadecimal, as wide as the format.
    pub left: String,
    pub right: String,
    pub left_value: String,
    pub right_value: String,
    pub ulp: Option<i128>,
    pub xor: String,
    pub class: Kind,
}

impl From<&Comparison> for Differing {
    fn from(c: &Comparison) -> Differing {
        let first = c.first.iter().map(|m| Difference {
            index: m.index.clone(),
            left: m.reproduced.clone(),
            right: m.given.clone(),
            left_value: m.reproduced_value.clone(),
            right_value: m.given_value.clone(),
            ulp: m.ulp,
            xor: m.xor.clone(),
            class: m.class,
        });
        Differing {
            elements: c.elements,
            mismatches: c.mismatches,
            mismatch_percent: c.mismatch_percent,
            rows: c.rows,
            rows_touched: c.rows_touched,
            columns: c.columns,
            columns_touched: c.columns_touched,
            classes: c.classes,
            largest: c.largest.clone(),
            histogram: c.histogram.clone(),
            first: first.collect(),
        }
    }
}

/// Of some differing elements: how many of each result are the exact sum, rounded once to nearest even.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CorrectlyRounded {
    pub elements: u64,
    /// Left, right.
    pub rounded: [u64; 2],
    pub neither: u64,
    /// The largest distance from it, in ulps: left, right; null where a NaN has none.
    pub farthest: [Option<u128>; 2],
}

/// What two texts of libraries say of the order of sums.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KernelsCompared {
    /// In what they differ; empty if they say the same order, or nothing is known.
    pub differing: Vec<String>,
    /// Why they cannot be compared.
    pub undecided: Option<String>,
}

/// An element as both sides compute it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SideBySide {
    pub index: Vec<usize>,
    /// Sums at the beginning that both have, of the same products.
    pub equal: usize,
    /// All sums on the way: left, right.
    pub count: [usize; 2],
    /// The last equal one, the next few, and the last of each side.
    pub sums: [Vec<Sum>; 2],
    /// Where both are one chain over the same products.
    pub parting: Option<Parting>,
}

/// A sum on the way to an element.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Sum {
    /// Which products it has taken in, or what was done.
    pub what: String,
    /// In hexadecimal, and in decimal.
    pub code: String,
    pub value: String,
}

/// Where two chains over the same products part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Parting {
    pub index: Vec<usize>,
    /// After so many products the accumulators differ for the first time.
    pub products: usize,
    /// Both accumulators there, in hexadecimal and in decimal: left, right.
    pub codes: [String; 2],
    pub values: [String; 2],
}
