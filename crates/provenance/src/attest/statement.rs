//! in-toto Statement v1, and the predicates that are written.

use serde::{Deserialize, Serialize};

use super::AttestError;
use crate::envelope::strictly;
use crate::io::printable;
use crate::io::tree::Hash as Sha256;
use crate::words::each_once;
use crate::words::words;

/// Value of the `_type` field.
pub const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// Type of the envelope's payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

words! {
    /// Which predicate.
    pub enum Kind {
        /// Passed, warned or failed: in-toto's test-result v0.1
        TestResult = "test-result",
        /// The properties that were verified, with a time: in-toto's svr v0.2
        Svr = "svr",
    }
}

impl Kind {
    /// Value of `predicateType`.
    pub fn uri(self) -> &'static str {
        match self {
            Kind::TestResult => "https://in-toto.io/attestation/test-result/v0.1",
            Kind::Svr => "https://in-toto.io/attestation/svr/v0.2",
        }
    }

    fn of(uri: &str) -> Option<Kind> {
        let kinds = [Kind::TestResult, Kind::Svr];
        kinds.into_iter().find(|kind| kind.uri() == uri)
    }
}

/// What is said, of which files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Statement<P> {
    #[serde(rename = "_type")]
    pub kind: String,
    /// Matched by digest alone; names inform.
    pub subject: Vec<Descriptor>,
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: P,
}

/// Some bytes, by their digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Descriptor {
    pub name: String,
    pub digest: Digests,
    /// Of a judged file: what its result is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
}

/// What a verdict says of a file beside its digest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Annotations {
    /// What the result is made of beside its operands, and how it is stored: `plus C`, `B transposed`, `D bf16` ...
    pub terms: Vec<String>,
}

/// Digests by algorithm: there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Digests {
    pub sha256: Sha256,
}

impl Descriptor {
    pub fn new(name: impl Into<String>, sha256: Sha256) -> Descriptor {
        let name = name.into();
        let digest = Digests { sha256 };
        Descriptor {
            name,
            digest,
            annotations: None,
        }
    }

    /// The descriptor, of a result with these terms.
    #[must_use]
    pub fn made_of(self, terms: Vec<String>) -> Descriptor {
        let annotations = (!terms.is_empty()).then_some(Annotations { terms });
        Descriptor {
            annotations,
            ..self
        }
    }

    /// What its result is made of.
    pub fn terms(&self) -> &[String] {
        self.annotations.as_ref().map_or(&[], |of| &of.terms)
    }
}

/// test-result v0.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TestResult {
    pub result: TestVerdict,
    /// What the verdict rests on: the report, operands, the model, the schedule, a commitment.
    pub configuration: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_tests: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned_tests: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
}

/// From the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum TestVerdict {
    Passed,
    Warned,
    Failed,
}

/// svr v0.2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Svr {
    pub verifier: Verifier,
    /// As whoever signed it said; UTC.
    pub time_created: String,
    /// Those that were verified.
    pub properties: Vec<String>,
}

/// Who verified, under which policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Verifier {
    pub id: String,
    pub policies: Vec<Descriptor>,
}

/// A statement of either kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    TestResult(Statement<TestResult>),
    Svr(Statement<Svr>),
}

impl Predicate {
    /// Reads the payload of an envelope whose signatures have been verified. Unknown fields are refused.
    pub fn parse(payload: &[u8]) -> Result<Predicate, AttestError> {
        /// All that has to be known to read the rest.
        #[derive(Deserialize)]
        struct Typed {
            #[serde(rename = "_type")]
            kind: String,
            #[serde(rename = "predicateType")]
            predicate_type: String,
        }
        let not = |reason: String| AttestError::NotOne(format!("its statement: {reason}"));
        let json = |error: serde_json::Error| not(printable(&error.to_string()));
        let text = std::str::from_utf8(payload).map_err(|_| not("it is not text".to_owned()))?;
        each_once(text).map_err(not)?;
        let typed: Typed = serde_json::from_str(text).map_err(json)?;
        if typed.kind != STATEMENT {
            let kind = printable(&typed.kind);
            return Err(not(format!("its _type is {kind:?}, not {STATEMENT:?}")));
        }
        let read = match Kind::of(&typed.predicate_type) {
            Some(Kind::TestResult) => strictly(text).map(Predicate::TestResult),
            Some(Kind::Svr) => strictly(text).map(Predicate::Svr),
            None => Err(format!(
                "its predicateType {:?} is not one of tcverify's",
                printable(&typed.predicate_type)
            )),
        };
        let read = read.map_err(not)?;
        if read.subjects().is_empty() {
            Err(not("it has no subject".to_owned()))
        } else {
            Ok(read)
        }
    }

    pub fn kind(&self) -> Kind {
        match self {
            Predicate::TestResult(_) => Kind::TestResult,
            Predicate::Svr(_) => Kind::Svr,
        }
    }

    pub fn subjects(&self) -> &[Descriptor] {
        match self {
            Predicate::TestResult(statement) => &statement.subject,
            Predicate::Svr(statement) => &statement.subject,
        }
    }

    /// As it is written and signed: on one line, in this order.
    pub fn text(&self) -> String {
        let text = match self {
            Predicate::TestResult(statement) => serde_json::to_string(statement),
            Predicate::Svr(statement) => serde_json::to_string(statement),
        };
        text.expect("plain data")
    }

    /// The predicate alone, as it is written.
    pub fn predicate_text(&self) -> String {
        let text = match self {
            Predicate::TestResult(statement) => serde_json::to_string(&statement.predicate),
            Predicate::Svr(statement) => serde_json::to_string(&statement.predicate),
        };
        text.expect("plain data")
    }
}
