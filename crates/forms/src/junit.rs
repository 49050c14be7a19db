//! JUnit XML, as CI servers read it: a suite of one case, or of as many as there are. Without times and identifiers: the
//! same inputs give the same file.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite, XmlString};

use crate::Layout;
use crate::view::{Case, Tone, View};
use tcverify_io::{escaped, escaped_lines, without_commands};
use tcverify_report::Tool;

/// The XML.
///
/// # Errors
/// Those of the writer.
pub fn junit(view: &View, out: &mut dyn Write) -> io::Result<()> {
    let [name, class, case] = &view.test;
    let mut suite = TestSuite::new(line(&format!("{name} {}", Tool::default().version)));
    for (name, value) in properties(view) {
        suite.add_property((line(&name), line(&value)));
    }
    if view.cases.is_empty() {
        let only = Case {
            name: case.clone(),
            class: class.clone(),
            tone: view.tone,
            state: "different".to_owned(),
            word: view.word.clone(),
            qualified: view.qualified.clone(),
            said: view.sentence.clone(),
            ..Case::default()
        };
        let body = || Ok(view.plain_text(Layout::default()));
        suite.add_test_case(tested(&only, body)?);
    } else {
        for case in view.uncovered.iter().chain(&view.cases) {
            let body = || {
                let view = case.opened()?;
                Ok(view.map_or(case.said.clone(), |view| view.plain_text(Layout::default())))
            };
            suite.add_test_case(tested(case, body)?);
        }
    }
    let mut report = Report::new("tcverify");
    report.add_test_suite(suite);
    report.serialize(out).map_err(io::Error::other)
}

/// What is known of the rule and of the arrays.
fn properties(view: &View) -> Vec<(String, String)> {
    let mut properties = Vec::new();
    if view.cases.is_empty() {
        properties.push(("verdict".to_owned(), view.title()));
    }
    let facts = view.summary();
    properties.extend(facts.map(|fact| (fact.label.clone(), fact.lines.join("; "))));
    let cards = view.sections.iter().flat_map(|section| &section.cards);
    let paths = cards.filter(|card| !card.path.is_empty());
    properties.extend(paths.map(|card| (format!("{}.path", card.name), card.path.clone())));
    for digest in view.digests() {
        let name = match digest.part {
            "" => format!("{}.sha256", digest.of),
            part => format!("{}.{part}_sha256", digest.of),
        };
        properties.push((name, digest.sha256.clone()));
    }
    properties
}

/// A case as a test; `body` is the text of one that failed.
fn tested(case: &Case, body: impl FnOnce() -> io::Result<String>) -> io::Result<TestCase> {
    let passed = matches!(case.tone, Tone::Good | Tone::Part);
    let status = match case.tone {
        _ if case.state == "skipped" => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(line(&case.said));
            status
        }
        Tone::Good | Tone::Part => TestCaseStatus::success(),
        Tone::Bad | Tone::Unsure => {
            let mut status = TestCaseStatus::non_success(match case.tone {
                Tone::Bad => NonSuccessKind::Failure,
                _ => NonSuccessKind::Error,
            });
            status
                .set_message(line(&case.said))
                .set_type(line(&case.state));
            status.set_description(xml(&escaped_lines(body()?.trim_end())));
            status
        }
    };
    let mut test = TestCase::new(line(&case.name), status);
    // A case that agrees in part, or within a tolerance, passes and says so.
    let part = case.tone == Tone::Part || !case.qualified.is_empty();
    if passed && part && case.state != "skipped" {
        test.set_system_out(line(&format!("{}: {}", case.title(), case.said)));
    }
    test.set_classname(line(&case.class));
    Ok(test)
}

fn line(text: &str) -> XmlString {
    xml(&escaped(text))
}

/// Text as XML may hold it: besides controls, two characters are forbidden.
fn xml(text: &str) -> XmlString {
    XmlString::new(without_commands(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_forbids_is_not_written() {
        let text = line("]]> <a b='c'> & \"\u{0}\u{1b}[31m\u{ffff}##[error]");
        assert_eq!(
            text.as_str(),
            "]]> <a b='c'> & \"\\u{0}\\u{1b}[31m\u{fffd}#\\u0023[error]"
        );
        let suite = TestSuite::new(text);
        let mut report = Report::new("x");
        report.add_test_suite(suite);
        let written = report.to_string().unwrap();
        assert!(
            written.contains("]]&gt; &lt;a b=&apos;c&apos;&gt; &amp; &quot;"),
            "{written}"
        );
        assert!(roxmltree::Document::parse(&written).is_ok());
        assert!(!written.contains("time"), "{written}");
    }
}
