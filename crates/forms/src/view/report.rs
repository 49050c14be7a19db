//! The view of a report.

use super::phrase::{counted, grouped, in_brackets, listed, of, some};
use super::rule::{
    evidence_in_words, model_line, model_section, product_line, qualified_by, schedule_section,
    variant_line, variant_section,
};
use super::sentences::{
    all, bare, called, card, integers, low_bits, nonfinite, nothing_finite, proves, qualified,
    sampled, sentence,
};
use super::{Digest, Fact, Section, Trace, Tried, View, differences};
use tcverify_common::role::Role;
use tcverify_emu::{Evidence, shape_text};
use tcverify_io::printable;
use tcverify_report::{
    EngineUsed, Merged, Outcome, ProductRule, Report, Rule, SameBits, SignedParts, Unit, Verdict,
};

/// What a report proves if some of its parts were trusted.
const BELIEVED: &str = "The verdict trusts whoever supplied the parts that were neither signed nor run again: such a \
                        part can be made from D without a replay. 'shard plan --signer' restricts whose parts are \
                        accepted, 'shard merge --audit' runs some again.";

impl View {
    /// The report as every form shows it.
    pub fn of(report: &Report) -> View {
        let produced = &report.reproduced;
        let sample = produced.sample.as_ref();
        let shape = produced.shape.as_slice();
        let computed = sample.map_or(all(shape), |sample| sample.elements);
        let mut figures = differences::figures(report.comparison(), computed);
        if let Rule::Product(rule) = &report.rule {
            let work = computed.saturating_mul(rule.product.k as u64);
            figures.push(("multiply-adds replayed".to_owned(), grouped(work)));
        }
        let evidence = report.rule.evidence();
        figures.push(("evidence".to_owned(), evidence.to_string()));
        let result = called(report);
        let [by, about] = lines(report);
        let mut sections = vec![];
        let (how, command) = match &report.rule {
            Rule::Product(rule) => {
                let chosen = choice(rule).map(|chosen| Fact::caution("chosen", chosen));
                sections.push(model_section(&rule.model, by.clone(), chosen));
                sections.extend(rule.schedule.as_ref().map(schedule_section));
                ("step by step", "tcverify explain")
            }
            Rule::Operation(rule) => {
                sections.push(variant_section(
                    rule,
                    by.clone(),
                    evidence_in_words(&report.rule),
                ));
                ("operation by operation", "tcverify explain --op")
            }
        };
        sections.extend([
            inputs_section(report, &about),
            replay_section(report, result),
        ]);
        let sentence = in_brackets(&sentence(report), &report.terms());
        let proven = evidence == Evidence::Captured;
        let trusted = trusted(report);
        View {
            schema: report.schema.to_string(),
            tone: report.verdict.into(),
            word: report.verdict.title().to_owned(),
            qualified: format!(
                "{}{}{}",
                qualified_by(&report.rule, report.verdict),
                qualified(report),
                trusted.map_or(String::new(), trusted_parts)
            ),
            sentence: match trusted {
                Some(merged) => format!("{sentence}, {}", condition(merged)),
                None => sentence,
            },
            about: vec![by, about],
            evidence: evidence.to_string(),
            causes: differences::causes(&report.causes),
            tried: match unexplained(report) {
                Some(left @ 1..) => report.comparison().map(|c| {
                    let all = format!("for {} mismatches", of(left, c.mismatches));
                    Tried {
                        short: all.clone(),
                        all,
                    }
                }),
                _ => differences::nothing(&report.tried, &report.untried, result),
            },
            reproduced: reproduced(report),
            figures,
            differences: report.comparison().and_then(|comparison| {
                let of = (result, produced.format, shape);
                differences::of_comparison(comparison, (&report.causes, &report.places), of)
            }),
            trace: Some(Trace {
                text: String::new(),
                how,
                command,
            }),
            sections,
            ambiguity: ambiguity(report),
            proves: match trusted {
                Some(_) => BELIEVED.to_owned(),
                None => proves(
                    report.verdict,
                    sample.is_some_and(|part| part.seed.is_some()),
                    proven,
                    unexplained(report) == Some(0),
                ),
            },
            repeat: report.command.clone(),
            test: [
                "tcverify".to_owned(),
                "tcverify".to_owned(),
                equation(report),
            ],
            ..View::default()
        }
    }
}

/// The SHA-256 of what was reproduced, and of what was given if that is another.
fn reproduced(report: &Report) -> Vec<String> {
    let (produced, name) = (&report.reproduced, bare(called(report)));
    let given = match &report.outcome {
        Outcome::Digest {
            expected_payload_sha256,
        } => Some(expected_payload_sha256),
        Outcome::Elements { .. } => {
            let given = report.inputs.get(&report.result());
            given.map(|input| &input.payload_sha256)
        }
    };
    match (&produced.payload_sha256, &produced.sample, &produced.tree) {
        (Some(own), ..) if given == Some(own) => {
            vec![format!("{own}  reproduced {name} (= {name} given)")]
        }
        (Some(own), ..) => {
            let own = format!("{own}  reproduced {name}");
            let given = given.map(|given| format!("{given}  {name} given"));
            [own].into_iter().chain(given).collect()
        }
        (None, Some(sample), _) => {
            let elements = counted(sample.elements, "reproduced element");
            vec![format!("{}  {elements} of {name}", sample.sha256)]
        }
        (None, None, Some(tree)) => {
            vec![format!("{}  root of the reproduced {name}", tree.root)]
        }
        (None, None, None) => Vec::new(),
    }
}

/// How many mismatches its causes leave; none if it names none.
fn unexplained(report: &Report) -> Option<u64> {
    let all = report.comparison()?.mismatches;
    let explained = report.causes.iter().map(|cause| cause.mismatches).sum();
    (!report.causes.is_empty()).then(|| all.saturating_sub(explained))
}

/// How it was merged, if its verdict rests on trusted parts.
fn trusted(report: &Report) -> Option<&Merged> {
    let merged = report.merged.as_ref();
    merged.filter(|of| !of.trusted.is_empty() && report.verdict != Verdict::Different)
}

/// The rule, and what it was applied to.
fn lines(report: &Report) -> [String; 2] {
    let produced = &report.reproduced;
    match &report.rule {
        Rule::Product(rule) => [
            model_line(&rule.model, produced.conversion.as_ref()),
            product_line(
                &rule.product,
                report.inputs.contains_key(&Role::C),
                &report.terms(),
            ),
        ],
        Rule::Operation(rule) => {
            let shape = shape_text(&produced.shape);
            let output = produced.output.as_deref().unwrap_or_default();
            let about = format!("{output} {shape}: {}", rule.about);
            [variant_line(rule, produced.format), about]
        }
    }
}

/// `d.npy = a.npy * b.npy + c.npy`; of an operation its result.
fn equation(report: &Report) -> String {
    let path = |role| report.inputs.get(&role).map(|input| input.path.as_str());
    let (Some(a), Some(b)) = (path(Role::A), path(Role::B)) else {
        let last = report.inputs.last_key_value();
        let last = last.map(|(_, input)| input.path.as_str());
        return last.unwrap_or(called(report)).to_owned();
    };
    let d = path(report.result()).unwrap_or(match &report.outcome {
        Outcome::Digest {
            expected_payload_sha256,
        } => expected_payload_sha256,
        Outcome::Elements { .. } => "D",
    });
    let addend = path(Role::C).map_or(String::new(), |c| format!(" + {c}"));
    format!("{d} = {a} * {b}{addend}")
}

fn inputs_section(report: &Report, about: &str) -> Section {
    let (label, all) = match &report.rule {
        Rule::Product(_) => ("product", "operands, model and D"),
        Rule::Operation(_) => ("result", "rule, arrays and result"),
    };
    let mut facts = vec![Fact::new(label, about)];
    let inputs = report.inputs.iter();
    facts.extend(
        inputs
            .clone()
            .filter_map(|(role, input)| low_bits(role.symbol(), input)),
    );
    let (results, operands): (Vec<_>, Vec<_>) =
        inputs.clone().partition(|(role, _)| role.is_result());
    let result = results.first().map(|(role, input)| (role.symbol(), *input));
    facts.extend(result.and_then(|(name, input)| nothing_finite(name, input)));
    let named = operands
        .into_iter()
        .map(|(role, input)| (role.symbol(), input));
    facts.extend(nonfinite(named).map(|fact| fact.caution_if(true)));
    facts.extend(inputs.filter_map(|(role, input)| integers(role.symbol(), input)));
    let mut digests = Vec::new();
    if let Some(commitment) = &report.commitment {
        let text = format!("{}: {all} are the committed ones", commitment.path);
        facts.push(Fact::detail("commitment", text));
        let file = Digest::new("commitment", &commitment.file_sha256).part("file");
        let root = Digest::new("commitment", &commitment.root).part("root");
        digests.push(file.about(&commitment.path));
        digests.push(root.about(format!("of the Merkle tree over {}", called(report))));
    }
    let product = report.rule.product().map(|rule| &rule.product);
    let cards = report.inputs.iter().map(|(role, input)| {
        let transposed = product.is_some_and(|product| match role {
            Role::A => product.transpose_a,
            Role::B => product.transpose_b,
            _ => false,
        });
        card(role.symbol(), transposed, input)
    });
    Section {
        id: "inputs",
        heading: "Inputs".to_owned(),
        cards: cards.collect(),
        facts,
        digests,
        ..Section::default()
    }
}

fn replay_section(report: &Report, result: &str) -> Section {
    let produced = &report.reproduced;
    let contents = format!("{} {}", shape_text(&produced.shape), produced.format);
    let sample = produced.sample.as_ref();
    let name = produced.output.as_deref().unwrap_or("D");
    let mut facts = vec![Fact::detail("contents", &contents)];
    let mut digests = Vec::new();
    match &report.outcome {
        Outcome::Digest {
            expected_payload_sha256,
        } => digests.push(Digest::new("wanted", expected_payload_sha256)),
        // Which bits need not agree.
        Outcome::Elements { nan, zero, .. } => {
            let rule = |name: &str, any, exact| {
                format!("{name}: {}", if name == "any" { any } else { exact })
            };
            let nan = rule(nan, "all NaNs count as equal", "every bit counts");
            let zero = rule(zero, "+0 and -0 count as equal", "signs count");
            facts.push(Fact::detail("NaN", nan));
            facts.push(Fact::detail("zero", zero));
        }
    }
    if let Some(sha256) = &produced.payload_sha256 {
        let about = format!("reproduced {name} ({contents})");
        digests.push(Digest::new("replay", sha256).about(about));
    }
    if let Some(sample) = sample {
        let about = format!("{} reproduced elements of {name}", grouped(sample.elements));
        digests.push(Digest::new("replay", &sample.sha256).about(about));
    }
    facts.extend(produced.conversion.as_ref().map(|c| {
        let text = format!(
            "from {} to {}, {}, once per element",
            c.from, c.to, c.rounding
        );
        Fact::detail("rounded", text)
    }));
    facts.extend(sample.map(|sample| sampled(sample, result)));
    facts.extend(report.merged.as_ref().map(|merged| {
        Fact::new("merged", merged_from(merged)).caution_if(!merged.trusted.is_empty())
    }));
    let engine = report.engine.as_ref();
    facts.extend(engine.map(|engine| Fact::new("engine", of_gpu(engine))));
    digests.extend(produced.tree.as_ref().map(|tree| {
        Digest::new("root", &tree.root).about(format!(
            "root of the reproduced D in blocks of {} rows ({contents})",
            tree.block_rows
        ))
    }));
    let bare = bare(result);
    Section {
        id: "replay",
        heading: format!("The reproduced {bare}"),
        facts,
        digests,
        ..Section::default()
    }
}

/// Which units share the arithmetic that judged, and which other arithmetics these data do not distinguish from it.
fn ambiguity(report: &Report) -> Option<Fact> {
    let rule = report.rule.product()?;
    let found = report.ambiguity.as_ref()?;
    let own = format!("{} {}", rule.model.architecture, rule.model.instruction);
    let unit = |unit: &Unit| format!("{} {}", unit.architecture, unit.instruction);
    let mut units: Vec<String> = found.shared.iter().map(unit).collect();
    // The requested one comes first.
    units.sort_by_key(|unit| *unit != own);
    let alone = units.iter().all(|unit| *unit == own);
    let (others, same) = (found.others, found.same.len() as u64);
    let looked = match found.elements {
        1 => "the one element examined".to_owned(),
        n => format!("the {} elements examined", grouped(n)),
    };
    let whose = if alone {
        own
    } else {
        format!("{}, which share this arithmetic", listed(&units))
    };
    let which = match found.left {
        0 => "in the catalogue for these operands",
        _ => "that were examined",
    };
    let mut rest = match (others, same) {
        (0, _) if found.left > 0 => "no other arithmetic was examined".to_owned(),
        (0, _) => "the catalogue has no other arithmetic for these operands".to_owned(),
        (1, 0) => format!("the 1 other arithmetic {which} differs on {looked}"),
        (n, 0) => format!("all {n} other arithmetics {which} differ somewhere among {looked}"),
        (n, _) => {
            let rest = match n - same {
                0 => format!("no other arithmetic {which} differs"),
                1 => format!("1 other arithmetic {which} differs"),
                n => format!("{n} other arithmetics {which} differ"),
            };
            let whole = report
                .comparison()
                .is_some_and(|c| c.elements == found.elements);
            let alike = match (whole, same) {
                (true, 1) => format!("gives them, too ({looked} are all of D)"),
                (true, _) => format!("give them, too ({looked} are all of D)"),
                (_, 1) => format!("is not told apart: it agrees on {looked}"),
                _ => format!("are not told apart: they agree on {looked}"),
            };
            format!("{} {alike}; {rest}", named(&found.same, rule))
        }
    };
    if found.left > 0 {
        rest += &format!(
            "; {} more {} left, because they take too long beside a replay of this size",
            grouped(found.left),
            if found.left == 1 { "was" } else { "were" }
        );
    }
    let fact = Fact::new("ambiguity", format!("Same bits from {whose}; {rest}."));
    Some(fact.caution_if(!alone || same > 0))
}

/// What follows the verdict.
fn trusted_parts(merged: &Merged) -> String {
    match merged.trusted.len() as u64 {
        0 => String::new(),
        trusted => format!(", {} parts trusted", of(trusted, merged.parts)),
    }
}

/// What the sentence of such a verdict ends with.
fn condition(merged: &Merged) -> String {
    let trusted = merged.trusted.len() as u64;
    format!(
        "if {} parts are believed that were neither signed nor run again",
        of(trusted, merged.parts)
    )
}

/// `from 8 parts: 2 run again (0, 5), 6 signed by 3d40...`
fn merged_from(merged: &Merged) -> String {
    let list = |parts: &[u64]| {
        const SHOWN: usize = 8;
        let shown = parts.iter().take(SHOWN).map(u64::to_string);
        let more = (parts.len() > SHOWN).then(|| "...".to_owned());
        let all: Vec<_> = shown.chain(more).collect();
        format!("{} ({})", grouped(parts.len() as u64), all.join(", "))
    };
    let mut kinds = Vec::new();
    if !merged.run_again.is_empty() {
        kinds.push(format!("{} run again", list(&merged.run_again)));
    }
    for SignedParts { key, parts } in &merged.signed {
        kinds.push(format!("{} signed by {key}", list(parts)));
    }
    if !merged.trusted.is_empty() {
        kinds.push(format!("{} trusted", list(&merged.trusted)));
    }
    let parts = counted(merged.parts, "part");
    format!("from {parts}: {}", kinds.join(", "))
}

/// How the model was chosen, if the request named none.
fn choice(rule: &ProductRule) -> Option<String> {
    let chosen = rule.chosen.as_ref()?;
    let untested = match chosen.untested {
        0 => String::new(),
        n => format!(" ({} were not)", grouped(n as u64)),
    };
    let which = match chosen.fits.len() {
        1 => "one gives".to_owned(),
        all => format!("{} give", grouped(all as u64)),
    };
    Some(format!(
        "no unit was named (--arch auto): 'identify' tested {} models{untested}, of which {which} this D: {}; \
         this report uses {} {}",
        grouped(chosen.tested as u64),
        some(&chosen.fits, 6),
        rule.model.architecture,
        rule.model.instruction
    ))
}

/// `one, another and 3 others`
fn named(alike: &[SameBits], rule: &ProductRule) -> String {
    const NAMED: usize = 4;
    let name = |alike: &SameBits| {
        if alike.accumulator == rule.model.arithmetic.accumulator {
            format!("{} {}", alike.architecture, alike.instruction)
        } else {
            format!(
                "{} {} (-> {})",
                alike.architecture, alike.instruction, alike.accumulator
            )
        }
    };
    let mut names: Vec<String> = alike.iter().take(NAMED).map(name).collect();
    if alike.len() > NAMED {
        names.push(format!("{} others", alike.len() - NAMED));
    }
    listed(&names)
}

/// The GPU that computed, and how far it was checked.
fn of_gpu(engine: &EngineUsed) -> String {
    let [adapter, backend, driver] =
        [&engine.adapter, &engine.backend, &engine.driver].map(|text| printable(text));
    format!(
        "GPU {adapter} ({backend}, {driver}) computed {} multiply-adds, the CPU all others; the CPU computed {} of its \
         {} tiles again, without a difference",
        grouped(engine.multiply_adds),
        grouped(engine.tiles_computed_twice),
        grouped(engine.tiles),
    )
}

#[cfg(test)]
mod tests {
    use super::merged_from;
    use tcverify_report::{Merged, VouchingKey};

    const KEY: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

    #[test]
    fn who_vouched_for_which_part() {
        let key = VouchingKey::parse(KEY);
        let merged = Merged::of(&[None, key, None, key, None], &[0, 1]);
        assert_eq!(
            merged_from(&merged),
            format!("from 5 parts: 2 (0, 1) run again, 2 (1, 3) signed by {KEY}, 2 (2, 4) trusted")
        );
    }
}
