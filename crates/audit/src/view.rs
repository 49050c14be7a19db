//! The view of an audit.

use serde_json::Value;

use super::AuditReport;
use crate::emu::{Evidence, shape_text};
use crate::forms::in_brackets;
use crate::forms::view::phrase::percent;
use crate::forms::view::{
    Digest, Fact, Section, View, evidence_fact, evidence_in_words, grouped, odds, of, product_line,
    proves,
};
use crate::report::{Rule, Verdict};
use crate::role::Role;

impl AuditReport {
    /// The view of the report; `commitment` is the file's name.
    pub fn view(&self, commitment: &str) -> View {
        let (elements, all) = (grouped(self.elements), grouped(self.population));
        let d = match &self.rule {
            Rule::Product(_) => "D",
            Rule::Operation(_) => "the result",
        };
        let share = percent(100.0 * self.elements as f64 / self.population as f64);
        let sentence = match self.verdict {
            Verdict::Different => format!(
                "{} drawn elements differ, of the {all} of {d}",
                of(self.mismatches, self.elements)
            ),
            Verdict::Identical => {
                format!("all {all} elements of {d} were drawn and are reproduced, bit for bit")
            }
            Verdict::IdenticalInPart => format!(
                "all {elements} drawn elements, of the {all} of {d} ({share}), are reproduced, bit for bit"
            ),
        };
        let terms = self.terms();
        let sentence = in_brackets(&sentence, &terms);
        let model = self.rule.names().join(" ");
        let evidence = self.rule.evidence();
        let (by, of_what, product) = match &self.rule {
            Rule::Product(rule) => {
                let with_c = self.inputs.contains_key(&Role::C);
                (
                    "model",
                    "product",
                    product_line(&rule.product, with_c, &terms),
                )
            }
            Rule::Operation(rule) => ("rule", "result", rule.about.clone()),
        };
        let mut facts = vec![
            Fact::new(by, &model),
            evidence_fact(evidence, evidence_in_words(&self.rule)),
        ];
        let schedule = self.rule.product();
        let schedule = schedule.and_then(|rule| rule.schedule.as_ref());
        facts.extend(schedule.map(|schedule| Fact::new("schedule", &schedule.name)));
        facts.push(Fact::new(of_what, &product));
        let shape = |format, shape: &[usize]| format!("{format} {}", shape_text(shape));
        let arrays = self.inputs.iter().map(|(role, input)| {
            format!("{} {}", role.symbol(), shape(input.format, &input.shape))
        });
        let result = shape(self.result.format, &self.result.shape);
        let arrays = arrays.chain([format!("{d} {result}")]);
        facts.push(Fact::new(
            "committed",
            arrays.collect::<Vec<_>>().join(", "),
        ));
        facts.extend(self.parameters().map(|said| Fact::new("parameters", said)));
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
            let finds =
                format!("detects {caught} or more wrong elements of {d} with at least 99 %");
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
            about: about.to_owned(),
            ..Digest::new(of, &sha256)
        };
        let mut digests = vec![
            digest("commitment", self.commitment_sha256.to_string(), commitment),
            digest(
                "root",
                self.root.to_string(),
                &format!("of the Merkle tree over {d}"),
            ),
            digest("draw", self.draw_sha256.to_string(), ""),
        ];
        let parts = self.rule.digests().into_iter();
        digests.extend(parts.map(|(of, sha256)| Digest::new(of, sha256)));
        let figures = [
            (&*format!("elements of {d}"), all),
            ("drawn and replayed", elements),
            ("differ", grouped(self.mismatches)),
            ("evidence", evidence.to_string()),
        ];
        View {
            schema: self.schema.clone(),
            tone: self.verdict.into(),
            word: self.verdict.title().to_owned(),
            sentence,
            about: vec![model, product],
            evidence: evidence.to_string(),
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
            proves: proves(self.verdict, true, evidence == Evidence::Captured, false),
            test: [
                "tcverify audit".to_owned(),
                format!("tcverify.{}", self.rule.names().join(".")),
                commitment.to_owned(),
            ],
            ..View::default()
        }
    }
}

impl AuditReport {
    /// What an operation was stated to be, field by field: `eps` and its like.
    fn parameters(&self) -> Option<String> {
        let Rule::Operation(_) = self.rule else {
            return None;
        };
        let fields = self.request.as_ref()?.as_object()?.iter();
        let own = fields.filter(|(name, _)| !["operation", "variant"].contains(&name.as_str()));
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let words: Vec<_> = own
            .map(|(name, value)| format!("{name} {}", text(value)))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}
