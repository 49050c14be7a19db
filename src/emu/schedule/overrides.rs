//! What takes the place of a schedule's own constants, for one product.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    AddendAt, Empty, Function, Grain, Level, Merge, Order, Partials, Parts, Residue, Schedule,
    SliceLength, Start,
};
use crate::common::words::{Word, words};
use crate::num::{F32, Factor};

words! {
    /// Which tile of K is the partial one.
    pub enum ResidueChoice {
        /// The first; zeros follow its values
        First = "first",
        /// The first; zeros precede its values
        FirstAligned = "first-aligned",
        /// The last; zeros follow its values
        Last = "last",
    }
}

words! {
    /// How slices of K come together.
    pub enum SplitChoice {
        /// Every slice is added to D as it is stored
        Serial = "serial",
        /// Partial sums are kept and added up at the end, from +0
        Workspace = "workspace",
        /// Slices take tiles in turn; their sums are added up, from the first
        Interleaved = "interleaved",
    }
}

words! {
    /// What a workspace keeps partial sums in.
    pub enum PartialsChoice {
        /// FP32
        F32 = "f32",
        /// D's format, rounded to nearest even
        Result = "result",
    }
}

words! {
    /// In which order partial sums are added.
    pub enum OrderChoice {
        /// One after the other
        Serial = "serial",
        /// From the last to the first
        Reverse = "reverse",
        /// Halves: each of the first half with its partner of the second
        Pairwise = "pairwise",
        /// A tree of neighbours
        Adjacent = "adjacent",
    }
}

words! {
    /// A function of every element, where the schedule has none.
    pub enum ActivationChoice {
        /// The larger of the element and +0; a NaN becomes +0
        Relu = "relu",
        /// The same, but a NaN stays one
        ReluNan = "relu-nan",
    }
}

/// k between two promotions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromoteChoice {
    Never,
    Every(usize),
}

impl FromStr for PromoteChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PromoteChoice, String> {
        match text {
            "never" => Ok(PromoteChoice::Never),
            _ => {
                let every = text.parse().map(PromoteChoice::Every);
                every.map_err(|_| format!("{text:?}: expected a number of k, or never"))
            }
        }
    }
}

impl fmt::Display for PromoteChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromoteChoice::Never => f.write_str("never"),
            PromoteChoice::Every(k) => write!(f, "{k}"),
        }
    }
}

impl Serialize for PromoteChoice {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            PromoteChoice::Never => to.serialize_str("never"),
            PromoteChoice::Every(k) => to.serialize_u64(*k as u64),
        }
    }
}

impl<'de> Deserialize<'de> for PromoteChoice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<PromoteChoice, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(usize),
            Text(String),
        }
        let wanted = "expected a whole number or \"never\"";
        match Written::deserialize(from).map_err(|_| D::Error::custom(wanted))? {
            Written::Number(k) => Ok(PromoteChoice::Every(k)),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// Constants that take the place of a schedule's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Overrides {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tile_k: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residue: Option<ResidueChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_k: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_k: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grain: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partials: Option<PartialsChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_order: Option<OrderChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promote: Option<PromoteChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Factor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<Factor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_result: Option<F32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationChoice>,
}

/// An override that a schedule has no place for. Fields are called by their names in backticks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct OverrideError {
    pub field: &'static str,
    pub reason: String,
}

impl SplitChoice {
    /// Slices of whole tiles, however many.
    fn level(self) -> Level {
        let slices = Parts::Slices {
            count: None,
            grain: None,
            length: SliceLength::Ceil,
            empty: Empty::Zero,
        };
        let (parts, merge) = match self {
            SplitChoice::Serial => (slices, Merge::InPlace {}),
            SplitChoice::Workspace => (slices, Merge::serial(Start::Zero)),
            SplitChoice::Interleaved => {
                let parts = Parts::Interleaved {
                    count: None,
                    grain: None,
                    empty: Empty::Zero,
                };
                (parts, Merge::serial(Start::First))
            }
        };
        Level { parts, merge }
    }
}

impl fmt::Display for Overrides {
    /// `split_k 5, tile_k 64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = serde_json::to_value(self).map_err(|_| fmt::Error)?;
        let given = given.as_object().into_iter().flatten();
        for (i, (field, value)) in given.enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            match (value.as_str(), value.as_f64()) {
                (Some(word), _) => write!(f, "{comma}{field} {word}")?,
                // A factor is an f32.
                (None, Some(factor)) => write!(f, "{comma}{field} {}", factor as f32)?,
                (None, None) => write!(f, "{comma}{field} {value}")?,
            }
        }
        Ok(())
    }
}

impl ResidueChoice {
    fn residue(self) -> Residue {
        match self {
            ResidueChoice::First => Residue::First,
            ResidueChoice::FirstAligned => Residue::FirstAligned,
            ResidueChoice::Last => Residue::Last,
        }
    }
}

impl Overrides {
    pub fn is_empty(&self) -> bool {
        *self == Overrides::default()
    }

    /// Leaves out constants of the main loop that a schedule has itself.
    pub fn forget_own(&mut self, schedule: &Schedule) {
        let own = &schedule.spec;
        let mut same = schedule.clone();
        if self.apply(&mut same).is_ok() && same.spec == *own {
            *self = Overrides::default();
            return;
        }
        self.tile_k = self.tile_k.filter(|tile| own.tile_k != Some(*tile));
        let tiled = self.tile_k.or(own.tile_k).is_some();
        let residue = |choice: &ResidueChoice| tiled && choice.residue() != own.residue;
        self.residue = self.residue.filter(residue);
    }

    /// Changes the schedule. Returns the constants that are changed, with the field and value that did.
    ///
    /// # Errors
    /// The first override that the schedule has no place for, or that no kernel can follow the result.
    pub fn apply(
        &self,
        schedule: &mut Schedule,
    ) -> Result<BTreeMap<String, String>, OverrideError> {
        let name = schedule.name.clone();
        let spec = &mut schedule.spec;
        let mut given = BTreeMap::new();
        let mut note = |constant: &str, field: &str, value: &dyn fmt::Display| {
            given.insert(constant.to_owned(), format!("{field} {value}"));
        };
        let fail = |field, reason| Err(OverrideError { field, reason });
        if let Some(tile) = self.tile_k {
            let before = spec.tile_k.replace(tile);
            note("tile_k", "tile_k", &tile);
            // Kernels that take the operands of a tile apart do so with every tile.
            let terms = spec.split_terms.as_mut();
            if let Some(terms) = terms.filter(|terms| Some(terms.every) == before) {
                let whole = Level::promotion(terms.every).parts;
                terms.every = tile;
                note("split_terms.every", "tile_k", &tile);
                for level in spec.inner.iter_mut().filter(|level| level.parts == whole) {
                    level.parts = Level::promotion(tile).parts;
                    note("inner", "tile_k", &tile);
                }
            }
        }
        if let Some(residue) = self.residue {
            if spec.tile_k.is_none() {
                let reason = format!(
                    "`residue` selects the partial tile, but schedule {name} has no tiles; give `tile_k`"
                );
                return fail("residue", reason);
            }
            spec.residue = residue.residue();
            note("residue", "residue", &residue.word());
        }
        if let Some(k) = self.instruction_k {
            spec.instruction_k = Some(k);
            note("instruction_k", "instruction_k", &k);
        }
        if let Some(slices) = self.slices {
            let Some(fixed) = &mut spec.fixed_point else {
                let reason = format!(
                    "`slices`: schedule {name} takes no FP64 operands apart (cublas-fp64-slices does); `split_k` \
                     gives slices of K"
                );
                return fail("slices", reason);
            };
            fixed.slices = Some(slices);
            note("fixed_point.slices", "slices", &slices);
        }
        if let Some(kind) = self.split {
            spec.split = Some(kind.level());
            note("split", "split", &kind.word());
        }
        if let Some(count) = self.split_k {
            let mut levels = spec.split.iter_mut().chain(&mut spec.inner);
            let Some(open) = levels.find_map(|level| level.parts.count_mut()) else {
                let reason = format!(
                    "`split_k` {count}: schedule {name} does not split K into slices; choose one that does, or how with `split`"
                );
                return fail("split_k", reason);
            };
            *open = Some(count);
            let constant = match spec.split {
                Some(_) => "split.parts.count",
                None => "inner",
            };
            note(constant, "split_k", &count);
        }
        if let Some(k) = self.grain {
            let parts = spec.split.as_mut().map(|split| &mut split.parts);
            let Some(Parts::Slices { grain, .. } | Parts::Interleaved { grain, .. }) = parts else {
                let reason = format!(
                    "`grain`: schedule {name} does not split K into slices; choose one that does, or how with `split`"
                );
                return fail("grain", reason);
            };
            *grain = Some(Grain::K(k));
            note("split.parts.grain", "grain", &k);
        }
        let mut merge = spec.split.as_mut().map(|split| &mut split.merge);
        if let Some(kept) = self.partials {
            let Some(Merge::Sum { partials, .. }) = &mut merge else {
                let reason =
                    format!("`partials`: schedule {name} keeps no partial sums in a workspace");
                return fail("partials", reason);
            };
            *partials = match kept {
                PartialsChoice::F32 => Partials::F32,
                PartialsChoice::Result => Partials::Result,
            };
            note("split.merge.partials", "partials", &kept.word());
        }
        if let Some(wanted) = self.sum_order {
            let Some(Merge::Sum { order, .. }) = &mut merge else {
                let reason = format!("`sum_order`: schedule {name} keeps no partial sums");
                return fail("sum_order", reason);
            };
            *order = match wanted {
                OrderChoice::Serial => Order::Serial,
                OrderChoice::Reverse => Order::Reverse,
                OrderChoice::Pairwise => Order::Pairwise,
                OrderChoice::Adjacent => Order::Adjacent,
            };
            note("split.merge.order", "sum_order", &wanted.word());
        }
        if let Some(count) = self.workers {
            let Some(workers) = spec.workers() else {
                return fail(
                    "workers",
                    format!("`workers`: schedule {name} is not stream-K"),
                );
            };
            *workers = Some(count);
            note("split.parts.groups", "workers", &count);
        }
        if let Some(promote) = self.promote {
            spec.set_promotion(match promote {
                PromoteChoice::Never => None,
                PromoteChoice::Every(every) => Some(every),
            });
            note("inner", "promote", &promote);
        }
        if let Some(activation) = self.activation {
            spec.epilogue.function = Some(match activation {
                ActivationChoice::Relu => Function::Relu,
                ActivationChoice::ReluNan => Function::ReluNan,
            });
            note("epilogue.function", "activation", &activation.word());
        }
        let beta = self.beta.map(|factor| ("beta", factor));
        let factor = beta.or(self.alpha.map(|factor| ("alpha", factor)));
        if let (AddendAt::Start, Some((field, value))) = (spec.addend, factor) {
            // Only an epilogue has such factors.
            spec.addend = AddendAt::Epilogue;
            note("addend", field, &value);
        }
        spec.validate().map_err(|reason| OverrideError {
            field: "schedule",
            reason: format!("schedule {name} with what was given: {reason}"),
        })?;
        Ok(given)
    }
}
