//! The commands in groups, by what a person wants, each with the question that it answers.
//!
//! `tcverify --help` and the manual page list them from this one table.

use std::fmt::Write;

use clap::builder::StyledStr;

/// A title, and its commands with their questions.
type Group = (&'static str, &'static [(&'static str, &'static str)]);

/// Every command, in exactly one group.
pub const GROUPS: [Group; 6] = [
    (
        "Judge a result",
        &[
            ("check", "Did this unit compute this D?"),
            ("explain", "How was this element computed?"),
            ("compare", "Why do these two results differ?"),
            ("replay", "Which D would this unit compute?"),
            ("verify-report", "Is this report true?"),
        ],
    ),
    (
        "Search",
        &[
            ("identify", "Which unit and kernel computed this D?"),
            ("kernels", "In which order does this kernel add?"),
            ("probe", "Which products show how a machine computes?"),
            ("infer", "Which arithmetic explains its answers?"),
        ],
    ),
    (
        "Audit a provider",
        &[
            ("commit", "Which product did I commit to?"),
            ("audit", "Is a committed D right where a beacon looks?"),
            ("attest", "Did a trusted key sign this verdict?"),
            ("log", "Since when does this commitment exist?"),
        ],
    ),
    (
        "Check many",
        &[
            ("batch", "Are all these results right?"),
            ("shard", "How do many machines share one check?"),
            ("screen", "Which GPU of the fleet computes wrong results?"),
        ],
    ),
    (
        "Look up",
        &[
            ("archs", "Which GPUs are modelled, with what evidence?"),
            ("inspect", "What do these files contain?"),
        ],
    ),
    (
        MORE,
        &[
            ("schedules", "Which orders of sums are known?"),
            ("ops", "Which operations between products are known?"),
            ("features", "Which numerical features does a unit have?"),
            ("engines", "What can compute on this machine?"),
            ("bench", "How long will a check take here?"),
            ("sweep", "Is this function right on all 2^32 inputs?"),
            ("digest", "What is the SHA-256 of this array?"),
            ("generate", "Which operand does this seed give?"),
            ("completions", "How does my shell complete commands?"),
            ("man", "Where are the manual pages?"),
        ],
    ),
];

/// What is only for reference and scripts.
const MORE: &str = "More, for reference and scripts";

/// What `--help` has above its groups.
const LISTED: &str = "\nCommands, and the question that each answers:\n";

const STYLE: anstyle::Style = anstyle::Style::new().bold();
const HEADING: anstyle::Style = STYLE.underline();

/// The help of the program, with its commands in groups.
pub fn help_template() -> StyledStr {
    template("{about-with-newline}\n", LISTED, |title, commands| {
        let mut text = format!("\n{HEADING}{title}:{HEADING:#}\n");
        let help = (title == MORE).then_some(&("help", "What does this command do?"));
        for (name, question) in commands.iter().chain(help) {
            let _ = writeln!(text, "  {STYLE}{name:<13}{STYLE:#}  {question}");
        }
        text
    })
}

/// The help of the program on one screen.
pub fn short_template() -> StyledStr {
    template("{about}\n\n", "", |title, commands| {
        if title != MORE {
            let mut text = format!("\n{HEADING}{title}:{HEADING:#}\n");
            for (name, question) in commands {
                let _ = writeln!(text, "  {STYLE}{name:<13}{STYLE:#}  {question}");
            }
            return text;
        }
        let names: Vec<_> = commands.iter().map(|(name, _)| *name).collect();
        let lines: Vec<_> = names.chunks(6).map(|names| names.join(", ")).collect();
        format!(
            "\n{HEADING}{title}:{HEADING:#}\n  {}\n",
            lines.join(",\n  ")
        )
    })
}

fn template(
    about: &str,
    title: &str,
    group: impl Fn(&str, &[(&str, &str)]) -> String,
) -> StyledStr {
    let groups: String = GROUPS
        .iter()
        .map(|(title, commands)| group(title, commands))
        .collect();
    format!(
        "{about}{{usage-heading}} {{usage}}\n{title}{groups}\n{HEADING}Options:{HEADING:#}\n{{options}}{{after-help}}"
    )
    .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;

    /// A new command without a group, or a group with a command that is gone, fails here.
    #[test]
    fn every_command_is_in_exactly_one_group() {
        let program = crate::cli::Cli::command();
        let commands: BTreeSet<_> = program
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let grouped = GROUPS.iter().flat_map(|(_, commands)| commands.iter());
        let grouped: Vec<_> = grouped.map(|(name, _)| *name).collect();
        let distinct: BTreeSet<_> = grouped.iter().copied().collect();
        assert_eq!(grouped.len(), distinct.len(), "a command is in two groups");
        assert_eq!(commands, distinct);
    }

    #[test]
    fn help_shows_each_question() {
        let help = crate::cli::Cli::command().render_long_help().to_string();
        for (title, commands) in GROUPS {
            assert!(help.contains(title), "{title}");
            for (name, question) in commands {
                assert!(question.ends_with('?'), "{question}");
                assert!(help.contains(&format!("{name:<13}  {question}")), "{help}");
            }
        }
        assert!(help.contains("--threads"), "{help}");
        assert!(help.contains("Exit codes"), "{help}");
    }
}
