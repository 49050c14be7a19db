//! A batch as claims about files.

use std::collections::BTreeSet;
use std::io;

use super::report::{Batch, CaseVerdict};
use crate::attest::{Claims, Descriptor, Standing, attested_digest};
use crate::forms::Stored;
use crate::report::Report;

impl Batch {
    /// Its claims; none if a case has no verdict, or not every product that ran was recorded.
    ///
    /// # Errors
    /// Those of the file that reports are in.
    pub fn claims(&self) -> io::Result<Option<Claims>> {
        if self.verdict == CaseVerdict::Unjudged || self.missed() > 0 {
            return Ok(None);
        }
        let (mut subjects, mut tests) = (Vec::new(), Vec::new());
        let (mut worst, mut models) = (Standing::Identical, BTreeSet::new());
        for case in &self.cases {
            let text = case.report.as_ref().map(Stored::text).transpose()?;
            let text = text.unwrap_or_default();
            let report: Report = serde_json::from_str(&text)?;
            let (claims, standing) = (Claims::of_report(&report)?, Standing::of_report(&report));
            worst = worst.max(standing);
            models.extend(claims.properties.into_iter().skip(1));
            subjects.extend(claims.subjects);
            let (_, result, _) = standing.attested();
            tests.push((case.name.clone(), result));
        }
        let (.., property) = worst.attested();
        let property = property.map(str::to_owned);
        let models = models.into_iter().filter(|_| property.is_some());
        let policies = match &self.policy {
            Some(policy) => vec![Descriptor::new(
                format!("policy {}", policy.name),
                attested_digest(&policy.sha256)?,
            )],
            None => Vec::new(),
        };
        Ok(Some(Claims {
            subjects,
            configuration: Vec::new(),
            tests,
            properties: property.iter().cloned().chain(models).collect(),
            policies,
        }))
    }
}
