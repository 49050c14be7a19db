//! A report as claims about files.

use std::collections::HashSet;
use std::io;

use super::statement::{
    Descriptor, Kind, Predicate, STATEMENT, Statement, Svr, TestResult, TestVerdict, Verifier,
};
use crate::emu::Evidence;
use crate::io::tree::Hash;
use crate::report::{Outcome, Report, Rule, Verdict};

/// How much a verdict is worth on its own, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Every bit of all of D.
    Identical,
    /// Except NaN or zeros that the request accepts.
    Accepted,
    /// By a model, a schedule or a variant that is somebody's file.
    Claimed,
    /// By a model that was chosen because it gives D.
    Chosen,
    /// By factors or a schedule that leave products out, so that operands do not matter.
    WithoutProducts,
    /// Of a part of D.
    InPart,
    Different,
}

impl Standing {
    /// The standing of a verdict by a rule; `accepted` if elements differ in a way that the request accepts.
    pub fn of(verdict: Verdict, rule: &Rule, accepted: bool) -> Standing {
        match verdict {
            Verdict::Different => Standing::Different,
            Verdict::IdenticalInPart => Standing::InPart,
            Verdict::Identical if rule.leaves_out() => Standing::WithoutProducts,
            Verdict::Identical if rule.is_chosen() => Standing::Chosen,
            Verdict::Identical if rule.evidence() == Evidence::Claimed => Standing::Claimed,
            Verdict::Identical if accepted => Standing::Accepted,
            Verdict::Identical => Standing::Identical,
        }
    }

    /// That of a report.
    pub fn of_report(report: &Report) -> Standing {
        let accepted = match &report.outcome {
            Outcome::Elements { comparison, .. } => comparison.accepted > 0,
            Outcome::Digest { .. } => false,
        };
        let standing = Standing::of(report.verdict, &report.rule, accepted);
        // With this factor of scores 0, queries and keys do not matter.
        let request = report.request.as_ref();
        let scale = request.and_then(|fields| fields.get("softmax_scale")?.as_f64());
        match (report.verdict, scale) {
            (Verdict::Identical, Some(0.0)) => Standing::WithoutProducts,
            _ => standing,
        }
    }

    /// The test's name and result, and the property that was verified: none of a D that differs.
    pub fn attested(self) -> (&'static str, TestVerdict, Option<&'static str>) {
        use TestVerdict::{Failed, Passed, Warned};
        match self {
            Standing::Identical => ("tcverify:identical", Passed, Some(IDENTICAL)),
            Standing::Accepted => (
                "tcverify:identical-but-for-accepted",
                Warned,
                Some("TCVERIFY_IDENTICAL_BUT_FOR_ACCEPTED"),
            ),
            Standing::Claimed => (
                "tcverify:identical-by-claimed-model",
                Warned,
                Some("TCVERIFY_IDENTICAL_BY_CLAIMED_MODEL"),
            ),
            Standing::Chosen => (
                "tcverify:identical-by-chosen-model",
                Warned,
                Some("TCVERIFY_IDENTICAL_BY_CHOSEN_MODEL"),
            ),
            Standing::WithoutProducts => (
                "tcverify:identical-without-products",
                Warned,
                Some("TCVERIFY_IDENTICAL_WITHOUT_PRODUCTS"),
            ),
            Standing::InPart => (
                "tcverify:identical-in-part",
                Warned,
                Some("TCVERIFY_IDENTICAL_IN_PART"),
            ),
            Standing::Different => ("tcverify:different", Failed, None),
        }
    }

    /// The claims that a verdict of this standing is, of these files, by the rule of this SHA-256.
    pub fn claims(
        self,
        subjects: Vec<Descriptor>,
        configuration: Vec<Descriptor>,
        rule: &str,
    ) -> Claims {
        let (test, result, property) = self.attested();
        let model = property.map(|_| model_property(rule));
        Claims {
            subjects,
            configuration,
            tests: vec![(test.to_owned(), result)],
            properties: property
                .map(str::to_owned)
                .into_iter()
                .chain(model)
                .collect(),
            policies: Vec::new(),
        }
    }
}

/// The property of a D of which every bit was reproduced by a model of the catalogue's.
pub const IDENTICAL: &str = "TCVERIFY_IDENTICAL";

/// The property of a fleet in which every GPU is clean.
pub const CLEAN: &str = "TCVERIFY_FLEET_CLEAN";

/// The beginning of the property that names the rule.
pub const MODEL: &str = "TCVERIFY_MODEL_";

/// The content of a statement.
#[derive(Clone, Debug)]
pub struct Claims {
    /// The files that were judged.
    pub subjects: Vec<Descriptor>,
    /// The files that it rests on, except the report.
    pub configuration: Vec<Descriptor>,
    pub tests: Vec<(String, TestVerdict)>,
    /// What was verified for all subjects, and the models' digests; empty if nothing was.
    pub properties: Vec<String>,
    pub policies: Vec<Descriptor>,
}

impl Claims {
    /// The statement: the report is the document of this SHA-256, the time the signer's. None if it would say that
    /// nothing was verified.
    pub fn statement(self, kind: Kind, report: Hash, time: Option<&str>) -> Option<Predicate> {
        let (subject, predicate_type) = (once(self.subjects), kind.uri().to_owned());
        let kind_of_document = STATEMENT.to_owned();
        if kind == Kind::Svr {
            if self.properties.is_empty() {
                return None;
            }
            return Some(Predicate::Svr(Statement {
                kind: kind_of_document,
                subject,
                predicate_type,
                predicate: Svr {
                    verifier: Verifier {
                        id: format!("pkg:cargo/tcverify@{}", env!("CARGO_PKG_VERSION")),
                        policies: self.policies,
                    },
                    time_created: time?.to_owned(),
                    properties: self.properties,
                },
            }));
        }
        let named = |verdict| {
            let tests = self.tests.iter().filter(|(_, result)| *result == verdict);
            tests.map(|(name, _)| name.clone()).collect()
        };
        let report = Descriptor::new("report", report);
        let rest = self.configuration.into_iter().chain(self.policies);
        Some(Predicate::TestResult(Statement {
            kind: kind_of_document,
            subject,
            predicate_type,
            predicate: TestResult {
                result: self.tests.iter().map(|(_, result)| *result).max()?,
                configuration: once(std::iter::once(report).chain(rest)),
                passed_tests: named(TestVerdict::Passed),
                warned_tests: named(TestVerdict::Warned),
                failed_tests: named(TestVerdict::Failed),
            },
        }))
    }
}

/// The property that says by which rule.
pub fn model_property(sha256: &str) -> String {
    format!("{MODEL}{sha256}")
}

/// Each once, in the order of its first place.
fn once(all: impl IntoIterator<Item = Descriptor>) -> Vec<Descriptor> {
    let mut seen = HashSet::new();
    let all = all.into_iter();
    all.filter(|one| seen.insert(one.clone())).collect()
}

/// A digest that a report holds: one of a batch's state may have been written by anyone.
pub fn attested_digest(sha256: &str) -> io::Result<Hash> {
    let parsed = Hash::parse(sha256);
    parsed.ok_or_else(|| io::Error::other("the report lacks a required SHA-256"))
}

/// The judged file, or the digest in its place, and the operands' files, on which the verdict rests.
fn files(report: &Report) -> io::Result<[Vec<Descriptor>; 2]> {
    let (mut subjects, mut operands) = (Vec::new(), Vec::new());
    for (role, input) in &report.inputs {
        let sha256 = attested_digest(&input.file_sha256)?;
        if role.is_result() {
            subjects.push(Descriptor::new(&input.path, sha256).made_of(report.terms()));
        } else {
            operands.push(Descriptor::new(role.field(), sha256));
        }
    }
    if let Outcome::Digest {
        expected_payload_sha256: payload,
    } = &report.outcome
    {
        let name = format!("canonical payload of {}", report.result().field());
        subjects.push(Descriptor::new(name, attested_digest(payload)?).made_of(report.terms()));
    }
    Ok([subjects, operands])
}

impl Claims {
    /// Those of a check.
    ///
    /// # Errors
    /// If the report holds no digests.
    pub fn of_report(report: &Report) -> io::Result<Claims> {
        let [subjects, mut configuration] = files(report)?;
        let drawn_by = || {
            let from = report.reproduced.sample.as_ref()?.seed_from.as_ref()?;
            Some(from.commitment_sha256.as_str())
        };
        let committed = report.commitment.as_ref();
        let committed = committed
            .map(|of| of.file_sha256.as_str())
            .or_else(drawn_by);
        let committed = committed.map(|sha256| ("commitment", sha256));
        for (name, sha256) in report.rule.digests().into_iter().chain(committed) {
            configuration.push(Descriptor::new(name, attested_digest(sha256)?));
        }
        let rule = report.rule.sha256();
        Ok(Standing::of_report(report).claims(subjects, configuration, rule))
    }
}
