//! What the author of cases may say, where that is not whoever judges them. `docs/policy.md` specifies it.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::Digest;

use crate::check::{EngineChoice, Strictness};
use crate::emu::{Catalogue, Evidence};
use crate::envelope;
use crate::io::{
    Fault, FileError, Files, MAX_DOCUMENT, Privacy, escaped_path, hex, printable, read_text,
};
use crate::memory;
use crate::ops;
use crate::words::words;

/// Value of the `schema` field.
pub const POLICY: &str = "tcverify.policy/1";

/// The word for [`AdmissionPolicy::default`] where a file is expected.
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
    /// What D is said to be by.
    pub enum ClaimRule {
        /// Its file
        Array = "array",
        /// The SHA-256 of its payload alone: whatever file lies beside the case is not looked at
        Digest = "digest",
    }
}

words! {
    /// What a report says beside the verdict, which a case may leave out.
    pub enum Silence {
        /// What would give a result that differs
        Causes = "causes",
        /// Which other arithmetics give the same bits
        Ambiguity = "ambiguity",
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

words! {
    /// Which answers of `compare` pass.
    pub enum Accept {
        /// Equal bits alone
        Equal = "equal",
        /// Also results that differ, if both are explained and none is wrong
        Explained = "explained",
    }
}

/// What cases may say. The default is strict: all of D, every bit, by the catalogue's arithmetic, out of the
/// folder that holds the cases. A file says what is otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdmissionPolicy {
    pub schema: String,
    /// Whether a case may compare only rows, columns, a region or a sample of D.
    #[serde(default = "whole")]
    pub scope: ScopeRule,
    /// Whether a case may accept any NaN for a NaN.
    #[serde(default = "exact")]
    pub nan: Strictness,
    /// Whether a case may accept either zero for a zero.
    #[serde(default = "exact")]
    pub zero: Strictness,
    /// How a case may state D, or the result of an operation: by its file, or only by the SHA-256 of its payload
    /// (`d_digest`, `y_digest`). With a digest nobody reads the file that lies beside the case.
    #[serde(default = "arrays")]
    pub claims: Vec<ClaimRule>,
    /// What a report may leave out: causes of a D that differs (`no_causes`), or which other arithmetics fit
    /// (`no_ambiguity`, `tree`).
    #[serde(default)]
    pub silenced: Vec<Silence>,
    /// Which engines a case may choose; `gpu` allows every GPU, with `fast` also `auto`. All give the same bits; the exact
    /// engine takes hundreds of times as long.
    #[serde(default = "fast")]
    pub engines: Vec<EngineChoice>,
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
    /// Where the caller may write reports and the state. In the folder of the cases a state could be forged, and a link
    /// leads anywhere.
    #[serde(default = "outside")]
    pub outputs: OutputRule,
    /// What `compare --policy` accepts with exit code 0: equal bits, or different ones that are both explained, neither
    /// wrong.
    #[serde(default = "equal")]
    pub comparisons: Accept,
}

fn whole() -> ScopeRule {
    ScopeRule::Whole
}

fn exact() -> Strictness {
    Strictness::Exact
}

fn arrays() -> Vec<ClaimRule> {
    vec![ClaimRule::Array]
}

fn fast() -> Vec<EngineChoice> {
    vec![EngineChoice::Fast]
}

fn equal() -> Accept {
    Accept::Equal
}

fn outside() -> OutputRule {
    OutputRule::Outside
}

/// Which arithmetic may judge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ModelRule {
    /// Whether an architecture file may judge.
    pub files: bool,
    /// Architectures of the catalogue that may judge, by any of their names; null for all.
    pub architectures: Option<Vec<String>>,
    /// How well a rule must be known; null for any. The rule of a file is `claimed`, whatever it says of itself.
    pub evidence: Option<Evidence>,
}

/// Which kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleRule {
    /// Whether a case may use a schedule file, or a library's words (`kernel`, `kernel_log`, `kernel_table`), whatever
    /// `names` says.
    pub files: bool,
    /// Presets that a case may use; `plain` is one chain over K; null for all.
    pub names: Option<Vec<String>>,
    /// Whether a case may change numbers of a preset: tiles, slices, promotion.
    pub changes: bool,
    /// Whether a case may set `alpha`, `beta` and `scale_result`. With `alpha` 0 a D of zeros is right. cuBLAS with C
    /// needs `beta`.
    pub factors: bool,
    /// Whether a case may name an `activation`. With ReLU and a bias of -3e38 a D of zeros is right.
    pub activations: bool,
    /// Whether a schedule may leave products out of D, as a known defect of cuBLAS does.
    pub omissions: bool,
}

impl Default for ScheduleRule {
    fn default() -> ScheduleRule {
        ScheduleRule {
            files: false,
            names: None,
            changes: true,
            factors: false,
            activations: false,
            omissions: false,
        }
    }
}

/// Which operations may be judged, and by which rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OperationRule {
    /// Operations between products that a case may ask for: `rms_norm` is all variants, `rms_norm vllm` one; null for
    /// all, an empty list for none.
    pub variants: Option<Vec<String>>,
    /// Whether a variant file may judge.
    pub files: bool,
    /// How well a variant must be known, the tensor core's rule included; null for any.
    pub evidence: Option<Evidence>,
    /// Whether a case may change `tile`.
    pub changes: bool,
    /// Whether a case may set `softmax_scale`. With 0, queries and keys do not matter.
    pub factors: bool,
    /// The largest `eps`; null for any. Beside a huge one the operand does not matter.
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
    /// Refuses names of unknown operations and variants, and a negative `eps`.
    fn validate(&self) -> Result<(), String> {
        for name in self.variants.iter().flatten() {
            let (operation, variant) = match name.split_once(' ') {
                Some((operation, variant)) => (operation, Some(variant)),
                None => (name.as_str(), None),
            };
            let found = ops::find(operation, variant);
            found.map_err(|reason| format!("operations.variants: {}", printable(&reason)))?;
        }
        if self.largest_eps.is_none_or(|eps| eps >= 0.0) {
            Ok(())
        } else {
            Err("operations.largest_eps: it must not be negative".into())
        }
    }

    pub(crate) fn allows(&self, operation: &str, variant: &str) -> bool {
        let own = format!("{operation} {variant}");
        let named = |names: &Vec<String>| names.iter().any(|n| n == operation || *n == own);
        self.variants.as_ref().is_none_or(named)
    }
}

/// Which files are read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PathRule {
    /// Whether files may lie outside the folder of the cases: absolute paths, `..`, standard input.
    pub outside: bool,
    /// Whether a path may lead through a link: to an array (`link.npz#x`, too), a model, the manifest, a case's
    /// folder, `case.json` or `index.json`.
    pub links: bool,
    /// Whether operands may be `generate:SEED:CLASS:SHAPE`.
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
    /// How many cases there may be.
    pub cases: Option<u64>,
    /// Bytes that operands may take at a time, mapped files included. The smaller of this and `--max-memory` counts.
    pub memory: Option<u64>,
    /// Bytes of a file of arrays, however little of it is used.
    pub file: Option<u64>,
    /// Multiply-adds in one case (M·N·K and its batch), whatever part is compared. For operations other than attention,
    /// elements.
    pub products: Option<u64>,
    /// Time of the whole batch, from reading the manifest. Everything looks at it: reading, inflating, generating,
    /// hashing, computing, the search for causes. Unfinished cases have no verdict.
    pub seconds: Option<u64>,
    /// Mismatches that one report lists (`max_mismatches`).
    pub mismatches: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            cases: Some(1000),
            memory: Some(4 << 30),
            file: Some(4 << 30),
            products: Some(1 << 42),
            seconds: Some(600),
            mismatches: Some(1000),
        }
    }
}

/// The policy that cases were judged under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Policed {
    /// As it was called: `strict`, or a path.
    pub name: String,
    /// Of the policy as canonical JSON, with all that its file leaves out.
    pub sha256: String,
}

impl Default for AdmissionPolicy {
    /// The policy of a file that has only its schema.
    fn default() -> AdmissionPolicy {
        let strict = serde_json::json!({ "schema": POLICY });
        serde_json::from_value(strict).expect("every other field has a default")
    }
}

impl AdmissionPolicy {
    /// The strict policy by its word, else a file's.
    pub fn read(path: &Path) -> Result<AdmissionPolicy, FileError> {
        if path == Path::new(STRICT) {
            return Ok(AdmissionPolicy::default());
        }
        let text = read_text(path, "policy", MAX_DOCUMENT)?;
        AdmissionPolicy::parsed(&text).map_err(|reason| Fault::from(reason).of(path))
    }

    /// Reads a policy, but refuses a file that the author of the cases in `folder` could have written.
    ///
    /// # Errors
    /// What is wrong with the file, or that it lies beside them.
    pub fn of_cases(path: &Path, folder: &Path) -> Result<AdmissionPolicy, FileError> {
        let policy = AdmissionPolicy::read(path)?;
        let folder = match folder {
            here if here == Path::new("") => Path::new("."),
            folder => folder,
        };
        let places = [folder, path].map(std::fs::canonicalize);
        if let ([Ok(folder), Ok(file)], true) = (&places, path != Path::new(STRICT))
            && file.starts_with(folder)
        {
            let reason = "is in the folder of the cases, so their author could have written it; keep it elsewhere";
            return Err(Fault::from(reason.to_owned()).of(path));
        }
        Ok(policy)
    }

    /// The policy of a document's text.
    ///
    /// # Errors
    /// What is wrong with it, to follow the file's name.
    pub fn parsed(text: &str) -> Result<AdmissionPolicy, String> {
        let policy: AdmissionPolicy = envelope::strictly(text)
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
                    "schedules.names: there is no schedule called {name}; 'tcverify schedules' lists them"
                ));
            }
        }
        policy.operations.validate()?;
        Ok(policy)
    }

    /// Its entry in a report: its path, and the SHA-256 of its canonical JSON.
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

    /// Where files are opened: within the limits of a policy, if there is one, and no more than `own` bytes.
    pub fn files(policy: Option<&AdmissionPolicy>, privacy: Privacy, own: u64) -> Files {
        let Some(limits) = policy.map(|policy| &policy.limits) else {
            return Files::new(privacy, memory::Limits { max_bytes: own });
        };
        let max_bytes = limits.memory.map_or(own, |most| most.min(own));
        Files::new(privacy, memory::Limits { max_bytes }).strict(limits.file)
    }

    /// Whether nothing may be written into the folder of the cases.
    pub fn closes_the_folder(&self) -> bool {
        self.outputs == OutputRule::Outside
    }

    /// The time that all cases have together.
    pub fn time(&self) -> Option<Duration> {
        self.limits.seconds.map(Duration::from_secs)
    }
}
