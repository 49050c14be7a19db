//! What an audit says, as claims about the commitment: of D itself nothing was at hand.

use super::AuditReport;
use crate::attest::{Claims, Descriptor, Standing, model_property};
use crate::emu::Evidence;
use crate::report::Verdict;

impl AuditReport {
    /// The claims; `commitment` is the file's name.
    pub fn claims(&self, commitment: &str) -> Claims {
        let standing = match self.verdict {
            Verdict::Different => Standing::Different,
            Verdict::IdenticalInPart => Standing::InPart,
            Verdict::Identical if self.evidence == Evidence::Claimed => Standing::Claimed,
            Verdict::Identical => Standing::Identical,
        };
        let mut configuration = vec![
            Descriptor::new("model", self.model_sha256),
            Descriptor::new("draw", self.draw_sha256),
        ];
        let schedule = self.schedule.as_ref();
        configuration.extend(schedule.map(|of| Descriptor::new("schedule", of.sha256)));
        let property = standing.property().map(str::to_owned);
        let model = property.as_ref();
        let model = model.map(|_| model_property(&self.model_sha256.to_string()));
        Claims {
            subjects: vec![Descriptor::new(commitment, self.commitment_sha256)],
            configuration,
            tests: vec![(standing.test().to_owned(), standing.result())],
            properties: property.into_iter().chain(model).collect(),
            policies: Vec::new(),
        }
    }
}
