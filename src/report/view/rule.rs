//! Sections about rules: the model, the schedule and the shapes of a product, the variant of an operation.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Constant, Digest, Fact, Section, Tone, View};
use crate::{
    Conversion, Factor, Factors, KernelDescription, Model, ModelFile, Product, ProductRule, Rule,
    Scheduled, ScheduledConstant, Tool, VariantRule, Verdict,
};
use tcverify_emu::{Evidence, shape_text};
use tcverify_num::Format;

impl Rule {
    /// How it is known, in words.
    pub fn evidence_in_words(&self) -> String {
        match self {
            Rule::Product(rule) => {
                let claimed = |of: &&Scheduled| of.evidence == Evidence::Claimed;
                match rule.schedule.as_ref().filter(claimed) {
                    Some(order) if rule.model.file.is_none() => {
                        format!("the order of the sums is {}", order.evidence_in_words())
                    }
                    Some(order) => format!(
                        "{}; the order of the sums, too, is {}",
                        rule.model.evidence_in_words(),
                        order.evidence_in_words()
                    ),
                    None => rule.model.evidence_in_words(),
                }
            }
            Rule::Operation(rule) => {
                let proven = "published results of real GPUs would refute it";
                evidence_of_rule(rule.evidence, rule.file.as_ref(), proven)
            }
        }
    }

    /// The two names that a report of tests has.
    pub fn names(&self) -> [&str; 2] {
        match self {
            Rule::Product(rule) => [&rule.model.architecture, &rule.model.instruction],
            Rule::Operation(rule) => [&rule.operation, &rule.variant],
        }
    }

    /// What follows a verdict by this rule.
    pub(super) fn qualified(&self, verdict: Verdict) -> &'static str {
        match self {
            Rule::Product(_) if self.is_chosen() => ", model chosen to fit D",
            Rule::Product(_) => "",
            Rule::Operation(_) if verdict == Verdict::Different => "",
            Rule::Operation(rule) => match rule.evidence {
                Evidence::Captured => "",
                Evidence::Published | Evidence::Compared => " under a published rule",
                Evidence::Inferred => " under an inferred rule",
                Evidence::Claimed => " under a claimed rule",
            },
        }
    }
}

impl VariantRule {
    /// Operation, variant and result.
    pub(super) fn line(&self, format: Format) -> String {
        format!(
            "{} {} ({}, {}) -> {format}",
            self.operation, self.variant, self.library, self.versions
        )
    }

    /// Its section; `evidence` describes how it is known.
    pub(super) fn section(&self, line: String, evidence: String) -> Section {
        let mut facts = vec![
            Fact::new("rule", line).and([self.title.clone()]),
            evidence_fact(self.evidence, evidence).and(self.notes.clone()),
        ];
        let mut digests = vec![Digest::new("rule", &self.sha256)];
        digests.extend(self.file.iter().map(ModelFile::digest));
        if let Some(unit) = &self.multiplied_by {
            let name = format!(
                "{} {} ({})",
                unit.architecture, unit.instruction, unit.evidence
            );
            facts.push(Fact::new("products", name).and([unit.summary.clone()]));
            digests.push(Digest::new("model", &unit.sha256));
        }
        Section {
            id: "model",
            heading: "The rule".to_owned(),
            facts,
            digests,
            constants: self.constants.iter().map(Constant::from).collect(),
            sources: self.sources.clone().into_iter().collect(),
            ..Section::default()
        }
    }
}

impl Product {
    /// What is multiplied; `terms` are those of its rule.
    pub fn line(&self, with_c: bool, terms: &[String]) -> String {
        let batch = match self.batch.as_slice() {
            [] => String::new(),
            batch => format!("{} times ", shape_text(batch)),
        };
        let addend = if with_c { "plus C" } else { "no C" };
        let Product { m, n, k, .. } = self;
        let line = match self.sparse {
            None => format!("{batch}{m}x{k} by {k}x{n}, {addend}"),
            Some(pattern) => {
                let [of, kept] = pattern.chunk();
                let pattern = pattern.name();
                format!(
                    "{batch}{m}x{k}, the {pattern} that are kept, by {}x{n}, {addend}",
                    (k / kept).saturating_mul(of)
                )
            }
        };
        let rest = terms.iter().filter(|term| *term != "plus C");
        rest.fold(line, |line, term| format!("{line}, {term}"))
    }
}

impl Model {
    /// Architecture, instruction and formats.
    pub fn line(&self, conversion: Option<&Conversion>) -> String {
        let conversion = conversion.map_or(String::new(), |c| {
            format!(", rounded {} to {}", c.rounding, c.to)
        });
        format!(
            "{} {}, {}{conversion}",
            self.architecture,
            self.instruction,
            self.arithmetic.describe()
        )
    }

    /// Its section; `chosen` is how it was chosen, if the request named none.
    pub fn section(&self, line: String, chosen: Option<Fact>) -> Section {
        let mut facts = vec![
            Fact::new("model", line).and([self.summary.clone()]),
            Fact::detail(
                "architecture",
                format!("{} ({})", self.title, self.architecture),
            ),
            Fact::detail("instruction", &self.instruction),
        ];
        facts.extend(chosen);
        let evidence = evidence_fact(self.evidence, self.evidence_in_words());
        facts.push(evidence.and(self.note.clone()));
        Section {
            id: "model",
            heading: "The model".to_owned(),
            facts,
            digests: [Digest::new("model", &self.sha256)]
                .into_iter()
                .chain(self.file.iter().map(ModelFile::digest))
                .collect(),
            constants: self.constants.iter().map(Constant::from).collect(),
            sources: self.sources.clone().into_iter().collect(),
            ..Section::default()
        }
    }

    /// How it is known, in words.
    pub fn evidence_in_words(&self) -> String {
        let proven = "reproduces results captured on real hardware";
        evidence_of_rule(self.evidence, self.file.as_ref(), proven)
    }
}

impl ModelFile {
    fn digest(&self) -> Digest {
        Digest::new("file", &self.sha256).about(&self.path)
    }
}

impl Scheduled {
    /// How it is known, in words.
    fn evidence_in_words(&self) -> String {
        match &self.file {
            Some(_) => evidence_of_rule(self.evidence, self.file.as_ref(), ""),
            None => self.evidence.to_string(),
        }
    }

    /// How the kernel chained the instruction, and what a library says of it.
    pub fn section(&self) -> Section {
        let name = format!("{}: {}", self.name, self.title);
        let mut facts = vec![Fact::new("schedule", name).and([self.summary.clone()])];
        for [first, end] in &self.omitted_k {
            let text = format!(
                "k {first} to {}: D is not the product of all of A and B",
                end - 1
            );
            facts.push(Fact::caution("omits", text));
        }
        if let Some(factors) = &self.factors {
            let shown = |factor: &Factor| format!("{} (0x{})", factor.value, factor.code);
            let (alpha, beta) = (&factors.alpha, &factors.beta);
            let text = format!("alpha = {}, beta = {}", shown(alpha), shown(beta));
            facts.push(if self.omitted_k.is_empty() && self.leaves_out() {
                Fact::caution("factors", text + ": the product does not affect D")
            } else if [alpha, beta].iter().any(|factor| factor.value != "1") {
                Fact::new("factors", text)
            } else {
                Fact::detail("factors", text)
            });
            let scale = factors.scale_result.as_ref();
            facts.extend(scale.map(|scale| Fact::new("scale of D", shown(scale))));
            let repeated = factors.repeated();
            facts.extend(repeated.map(|repeated| Fact::new("scales", repeated)));
        }
        let given = self.constants.iter().filter_map(|c| c.given_by.as_deref());
        let given: BTreeSet<_> = given.collect();
        let given = if given.is_empty() {
            String::new()
        } else {
            let given: Vec<_> = given.into_iter().collect();
            format!(", changed by {}", given.join(" "))
        };
        let text = format!(
            "{}{given}; a matching D confirms this order, a differing D may have another order",
            self.evidence_in_words()
        );
        facts.push(Fact::caution("order", text));
        facts.extend(self.kernel.iter().flat_map(|kernel| kernel_facts(kernel)));
        Section {
            id: "schedule",
            heading: "The kernel's schedule".to_owned(),
            facts,
            digests: [Digest::new("schedule", &self.sha256)]
                .into_iter()
                .chain(self.file.iter().map(ModelFile::digest))
                .collect(),
            constants: self.constants.iter().map(Constant::from).collect(),
            sources: self.sources.clone().into_iter().collect(),
            ..Section::default()
        }
    }
}

impl Factors {
    /// Which operands have one scale for all rows or columns.
    fn repeated(&self) -> Option<String> {
        let has = |side: &str| self.one_scale_of.iter().any(|of| of == side);
        Some(match (has("a"), has("b")) {
            (true, true) => "one scale for all rows of A and one for all columns of B".into(),
            (true, false) => "one scale for all rows of A".into(),
            (false, true) => "one scale for all columns of B".into(),
            (false, false) => return None,
        })
    }
}

impl KernelDescription {
    /// Settings by how they are known, assumptions and notes: one line each.
    pub fn lines(&self) -> Vec<(&str, String)> {
        let mut lines: Vec<(&str, String)> = Vec::new();
        for setting in &self.settings {
            let text = format!("{} {}", setting.name, setting.value);
            match lines.iter_mut().find(|(how, _)| *how == setting.how) {
                Some((_, line)) => {
                    line.push_str(", ");
                    line.push_str(&text);
                }
                None => lines.push((&setting.how, text)),
            }
        }
        lines.extend(self.assumed.iter().map(|what| ("assumed", what.clone())));
        if !self.unknown.is_empty() {
            let words = self.unknown.join(", ");
            lines.push(("UNKNOWN", format!("{words}: may affect the result")));
        }
        lines.extend(self.notes.iter().map(|note| ("note", note.clone())));
        lines
    }
}

/// What a library's text says of the kernel, and how each part is known.
fn kernel_facts(kernel: &KernelDescription) -> Vec<Fact> {
    let place = kernel.place.as_ref().or(kernel.text.as_ref());
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    let order = format!("{}: {}", kernel.family, kernel.order);
    let mut facts = vec![Fact::new("kernel", format!("{}{place}", kernel.kind)).and([order])];
    facts.extend(kernel.lines().into_iter().map(|(how, what)| match how {
        "assumed" | "UNKNOWN" => Fact::caution(how, what),
        _ => Fact::new(how, what),
    }));
    let defect = kernel.defect.as_ref();
    facts.extend(defect.map(|defect| Fact::caution("defect", defect)));
    facts
}

/// How a rule is known, in words; `proven` is what captured results show.
fn evidence_of_rule(evidence: Evidence, file: Option<&ModelFile>, proven: &str) -> String {
    match (evidence, file) {
        (Evidence::Captured, _) => format!("captured: {proven}"),
        (Evidence::Published, _) => {
            "published: a model from publications, no hardware capture".to_owned()
        }
        (Evidence::Compared, _) => {
            "compared: the bits of an independent program, no hardware capture".to_owned()
        }
        (Evidence::Inferred, _) => {
            "inferred: neither published nor captured on hardware".to_owned()
        }
        (Evidence::Claimed, Some(file)) => format!(
            "claimed: from {}, not the catalogue; the file itself says {}",
            file.path, file.says
        ),
        (Evidence::Claimed, None) => "claimed: by a file, not the catalogue".to_owned(),
    }
}

/// The evidence as a fact: a caution, unless hardware proves the rule.
pub fn evidence_fact(evidence: Evidence, words: String) -> Fact {
    Fact::new("evidence", words).caution_if(evidence != Evidence::Captured)
}

impl From<&crate::Constant> for Constant {
    fn from(constant: &crate::Constant) -> Constant {
        Constant {
            name: constant.name.clone(),
            value: value(&constant.value),
            known: constant.evidence.to_string(),
            source: constant.source.join(", "),
            note: constant.note.clone().unwrap_or_default(),
        }
    }
}

impl From<&ScheduledConstant> for Constant {
    fn from(constant: &ScheduledConstant) -> Constant {
        let given = constant.given_by.as_ref();
        let note = given.or(constant.note.as_ref());
        Constant {
            name: constant.name.clone(),
            value: value(&constant.value),
            known: constant.evidence.map_or("given".into(), |e| e.to_string()),
            source: constant.source.join(", "),
            note: note.cloned().unwrap_or_default(),
        }
    }
}

/// A constant's value as people write it.
fn value(value: &serde_json::Value) -> String {
    value.to_string().trim_matches('"').to_owned()
}

/// By which rule a product would be judged, before anything is computed.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    pub tool: Tool,
    /// The lower of the model's and the schedule's.
    pub evidence: Evidence,
    pub rule: ProductRule,
    /// D's.
    pub shape: Vec<usize>,
    pub format: Format,
    /// Whether C is added.
    pub with_c: bool,
    /// What else D is made of, and how it is stored.
    pub terms: Vec<String>,
    pub conversion: Option<Conversion>,
}

impl Planned {
    /// The rule as every form shows it, without a verdict.
    pub fn view(&self) -> View {
        let ProductRule {
            model: unit,
            schedule,
            product,
            ..
        } = &self.rule;
        let model = unit.line(self.conversion.as_ref());
        let product = product.line(self.with_c, &self.terms);
        let order = match schedule {
            Some(schedule) => format!("{}: {}", schedule.name, schedule.title),
            None => "one chain over K".to_owned(),
        };
        let mut figures = vec![("model".to_owned(), unit.evidence.to_string())];
        let schedule = match schedule {
            Some(schedule) => {
                figures.push(("order of sums".to_owned(), schedule.evidence.to_string()));
                schedule.section()
            }
            None => Section {
                facts: vec![Fact::caution(
                    "order",
                    "one chain over K, because no kernel was named; a library's kernel may split K or add in another \
                    order",
                )],
                ..Section::default()
            },
        };
        let about = Section {
            facts: vec![
                Fact::new("product", &product),
                Fact::new("D", format!("{} {}", shape_text(&self.shape), self.format)),
            ],
            ..Section::default()
        };
        View {
            tone: Tone::Unsure,
            word: "Plan".to_owned(),
            sentence: format!(
                "D would be judged by {} {}, {order}; the weakest evidence is {}",
                unit.architecture, unit.instruction, self.evidence
            ),
            about: vec![model.clone(), product, order],
            evidence: self.evidence.to_string(),
            figures,
            sections: vec![about, unit.section(model, None), schedule],
            proves: "Nothing was computed or compared.".to_owned(),
            ..View::default()
        }
    }
}
