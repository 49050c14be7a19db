//! The view of an audit.

use super::AuditReport;
use crate::emu::Evidence;
use crate::report::Verdict;
use crate::report::view::{Digest, Fact, Section, View, evidence_fact, grouped, odds, of, proves};

impl AuditReport {
    /// What it says; `commitment` is the file's name.
    pub fn view(&self, commitment: &str) -> View {
        let (elements, all) = (grouped(self.elements), grouped(self.population));
        let percent = 100.0 * self.elements as f64 / self.population as f64;
        let sentence = match self.verdict {
            Verdict::Different => format!(
                "{} drawn elements differ, of the {all} of D",
                of(self.mismatches, self.elements)
            ),
            Verdict::Identical => {
                format!("all {all} elements of D were drawn and are reproduced, bit for bit")
            }
            Verdict::IdenticalInPart => format!(
                "all {elements} drawn elements, of the {all} of D ({percent:.6} %), are reproduced, bit for bit"
            ),
        };
        let model = format!("{} {}", self.architecture, self.instruction);
        let (m, n, k) = (self.product.m, self.product.n, self.product.k);
        let product = format!("{m}x{k} by {k}x{n}");
        let mut facts = vec![
            Fact::new("model", &model),
            evidence_fact(self.evidence, self.evidence_says.clone()),
        ];
        facts.extend(
            self.schedule
                .as_ref()
                .map(|schedule| Fact::new("schedule", &schedule.name)),
        );
        facts.push(Fact::new("product", &product));
        facts.push(Fact::new("beacon", &self.beacon));
        if let Some(published) = &self.published {
            let mut lines = published.lines().into_iter();
            let first = lines.next().unwrap_or_default();
            facts.push(Fact::new("published", first).and(lines));
        }
        if !self.own.is_empty() {
            let own = self.own.join(", ");
            facts.push(Fact::new(
                "own",
                format!("your copies match the committed roots: {own}"),
            ));
        }
        if self.verdict == Verdict::IdenticalInPart {
            let caught = grouped(self.caught_99_percent);
            let finds = format!("detects {caught} or more wrong elements of D with at least 99 %");
            let misses = format!("misses wrong elements: {}", odds(&self.missed));
            facts.push(Fact::caution("odds", misses).and([finds]));
            facts.push(Fact::caution("if", &self.assumes));
        }
        facts.extend(self.wrong.iter().map(|wrong| {
            let [index, given] = [format!("{:?}", wrong.index), format!("0x{}", wrong.given)];
            Fact::new(
                "wrong",
                format!(
                    "{index}  reproduced 0x{}, committed {given}",
                    wrong.reproduced
                ),
            )
        }));
        let digest = |of: &str, sha256: String, about: &str| Digest {
            of: of.to_owned(),
            part: "",
            sha256,
            about: about.to_owned(),
        };
        let mut digests = vec![
            digest("commitment", self.commitment_sha256.to_string(), commitment),
            digest("root", self.root.to_string(), "of the Merkle tree over D"),
            digest("draw", self.draw_sha256.to_string(), ""),
            digest("model", self.model_sha256.to_string(), ""),
        ];
        let schedule = self.schedule.as_ref();
        digests.extend(schedule.map(|of| digest("schedule", of.sha256.to_string(), "")));
        let figures = [
            ("elements of D", all),
            ("drawn and replayed", elements),
            ("differ", grouped(self.mismatches)),
            ("evidence", self.evidence.to_string()),
        ];
        View {
            schema: self.schema.clone(),
            tone: self.verdict.into(),
            word: self.verdict.title().to_owned(),
            sentence,
            about: vec![model, product],
            evidence: self.evidence.to_string(),
            figures: figures
                .map(|(name, value)| (name.to_owned(), value))
                .to_vec(),
            sections: vec![Section {
                id: "audit",
                heading: "The audit".to_owned(),
                facts,
                digests,
                ..Section::default()
            }],
            proves: proves(self.verdict, true, self.evidence == Evidence::Captured),
            test: [
                "tcverify audit".to_owned(),
                format!("tcverify.{}.{}", self.architecture, self.instruction),
                commitment.to_owned(),
            ],
            ..View::default()
        }
    }
}
