//! What a policy says of operations between products. `docs/policy.md` specifies it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Policy;
use super::policy::{ScopeRule, refused};
use crate::check::{
    CheckError, MAX_MISMATCHES, Operation, PreparedOperation, Source, Span, Strictness,
};
use crate::emu::{Catalogue, Evidence};
use crate::io::printable;
use crate::ops;

/// Which operations may be judged, and by which rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OperationRule {
    /// These alone: `rms_norm` is all of its variants, `rms_norm vllm` one; null for all, an empty list for none.
    pub variants: Option<Vec<String>>,
    /// Variant files, too.
    pub files: bool,
    /// Rules that are known at least so well, the tensor core's included; null for all.
    pub evidence: Option<Evidence>,
    /// Tiles may be others than the variant's.
    pub changes: bool,
    /// The factor of scores may be said. With 0 queries and keys count for nothing.
    pub factors: bool,
    /// The largest `eps`; null for any. Beside a huge one the operand counts for nothing.
    pub largest_eps: Option<f64>,
}

impl Default for OperationRule {
    fn default() -> OperationRule {
        OperationRule {
            variants: None,
            files: false,
            evidence: None,
            changes: true,
            factors: false,
            largest_eps: Some(0.01),
        }
    }
}

impl OperationRule {
    /// Refuses names that nothing has.
    ///
    /// # Errors
    /// A sentence about the first.
    pub(super) fn validate(&self) -> Result<(), String> {
        for name in self.variants.iter().flatten() {
            let (operation, variant) = match name.split_once(' ') {
                Some((operation, variant)) => (operation, Some(variant)),
                None => (name.as_str(), None),
            };
            let found = ops::find(operation, variant);
            found.map_err(|reason| format!("operations.variants: {}", printable(&reason)))?;
        }
        match self.largest_eps.is_none_or(|eps| eps >= 0.0) {
            true => Ok(()),
            false => Err("operations.largest_eps: it must not be negative".into()),
        }
    }

    fn allows(&self, operation: &str, variant: &str) -> bool {
        let own = format!("{operation} {variant}");
        let named = |names: &Vec<String>| names.iter().any(|n| n == operation || *n == own);
        self.variants.as_ref().is_none_or(named)
    }
}

impl Policy {
    /// Refuses an operation that says what it may not; nothing of it has been opened.
    ///
    /// # Errors
    /// The first field that does, and what the policy has instead.
    pub fn admit_operation(&self, asked: &Operation, root: &Path) -> Result<(), CheckError> {
        let rule = &self.operations;
        if let Some(path) = &asked.variant_file {
            if !rule.files {
                return refused("variant_file", "has the tool's own variants alone");
            }
            self.admit_path("variant_file", root, path)?;
        } else if let Some(operation) = &asked.operation
            // One that nobody knows has no verdict anyway.
            && let Ok(variant) = ops::find(operation, asked.variant.as_deref())
            && !rule.allows(operation, &variant.name)
        {
            let names = rule.variants.iter().flatten();
            let names: Vec<_> = names.map(String::as_str).collect();
            let own = format!("{operation} {}", variant.name);
            return match names[..] {
                [] => refused("operation", "has no operations between products"),
                _ => refused(
                    "operation",
                    &format!("has these alone: {}; this is {own}", names.join(", ")),
                ),
            };
        }
        if asked.tile.is_some() && !rule.changes {
            return refused("tile", "has tiles as they are in the variants");
        }
        if asked.softmax_scale.is_some() && !rule.factors {
            return refused(
                "softmax_scale",
                "has no factor of scores but 1/sqrt(d), as another can make queries and keys count for nothing",
            );
        }
        if let (Some(eps), Some(most)) = (asked.eps, rule.largest_eps) {
            // Nor is NaN one.
            if !(0.0..=most).contains(&f64::from(f32::from_bits(eps.0))) {
                return refused(
                    "eps",
                    &format!("has it between 0 and {most}; this one is {eps}"),
                );
            }
        }
        self.admit_part_of(asked)?;
        if let (Some(arch), Some(names)) = (&asked.arch, &self.models.architectures) {
            let catalogue = Catalogue::builtin();
            let of = |name: &String| catalogue.find(name).ok().map(|found| found.name.clone());
            if of(arch).is_some_and(|own| !names.iter().any(|name| of(name) == Some(own.clone()))) {
                return refused("arch", &format!("has these alone: {}", names.join(", ")));
            }
        }
        for (role, source) in asked.sources() {
            let field = role.field();
            match &source {
                Source::File(path) => self.admit_path(field, root, path)?,
                Source::Generated(_) if !self.paths.generated => {
                    return refused(field, "has operands from files alone");
                }
                Source::Generated(_) => {}
                Source::Memory => return refused(field, "has operands from files"),
            }
        }
        match &asked.seed_from {
            Some(path) => self.admit_path("seed_from", root, path),
            None => Ok(()),
        }
    }

    /// What of the result is compared, how, and how much of it is listed.
    fn admit_part_of(&self, asked: &Operation) -> Result<(), CheckError> {
        let rows = asked.rows.is_some_and(|rows| rows != Span::ALL);
        let parts = [("sample", asked.sample.is_some()), ("rows", rows)];
        let part = parts.into_iter().find(|(_, given)| *given);
        if let (Some((field, _)), ScopeRule::Whole) = (part, self.scope) {
            return refused(field, "has all of the result compared");
        }
        for (field, said, rule) in [
            ("nan", asked.nan, self.nan),
            ("zero", asked.zero, self.zero),
        ] {
            if said == Some(Strictness::Any) && rule == Strictness::Exact {
                return refused(field, "has every bit compared");
            }
        }
        let listed = asked.max_mismatches.unwrap_or(MAX_MISMATCHES) as u64;
        match self.limits.mismatches {
            Some(most) if listed > most => {
                refused("max_mismatches", &format!("has at most {most} listed"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what shows only when an operation is prepared: how its rule is known, and how much work it is.
    ///
    /// # Errors
    /// What it is, and what the policy has instead.
    pub fn admit_prepared_operation(&self, prepared: &PreparedOperation) -> Result<(), CheckError> {
        let (whole, unit) = prepared.evidence();
        if let Some(least) = self.operations.evidence.filter(|least| whole < *least) {
            let rule =
                format!("has rules known by {least} at least; this one's evidence is {whole}");
            return refused("operation", &rule);
        }
        if let (Some(least), Some(unit)) = (self.models.evidence, unit)
            && unit < least
        {
            let rule = format!(
                "has models known by {least} at least; the tensor core's evidence is {unit}"
            );
            return refused("arch", &rule);
        }
        let products = prepared.work()?;
        match self.limits.products {
            Some(most) if products > most => {
                let rule =
                    format!("allows a case {most} products of numbers; this one has {products}");
                refused("operation", &rule)
            }
            _ => Ok(()),
        }
    }
}
