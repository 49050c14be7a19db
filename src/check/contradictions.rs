//! Fields that contradict each other, or that need another one, which is missing.

use super::choices::Strictness;
use super::error::CheckError;
use super::fields::RequestFields;
use crate::emu::SparseLayout;

/// Fields that exclude each other.
const EXCLUSIVE: &[[&str; 2]] = &[
    ["arch", "model"],
    ["d", "d_digest"],
    ["d_digest", "nan"],
    ["d_digest", "zero"],
    ["d_digest", "against"],
    ["d_digest", "tree"],
    ["d_digest", "sample"],
    ["d_digest", "rows"],
    ["d_digest", "cols"],
    ["d_digest", "region"],
    ["tree", "sample"],
    ["tree", "rows"],
    ["tree", "cols"],
    ["tree", "region"],
    ["region", "rows"],
    ["region", "cols"],
    ["seed", "seed_from"],
    // Which makes sure of the same.
    ["against", "seed_from"],
];

/// Where the order of the sums comes from: one place.
const ORDERS: [&str; 5] = [
    "schedule",
    "schedule_file",
    "kernel",
    "kernel_log",
    "kernel_table",
];

/// What a kernel's text determines: a change would be another kernel.
const OF_A_SCHEDULE: [&str; 7] = [
    "residue",
    "split",
    "grain",
    "partials",
    "sum_order",
    "workers",
    "promote",
];

/// Fields that need another one.
const DEPENDENT: &[[&str; 2]] = &[
    ["scale_a", "scale_b"],
    ["weights", "scale_b"],
    ["zero_b", "weights"],
    ["split", "split_k"],
    ["beta", "c"],
    ["bias_dtype", "bias"],
    ["azp", "azp_adj"],
    ["seed", "sample"],
    ["seed_from", "sample"],
    ["seed_from", "beacon"],
    ["beacon", "seed_from"],
    ["block_rows", "tree"],
    ["sparse_layout", "sparse_a"],
    ["packer_l1_acc", "in0_block_w"],
];

/// What completes a kernel's text.
const OF_A_KERNEL: [&str; 7] = [
    "reduction",
    "partition",
    "custom",
    "accumulation",
    "multiprocessors",
    "rotation",
    "whole_remainder",
];

impl RequestFields {
    /// Whether a field is given; one with its default value is not.
    fn gives(&self, field: &str) -> bool {
        match field {
            "nan" => self.nan == Some(Strictness::Any),
            "zero" => self.zero == Some(Strictness::Any),
            "sparse_layout" => self
                .sparse_layout
                .is_some_and(|it| it != SparseLayout::Words),
            _ => self.says(field),
        }
    }

    /// Refuses fields that contradict each other.
    pub fn validate(&self) -> Result<(), CheckError> {
        for [one, other] in EXCLUSIVE {
            if self.gives(one) && self.gives(other) {
                return Err(CheckError::exclusive(one, other));
            }
        }
        self.validate_kernel()?;
        match (self.gives("weights"), self.gives("scale_a")) {
            (true, true) => return Err(CheckError::exclusive("weights", "scale_a")),
            (false, false) if self.gives("scale_b") => {
                return Err(CheckError::needs("scale_b", "scale_a"));
            }
            _ => {}
        }
        for [one, other] in DEPENDENT {
            if self.gives(one) && !self.gives(other) {
                return Err(CheckError::needs(one, other));
            }
        }
        Ok(())
    }

    /// The order of the sums comes from one place, and what completes a kernel's text needs such a text.
    fn validate_kernel(&self) -> Result<(), CheckError> {
        let given =
            |fields: &[&'static str]| fields.iter().copied().find(|field| self.gives(field));
        let orders: Vec<_> = ORDERS
            .into_iter()
            .filter(|order| self.gives(order))
            .collect();
        if let [one, other, ..] = orders[..] {
            return Err(CheckError::exclusive(one, other));
        }
        let text = given(&ORDERS[2..]);
        if let (Some(text), Some(change)) = (text, given(&OF_A_SCHEDULE)) {
            return Err(CheckError::exclusive(text, change));
        }
        if let (None, Some(answer)) = (text, given(&OF_A_KERNEL)) {
            return Err(CheckError::needs(answer, "kernel"));
        }
        if self.gives("workspace") && !self.gives("kernel_table") {
            Err(CheckError::needs("workspace", "kernel_table"))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_declared() {
        let declared: Vec<_> = RequestFields::about()
            .iter()
            .map(|field| field.name)
            .collect();
        let pairs = EXCLUSIVE.iter().chain(DEPENDENT).flatten();
        let lists = [&ORDERS[..], &OF_A_SCHEDULE, &OF_A_KERNEL].concat();
        for field in pairs.chain(&lists) {
            assert!(declared.contains(field), "{field}");
        }
    }
}
