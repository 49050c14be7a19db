//! Sections about rules: the model, the schedule and the shapes of a product, the variant of an operation.

use std::collections::BTreeSet;

use super::{Constant, Digest, Fact, Section};
use crate::InWords as _;
use tcverify_emu::{Evidence, shape_text};
use tcverify_num::Format;
use tcverify_report::{
    Conversion, Factor, Factors, KernelDescription, Model, ModelFile, Product, Rule, Scheduled,
    ScheduledConstant, VariantRule, Verdict,
};

/// How it is known, in words.
pub fn evidence_in_words(rule: &Rule) -> String {
    match rule {
        Rule::Product(rule) => {
            let claimed = |of: &&Scheduled| of.evidence == Evidence::Claimed;
            match rule.schedule.as_ref().filter(claimed) {
                Some(order) if rule.model.file.is_none() => {
                    format!("the order of the sums is {}", evidence_of_schedule(order))
                }
                Some(order) => format!(
                    "{}; the order of the sums, too, is {}",
                    evidence_of_model(&rule.model),
                    evidence_of_schedule(order)
                ),
                None => evidence_of_model(&rule.model),
            }
        }
        Rule::Operation(rule) => {
            let proven = "published results of real GPUs would refute it";
            evidence_of_rule(rule.evidence, rule.file.as_ref(), proven)
        }
    }
}

/// What follows a verdict by this rule.
pub(super) fn qualified_by(rule: &Rule, verdict: Verdict) -> &'static str {
    match rule {
        Rule::Product(_) if rule.is_chosen() => ", model chosen to fit D",
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

/// Operation, variant and result.
pub(super) fn variant_line(rule: &VariantRule, format: Format) -> String {
    format!(
        "{} {} ({}, {}) -> {format}",
        rule.operation, rule.variant, rule.library, rule.versions
    )
}

/// Its section; `evidence` describes how it is known.
pub(super) fn variant_section(rule: &VariantRule, line: String, evidence: String) -> Section {
    let mut facts = vec![
        Fact::new("rule", line).and([rule.title.clone()]),
        evidence_fact(rule.evidence, evidence).and(rule.notes.clone()),
    ];
    let mut digests = vec![Digest::new("rule", &rule.sha256)];
    digests.extend(rule.file.iter().map(digest_of));
    if let Some(unit) = &rule.multiplied_by {
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
        constants: rule.constants.iter().map(Constant::from).collect(),
        sources: rule.sources.clone().into_iter().collect(),
        ..Section::default()
    }
}

/// What is multiplied; `terms` are those of its rule.
pub fn product_line(product: &Product, with_c: bool, terms: &[String]) -> String {
    let batch = match product.batch.as_slice() {
        [] => String::new(),
        batch => format!("{} times ", shape_text(batch)),
    };
    let addend = if with_c { "plus C" } else { "no C" };
    let Product { m, n, k, .. } = product;
    let line = match product.sparse {
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

/// Architecture, instruction and formats.
pub fn model_line(model: &Model, conversion: Option<&Conversion>) -> String {
    let conversion = conversion.map_or(String::new(), |c| {
        format!(", rounded {} to {}", c.rounding, c.to)
    });
    format!(
        "{} {}, {}{conversion}",
        model.architecture,
        model.instruction,
        model.arithmetic.describe()
    )
}

/// Its section; `chosen` is how it was chosen, if the request named none.
pub fn model_section(model: &Model, line: String, chosen: Option<Fact>) -> Section {
    let mut facts = vec![
        Fact::new("model", line).and([model.summary.clone()]),
        Fact::detail(
            "architecture",
            format!("{} ({})", model.title, model.architecture),
        ),
        Fact::detail("instruction", &model.instruction),
    ];
    facts.extend(chosen);
    let evidence = evidence_fact(model.evidence, evidence_of_model(model));
    facts.push(evidence.and(model.note.clone()));
    Section {
        id: "model",
        heading: "The model".to_owned(),
        facts,
        digests: [Digest::new("model", &model.sha256)]
            .into_iter()
            .chain(model.file.iter().map(digest_of))
            .collect(),
        constants: model.constants.iter().map(Constant::from).collect(),
        sources: model.sources.clone().into_iter().collect(),
        ..Section::default()
    }
}

/// How it is known, in words.
pub fn evidence_of_model(model: &Model) -> String {
    let proven = "reproduces results captured on real hardware";
    evidence_of_rule(model.evidence, model.file.as_ref(), proven)
}

fn digest_of(file: &ModelFile) -> Digest {
    Digest::new("file", &file.sha256).about(&file.path)
}

/// How it is known, in words.
fn evidence_of_schedule(scheduled: &Scheduled) -> String {
    match &scheduled.file {
        Some(_) => evidence_of_rule(scheduled.evidence, scheduled.file.as_ref(), ""),
        None => scheduled.evidence.to_string(),
    }
}

/// How the kernel chained the instruction, and what a library says of it.
pub fn schedule_section(scheduled: &Scheduled) -> Section {
    let name = format!("{}: {}", scheduled.name, scheduled.title);
    let mut facts = vec![Fact::new("schedule", name).and([scheduled.spec.in_words()])];
    for [first, end] in &scheduled.omitted_k {
        let text = format!(
            "k {first} to {}: D is not the product of all of A and B",
            end - 1
        );
        facts.push(Fact::caution("omits", text));
    }
    if let Some(factors) = &scheduled.factors {
        let shown = |factor: &Factor| format!("{} (0x{})", factor.value, factor.code);
        let (alpha, beta) = (&factors.alpha, &factors.beta);
        let text = format!("alpha = {}, beta = {}", shown(alpha), shown(beta));
        facts.push(
            if scheduled.omitted_k.is_empty() && scheduled.leaves_out() {
                Fact::caution("factors", text + ": the product does not affect D")
            } else if [alpha, beta].iter().any(|factor| factor.value != "1") {
                Fact::new("factors", text)
            } else {
                Fact::detail("factors", text)
            },
        );
        let scale = factors.scale_result.as_ref();
        facts.extend(scale.map(|scale| Fact::new("scale of D", shown(scale))));
        let repeated = repeated(factors);
        facts.extend(repeated.map(|repeated| Fact::new("scales", repeated)));
    }
    let given = scheduled
        .constants
        .iter()
        .filter_map(|c| c.given_by.as_deref());
    let given: BTreeSet<_> = given.collect();
    let given = if given.is_empty() {
        String::new()
    } else {
        let given: Vec<_> = given.into_iter().collect();
        format!(", changed by {}", given.join(" "))
    };
    let text = format!(
        "{}{given}; a matching D confirms this order, a differing D may have another order",
        evidence_of_schedule(scheduled)
    );
    facts.push(Fact::caution("order", text));
    facts.extend(
        scheduled
            .kernel
            .iter()
            .flat_map(|kernel| kernel_facts(kernel)),
    );
    Section {
        id: "schedule",
        heading: "The kernel's schedule".to_owned(),
        facts,
        digests: [Digest::new("schedule", &scheduled.sha256)]
            .into_iter()
            .chain(scheduled.file.iter().map(digest_of))
            .collect(),
        constants: scheduled.constants.iter().map(Constant::from).collect(),
        sources: scheduled.sources.clone().into_iter().collect(),
        ..Section::default()
    }
}

/// Which operands have one scale for all rows or columns.
fn repeated(factors: &Factors) -> Option<String> {
    let has = |side: &str| factors.one_scale_of.iter().any(|of| of == side);
    Some(match (has("a"), has("b")) {
        (true, true) => "one scale for all rows of A and one for all columns of B".into(),
        (true, false) => "one scale for all rows of A".into(),
        (false, true) => "one scale for all columns of B".into(),
        (false, false) => return None,
    })
}

/// Settings by how they are known, assumptions and notes: one line each.
pub fn kernel_lines(kernel: &KernelDescription) -> Vec<(&str, String)> {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for setting in &kernel.settings {
        let text = format!("{} {}", setting.name, setting.value);
        match lines.iter_mut().find(|(how, _)| *how == setting.how) {
            Some((_, line)) => {
                line.push_str(", ");
                line.push_str(&text);
            }
            None => lines.push((&setting.how, text)),
        }
    }
    lines.extend(kernel.assumed.iter().map(|what| ("assumed", what.clone())));
    if !kernel.unknown.is_empty() {
        let words = kernel.unknown.join(", ");
        lines.push(("UNKNOWN", format!("{words}: may affect the result")));
    }
    lines.extend(kernel.notes.iter().map(|note| ("note", note.clone())));
    lines
}

/// What a library's text says of the kernel, and how each part is known.
fn kernel_facts(kernel: &KernelDescription) -> Vec<Fact> {
    let place = kernel.place.as_ref().or(kernel.text.as_ref());
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    let order = format!("{}: {}", kernel.family, kernel.order);
    let mut facts = vec![Fact::new("kernel", format!("{}{place}", kernel.kind)).and([order])];
    facts.extend(
        kernel_lines(kernel)
            .into_iter()
            .map(|(how, what)| match how {
                "assumed" | "UNKNOWN" => Fact::caution(how, what),
                _ => Fact::new(how, what),
            }),
    );
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

impl From<&tcverify_report::Constant> for Constant {
    fn from(constant: &tcverify_report::Constant) -> Constant {
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
