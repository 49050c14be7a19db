//! What an audit says, as claims about the commitment: of D itself nothing was at hand.

use super::AuditReport;
use crate::attest::{Claims, Descriptor, Standing};
use crate::commit::Hash;
use crate::emu::Evidence;
use crate::report::Verdict;

impl AuditReport {
    /// The claims; `commitment` is the file's name.
    pub fn claims(&self, commitment: &str) -> Claims {
        let standing = match self.verdict {
            Verdict::Different => Standing::Different,
            Verdict::IdenticalInPart => Standing::InPart,
            Verdict::Identical if self.rule.evidence() == Evidence::Claimed => Standing::Claimed,
            Verdict::Identical => Standing::Identical,
        };
        let hash = |sha256: &str| Hash::parse(sha256).expect("a SHA-256");
        let parts = self.rule.digests().into_iter();
        let mut configuration: Vec<_> = parts
            .map(|(name, sha256)| Descriptor::new(name, hash(sha256)))
            .collect();
        configuration.insert(1, Descriptor::new("draw", self.draw_sha256));
        let subjects = vec![Descriptor::new(commitment, self.commitment_sha256)];
        standing.claims(subjects, configuration, self.rule.sha256())
    }
}
