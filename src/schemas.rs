//! JSON Schemas of all documents, made of their types. `docs/schemas/` has them as files.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::attest::{Statement, Svr, TestResult};
use crate::audit::{AUDIT, AuditReport, CHALLENGE, Challenge};
use crate::batch::report::Batch;
use crate::batch::{Beginning, Entry, MANIFEST, STATE};
use crate::check::RequestFields;
use crate::commit::{COMMITMENT, Commitment, PROOF, Proof};
use crate::compare::document::Compared;
use crate::compare::runs::document::ComparedRuns;
use crate::emu::Architecture;
use crate::emu::schedule::Schedule;
use crate::explain::Explanation;
use crate::identify::document::Identification;
use crate::inspect::document::Inspection;
use crate::io::tree::Hash;
use crate::libraries::{KernelTable, TABLE_SCHEMA};
use crate::operation::{Operation, SWEEP, Sweep};
use crate::ops::Variant;
use crate::policy::{AdmissionPolicy, POLICY};
use crate::probe::features::FeatureTable;
use crate::probe::infer::Inference;
use crate::report::Report;
use crate::screen::{
    COMMITMENT as SCREEN_COMMITMENT, Commitment as ScreenCommitment, FLEET, Fleet, RESULTS,
    Results, SUITE, Suite,
};
use crate::shard::{PART, PLAN, Part, Plan};
use crate::sign::Signature;

/// A manifest, whose cases are read field by field.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct Manifest {
    schema: String,
    #[schemars(default)]
    defaults: RequestFields,
    /// How much of what ran the cases are.
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<crate::batch::report::Coverage>,
    cases: Vec<Case>,
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, clippy::large_enum_variant)] // a shape for the schema alone: none is ever made
enum Case {
    Product(ProductCase),
    Operation(OperationCase),
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct ProductCase {
    name: Option<String>,
    /// The verdict that the case is expected to get.
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<crate::batch::report::CaseVerdict>,
    #[schemars(flatten)]
    fields: RequestFields,
}

#[derive(JsonSchema)]
#[allow(dead_code)]
struct OperationCase {
    name: Option<String>,
    /// The verdict that the case is expected to get.
    #[serde(skip_serializing_if = "Option::is_none")]
    expect: Option<crate::batch::report::CaseVerdict>,
    #[schemars(flatten)]
    fields: Operation,
}

/// A document that says what its content's SHA-256 is.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct Envelope<T> {
    schema: String,
    tool: String,
    sha256: Hash,
    content: T,
}

/// An envelope that may have a signature.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code)]
struct SignedEnvelope<T> {
    schema: String,
    tool: String,
    sha256: Hash,
    /// Of the schema's word, a space and `sha256`.
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
    content: T,
}

/// What a line of a state holds: the first one, every other one.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, clippy::large_enum_variant)]
enum StateLine {
    Beginning(Beginning),
    Case(Entry),
}

/// Every document that is read or written: the name of its schema's file, and the schema.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        written::<Report>("report", crate::report::SCHEMA),
        written::<Batch>("batch", crate::batch::report::BATCH),
        written::<Identification>("identification", crate::identify::document::IDENTIFICATION),
        written::<Compared>("compared", crate::compare::document::COMPARED),
        written::<ComparedRuns>(
            "compared-runs",
            crate::compare::runs::document::COMPARED_RUNS,
        ),
        written::<Architecture>("architecture", crate::emu::model::SCHEMA),
        written::<Schedule>("schedule", crate::emu::schedule::SCHEMA),
        written::<Variant>("operation", crate::ops::SCHEMA),
        written::<Sweep>("sweep", SWEEP),
        written::<Manifest>("manifest", MANIFEST),
        written::<Commitment>("commitment", COMMITMENT),
        written::<Proof>("proof", PROOF),
        written::<Challenge>("challenge", CHALLENGE),
        written::<AuditReport>("audit", AUDIT),
        written::<Envelope<Plan>>("plan", PLAN),
        written::<SignedEnvelope<Part>>("part", PART),
        written::<AdmissionPolicy>("policy", POLICY),
        written::<Envelope<StateLine>>("batch-state", STATE),
        written::<Explanation>("explanation", crate::explain::SCHEMA),
        written::<Inspection>("inspection", crate::inspect::document::INSPECTION),
        written::<Inference>("inference", crate::probe::infer::INFERENCE),
        written::<FeatureTable>("features", crate::probe::features::FEATURES),
        written::<crate::probe::folder::Manifest>("probes", crate::probe::folder::SCHEMA),
        written::<KernelTable>("kernel-table", TABLE_SCHEMA),
        written::<Envelope<Suite>>("screen-suite", SUITE),
        written::<SignedEnvelope<Results>>("screen-results", RESULTS),
        written::<ScreenCommitment>("screen-commitment", SCREEN_COMMITMENT),
        written::<Fleet>("screen-fleet", FLEET),
        of_others::<crate::attest::Envelope>("attestation"),
        of_others::<AnyStatement>("statement"),
    ]
}

/// What an attestation holds.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
enum AnyStatement {
    TestResult(Statement<TestResult>),
    Svr(Statement<Svr>),
}

/// A document of other people's format, in which nothing is called `schema`.
fn of_others<T: JsonSchema>(name: &'static str) -> (&'static str, Schema) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    (name, settings.into_generator().into_root_schema_for::<T>())
}

/// As it is written, which is what a reader may rely on; the word of its `schema` is that of this version.
fn written<T: JsonSchema>(name: &'static str, word: &str) -> (&'static str, Schema) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    if let Some(properties) = schema.get_mut("properties") {
        properties["schema"] = serde_json::json!({ "const": word });
    }
    (name, schema)
}
