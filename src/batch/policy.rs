//! What the author of cases may say, where that is not whoever judges them. `docs/policy.md` specifies it.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::Digest;

use super::manifest::text_of;
use super::{BatchError, OperationRule};
use crate::check::{Check, CheckError, ModelSource, Prepared, ScheduleSource, Source, Strictness};
use crate::emu::{Catalogue, Evidence};
use crate::envelope;
use crate::io::{Freedom, confined, escaped_path, hex, printable};
use crate::report::Policed;
use crate::words::words;

/// Value of the `schema` field.
pub const POLICY: &str = "tcverify.policy/1";

/// The word for [`Policy::default`] where a file is expected.
pub const STRICT: &str = "strict";

words! {
    /// How much of D has to be compared.
    pub enum ScopeRule {
        /// All of D
        Whole = "whole",
        /// Rows, columns, a region or a sample of it are enough
        Part = "part",
    }
}

words! {
    /// Where reports and the state may be written.
    pub enum OutputRule {
        /// Not into the folder of the cases, where links may lead anywhere and states may be forged
        Outside = "outside",
        /// Wherever they are asked for
        Anywhere = "anywhere",
    }
}

/// What cases may say. The default is strict: all of D, every bit, by the catalogue's arithmetic, out of the
/// folder that holds the cases. A file says what is otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Policy {
    pub schema: String,
    /// How much of D has to be compared.
    #[serde(default = "whole")]
    pub scope: ScopeRule,
    /// The most that is forgiven of NaN bits.
    #[serde(default = "exact")]
    pub nan: Strictness,
    /// The most that is forgiven of signs of zeros.
    #[serde(default = "exact")]
    pub zero: Strictness,
    #[serde(default)]
    pub models: ModelRule,
    #[serde(default)]
    pub schedules: ScheduleRule,
    #[serde(default)]
    pub operations: OperationRule,
    #[serde(default)]
    pub paths: PathRule,
    #[serde(default)]
    pub limits: Limits,
    /// Where reports and the state may be written.
    #[serde(default = "outside")]
    pub outputs: OutputRule,
}

fn whole() -> ScopeRule {
    ScopeRule::Whole
}

fn exact() -> Strictness {
    Strictness::Exact
}

fn outside() -> OutputRule {
    OutputRule::Outside
}

/// Which arithmetic may judge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelRule {
    /// Architecture files, too.
    pub files: bool,
    /// These of the catalogue alone; null for all.
    pub architectures: Option<Vec<String>>,
    /// Rules of the catalogue that are known at least so well; null for all.
    pub evidence: Option<Evidence>,
}

/// Which kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleRule {
    /// Schedule files and kernels' words, too.
    pub files: bool,
    /// These presets alone; null for all.
    pub names: Option<Vec<String>>,
    /// Numbers of a preset may be others: tiles, slices, promotion.
    pub changes: bool,
    /// Alpha, beta and the scale of results may be said. They can make A, B and C count for nothing.
    pub factors: bool,
    /// A schedule may leave products out of D, as defective kernels do.
    pub omissions: bool,
}

impl Default for ScheduleRule {
    fn default() -> ScheduleRule {
        ScheduleRule {
            files: false,
            names: None,
            changes: true,
            factors: false,
            omissions: false,
        }
    }
}

/// Which files are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PathRule {
    /// Such as are not in the folder of the cases.
    pub outside: bool,
    /// Links, and what lies behind links.
    pub links: bool,
    /// Operands that a seed determines.
    pub generated: bool,
}

impl Default for PathRule {
    fn default() -> PathRule {
        PathRule {
            outside: false,
            links: false,
            generated: true,
        }
    }
}

/// What all of it may take; null for no limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// So many cases.
    pub cases: Option<u64>,
    /// Bytes that operands take at a time.
    pub memory: Option<u64>,
    /// Products of numbers in one case.
    pub products: Option<u64>,
    /// Time of the whole batch.
    pub seconds: Option<u64>,
    /// Mismatches that one report lists.
    pub mismatches: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            cases: Some(1000),
            memory: Some(4 << 30),
            products: Some(1 << 42),
            seconds: Some(600),
            mismatches: Some(1000),
        }
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            schema: POLICY.to_owned(),
            scope: whole(),
            nan: exact(),
            zero: exact(),
            models: ModelRule::default(),
            schedules: ScheduleRule::default(),
            operations: OperationRule::default(),
            paths: PathRule::default(),
            limits: Limits::default(),
            outputs: outside(),
        }
    }
}

impl Policy {
    /// The strict one by its word, else a file's.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(path: &Path) -> Result<Policy, BatchError> {
        if path == Path::new(STRICT) {
            return Ok(Policy::default());
        }
        let text = text_of(path).map_err(BatchError::document(path))?;
        Policy::parsed(&text).map_err(BatchError::document(path))
    }

    /// The same, which the author of the cases in `cases` could not have written.
    ///
    /// # Errors
    /// What is wrong with the file, or that it lies beside them.
    pub fn of_cases(path: &Path, cases: &Path) -> Result<Policy, BatchError> {
        let policy = Policy::read(path)?;
        let root = match super::root(cases) {
            root if root == Path::new("") => Path::new("."),
            root => root,
        };
        let places = [root, path].map(std::fs::canonicalize);
        if let ([Ok(root), Ok(file)], true) = (&places, path != Path::new(STRICT))
            && file.starts_with(root)
        {
            let reason = "lies in the folder of the cases, whose author could have written it; keep it elsewhere";
            return Err(BatchError::document(path)(reason.into()));
        }
        Ok(policy)
    }

    /// The policy that a text says.
    ///
    /// # Errors
    /// What is wrong with it, as words to follow its name.
    pub fn parsed(text: &str) -> Result<Policy, String> {
        let policy: Policy = envelope::strictly(text)
            .map_err(|reason| format!("is not a policy ({POLICY}): {reason}"))?;
        if policy.schema != POLICY {
            return Err(format!("is not a policy: its schema is not {POLICY:?}"));
        }
        for name in policy.models.architectures.iter().flatten() {
            Catalogue::builtin().find(name).map_err(|unknown| {
                format!("models.architectures: {}", printable(&unknown.to_string()))
            })?;
        }
        let presets = crate::emu::schedule::presets();
        for name in policy.schedules.names.iter().flatten() {
            if !presets.iter().any(|preset| preset.name == *name) {
                let name = printable(name);
                return Err(format!(
                    "schedules.names: no schedule is called {name}; 'tcverify schedules' lists them"
                ));
            }
        }
        policy.operations.validate()?;
        Ok(policy)
    }

    /// What a report says of it: how it was called, and the SHA-256 of its canonical JSON.
    pub fn described(&self, path: &Path) -> Policed {
        Policed {
            name: escaped_path(path),
            sha256: self.sha256(),
        }
    }

    /// The SHA-256 of its canonical JSON.
    pub fn sha256(&self) -> String {
        let value = serde_json::to_value(self).expect("plain data");
        hex(&sha2::Sha256::digest(value.to_string()))
    }

    /// Whether nothing may be written into the folder of the cases.
    pub fn closes_the_folder(&self) -> bool {
        self.outputs == OutputRule::Outside
    }

    /// The time that all cases have together.
    pub fn time(&self) -> Option<Duration> {
        self.limits.seconds.map(Duration::from_secs)
    }

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

    /// Refuses a case that says what it may not; nothing of it has been opened. Paths start in the folder `root`.
    ///
    /// # Errors
    /// The first field that does, and what the policy has instead.
    pub fn admit(&self, check: &Check, root: &Path) -> Result<(), CheckError> {
        self.admit_verdict(check)?;
        self.admit_model(check)?;
        self.admit_schedule(check)?;
        for (role, source) in check.sources() {
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
        for (field, path) in check.documents() {
            self.admit_path(field, root, path)?;
        }
        Ok(())
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

    /// What of D is compared, how, and how much of it is listed.
    fn admit_verdict(&self, check: &Check) -> Result<(), CheckError> {
        use crate::check::Span;
        let scope = &check.scope;
        if self.scope == ScopeRule::Whole {
            for (field, part) in [
                ("sample", scope.sample.is_some()),
                ("rows", scope.rows != Span::ALL),
                ("cols", scope.columns != Span::ALL),
            ] {
                if part {
                    return refused(field, "has all of D compared");
                }
            }
        }
        for (field, any, rule) in [
            ("nan", check.policy.any_nan, self.nan),
            ("zero", check.policy.any_zero, self.zero),
        ] {
            if any && rule == Strictness::Exact {
                return refused(field, "has every bit compared");
            }
        }
        match self.limits.mismatches {
            Some(most) if check.max_mismatches as u64 > most => {
                refused("max_mismatches", &format!("has at most {most} listed"))
            }
            _ => Ok(()),
        }
    }

    fn admit_model(&self, check: &Check) -> Result<(), CheckError> {
        let name = match &check.model.from {
            ModelSource::File(_) if !self.models.files => {
                return refused("model", "has the catalogue's arithmetic alone");
            }
            ModelSource::File(_) => return Ok(()),
            ModelSource::Catalogue(name) => name,
        };
        let catalogue = Catalogue::builtin();
        // One that nobody knows has no verdict anyway.
        let Ok(found) = catalogue.find(name) else {
            return Ok(());
        };
        if let Some(names) = &self.models.architectures {
            let allowed = names.iter().filter_map(|name| catalogue.find(name).ok());
            if !allowed
                .into_iter()
                .any(|allowed| allowed.name == found.name)
            {
                return refused("arch", &format!("has these alone: {}", names.join(", ")));
            }
        }
        Ok(())
    }

    /// Refuses what shows only when a case is prepared: how its rule is known, what its schedule leaves out, and
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
        let products = prepared.replay().work();
        match self.limits.products {
            Some(most) if products > most => {
                let rule =
                    format!("allows a case {most} products of numbers; this one has {products}");
                refused("a", &rule)
            }
            _ => Ok(()),
        }
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
pub(super) fn refused(field: &'static str, rule: &str) -> Result<(), CheckError> {
    let reason = format!("`{field}`: the policy {}", printable(rule));
    Err(CheckError::request(field, reason))
}
