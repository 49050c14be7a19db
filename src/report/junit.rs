//! The report as JUnit XML: one suite, one case.

use std::io::{self, Write};

use crate::io::{escaped as line, escaped_lines as lines, without_commands};
use crate::role::Role;

use super::words::{chosen, evidence, model_line, schedule_line, sentence, title};
use super::{Exporter, Outcome, Report, Verdict};

/// JUnit XML, as CI servers read it. Without times: the same inputs give the same file.
pub struct Junit;

impl Exporter for Junit {
    fn export(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let failures = u8::from(report.verdict == Verdict::Different);
        let counts = format!("tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"0\"");
        let model = &report.model;
        write!(
            out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tcverify\" {counts}>\n  \
             <testsuite name=\"tcverify {}\" {counts}>\n    <properties>\n",
            report.tool.version
        )?;
        let mut properties = vec![
            ("model".to_owned(), model_line(report)),
            ("verdict".to_owned(), title(report)),
            ("model.evidence".to_owned(), evidence(model)),
            ("model.sha256".to_owned(), model.sha256.clone()),
        ];
        if let Some(chosen) = chosen(report) {
            properties.push(("model.chosen".to_owned(), chosen));
        }
        if let (Some(line), Some(schedule)) = (schedule_line(report), &report.schedule) {
            properties.push(("schedule".to_owned(), line));
            properties.push(("schedule.sha256".to_owned(), schedule.sha256.clone()));
            if let Some(kernel) = &schedule.kernel {
                let lines = kernel.lines().into_iter();
                let lines: Vec<_> = lines.map(|(how, what)| format!("{how}: {what}")).collect();
                properties.push(("kernel".to_owned(), lines.join("; ")));
            }
        }
        if let Some(commitment) = &report.commitment {
            properties.push(("commitment.root".to_owned(), commitment.root.clone()));
        }
        for (name, input) in report.inputs.named() {
            properties.push((format!("{name}.path"), input.path.clone()));
            properties.push((format!("{name}.file_sha256"), input.file_sha256.clone()));
        }
        if let Some(sha256) = &report.reproduced.payload_sha256 {
            properties.push(("reproduced.payload_sha256".to_owned(), sha256.clone()));
        }
        for (name, value) in properties {
            writeln!(
                out,
                "      <property name=\"{name}\" value=\"{}\"/>",
                escaped(&line(&value))
            )?;
        }
        let d = match (report.inputs.get(&Role::D), &report.outcome) {
            (Some(d), _) => d.path.clone(),
            (
                None,
                Outcome::Digest {
                    expected_payload_sha256,
                },
            ) => expected_payload_sha256.clone(),
            (None, Outcome::Elements { .. }) => "D".to_owned(),
        };
        let [a, b] = [Role::A, Role::B].map(|role| &report.inputs[role].path);
        let addend = report.inputs.get(&Role::C);
        let addend = addend.map_or(String::new(), |c| format!(" + {}", c.path));
        write!(
            out,
            "    </properties>\n    <testcase classname=\"tcverify.{}.{}\" name=\"{}\"",
            escaped(&line(&model.architecture)),
            escaped(&line(&model.instruction)),
            escaped(&line(&format!("{d} = {a} * {b}{addend}")))
        )?;
        let title = title(report);
        if failures == 0 && title != Verdict::Identical.title() {
            // A part that agrees passes, and says that it is a part.
            let said = format!("{title}: {}", sentence(report));
            writeln!(
                out,
                ">\n      <system-out>{}</system-out>\n    </testcase>",
                escaped(&line(&said))
            )?;
        } else if failures == 0 {
            out.write_all(b"/>\n")?;
        } else {
            let text = report.text();
            writeln!(
                out,
                ">\n      <failure type=\"different\" message=\"{}\">{}</failure>\n    </testcase>",
                escaped(&line(&sentence(report))),
                escaped(&lines(text.trim_end()))
            )?;
        }
        out.write_all(b"  </testsuite>\n</testsuites>\n")
    }
}

/// What means itself in elements and attributes. Controls are gone already, by [`line`]; of the rest
/// XML lacks two.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in without_commands(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_forbids_is_not_written() {
        let text = escaped(&line("]]> <a b='c'> & \"\u{0}\u{1b}[31m\u{ffff}"));
        assert_eq!(
            text,
            "]]&gt; &lt;a b=&apos;c&apos;&gt; &amp; &quot;\\u{0}\\u{1b}[31m\u{fffd}"
        );
    }
}
