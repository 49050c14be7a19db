//! The vocabulary of a model: what a catalogue file, and a user's own, consists of.
//!
//! ```text
//! architecture -> instructions (mma, wgmma, tcgen05) -> rules by operand formats and accumulator -> a step
//! ```
//!
//! Every constant of a step is named by an entry of `known_by` (of its rule, or of the architecture
//! for all its rules) that says how it is known and from where. `docs/model-format.md` is the
//! reference for people who write one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::layout::Layout;
use super::sparse::Pattern;
use super::step::{Constant, ScaleUse, Step};
use crate::common::printable_ends;
use crate::num::{Format, Kind, Rounding};
pub use crate::num::{Formats, Scale};

/// Value of the `schema` field of an architecture file.
pub const SCHEMA: &str = "tcverify.architecture/1";

/// How something is known: a constant, a rule, a schedule, a fact about a library. The one ladder, lowest rung first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// A file that is not the catalogue's says so; nobody has looked.
    Claimed,
    /// Concluded from other facts; no source publishes or measured it.
    Inferred,
    /// Published; no captured result that we replay would fail if it were otherwise.
    Published,
    /// Compared bit by bit: here with results of a published emulator or simulator, or by its source with outputs of
    /// a GPU.
    Compared,
    /// Replays captured results of real hardware, and a different value does not.
    Captured,
}

impl Evidence {
    pub fn word(self) -> &'static str {
        match self {
            Evidence::Claimed => "claimed",
            Evidence::Inferred => "inferred",
            Evidence::Published => "published",
            Evidence::Compared => "compared",
            Evidence::Captured => "captured",
        }
    }
}

impl std::fmt::Display for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// Where a constant comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownBy {
    pub evidence: Evidence,
    /// Keys of `sources`.
    pub source: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A generation of GPUs and how its matrix unit computes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    pub schema: String,
    /// What options and reports call it: `hopper`.
    pub name: String,
    /// For people: `NVIDIA Hopper`.
    pub title: String,
    /// Other names of the architecture, such as `sm_90`.
    pub also: Vec<String>,
    /// Products that contain it; none for a reference such as `ieee-fma`.
    pub gpus: Vec<String>,
    /// Full citations by key.
    pub sources: BTreeMap<String, String>,
    /// Remarks for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How constants of all rules are known.
    pub known_by: BTreeMap<String, KnownBy>,
    /// In order of preference: the first that has a rule for the operands is the default.
    pub instructions: Vec<Instruction>,
}

/// One instruction of an architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// What `--instruction` takes.
    pub name: String,
    /// What it is, in the vendor's words.
    pub about: String,
    /// Which thread holds an element of D, where that is published (`kind`, `source`); it changes no bit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// Whether it must be named: another instruction gives other bits for the same formats, and neither is usual.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub choice: bool,
    /// What it computes, by formats.
    pub rules: Vec<Rule>,
}

/// How an instruction computes for some operand formats and one accumulator format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Pairs of formats of A and B: `[["fp16", "fp16"], ["bf16", "bf16"]]`.
    pub operands: Vec<[Format; 2]>,
    /// Format of D, of the value between steps, and of C without `addend`.
    pub accumulator: Format,
    /// Format of C, where it is another; such a product has one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addend: Option<Format>,
    /// `format` and `block`: so many consecutive k of a row of A, and of a column of B, share a scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// K of the instruction's `shapes`, the longest first, with `evidence`, `source` and `note`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_k: Option<InstructionK>,
    /// Its sparse form: `pattern` (`1:2`, `2:4`, `4:8`), with `evidence`, `source` and `note`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<Sparse>,
    /// How the rule as a whole is known.
    pub evidence: Evidence,
    /// A restriction, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its `kind` and that kind's constants.
    pub step: Step,
    /// How constants of this rule alone are known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub known_by: BTreeMap<String, KnownBy>,
}

/// The sparse form of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sparse {
    pub pattern: Pattern,
    /// How it is known that selected products are added as those of the dense rule.
    pub evidence: Evidence,
    /// Keys of the architecture's `sources`.
    pub source: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The K of an instruction's shapes. A product whose K is not a multiple of it is filled up with products of
/// +0 and +0, which can turn a result of -0 into +0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct InstructionK {
    /// The longest first: products are filled up to a multiple of that.
    pub shapes: Vec<usize>,
    /// How they are known.
    pub evidence: Evidence,
    /// Keys of the architecture's `sources`.
    pub source: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Architecture {
    /// Reads and checks an architecture file.
    ///
    /// # Errors
    /// A sentence on what is wrong: not JSON, an unknown field, a constant out of range or without
    /// a source.
    pub fn from_json(text: &str) -> Result<Architecture, String> {
        let read = crate::common::words::from_json(text);
        let read =
            read.and_then(|architecture: Architecture| architecture.check().map(|()| architecture));
        // Both quote the file.
        read.map_err(|reason| printable_ends(&reason))
    }

    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("schema is {:?}, not {SCHEMA:?}", self.schema));
        }
        for instruction in &self.instructions {
            let cited = instruction.layout.iter().flat_map(|layout| &layout.source);
            check_listed(cited, &self.sources)?;
            for rule in &instruction.rules {
                let place = format!(
                    "{}, {}, {} with {} accumulator",
                    self.name,
                    instruction.name,
                    pairs(&rule.operands),
                    rule.accumulator
                );
                self.check_rule(rule)
                    .map_err(|reason| format!("{place}: {reason}"))?;
            }
        }
        Ok(())
    }

    fn check_rule(&self, rule: &Rule) -> Result<(), String> {
        if rule.operands.is_empty() {
            return Err("no operand formats".into());
        }
        if let Some(k) = &rule.instruction_k {
            k.check()?;
            check_listed(&k.source, &self.sources)?;
        }
        if let Some(sparse) = &rule.sparse {
            if sparse.source.is_empty() {
                return Err("no source for sparse".into());
            }
            check_listed(&sparse.source, &self.sources)?;
        }
        for &operands in &rule.operands {
            Arithmetic::of(rule, operands).check()?;
        }
        let constants = Arithmetic::of(rule, rule.operands[0]).constants();
        for constant in &constants {
            let Some(known) = self.known_by(rule, &constant.name) else {
                return Err(format!("no known_by entry for {}", constant.name));
            };
            if known.source.is_empty() {
                return Err(format!("no source for {}", constant.name));
            }
        }
        let known = |name: &&String| !constants.iter().any(|c| c.name == **name);
        if let Some(stray) = rule.known_by.keys().find(known) {
            return Err(format!("known_by names {stray}, which the step lacks"));
        }
        let cited = rule.known_by.values().chain(self.known_by.values());
        check_listed(cited.flat_map(|known| &known.source), &self.sources)
    }

    /// How a constant of one of this architecture's rules is known. `half.group` falls back to the
    /// entry of `group`.
    pub fn known_by<'a>(&'a self, rule: &'a Rule, constant: &str) -> Option<&'a KnownBy> {
        let bare = constant.rsplit('.').next().unwrap_or(constant);
        rule.known_by
            .get(constant)
            .or_else(|| self.known_by.get(constant))
            .or_else(|| self.known_by.get(bare))
    }
}

/// Refuses a source that is not listed.
pub(super) fn check_listed<'a>(
    cited: impl IntoIterator<Item = &'a String>,
    sources: &BTreeMap<String, String>,
) -> Result<(), String> {
    match cited.into_iter().find(|key| !sources.contains_key(*key)) {
        Some(key) => Err(format!("source {key:?} is not listed in sources")),
        None => Ok(()),
    }
}

impl InstructionK {
    fn check(&self) -> Result<(), String> {
        let falling = self.shapes.windows(2).all(|pair| pair[0] > pair[1]);
        let possible = |k: &usize| (1..=MAX_INSTRUCTION_K).contains(k);
        if self.shapes.is_empty() || !falling || !self.shapes.iter().all(possible) {
            return Err(format!(
                "instruction_k.shapes must be numbers from 1 to {MAX_INSTRUCTION_K}, the largest first"
            ));
        }
        if self.source.is_empty() {
            return Err("no source for instruction_k".into());
        }
        Ok(())
    }
}

/// The longest instruction that a file may name.
const MAX_INSTRUCTION_K: usize = 1024;

fn check_scale(scale: Scale) -> Result<(), String> {
    if scale.format.kind() != Kind::Scale {
        let format = scale.format;
        return Err(format!(
            "scale.format is {format}; it must be ue8m0 or ue4m3"
        ));
    }
    if !(1..=1024).contains(&scale.block) {
        let block = scale.block;
        return Err(format!("scale.block is {block}; it must be 1 to 1024"));
    }
    Ok(())
}

/// `fp16*fp16, bf16*bf16`, or `{e4m3 e5m2} * {e4m3 e5m2}` where every A goes with every B.
pub fn pairs(operands: &[[Format; 2]]) -> String {
    let side = |side: usize| -> Vec<Format> {
        let mut formats: Vec<_> = operands.iter().map(|pair| pair[side]).collect();
        formats.sort();
        formats.dedup();
        formats
    };
    let (a, b) = (side(0), side(1));
    if a.len() > 1 && a.len() * b.len() == operands.len() {
        let names = |formats: &[Format]| {
            let names: Vec<_> = formats.iter().map(Format::to_string).collect();
            names.join(" ")
        };
        return format!("{{{}}} * {{{}}}", names(&a), names(&b));
    }
    let names: Vec<_> = operands.iter().map(|[a, b]| format!("{a}*{b}")).collect();
    names.join(", ")
}

impl Rule {
    /// What a product's K must be a multiple of, where its instruction takes whole steps only: its least K.
    pub fn least_k(&self) -> Option<usize> {
        let shapes = self.instruction_k.as_ref();
        let least = shapes.and_then(|k| k.shapes.last().copied());
        let whole = self.step.takes_whole_steps();
        whole.then(|| least.unwrap_or(self.step.span()))
    }

    /// Its formats: `{e4m3 e5m2} * {e4m3 e5m2} -> fp32`.
    pub(super) fn describe(&self) -> String {
        let operands = pairs(&self.operands);
        describe_formats(&operands, self.scale, self.addend, self.accumulator)
    }
}

fn describe_formats(
    operands: &str,
    scale: Option<Scale>,
    addend: Option<Format>,
    accumulator: Format,
) -> String {
    let scale = scale.map_or(String::new(), |scale| format!(", scales {scale}"));
    let addend = addend.map_or(String::new(), |addend| format!(", C {addend}"));
    format!("{operands}{scale}{addend} -> {accumulator}")
}

/// A rule for one pair of operand formats, with everything that decides a bit and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Arithmetic {
    pub a: Format,
    pub b: Format,
    pub accumulator: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addend: Option<Format>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Scale>,
    /// K of the instruction, where filling a product up to a multiple of it can change a bit: zero products
    /// after the last step turn -0 into +0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_k: Option<usize>,
    pub step: Step,
}

impl Arithmetic {
    /// Its formats: `fp16*fp16, C fp32 -> fp32`.
    pub fn describe(&self) -> String {
        let operands = format!("{}*{}", self.a, self.b);
        describe_formats(&operands, self.scale, self.addend, self.accumulator)
    }

    pub fn of(rule: &Rule, [a, b]: [Format; 2]) -> Arithmetic {
        let bare = Arithmetic {
            a,
            b,
            addend: rule.addend,
            scale: rule.scale,
            ..Arithmetic::plain([a, b], rule.accumulator, rule.step.clone())
        };
        let shapes = rule.instruction_k.iter().flat_map(|k| &k.shapes).copied();
        // One spelling only, so that equal models have equal digests.
        let longest = shapes.max().filter(|&k| k > bare.step.span());
        Arithmetic {
            instruction_k: longest.filter(|_| bare.step.notices_zeros(bare.formats())),
            ..bare
        }
    }

    /// What zero products make of a chain's result where K is not a multiple of the instruction's. The
    /// last step is filled up in any case.
    pub fn filled_up(&self, k: usize, code: u64) -> u64 {
        let span = self.step.span();
        let Some(whole) = self.instruction_k else {
            return code;
        };
        let more = k
            .next_multiple_of(whole)
            .saturating_sub(k.next_multiple_of(span));
        if more == 0 {
            return code;
        }
        let formats = self.formats();
        let (a, b) = (formats.a.unpack(0), formats.b.unpack(0));
        let (a, b) = (vec![a; span], vec![b; span]);
        let one = |scale: Format| (scale.bias() as u8) << scale.fraction_bits();
        let ones = formats.scale.map(|scale| vec![one(scale.format); span]);
        let scales = ones.as_deref().map(|ones| [ones; 2]);
        let scales = scales.filter(|_| self.step.scaling() == ScaleUse::Given);
        let mut code = code;
        for _ in 0..more.div_ceil(span) {
            let mut carried = self.step.start(formats, code);
            self.step.run_scaled(formats, &a, &b, scales, &mut carried);
            let after = self.step.finish(formats, &carried);
            if after == code {
                break;
            }
            code = after;
        }
        code
    }

    /// How a finished sum is rounded to D's format. Formats whose rounding is unknown are refused beforehand.
    pub fn rounding_to(&self, to: Format) -> Rounding {
        let rounding = self.step.rounds_results(to);
        rounding.unwrap_or(Rounding::NearestEven)
    }

    /// A finished sum as D has it.
    pub fn converted(&self, code: u64, to: Format) -> u64 {
        self.step.converted(self.accumulator, code, to)
    }

    /// Without scales, C and D of one format.
    pub fn plain([a, b]: [Format; 2], accumulator: Format, step: Step) -> Arithmetic {
        Arithmetic {
            a,
            b,
            accumulator,
            addend: None,
            scale: None,
            instruction_k: None,
            step,
        }
    }

    /// C's format.
    pub fn addend(&self) -> Format {
        self.addend.unwrap_or(self.accumulator)
    }

    pub fn formats(&self) -> Formats {
        Formats {
            a: self.a,
            b: self.b,
            accumulator: self.accumulator,
            addend: self.addend(),
            scale: self.scale,
        }
    }

    /// The most k of a product: one step's where C and D differ in format, so that D is not a C.
    pub fn longest_k(&self) -> Option<usize> {
        (self.addend() != self.accumulator).then(|| self.step.span())
    }

    /// Refuses constants that no machine has and that the engine could not compute exactly.
    ///
    /// # Errors
    /// A sentence naming the constant.
    pub fn check(&self) -> Result<(), String> {
        let formats = self.formats();
        if let Some(scale) = self.scale {
            check_scale(scale)?;
        }
        // One spelling only, so that equal models have equal digests.
        if self.addend == Some(self.accumulator) {
            return Err("addend is the accumulator's format; leave it out".into());
        }
        if let Some(k) = self.instruction_k {
            let longer = (self.step.span() + 1..=MAX_INSTRUCTION_K).contains(&k);
            if !longer || !self.step.notices_zeros(formats) {
                return Err(format!(
                    "instruction_k is {k}, which changes nothing; leave it out"
                ));
            }
        }
        Step::check(&self.step, formats)
    }

    /// The JSON that [`Arithmetic::sha256`] hashes: keys sorted, no spaces.
    pub fn canonical_json(&self) -> String {
        // serde_json's map keeps keys sorted.
        let value = serde_json::to_value(self).expect("a model is plain data");
        serde_json::to_string(&value).expect("a model is plain data")
    }

    /// SHA-256 of the canonical JSON: two models with the same digest compute the same bits.
    pub fn sha256(&self) -> String {
        crate::common::hex(&Sha256::digest(self.canonical_json()))
    }

    /// The constants by name, for people and for `known_by`: the step's, and the scales.
    pub fn constants(&self) -> Vec<Constant> {
        let mut constants = self.step.constants();
        if let Some(scale) = self.scale {
            constants.push(Constant {
                name: "scale".into(),
                value: scale.to_string().into(),
            });
        }
        constants
    }
}
