//! Checks of a case by a policy, before anything of it is opened and when it is prepared.

use std::path::Path;

use super::confined::{Freedom, confined};
use super::rules::{AdmissionPolicy, ClaimRule, ScopeRule, Silence};
use crate::check::{
    Check, CheckError, Expected, ModelSource, Naming, ScheduleSource, Source, Span, Strictness,
    Subject,
};
use crate::compose::Request;
use crate::compose::verify::request_of;
use crate::emu::Catalogue;
use crate::io::{escaped_path, printable};
use crate::operation::Operation;
use crate::ops;
use crate::report::{Report, Rule};
use crate::role::ByRole;
use crate::words::Word;

impl AdmissionPolicy {
    /// Refuses a file of the cases themselves that may not be read.
    pub fn admit_file(&self, root: &Path, path: &Path) -> Result<(), String> {
        confined(root, path, self.freedom())
    }

    fn freedom(&self) -> Freedom {
        Freedom {
            outside: self.paths.outside,
            links: self.paths.links,
        }
    }

    /// Refuses more cases than there may be.
    pub fn admit_number(&self, cases: usize) -> Result<(), String> {
        match self.limits.cases {
            Some(most) if cases as u64 > most => {
                let s = if cases == 1 { "" } else { "s" };
                Err(format!(
                    "brings the total to {cases} case{s}; the policy allows {most}"
                ))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a request with a field that the policy does not allow; nothing of it has been opened. Paths start in the
    /// folder `root`.
    ///
    /// # Errors
    /// The first such field, and what the policy allows instead.
    pub fn admit(&self, request: &Request, root: &Path) -> Result<(), CheckError> {
        if let Request::Operation(operation) = request {
            self.admit_variant(operation)?;
        }
        self.admit_compared(request)?;
        if let Request::Product(check) = request
            && matches!(check.model.from, ModelSource::File(_))
            && !self.models.files
        {
            return refused("model", "allows only the catalogue's arithmetic");
        }
        if let Some(name) = request.arch() {
            self.admit_architecture(name)?;
        }
        if let Request::Product(check) = request {
            self.admit_schedule(check)?;
        }
        self.admit_sources(&request.sources(), root)?;
        for (field, path) in request.documents() {
            self.admit_path(field, root, &path)?;
        }
        Ok(())
    }

    /// Refuses a report whose request the policy does not allow; paths start in this folder.
    pub fn admit_report(&self, report: &Report) -> Result<(), CheckError> {
        self.admit(&request_of(report)?, Path::new(""))
    }

    /// Refuses what is known only of a prepared case: the evidence of its rule, what its schedule leaves out, and how much
    /// work it is.
    ///
    /// # Errors
    /// What is refused, and what the policy allows instead.
    pub fn admit_prepared(&self, prepared: &dyn Subject) -> Result<(), CheckError> {
        let rule = prepared.rule();
        // Whether a schedule file may judge is a rule of its own.
        let evidence = match &rule {
            Rule::Product(rule) => rule.model.evidence,
            Rule::Operation(rule) => rule.evidence,
        };
        let (field, least, work) = match &rule {
            Rule::Product(_) => ("arch", self.models.evidence, "a"),
            Rule::Operation(_) => ("operation", self.operations.evidence, "operation"),
        };
        if let Some(least) = least.filter(|least| evidence < *least) {
            let rule =
                format!("requires rules of evidence {least} or better; this one is {evidence}");
            return refused(field, &rule);
        }
        match &rule {
            Rule::Product(rule) => {
                let schedule = rule.schedule.as_ref();
                if !self.schedules.omissions && schedule.is_some_and(|s| !s.omitted_k.is_empty()) {
                    return refused(
                        "schedule",
                        "requires every product in D, but this schedule omits some",
                    );
                }
            }
            Rule::Operation(rule) => {
                let unit = rule.multiplied_by.as_ref().map(|unit| unit.evidence);
                if let (Some(least), Some(unit)) = (self.models.evidence, unit)
                    && unit < least
                {
                    let rule = format!(
                        "requires models of evidence {least} or better; the tensor core's model is {unit}"
                    );
                    return refused("arch", &rule);
                }
            }
        }
        let products = prepared.cost();
        match self.limits.products {
            Some(most) if products > most => {
                let rule =
                    format!("limits a case to {most} multiply-adds; this one has {products}");
                refused(work, &rule)
            }
            _ => Ok(()),
        }
    }

    /// Refuses a file of a case that may not be read.
    pub fn admit_path(
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

    fn admit_sources(&self, sources: &ByRole<Source>, root: &Path) -> Result<(), CheckError> {
        for (role, source) in sources {
            let field = role.field();
            match source {
                Source::File(path) => self.admit_path(field, root, path)?,
                Source::Generated(_) if !self.paths.generated => {
                    return refused(field, "allows operands only from files");
                }
                Source::Generated(_) => {}
                Source::Memory => return refused(field, "allows no operands from files"),
            }
        }
        Ok(())
    }

    /// What of the result is compared, how, and how much of it is listed.
    fn admit_compared(&self, request: &Request) -> Result<(), CheckError> {
        let result = request.called();
        let digest = match request {
            Request::Product(_) => "d_digest",
            Request::Operation(_) => "y_digest",
        };
        let scope = request.selection()?;
        let parts = [
            ("sample", scope.sample.is_some()),
            ("rows", scope.rows != Span::ALL),
            ("cols", scope.columns != Span::ALL),
        ];
        let part = parts.iter().find(|(_, given)| *given);
        if let (Some((field, _)), ScopeRule::Whole) = (part, self.scope) {
            return refused(field, &format!("requires a comparison of all of {result}"));
        }
        let tolerance = request.tolerance();
        for (field, any, rule) in [
            ("nan", tolerance.any_nan, self.nan),
            ("zero", tolerance.any_zero, self.zero),
        ] {
            if any && rule == Strictness::Exact {
                return refused(field, "requires a comparison of every bit");
            }
        }
        if let Expected::PayloadSha256(_) = request.expected()? {
            if !self.claims.contains(&ClaimRule::Digest) {
                let rule = format!("requires the array {result}, not just its digest");
                return refused(digest, &rule);
            }
        } else if !self.claims.contains(&ClaimRule::Array) {
            return refused("d", "allows only digests");
        }
        let searched = match request {
            Request::Product(check) => check.ambiguity,
            Request::Operation(_) => true,
        };
        let silent = [
            ("no_causes", Silence::Causes, !request.looks_for_causes()),
            ("no_ambiguity", Silence::Ambiguity, !searched),
            // A report with a tree does not tell other arithmetics either.
            (
                "tree",
                Silence::Ambiguity,
                request.naming() != Naming::Payload,
            ),
        ];
        let refused_silence = silent
            .iter()
            .find(|(_, what, silent)| *silent && !self.silenced.contains(what));
        if let Some((field, what, _)) = refused_silence {
            return refused(
                field,
                &format!("requires complete reports, including {}", what.word()),
            );
        }
        if !request.engine().is_among(&self.engines) {
            let engines: Vec<_> = self.engines.iter().map(|engine| engine.word()).collect();
            return refused(
                "engine",
                &format!("allows only these: {}", engines.join(", ")),
            );
        }
        match self.limits.mismatches {
            Some(most) if request.max_mismatches() as u64 > most => refused(
                "max_mismatches",
                &format!("allows at most {most} listed mismatches"),
            ),
            _ => Ok(()),
        }
    }

    fn admit_architecture(&self, name: &str) -> Result<(), CheckError> {
        let catalogue = Catalogue::builtin();
        // An unknown architecture has no verdict anyway.
        let (Ok(found), Some(names)) = (catalogue.find(name), &self.models.architectures) else {
            return Ok(());
        };
        let mut allowed = names.iter().filter_map(|name| catalogue.find(name).ok());
        if allowed.any(|allowed| allowed.name == found.name) {
            Ok(())
        } else {
            refused("arch", &format!("allows only these: {}", names.join(", ")))
        }
    }

    /// Which variant of an operation judges, and which of its numbers the case sets.
    fn admit_variant(&self, request: &Operation) -> Result<(), CheckError> {
        let rule = &self.operations;
        if request.variant_file.is_some() {
            if !rule.files {
                return refused("variant_file", "allows only the tool's own variants");
            }
        } else if let Some(operation) = &request.operation
            // An unknown operation has no verdict anyway.
            && let Ok(variant) = ops::find(operation, request.variant.as_deref())
            && !rule.allows(operation, &variant.name)
        {
            let names = rule.variants.iter().flatten();
            let names: Vec<_> = names.map(String::as_str).collect();
            let own = format!("{operation} {}", variant.name);
            return match names[..] {
                [] => refused("operation", "allows no operations between products"),
                _ => refused(
                    "operation",
                    &format!("allows only these: {}; this is {own}", names.join(", ")),
                ),
            };
        }
        if request.tile.is_some() && !rule.changes {
            return refused("tile", "allows only the variants' own tiles");
        }
        if request.softmax_scale.is_some() && !rule.factors {
            return refused(
                "softmax_scale",
                "allows no factor of scores but 1/sqrt(d), because another can cancel the effect of queries and keys",
            );
        }
        if let (Some(eps), Some(most)) = (request.eps, rule.largest_eps) {
            // NaN is refused, too.
            if !(0.0..=most).contains(&f64::from(f32::from_bits(eps.0))) {
                return refused("eps", &format!("allows 0 to {most}; this one is {eps}"));
            }
        }
        Ok(())
    }

    fn admit_schedule(&self, check: &Check) -> Result<(), CheckError> {
        let name = match &check.schedule.from {
            ScheduleSource::File(_) if !self.schedules.files => {
                return refused("schedule_file", "allows only the catalogue's schedules");
            }
            // A kernel text, too, is a schedule that the case makes.
            ScheduleSource::Kernel(kernel) if !self.schedules.files => {
                return refused(
                    kernel.source.field(),
                    "allows only the catalogue's schedules",
                );
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
                &format!("allows only these: {}", names.join(", ")),
            );
        }
        let changed = &check.schedule.overrides;
        let factors = [
            ("alpha", changed.alpha.is_some()),
            ("beta", changed.beta.is_some()),
            ("scale_result", changed.scale_result.is_some()),
        ];
        if let Some((field, _)) = factors.iter().find(|(_, given)| *given)
            && !self.schedules.factors
        {
            return refused(
                field,
                "allows no factors, because they can cancel the effect of operands",
            );
        }
        if changed.activation.is_some() && !self.schedules.activations {
            return refused(
                "activation",
                "allows no activation (`schedules.activations`), because beside a large bias it can cancel the effect \
                 of operands",
            );
        }
        let rest = crate::emu::schedule::Overrides {
            activation: None,
            alpha: None,
            beta: None,
            scale_result: None,
            ..changed.clone()
        };
        if !rest.is_empty() && !self.schedules.changes {
            return refused(
                "schedule",
                "allows schedules only as they are in the catalogue",
            );
        }
        Ok(())
    }
}

/// The error of a field that the policy does not allow.
fn refused(field: &'static str, rule: &str) -> Result<(), CheckError> {
    let reason = format!("`{field}`: the policy {}", printable(rule));
    Err(CheckError::request(field, reason))
}
