//! A check as a command line: the one place that writes commands.

use std::ffi::{OsStr, OsString};

use super::fields::{Argument, RequestFields};
use super::product::Check;

/// A command that takes a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Check,
    Explain,
    Replay,
    Commit,
    Identify,
}

impl Verb {
    pub fn name(self) -> &'static str {
        match self {
            Verb::Check => "check",
            Verb::Explain => "explain",
            Verb::Replay => "replay",
            Verb::Commit => "commit",
            Verb::Identify => "identify",
        }
    }

    /// Whether the command has an option for this field.
    pub fn takes(self, field: &str) -> bool {
        if self == Verb::Identify {
            return SEARCHED.split(' ').any(|one| one == field);
        }
        match field {
            "d_digest" | "y_digest" | "nan" | "zero" | "against" | "sample" | "seed"
            | "seed_from" | "beacon" | "rows" | "cols" | "region" | "max_mismatches" | "tree"
            | "no_causes" | "no_ambiguity" => self == Verb::Check,
            "block_rows" => matches!(self, Verb::Check | Verb::Commit),
            "engine" => matches!(self, Verb::Check | Verb::Replay),
            "d" => self != Verb::Replay,
            _ => true,
        }
    }
}

/// What a search for model and schedule takes of a check.
const SEARCHED: &str = "a b c bias bias_dtype d scale_a scale_b weights zero_b dtype dtype_b d_dtype transpose_a transpose_b \
    tf32_input";

/// Rare fields, which `--set NAME=VALUE` gives in place of an option each.
pub const SET: [&str; 21] = [
    "residue",
    "instruction_k",
    "split",
    "grain",
    "partials",
    "sum_order",
    "workers",
    "promote",
    "reduction",
    "partition",
    "custom",
    "accumulation",
    "multiprocessors",
    "rotation",
    "whole_remainder",
    "workspace",
    "in0_block_w",
    "packer_l1_acc",
    "reload",
    "lscale",
    "osm",
];

impl Check {
    /// The shell command that checks it; none of what a program holds in memory.
    pub fn check_command(&self) -> Option<String> {
        (!self.is_in_memory()).then(|| shell_line(command_line(Verb::Check, self)))
    }
}

/// The arguments of the command line for this check, the program's name first.
pub fn command_line(verb: Verb, check: &Check) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["tcverify".into(), verb.name().into()];
    let mut positions = Vec::new();
    for (field, argument) in RequestFields::from(check.clone()).arguments() {
        if !verb.takes(field) {
            continue;
        }
        match argument {
            Argument::Value(value) if matches!(field, "a" | "b" | "d") => positions.push(value),
            Argument::Value(value) if SET.contains(&field) => {
                let mut setting = OsString::from(field);
                setting.push("=");
                setting.push(value);
                words.extend(["--set".into(), setting]);
            }
            Argument::Flag if SET.contains(&field) => words.extend(["--set".into(), field.into()]),
            Argument::Value(value) => {
                let option = option(field);
                // A value that begins with a dash would be taken for an option.
                if value.as_encoded_bytes().first() == Some(&b'-') {
                    let mut word = OsString::from(option);
                    word.push("=");
                    word.push(value);
                    words.push(word);
                } else {
                    words.extend([option.into(), value]);
                }
            }
            Argument::Flag => words.push(option(field).into()),
        }
    }
    words.extend(positions);
    words
}

/// The option of a field.
pub fn option(field: &str) -> String {
    match field {
        "a" | "b" | "d" => field.to_uppercase(),
        rare if SET.contains(&rare) => format!("--set {rare}"),
        _ => format!("--{}", field.replace('_', "-")),
    }
}

/// Words as a person types them into a POSIX shell. A word that is not UTF-8 is replaced by the nearest one that is.
pub fn shell_line<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+,:=@%".contains(c);
    let quoted = words.into_iter().map(|word| {
        let word = word.as_ref().to_string_lossy().replace('\0', "");
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            let quoted = shlex::try_quote(&word).expect("without a nul");
            quoted.into_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_a_shell_would_split_are_quoted() {
        for word in [
            "a.npy",
            "out dir/a.npy",
            "it's",
            "",
            "$HOME",
            "x.npz#q",
            "a\nb",
        ] {
            let line = shell_line([word, "b"]);
            assert_eq!(shlex::split(&line).unwrap(), [word, "b"]);
        }
    }
}
