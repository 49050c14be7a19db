//! JUnit XML, as CI servers read it: a suite of one case, or of as many as there are. Without times and identifiers: the
//! same inputs give the same file.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite, XmlString};

use super::Layout;
use crate::io::{escaped, escaped_lines, without_commands};
use crate::report::Tool;
use crate::report::view::{Case, Tone, View};

impl View {
    /// The XML.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let [name, class, case] = &self.test;
        let mut suite = TestSuite::new(line(&format!("{name} {}", Tool::default().version)));
        for (name, value) in self.properties() {
            suite.add_property((line(&name), line(&value)));
        }
        match self.cases.is_empty() {
            true => {
                let body = || Ok(self.plain_text(Layout::default()));
                let about = Tested {
                    name: case,
                    class,
                    tone: self.tone,
                    kind: "different",
                };
                suite.add_test_case(about.case(
                    &self.sentence,
                    (&self.word, &self.qualified),
                    body,
                )?);
            }
            false => {
                for case in self.uncovered.iter().chain(&self.cases) {
                    suite.add_test_case(of_case(case)?);
                }
            }
        }
        let mut report = Report::new("tcverify");
        report.add_test_suite(suite);
        report.serialize(out).map_err(io::Error::other)
    }

    /// What is known of the rule and of the arrays.
    fn properties(&self) -> Vec<(String, String)> {
        let mut properties = Vec::new();
        if self.cases.is_empty() {
            properties.push(("verdict".to_owned(), self.title()));
        }
        properties.extend(
            self.facts()
                .map(|fact| (fact.label.clone(), fact.lines.join("; "))),
        );
        properties.extend(
            self.ambiguity
                .iter()
                .map(|fact| (fact.label.clone(), fact.lines.join("; "))),
        );
        let cards = self.sections.iter().flat_map(|section| &section.cards);
        let paths = cards.filter(|card| !card.path.is_empty());
        properties.extend(paths.map(|card| (format!("{}.path", card.name), card.path.clone())));
        for digest in self.digests() {
            let name = match digest.part {
                "" => format!("{}.sha256", digest.of),
                part => format!("{}.{part}_sha256", digest.of),
            };
            properties.push((name, digest.sha256.clone()));
        }
        properties
    }
}

fn of_case(case: &Case) -> io::Result<TestCase> {
    let about = Tested {
        name: &case.name,
        class: &case.class,
        tone: case.tone,
        kind: &case.state,
    };
    let body = || {
        let view = case.opened()?;
        Ok(view.map_or(case.said.clone(), |view| view.plain_text(Layout::default())))
    };
    about.case(&case.said, (&case.word, &case.qualified), body)
}

struct Tested<'a> {
    name: &'a str,
    class: &'a str,
    tone: Tone,
    kind: &'a str,
}

impl Tested<'_> {
    fn case(
        self,
        said: &str,
        (word, qualified): (&str, &str),
        body: impl FnOnce() -> io::Result<String>,
    ) -> io::Result<TestCase> {
        if self.kind == "skipped" {
            let mut status = TestCaseStatus::skipped();
            status.set_message(line(said));
            let mut case = TestCase::new(line(self.name), status);
            case.set_classname(line(self.class));
            return Ok(case);
        }
        let kind = match self.tone {
            Tone::Good | Tone::Part => None,
            Tone::Bad => Some(NonSuccessKind::Failure),
            Tone::Unsure => Some(NonSuccessKind::Error),
        };
        let mut case = match kind {
            None => TestCase::new(line(self.name), TestCaseStatus::success()),
            Some(kind) => {
                let mut status = TestCaseStatus::non_success(kind);
                status.set_message(line(said)).set_type(line(self.kind));
                status.set_description(xml(&escaped_lines(body()?.trim_end())));
                TestCase::new(line(self.name), status)
            }
        };
        // What agrees in part, or by what was accepted, passes and says so.
        if kind.is_none() && (self.tone == Tone::Part || !qualified.is_empty()) {
            case.set_system_out(line(&format!("{word}{qualified}: {said}")));
        }
        case.set_classname(line(self.class));
        Ok(case)
    }
}

fn line(text: &str) -> XmlString {
    xml(&escaped(text))
}

/// What means itself; of characters that are not controls XML lacks two.
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
