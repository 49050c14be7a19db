//! The schedule that judged, in a report, and what a library says of the kernel whose order it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ModelFile;
use tcverify_emu::Evidence;
use tcverify_emu::schedule::{Schedule, ScheduleSpec, Values};
use tcverify_num::{Format, decimal};

/// How the kernel chained the instruction, and how that is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Scheduled {
    /// Of the schedule.
    pub name: String,
    /// For people.
    pub title: String,
    /// How the schedule as a whole is known; `claimed` for a schedule file.
    pub evidence: Evidence,
    /// The schedule file; absent for the tool's schedules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ModelFile>,
    /// Restrictions, for people.
    pub notes: Vec<String>,
    /// Everything that decides a bit, as the request changed it, without the numbers of `factors`.
    pub spec: ScheduleSpec,
    /// Digest of `spec` as canonical JSON.
    pub sha256: String,
    /// Ranges of k whose products the schedule leaves out of D: first, and one past the last. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted_k: Vec<[usize; 2]>,
    /// Each constant: `name`, `value`, and either `given_by`, the field of the request that set it (`split_k 5`), or
    /// `evidence`, `source` and `note`.
    pub constants: Vec<ScheduledConstant>,
    /// Full citations by key.
    pub sources: BTreeMap<String, String>,
    /// `alpha`, `beta`, and `scale_result` if given, each with `code` (f32, hexadecimal) and `value`. `one_scale_of`
    /// has operands with one scale for all rows or columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factors: Option<Factors>,
    /// What a library says of the kernel, if the schedule comes from that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Box<KernelDescription>>,
}

/// A constant of the spec.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ScheduledConstant {
    pub name: String,
    pub value: serde_json::Value,
    /// The option that gave it. Otherwise the schedule's file did, which says how it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Numbers of one product, as f32; those of FP64 operands as FP64, whose codes have 16 digits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Factors {
    pub alpha: Factor,
    pub beta: Factor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_result: Option<Factor>,
    /// Operands (`a`, `b`) of which one scale is given that stands for all rows or columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_scale_of: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Factor {
    pub code: String,
    pub value: String,
}

impl Factor {
    fn of(code: u32) -> Factor {
        Factor {
            code: format!("{code:08x}"),
            value: decimal(Format::Fp32, code.into()),
        }
    }

    /// Alpha and beta.
    fn both(values: &Values) -> [Factor; 2] {
        let wide = |code| Factor {
            code: format!("{code:016x}"),
            value: decimal(Format::Fp64, code),
        };
        match values.wide {
            Some(codes) => codes.map(wide),
            None => [values.alpha, values.beta].map(Factor::of),
        }
    }
}

impl Scheduled {
    /// A schedule that `given` options have changed, and the numbers it worked with.
    pub fn of(schedule: &Schedule, given: &BTreeMap<String, String>, values: &Values) -> Scheduled {
        let [alpha, beta] = Factor::both(values);
        Scheduled {
            factors: Some(Factors {
                alpha,
                beta,
                scale_result: values.scale_result.map(Factor::of),
                one_scale_of: ["a", "b"]
                    .into_iter()
                    .zip(values.one_scale())
                    .filter(|(_, one)| *one)
                    .map(|(side, _)| side.to_owned())
                    .collect(),
            }),
            ..Scheduled::describe(schedule, given)
        }
    }

    /// The schedule, with the k that are missing from D.
    pub fn omitting(self, omitted_k: Vec<[usize; 2]>) -> Scheduled {
        Scheduled { omitted_k, ..self }
    }

    /// The schedule, with the file it was read from.
    #[must_use]
    pub fn from_file(self, file: Option<&ModelFile>) -> Scheduled {
        Scheduled {
            file: file.cloned(),
            ..self
        }
    }

    /// Whether a factor or the schedule itself leaves products out of D: with `alpha` 0, all of them.
    pub fn leaves_out(&self) -> bool {
        let zero = |factor: &Factor| {
            // Of any width; the first digit has the sign.
            let digits = factor.code.trim_end_matches('0');
            matches!(digits, "" | "8")
        };
        let factors = self.factors.as_ref();
        !self.omitted_k.is_empty()
            || factors
                .is_some_and(|of| zero(&of.alpha) || of.scale_result.as_ref().is_some_and(zero))
    }

    /// The schedule, with what a library's text says of its kernel.
    pub fn with_kernel(self, kernel: Option<&KernelDescription>) -> Scheduled {
        Scheduled {
            kernel: kernel.cloned().map(Box::new),
            ..self
        }
    }

    /// A schedule by itself.
    pub fn plainly(schedule: &Schedule) -> Scheduled {
        Scheduled::describe(schedule, &BTreeMap::new())
    }

    fn describe(schedule: &Schedule, given: &BTreeMap<String, String>) -> Scheduled {
        let constants = schedule.spec.constants().into_iter().map(|constant| {
            let option = given.iter().find(|(name, _)| {
                let rest = constant.name.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            });
            let known = match option {
                Some(_) => None,
                // The schedule's file does not know what an option adds.
                None => schedule.known_by(&constant.name),
            };
            ScheduledConstant {
                name: constant.name,
                value: constant.value,
                given_by: option.map(|(_, option)| option.clone()),
                evidence: known.map(|known| known.evidence),
                source: known.map_or(Vec::new(), |known| known.source.clone()),
                note: known.and_then(|known| known.note.clone()),
            }
        });
        let constants: Vec<_> = constants.collect();
        let keys = constants.iter().flat_map(|constant| &constant.source);
        Scheduled {
            name: schedule.name.clone(),
            title: schedule.title.clone(),
            evidence: schedule.evidence,
            file: None,
            notes: schedule.notes.clone(),
            spec: schedule.spec.clone(),
            sha256: schedule.spec.sha256(),
            sources: cited(&schedule.sources, keys),
            omitted_k: Vec::new(),
            constants,
            factors: None,
            kernel: None,
        }
    }
}

/// The sources that have one of these keys.
pub(super) fn cited<'k>(
    sources: &BTreeMap<String, String>,
    keys: impl Iterator<Item = &'k String>,
) -> BTreeMap<String, String> {
    let cited = keys.filter_map(|key| sources.get_key_value(key));
    cited
        .map(|(key, text)| (key.clone(), text.clone()))
        .collect()
}

/// A text about a kernel, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KernelDescription {
    /// `cuBLASLt log line`, `configuration`, `kernel name` ...
    pub kind: String,
    /// The text, printable and shortened; absent if it is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file, and the line of a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The family, as `tcverify kernels list` has it.
    pub family: String,
    /// The order of the sums in one line.
    pub order: String,
    /// Each setting: `name`, `value`, `from` (the words it was read in) and `how`: `stated`, `default`, `follows`,
    /// `given`, `found` or `assumed`.
    pub settings: Vec<KernelSetting>,
    /// Words that nobody here knows: they may decide bits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// What was assumed, because the text leaves it open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// A known defect of the library that affects this product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defect: Option<String>,
}

/// One setting of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KernelSetting {
    pub name: String,
    pub value: String,
    /// `stated` by the text, `default` because it is left out, `follows` from what is stated, `given` by
    /// whoever asked, `found` by a search, `assumed`.
    pub how: String,
    /// The words it was read in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
}

impl KernelSetting {
    /// Whether it is this one, and a search found it.
    pub fn is_found(&self, name: &str) -> bool {
        self.how == "found" && self.name == name
    }
}

impl KernelDescription {
    /// Nobody said any of it, the text included: a search tried it.
    pub fn is_found(&mut self) {
        for setting in &mut self.settings {
            setting.how = "found".into();
            setting.from.clear();
        }
    }
}
