//! The verdict as workflow commands of GitHub Actions.

use std::io::{self, Write};

use crate::io::{escaped as line, without_commands};

use super::words::{chosen, evidence, model_line, product_line, sentence, title};
use super::{Exporter, Outcome, Report, Verdict};

/// One annotation for the verdict, one for each likely cause.
pub struct GitHub;

/// Mismatches that an annotation lists.
const LISTED: usize = 5;

impl Exporter for GitHub {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let level = match report.verdict {
            Verdict::Identical => "notice",
            Verdict::IdenticalInPart => "warning",
            Verdict::Different => "error",
        };
        let title = format!("tcverify: {}", title(report).to_lowercase());
        let mut said = vec![
            sentence(report),
            model_line(report),
            evidence(&report.model),
            product_line(report),
        ];
        said.extend(chosen(report));
        for (name, input) in report.inputs.named() {
            said.push(format!("{name}: {}", line(&input.path)));
        }
        if let Outcome::Elements { comparison, .. } = &report.outcome {
            for m in comparison.first.iter().take(LISTED) {
                let ulp = m.ulp.map_or(String::new(), |ulp| format!(", {ulp:+} ulp"));
                said.push(format!(
                    "{:?}: 0x{} expected, 0x{} given{ulp}",
                    m.index, m.reproduced, m.given
                ));
            }
        }
        annotation(level, &title, &said.join("\n"), out)?;
        for cause in &report.causes {
            let command = cause.command.as_ref();
            let command = command.map_or(String::new(), |command| format!("\n{}", line(command)));
            let text = format!("{}{command}", cause.sentence);
            annotation("notice", "tcverify: likely cause", &text, out)?;
        }
        Ok(())
    }
}

pub(super) fn annotation(
    level: &str,
    title: &str,
    text: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "::{level} title={}::{}", property(title), data(text))
}

fn data(text: &str) -> String {
    let text = without_commands(text).replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_line() {
        let mut out = Vec::new();
        annotation("error", "a: b, c", "50 %\r\n::error::x", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "::error title=a%3A b%2C c::50 %25%0D%0A:\\u003aerror::x\n"
        );
        let mut out = Vec::new();
        annotation("error", "a", "##[error]x\n##vso[task]", &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains("##"), "{text}");
    }
}
