//! The view of a check of an operation between products.

use super::said::{
    all, card, constants, evidence_fact, evidence_of_rule, proves, qualified, reproduced, sampled,
    sentence,
};
use super::{Digest, Fact, Section, Trace, View, differences};
use crate::emu::{Evidence, shape_text};
use crate::report::{OperationReport, Verdict};

impl OperationReport {
    /// What it says.
    pub fn view(&self) -> View {
        let (operation, produced) = (&self.operation, &self.reproduced);
        let result = match produced.output.as_str() {
            "y" => "the result",
            other => other,
        };
        let sample = produced.sample.as_ref();
        let computed = sample.map_or(all(&produced.shape), |sample| sample.elements);
        let mut figures = differences::figures(&self.outcome, computed);
        figures.push(("evidence".to_owned(), operation.evidence.to_string()));
        let under = match (self.verdict, operation.evidence) {
            (Verdict::Different, _) | (_, Evidence::Captured) => "",
            (_, Evidence::Published | Evidence::Compared) => " under a published rule",
            (_, Evidence::Inferred) => " under an inferred rule",
            (_, Evidence::Claimed) => " under a claimed rule",
        };
        let rule = format!(
            "{} {} ({}, {}) -> {}",
            operation.name,
            operation.variant,
            operation.library,
            operation.versions,
            produced.format
        );
        let shape = shape_text(&produced.shape);
        let about = format!("{} {shape}: {}", produced.output, operation.about);
        let name = match self.inputs.last() {
            Some(named) => named.input.path.clone(),
            None => produced.output.clone(),
        };
        let same = self.verdict == Verdict::Identical;
        let proven = operation.evidence == Evidence::Captured;
        View {
            schema: self.schema.to_string(),
            tone: self.verdict.into(),
            word: self.verdict.title().to_owned(),
            qualified: format!(
                "{under}{}",
                qualified(&self.outcome, sample, &produced.shape, result)
            ),
            sentence: sentence(&self.outcome, same, sample, &produced.shape, result),
            about: vec![rule.clone(), about.clone()],
            evidence: operation.evidence.to_string(),
            causes: differences::causes(&self.causes),
            tried: differences::nothing(&self.tried, &[], result),
            figures,
            differences: differences::of_result(
                &self.outcome,
                (&self.causes, &[]),
                (result, produced.format, &produced.shape),
            ),
            trace: Some(Trace {
                text: String::new(),
                how: "operation by operation",
                command: "tcverify explain --op",
            }),
            sections: vec![
                self.rule_section(rule),
                self.arrays(about),
                self.replay(result),
            ],
            proves: proves(
                self.verdict,
                sample.is_some_and(|part| part.seed.is_some()),
                proven,
            ),
            repeat: self.command.clone(),
            test: [
                "tcverify".to_owned(),
                format!("tcverify.{}.{}", operation.name, operation.variant),
                name,
            ],
            ..View::default()
        }
    }

    fn rule_section(&self, line: String) -> Section {
        let operation = &self.operation;
        let proven = "published results of real GPUs would refute it";
        let words = evidence_of_rule(operation.evidence, operation.file.as_ref(), proven);
        let mut facts = vec![
            Fact::new("rule", line).and([operation.title.clone()]),
            evidence_fact(operation.evidence, words).and(operation.notes.clone()),
        ];
        let digest = |of: &str, sha256: &str| Digest {
            of: of.to_owned(),
            part: "",
            sha256: sha256.to_owned(),
            about: String::new(),
        };
        let mut digests = vec![digest("rule", &operation.sha256)];
        if let Some(unit) = &operation.multiplied_by {
            let name = format!(
                "{} {} ({})",
                unit.architecture, unit.instruction, unit.evidence
            );
            facts.push(Fact::new("products", name).and([unit.summary.clone()]));
            digests.push(digest("model", &unit.sha256));
        }
        Section {
            id: "model",
            heading: "The rule".to_owned(),
            facts,
            digests,
            constants: constants(&operation.constants),
            sources: operation.sources.clone().into_iter().collect(),
            ..Section::default()
        }
    }

    fn arrays(&self, about: String) -> Section {
        let commitment = self.commitment.as_ref().map(|commitment| Digest {
            of: "commitment".to_owned(),
            part: "file",
            sha256: commitment.file_sha256.clone(),
            about: commitment.path.clone(),
        });
        let cards = self
            .inputs
            .iter()
            .map(|named| card(&named.name, false, &named.input));
        Section {
            id: "inputs",
            heading: "Arrays".to_owned(),
            facts: vec![Fact::new("result", about)],
            digests: commitment.into_iter().collect(),
            cards: cards.collect(),
            ..Section::default()
        }
    }

    fn replay(&self, result: &str) -> Section {
        let produced = &self.reproduced;
        let contents = format!("{} {}", shape_text(&produced.shape), produced.format);
        let sample = produced.sample.as_ref();
        let named = (produced.output.as_str(), contents.as_str());
        let (mut facts, digests) = reproduced(
            named,
            produced.payload_sha256.as_ref(),
            &self.outcome,
            sample,
        );
        facts.extend(sample.map(|sample| sampled(sample, result)));
        Section {
            id: "replay",
            heading: "The reproduced result".to_owned(),
            facts,
            digests,
            ..Section::default()
        }
    }
}
