//! Words that many expect and no command takes, each with what to write instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::check::SET;

/// Commands of other programs.
const COMMANDS: [(&str, &str); 4] = [
    ("verify", "'check' judges a D, 'verify-report' a report"),
    (
        "diff",
        "'compare' says why two results differ, 'check' judges one",
    ),
    (
        "list",
        "'archs' lists the modelled GPUs, 'inspect' the arrays of a file",
    ),
    ("sha256", "'digest' prints the SHA-256 of arrays"),
];

/// Options of comparisons that are not exact.
const TOLERANCES: [&str; 6] = [
    "--tolerance",
    "--tol",
    "--atol",
    "--rtol",
    "--ulp",
    "--ulps",
];

/// What to write instead, if the error is about such a word.
pub fn instead(error: &clap::Error) -> Option<String> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = word(ContextKind::InvalidSubcommand)?;
            let (_, instead) = COMMANDS.iter().find(|(name, _)| *name == word)?;
            Some(format!("there is no command '{word}': {instead}"))
        }
        ErrorKind::UnknownArgument => {
            let word = word(ContextKind::InvalidArg)?;
            let name = word.split('=').next().unwrap_or(word);
            let field = name.trim_start_matches("--").replace('-', "_");
            if SET.contains(&field.as_str()) {
                return Some(format!(
                    "there is no {name}: a rare setting is given as --set {field}=VALUE"
                ));
            }
            TOLERANCES.contains(&name).then(|| {
                format!(
                    "there is no {name}: bits are compared, without tolerances. --nan any and --zero any accept NaN \
                     payloads and signs of zero. A D that is a few ulps off mostly has another order of sums: \
                     'tcverify identify' finds it, --schedule or --kernel states it"
                )
            })
        }
        _ => None,
    }
}
