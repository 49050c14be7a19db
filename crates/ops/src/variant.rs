//! A rule with its name and its sources: what comes with the tool, and files that users write.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::rule::Rule;
use crate::common::{hex, printable_ends};
use crate::emu::step::{Constant, constants_of};
use crate::emu::{Evidence, KnownBy, known_by, validate_known};

/// Value of the `schema` field of a variant file.
pub const SCHEMA: &str = "tcverify.operation/1";

/// One library's way to compute an operation, and how it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Variant {
    pub schema: String,
    /// Unique among the variants of its operation.
    pub name: String,
    pub title: String,
    pub library: String,
    /// Of the library, that compute so.
    pub versions: String,
    /// How the variant as a whole is known.
    pub evidence: Evidence,
    /// Full citations by key.
    pub sources: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// By constant of the rule, or by the group it is in; `*` stands for all others.
    pub known_by: BTreeMap<String, KnownBy>,
    pub rule: Rule,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(include_str!(concat!("variants/", $name, ".json"))),*]
    };
}

const FILES: [&str; 63] = files![
    "rcp-approx--ptx",
    "rcp-approx--ptx-ftz",
    "rsqrt-approx--ptx",
    "rsqrt-approx--ptx-ftz",
    "ex2-approx--ptx",
    "ex2-approx--ptx-ftz",
    "expf--libdevice",
    "expf--libdevice-ftz",
    "exp2f--libdevice",
    "exp2f--libdevice-ftz",
    "tanhf--libdevice",
    "tanhf--libdevice-ftz",
    "div--ieee",
    "div--full",
    "div--full-ftz",
    "div--approx",
    "div--approx-ftz",
    "sqrt--ieee",
    "add--rounded-once",
    "bias--rounded-once",
    "all-reduce-sum--tree",
    "silu--pytorch",
    "silu--te",
    "silu--flashinfer",
    "silu-and-mul--vllm",
    "silu-and-mul--pytorch",
    "silu-and-mul--flashinfer",
    "silu-and-mul--te",
    "gelu--pytorch-tanh",
    "rms-norm--hf-eager",
    "rms-norm--hf-eager-2.9",
    "rms-norm--pytorch-fused",
    "rms-norm--vllm-2024",
    "rms-norm--vllm",
    "rms-norm--vllm-fused-add",
    "rms-norm--vllm-fused-add-scalar",
    "rms-norm--flashinfer",
    "rms-norm--flashinfer-fused-eps",
    "layer-norm--pytorch",
    "layer-norm--pytorch-other-fma",
    "softmax--pytorch",
    "softmax--pytorch-2.6",
    "softmax--pytorch-tail",
    "rope--hf",
    "rope--vllm",
    "rope--vllm-other-fma",
    "quantize-fp8--vllm-token",
    "quantize-fp8--vllm-token-2024",
    "quantize-fp8--vllm-tensor",
    "quantize-fp8--vllm-static",
    "quantize-fp8--vllm-group",
    "quantize-fp8--te-tensor",
    "quantize-bfp--bfp8",
    "quantize-bfp--bfp4",
    "quantize-bfp--bfp2",
    "attention--flash-attention-2",
    "attention--pytorch-flash",
    "attention--flash-attention-3",
    "attention--flash-attention-4",
    "attention--flash-attention-4-early",
    "attention--flash-attention-4-sm103",
    "mul-mat-vec-q--llama.cpp-q8_0",
    "mul-mat-vec-q--llama.cpp-q4_0",
];

/// The variants that come with the tool; of each operation the default one first.
///
/// # Panics
/// If a built-in file is malformed, which a test rules out.
pub fn variants() -> &'static [Variant] {
    static VARIANTS: OnceLock<Vec<Variant>> = OnceLock::new();
    VARIANTS.get_or_init(|| {
        let read = |text: &&str| Variant::from_json(text).expect("built-in variant");
        FILES.iter().map(read).collect()
    })
}

/// The operations that can be replayed, in the order of the list.
pub fn operations() -> Vec<&'static str> {
    let mut names: Vec<_> = variants().iter().map(|v| v.rule.operation()).collect();
    names.dedup();
    names
}

/// Something that computers do between products and that is not replayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Refused {
    pub name: String,
    /// Other words that people ask with.
    pub also: Vec<String>,
    pub why: String,
}

/// What cannot be replayed, and why.
///
/// # Panics
/// If the built-in file is malformed, which a test rules out.
pub fn refused() -> &'static [Refused] {
    static REFUSED: OnceLock<Vec<Refused>> = OnceLock::new();
    REFUSED
        .get_or_init(|| serde_json::from_str(include_str!("refused.json")).expect("built-in list"))
}

/// Variants of an operation.
///
/// # Errors
/// A sentence: why it is not replayed, or the names there are.
pub fn of(operation: &str) -> Result<Vec<&'static Variant>, String> {
    let named = |v: &&Variant| v.rule.operation() == operation;
    let found: Vec<_> = variants().iter().filter(named).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let name = operation.to_lowercase().replace(['-', ' '], "_");
    let known = |r: &&Refused| r.name == name || r.also.contains(&name);
    Err(match refused().iter().find(known) {
        Some(refused) => format!("{} cannot be replayed: {}", refused.name, refused.why),
        None => format!(
            "there is no operation called {operation:?}; known are {} ('tcverify ops' describes them)",
            operations().join(", ")
        ),
    })
}

/// The variant of this name of an operation; without a name, the first.
///
/// # Errors
/// As of [`of`], or the names there are.
pub fn find(operation: &str, name: Option<&str>) -> Result<&'static Variant, String> {
    let all = of(operation)?;
    let Some(name) = name else {
        return Ok(all[0]);
    };
    let found = all.iter().find(|v| v.name == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|v| v.name.as_str()).collect();
        format!(
            "{operation} has no variant called {name:?}; known are {}",
            names.join(", ")
        )
    })
}

impl Variant {
    /// Reads a variant file.
    ///
    /// # Errors
    /// A sentence that says what is wrong, with the place in the JSON where it is known.
    pub fn from_json(text: &str) -> Result<Variant, String> {
        let read = crate::common::words::from_json(text);
        let read = read.and_then(|variant: Variant| variant.check().map(|()| variant));
        // Both quote the file.
        read.map_err(|reason| printable_ends(&reason))
    }

    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("schema is {:?}; expected {SCHEMA:?}", self.schema));
        }
        if self.name.is_empty() {
            return Err("it has no name".into());
        }
        let constants = self.constants();
        validate_known(&self.known_by, &constants, &self.sources, "the rule")?;
        for constant in &constants {
            // A headline shows the evidence of the whole.
            let known = self.known_by(&constant.name).map(|known| known.evidence);
            if let Some(part) = known.filter(|part| *part < self.evidence) {
                let (whole, name) = (self.evidence, &constant.name);
                return Err(format!(
                    "the rule is marked {whole}, but {name} is {part}: a rule's evidence cannot exceed that of its \
                    parts"
                ));
            }
        }
        super::validate::validate(&self.rule)
    }

    /// Everything that decides a bit, in the order of its JSON.
    pub fn constants(&self) -> Vec<Constant> {
        let rule = serde_json::to_value(&self.rule).expect("a rule is plain data");
        let mut constants = constants_of(&rule);
        constants.retain(|constant| constant.name != "operation");
        constants
    }

    /// The variant of somebody's file: its evidence is a claim, whatever the file says.
    #[must_use]
    pub fn claimed(mut self) -> Variant {
        self.evidence = Evidence::Claimed;
        for known in self.known_by.values_mut() {
            known.evidence = Evidence::Claimed;
        }
        self
    }

    /// How a constant is known: by its own entry, by that of a group it is in, or by the one for all.
    pub fn known_by(&self, constant: &str) -> Option<&KnownBy> {
        known_by(&self.known_by, constant)
    }

    /// The digest of the rule as canonical JSON.
    pub fn sha256(&self) -> String {
        let rule = serde_json::to_value(&self.rule).expect("a rule is plain data");
        hex(&Sha256::digest(rule.to_string().as_bytes()))
    }
}
