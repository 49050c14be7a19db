//! What a library says of the kernel whose order was replayed, in a report.

use serde::{Deserialize, Serialize};

/// A text about a kernel, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KernelWords {
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
    /// What was assumed.
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

impl KernelWords {
    /// Nobody said any of it, the text included: a search tried it.
    pub fn is_found(&mut self) {
        for setting in &mut self.settings {
            setting.how = "found".into();
            setting.from.clear();
        }
    }

    /// Which part was stated, given, assumed: one line each.
    pub fn lines(&self) -> Vec<(&str, String)> {
        let mut lines: Vec<(&str, String)> = Vec::new();
        for setting in &self.settings {
            let text = format!("{} {}", setting.name, setting.value);
            match lines.iter_mut().find(|(how, _)| *how == setting.how) {
                Some((_, line)) => {
                    line.push_str(", ");
                    line.push_str(&text);
                }
                None => lines.push((&setting.how, text)),
            }
        }
        lines.extend(self.assumed.iter().map(|what| ("assumed", what.clone())));
        if !self.unknown.is_empty() {
            let words = self.unknown.join(", ");
            lines.push(("UNKNOWN", format!("{words}: may affect the result")));
        }
        lines.extend(self.notes.iter().map(|note| ("note", note.clone())));
        lines
    }
}
