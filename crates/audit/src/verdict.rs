//! `tcverify.audit/1`: what an audit found, and what that proves.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AuditModel, Challenge, Proven};
use crate::attest::{Claims, Descriptor, Standing};
use crate::commit::{Commitment, CommittedInput, CommittedResult};
use crate::compose::Request;

use crate::emu::{Element, shape_text};
use crate::io::tree::Hash;
use crate::report::{Missed, Rule, Tool, Verdict};
use crate::role::{ByRole, Role};
use crate::sample::{miss_probability, smallest_caught};
use crate::tlog::Published;

/// Value of the `schema` field.
pub const AUDIT: &str = "tcverify.audit/1";

/// The assumption of the odds.
const ASSUMES: &str = "the commitment was published before anyone could know the beacon's value";

/// How many wrong elements are listed.
const LISTED: usize = 10;

/// The verdict on the elements that were opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AuditReport {
    pub schema: String,
    pub tool: Tool,
    /// Of all of D only if all of it was drawn.
    pub verdict: Verdict,
    pub commitment_sha256: Hash,
    /// The root of the result.
    pub root: Hash,
    /// What the auditor stated, as the fields of a case without its arrays; null if a path in it is not UTF-8.
    pub request: Option<Value>,
    /// As in a report.
    pub rule: Rule,
    /// All committed arrays but the result.
    pub inputs: ByRole<CommittedInput>,
    pub result: CommittedResult,
    pub beacon: String,
    pub draw_sha256: Hash,
    /// Elements of D.
    pub population: u64,
    /// Those that were drawn, opened and replayed.
    pub elements: u64,
    /// Arrays that the auditor has all of.
    pub own: Vec<String>,
    pub mismatches: u64,
    /// The first of them.
    pub wrong: Vec<Wrong>,
    /// Until when the commitment was published, if a checkpoint says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Published>,
    /// How likely so many wrong elements of D are missed.
    pub missed: Vec<Missed>,
    /// So many wrong elements, or more, are found with 99 % at least.
    pub caught_99_percent: u64,
    /// What these odds rest on.
    pub assumes: String,
}

/// An element of which D has another code than the model computes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// Batch, row and column.
    pub index: [u64; 3],
    pub reproduced: String,
    pub given: String,
}

impl AuditReport {
    /// The verdict on elements with their computed and committed codes.
    pub fn new(
        (commitment, sha256): (&Commitment, Hash),
        challenge: &Challenge,
        (request, by): (&Request, &AuditModel),
        proven: &Proven,
        found: &[(Element, [u64; 2])],
    ) -> AuditReport {
        let width = 2 * commitment.result.format.bytes();
        let code = |code: u64| format!("{code:0width$x}");
        let differ = found.iter().filter(|(_, [one, other])| one != other);
        let wrong = differ.clone().take(LISTED);
        let wrong = wrong.map(|(at, [reproduced, given])| Wrong {
            index: [at.batch, at.row, at.column].map(|i| i as u64),
            reproduced: code(*reproduced),
            given: code(*given),
        });
        let (all, elements) = (challenge.population, found.len() as u64);
        let sizes = std::iter::successors(Some(1), |&k: &u64| k.checked_mul(10));
        let sizes = sizes.take(7).take_while(|&k| k <= all);
        let missed = sizes.map(|tampered| Missed {
            tampered,
            probability: miss_probability(all, elements, tampered),
        });
        let about = shape_text(&commitment.result.shape);
        let mismatches = differ.count() as u64;
        AuditReport {
            schema: AUDIT.to_owned(),
            tool: Tool::default(),
            verdict: match (mismatches, elements == all) {
                (0, true) => Verdict::Identical,
                (0, false) => Verdict::IdenticalInPart,
                _ => Verdict::Different,
            },
            commitment_sha256: sha256,
            root: commitment.result.root,
            request: stated(request),
            rule: by.rule(&about),
            inputs: commitment.inputs.clone(),
            result: commitment.result.clone(),
            beacon: challenge.beacon.clone(),
            draw_sha256: challenge.draw_sha256,
            population: all,
            elements,
            own: proven
                .own
                .iter()
                .map(|role| role.field().to_owned())
                .collect(),
            mismatches,
            wrong: wrong.collect(),
            published: None,
            missed: missed.collect(),
            caught_99_percent: smallest_caught(all, elements, 0.01),
            assumes: ASSUMES.to_owned(),
        }
    }

    /// What the result is made of beside its operands, and how it is stored.
    pub fn terms(&self) -> Vec<String> {
        self.rule.terms(self.inputs.keys(), self.result.format)
    }

    /// Adds the time by which witnesses saw the commitment. It replaces the assumption if the beacon's time was examined.
    #[must_use]
    pub fn published(self, published: Option<Published>) -> AuditReport {
        let before = published.as_ref();
        let before = before.and_then(|of| Some((of.quorum, of.of, of.before.as_ref()?)));
        AuditReport {
            assumes: match before {
                Some((quorum, of, time)) => format!(
                    "nobody knew the beacon's value before {time}, and fewer than {quorum} of {of} witnesses lie \
                     about the time"
                ),
                None => self.assumes,
            },
            published,
            ..self
        }
    }

    /// The verdict as claims about the commitment, as D itself was not at hand; `commitment` is the file's name.
    pub fn claims(&self, commitment: &str) -> Claims {
        let standing = Standing::of(self.verdict, &self.rule, false);
        let hash = |sha256: &str| Hash::parse(sha256).expect("a SHA-256");
        let parts = self.rule.digests().into_iter();
        let mut configuration: Vec<_> = parts
            .map(|(name, sha256)| Descriptor::new(name, hash(sha256)))
            .collect();
        configuration.insert(1, Descriptor::new("draw", self.draw_sha256));
        let subject = Descriptor::new(commitment, self.commitment_sha256);
        let subjects = vec![subject.made_of(self.terms())];
        standing.claims(subjects, configuration, self.rule.sha256())
    }
}

/// A request without its arrays, which the commitment has.
fn stated(request: &Request) -> Option<Value> {
    let mut fields = serde_json::to_value(request).ok()?;
    for role in Role::ALL {
        fields.as_object_mut()?.remove(role.field());
    }
    Some(fields)
}
