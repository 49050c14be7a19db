//! What a policy says of a case, before anything of it is opened and when it is prepared.

use std::path::Path;

use super::Policy;
use super::policy::{ClaimRule, ScopeRule, Silence};
use crate::check::verify::{Asked, Written};
use crate::check::{
    Check, CheckError, Claim, EngineChoice, MAX_MISMATCHES, ModelSource, Naming, Operation,
    Prepared, PreparedOperation, ScheduleSource, Source, Span, Strictness,
};
use crate::emu::{Catalogue, Evidence};
use crate::io::{Freedom, confined, escaped_path, printable};
use crate::ops;
use crate::role::Role;
use crate::words::Word;

/// How a case has its result compared.
struct Compared<'a> {
    /// What messages call it.
    result: &'static str,
    /// Fields that make it a part, and whether they are given.
    parts: &'a [(&'static str, bool)],
    any_nan: bool,
    any_zero: bool,
    /// How many mismatches are listed.
    listed: usize,
    /// The field with a digest in the place of the result's file, if that is all there is.
    digest: Option<&'static str>,
    /// Fields that leave out what a report says.
    silent: &'a [(&'static str, Silence, bool)],
    engine: EngineChoice,
}

impl Policy {
    /// Refuses a file of the cases themselves that may not be read.
    pub(super) fn admit_file(&self, root: &Path, path: &Path) -> Result<(), String> {
        confined(root, path, self.freedom())
    }

    fn freedom(&self) -> Freedom {
        Freedom {
            outside: self.paths.outside,
            links: self.paths.links,
        }
    }

    /// Refuses more cases than there may be.
    pub(super) fn admit_number(&self, cases: usize) -> Result<(), String> {
        match self.limits.cases {
            Some(most) if cases as u64 > most => {
                let s = if cases == 1 { "" } else { "s" };
                Err(format!(
                    "makes it {cases} case{s}; the policy allows {most}"
                ))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a product that says what it may not; nothing of it has been opened. Paths start in the folder `root`.
    ///
    /// # Errors
    /// The first field that does, and what the policy has instead.
    pub fn admit(&self, check: &Check, root: &Path) -> Result<(), CheckError> {
        let scope = &check.scope;
        self.admit_compared(&Compared {
            result: "D",
            parts: &[
                ("sample", scope.sample.is_some()),
                ("rows", scope.rows != Span::ALL),
                ("cols", scope.columns != Span::ALL),
            ],
            any_nan: check.policy.any_nan,
            any_zero: check.policy.any_zero,
            listed: check.max_mismatches,
            digest: matches!(check.claim, Claim::PayloadSha256(_)).then_some("d_digest"),
            silent: &[
                ("no_causes", Silence::Causes, !check.causes),
                (
                    "no_discrimination",
                    Silence::Discrimination,
                    !check.discrimination,
                ),
                // A tree's report says nothing of others either.
                (
                    "tree",
                    Silence::Discrimination,
                    check.naming != Naming::Payload,
                ),
            ],
            engine: check.engine,
        })?;
        match &check.model.from {
            ModelSource::File(_) if !self.models.files => {
                return refused("model", "has the catalogue's arithmetic alone");
            }
            ModelSource::File(_) => {}
            ModelSource::Catalogue(name) => self.admit_architecture(name)?,
        }
        self.admit_schedule(check)?;
        self.admit_sources(check.sources(), root)?;
        for (field, path) in check.documents() {
            self.admit_path(field, root, path)?;
        }
        Ok(())
    }

    /// Refuses an operation that says what it may not; nothing of it has been opened.
    ///
    /// # Errors
    /// The first field that does, and what the policy has instead.
    pub fn admit_operation(&self, asked: &Operation, root: &Path) -> Result<(), CheckError> {
        self.admit_variant(asked, root)?;
        self.admit_compared(&Compared {
            result: "the result",
            parts: &[
                ("sample", asked.sample.is_some()),
                ("rows", asked.rows.is_some_and(|rows| rows != Span::ALL)),
            ],
            any_nan: asked.nan == Some(Strictness::Any),
            any_zero: asked.zero == Some(Strictness::Any),
            listed: asked.max_mismatches.unwrap_or(MAX_MISMATCHES),
            digest: asked.y_digest.is_some().then_some("y_digest"),
            silent: &[("no_causes", Silence::Causes, asked.no_causes == Some(true))],
            engine: asked.engine.unwrap_or(EngineChoice::Fast),
        })?;
        if let Some(arch) = &asked.arch {
            self.admit_architecture(arch)?;
        }
        let sources = asked.sources();
        let sources = sources.iter().map(|(role, source)| (*role, source));
        self.admit_sources(sources, root)?;
        match &asked.seed_from {
            Some(path) => self.admit_path("seed_from", root, path),
            None => Ok(()),
        }
    }

    /// Refuses a report whose request says what it may not; paths start in this folder.
    ///
    /// # Errors
    /// As of [`Policy::admit`].
    pub fn admit_report(&self, report: &Written) -> Result<(), CheckError> {
        match report.asked()? {
            Asked::Product(check) => self.admit(&check, Path::new("")),
            Asked::Operation(asked) => self.admit_operation(&asked, Path::new("")),
        }
    }

    /// Refuses what shows only when a product is prepared: how its rule is known, what its schedule leaves out, and
    /// how much work it is.
    ///
    /// # Errors
    /// What it is, and what the policy has instead.
    pub fn admit_prepared(&self, prepared: &Prepared) -> Result<(), CheckError> {
        // A file says of itself what it likes.
        let evidence = match prepared.model().file() {
            Some(_) => Evidence::Claimed,
            None => prepared.choice().rule.evidence,
        };
        if let Some(least) = self.models.evidence.filter(|least| evidence < *least) {
            let rule =
                format!("has rules known by {least} at least; this one's evidence is {evidence}");
            return refused("arch", &rule);
        }
        let scheduled = prepared.scheduled();
        if !self.schedules.omissions && scheduled.is_some_and(|s| !s.omitted_k.is_empty()) {
            return refused(
                "schedule",
                "has every product in D, and this schedule leaves some out",
            );
        }
        self.admit_work("a", prepared.replay().work())
    }

    /// The same of an operation: how its rule is known, and how much work it is.
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
        self.admit_work("operation", prepared.work()?)
    }

    /// Refuses a file of a case that may not be read.
    pub(super) fn admit_path(
        &self,
        field: &'static str,
        root: &Path,
        path: &Path,
    ) -> Result<(), CheckError> {
        confined(root, path, self.freedom()).map_err(|reason| {
            let path = escaped_path(path);
            CheckError::request(
                field,
                format!("`{field}` {path}: {reason}; the policy forbids that"),
            )
        })
    }

    fn admit_sources<'a>(
        &self,
        sources: impl Iterator<Item = (Role, &'a Source)>,
        root: &Path,
    ) -> Result<(), CheckError> {
        for (role, source) in sources {
            let field = role.field();
            match source {
                Source::File(path) => self.admit_path(field, root, path)?,
                Source::Generated(_) if !self.paths.generated => {
                    return refused(field, "has operands from files alone");
                }
                Source::Generated(_) => {}
                Source::Memory => return refused(field, "has operands from files"),
            }
        }
        Ok(())
    }

    /// What of the result is compared, how, and how much of it is listed.
    fn admit_compared(&self, of: &Compared) -> Result<(), CheckError> {
        let part = of.parts.iter().find(|(_, given)| *given);
        if let (Some((field, _)), ScopeRule::Whole) = (part, self.scope) {
            return refused(field, &format!("has all of {} compared", of.result));
        }
        for (field, any, rule) in [
            ("nan", of.any_nan, self.nan),
            ("zero", of.any_zero, self.zero),
        ] {
            if any && rule == Strictness::Exact {
                return refused(field, "has every bit compared");
            }
        }
        match of.digest {
            Some(field) if !self.claims.contains(&ClaimRule::Digest) => {
                return refused(
                    field,
                    &format!("has {} compared, not its digest alone", of.result),
                );
            }
            None if !self.claims.contains(&ClaimRule::Array) => {
                return refused("d", "has digests alone");
            }
            _ => {}
        }
        let silent = of
            .silent
            .iter()
            .find(|(_, what, said)| *said && !self.silenced.contains(what));
        if let Some((field, what, _)) = silent {
            return refused(
                field,
                &format!("has reports say everything, {} too", what.word()),
            );
        }
        if !of.engine.is_among(&self.engines) {
            let engines: Vec<_> = self.engines.iter().map(|engine| engine.word()).collect();
            return refused(
                "engine",
                &format!("has these alone: {}", engines.join(", ")),
            );
        }
        match self.limits.mismatches {
            Some(most) if of.listed as u64 > most => {
                refused("max_mismatches", &format!("has at most {most} listed"))
            }
            _ => Ok(()),
        }
    }

    fn admit_architecture(&self, name: &str) -> Result<(), CheckError> {
        let catalogue = Catalogue::builtin();
        // One that nobody knows has no verdict anyway.
        let (Ok(found), Some(names)) = (catalogue.find(name), &self.models.architectures) else {
            return Ok(());
        };
        let mut allowed = names.iter().filter_map(|name| catalogue.find(name).ok());
        match allowed.any(|allowed| allowed.name == found.name) {
            true => Ok(()),
            false => refused("arch", &format!("has these alone: {}", names.join(", "))),
        }
    }

    fn admit_work(&self, field: &'static str, products: u64) -> Result<(), CheckError> {
        match self.limits.products {
            Some(most) if products > most => {
                let rule =
                    format!("allows a case {most} products of numbers; this one has {products}");
                refused(field, &rule)
            }
            _ => Ok(()),
        }
    }

    /// Which rule of an operation judges, and which numbers of it are said.
    fn admit_variant(&self, asked: &Operation, root: &Path) -> Result<(), CheckError> {
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
        Ok(())
    }

    fn admit_schedule(&self, check: &Check) -> Result<(), CheckError> {
        let name = match &check.schedule.from {
            ScheduleSource::File(_) if !self.schedules.files => {
                return refused("schedule_file", "has the catalogue's schedules alone");
            }
            // A kernel's words are a schedule of the case's own making, too.
            ScheduleSource::Kernel(kernel) if !self.schedules.files => {
                return refused(kernel.said.field(), "has the catalogue's schedules alone");
            }
            ScheduleSource::File(_) | ScheduleSource::Kernel(_) => None,
            ScheduleSource::Preset(name) => Some(name.as_str()),
            ScheduleSource::Plain => Some("plain"),
        };
        if let (Some(name), Some(names)) = (name, &self.schedules.names)
            && !names.iter().any(|allowed| allowed == name)
        {
            return refused(
                "schedule",
                &format!("has these alone: {}", names.join(", ")),
            );
        }
        let changed = &check.schedule.overrides;
        let factors = [
            ("alpha", changed.alpha.is_some()),
            ("beta", changed.beta.is_some()),
            ("scale_result", changed.scale_result.is_some()),
        ];
        if let Some((field, _)) = factors.iter().find(|(_, said)| *said)
            && !self.schedules.factors
        {
            return refused(
                field,
                "has no factors, which can make operands count for nothing",
            );
        }
        let rest = crate::emu::schedule::Overrides {
            alpha: None,
            beta: None,
            scale_result: None,
            ..changed.clone()
        };
        if !rest.is_empty() && !self.schedules.changes {
            return refused("schedule", "has schedules as they are in the catalogue");
        }
        Ok(())
    }
}

/// A field that says what a policy does not have.
fn refused(field: &'static str, rule: &str) -> Result<(), CheckError> {
    let reason = format!("`{field}`: the policy {}", printable(rule));
    Err(CheckError::request(field, reason))
}
