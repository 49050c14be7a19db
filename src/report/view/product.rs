//! The view of a check of a product.

use std::collections::BTreeSet;

use super::said::{
    all, card, constants, evidence_fact, evidence_of_rule, grouped, low_bits, proves, qualified,
    reproduced, sampled, sentence, some, value,
};
use super::{Constant, Digest, Fact, Section, Trace, View, differences};
use crate::emu::{Evidence, shape_text};
use crate::report::{Alike, Factor, KernelWords, Model, Outcome, Report, Scheduled, Verdict};
use crate::role::Role;

impl Report {
    /// What it says.
    pub fn view(&self) -> View {
        let produced = &self.reproduced;
        let sample = produced.sample.as_ref();
        let computed = sample.map_or(all(&produced.shape), |sample| sample.elements);
        let mut figures = differences::figures(&self.outcome, computed);
        let work = computed.saturating_mul(self.product.k as u64);
        figures.push(("multiply-adds replayed".to_owned(), grouped(work)));
        figures.push(("evidence".to_owned(), self.model.evidence.to_string()));
        let result = ("D", produced.format, produced.shape.as_slice());
        let chosen = if self.chosen.is_some() {
            ", model chosen to fit D"
        } else {
            ""
        };
        let mut sections = vec![self.model_section()];
        sections.extend(self.schedule.as_ref().map(schedule));
        sections.extend([self.inputs_section(), self.replay_section()]);
        let same = self.verdict == Verdict::Identical;
        let proven = self.model.evidence == Evidence::Hardware;
        View {
            schema: self.schema.to_string(),
            tone: self.verdict.into(),
            word: self.verdict.title().to_owned(),
            qualified: format!(
                "{chosen}{}",
                qualified(&self.outcome, sample, &produced.shape, "D")
            ),
            sentence: sentence(&self.outcome, same, sample, &produced.shape, "D"),
            about: vec![self.model_line(), self.product_line()],
            evidence: self.model.evidence.to_string(),
            causes: differences::causes(&self.causes),
            tried: differences::nothing(&self.tried, "D"),
            figures,
            differences: differences::of_result(&self.outcome, &self.causes, result),
            trace: Some(Trace {
                text: String::new(),
                how: "step by step",
                command: "tcverify explain",
            }),
            sections,
            ambiguity: self.ambiguity(),
            proves: proves(
                self.verdict,
                sample.is_some_and(|part| part.seed.is_some()),
                proven,
            ),
            repeat: self.command.clone(),
            test: [
                "tcverify".to_owned(),
                format!(
                    "tcverify.{}.{}",
                    self.model.architecture, self.model.instruction
                ),
                self.equation(),
            ],
            ..View::default()
        }
    }

    /// `d.npy = a.npy * b.npy + c.npy`
    fn equation(&self) -> String {
        let d = match (self.inputs.get(&Role::D), &self.outcome) {
            (Some(d), _) => &d.path,
            (
                None,
                Outcome::Digest {
                    expected_payload_sha256,
                },
            ) => expected_payload_sha256,
            (None, Outcome::Elements { .. }) => "D",
        };
        let [a, b] = [Role::A, Role::B].map(|role| &self.inputs[role].path);
        let addend = self
            .inputs
            .get(&Role::C)
            .map_or(String::new(), |c| format!(" + {}", c.path));
        format!("{d} = {a} * {b}{addend}")
    }

    /// Architecture, instruction and formats.
    fn model_line(&self) -> String {
        let model = &self.model;
        let arithmetic = &model.arithmetic;
        let conversion = self.reproduced.conversion.as_ref();
        let conversion = conversion.map_or(String::new(), |c| {
            format!(", rounded {} to {}", c.rounding, c.to)
        });
        let scale = arithmetic
            .scale
            .map_or(String::new(), |scale| format!(", scales {scale}"));
        let addend = arithmetic
            .addend
            .map_or(String::new(), |addend| format!(", C {addend}"));
        format!(
            "{} {}, {}*{}{scale}{addend} -> {}{conversion}",
            model.architecture,
            model.instruction,
            arithmetic.a,
            arithmetic.b,
            arithmetic.accumulator
        )
    }

    /// What was multiplied.
    fn product_line(&self) -> String {
        let p = &self.product;
        let batch = match p.batch.as_slice() {
            [] => String::new(),
            batch => format!("{} times ", shape_text(batch)),
        };
        let addend = if self.inputs.get(&Role::C).is_some() {
            "C"
        } else {
            "0"
        };
        format!("{batch}{}x{} by {}x{}, plus {addend}", p.m, p.k, p.k, p.n)
    }

    fn model_section(&self) -> Section {
        let model = &self.model;
        let mut facts = vec![
            Fact::new("model", self.model_line()).and([model.summary.clone()]),
            Fact::detail(
                "architecture",
                format!("{} ({})", model.title, model.architecture),
            ),
            Fact::detail("instruction", &model.instruction),
        ];
        facts.extend(self.choice().map(|chosen| Fact::caution("chosen", chosen)));
        let evidence = evidence_fact(model.evidence, model.evidence_in_words());
        facts.push(evidence.and(model.note.clone()));
        Section {
            id: "model",
            heading: "The model".to_owned(),
            facts,
            digests: vec![Digest {
                of: "model".to_owned(),
                part: "",
                sha256: model.sha256.clone(),
                about: String::new(),
            }],
            constants: constants(&model.constants),
            sources: model.sources.clone().into_iter().collect(),
            ..Section::default()
        }
    }

    /// How the model was chosen, if nobody claimed one.
    fn choice(&self) -> Option<String> {
        let chosen = self.chosen.as_ref()?;
        let untested = match chosen.untested {
            0 => String::new(),
            n => format!(" ({} were not)", grouped(n as u64)),
        };
        let which = match chosen.fits.len() {
            1 => "one gives".to_owned(),
            all => format!("{} give", grouped(all as u64)),
        };
        Some(format!(
            "nobody named a unit (--arch auto): 'identify' tested {} models{untested}, of which {which} this D: {}; this \
             report is by {} {}",
            grouped(chosen.tested as u64),
            some(&chosen.fits, 6),
            self.model.architecture,
            self.model.instruction
        ))
    }

    fn inputs_section(&self) -> Section {
        let mut facts = vec![Fact::new("product", self.product_line())];
        facts.extend(
            self.inputs
                .named()
                .filter_map(|(name, input)| low_bits(name, input)),
        );
        let mut digests = Vec::new();
        if let Some(commitment) = &self.commitment {
            let text = format!(
                "{}: operands, model and D are the committed ones",
                commitment.path
            );
            facts.push(Fact::detail("commitment", text));
            let digest = |part, sha256: &str, about: &str| Digest {
                of: "commitment".to_owned(),
                part,
                sha256: sha256.to_owned(),
                about: about.to_owned(),
            };
            digests.push(digest("file", &commitment.file_sha256, &commitment.path));
            digests.push(digest(
                "root",
                &commitment.root,
                "of the Merkle tree over D",
            ));
        }
        let cards = self.inputs.iter().map(|(role, input)| {
            let turned = match role {
                Role::A => self.product.transpose_a,
                Role::B => self.product.transpose_b,
                _ => false,
            };
            card(role.symbol(), turned, input)
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

    fn replay_section(&self) -> Section {
        let produced = &self.reproduced;
        let contents = format!("{} {}", shape_text(&produced.shape), produced.format);
        let sample = produced.sample.as_ref();
        let sha256 = produced.payload_sha256.as_ref();
        let (mut facts, mut digests) = reproduced(("D", &contents), sha256, &self.outcome, sample);
        facts.extend(produced.conversion.as_ref().map(|c| {
            let text = format!(
                "from {} to {}, {}, once for every element",
                c.from, c.to, c.rounding
            );
            Fact::detail("rounded", text)
        }));
        facts.extend(sample.map(|sample| sampled(sample, "D")));
        digests.extend(produced.tree.as_ref().map(|tree| Digest {
            of: "root".to_owned(),
            part: "",
            sha256: tree.root.clone(),
            about: format!(
                "root of the reproduced D in blocks of {} rows ({contents})",
                tree.block_rows
            ),
        }));
        Section {
            id: "replay",
            heading: "The reproduced D".to_owned(),
            facts,
            digests,
            ..Section::default()
        }
    }

    /// Which other arithmetics these data do not tell from the one that judged.
    fn ambiguity(&self) -> Option<Fact> {
        let found = self.discrimination.as_ref()?;
        let own = format!("{} {}", self.model.architecture, self.model.instruction);
        let (others, same) = (found.others, found.same.len() as u64);
        let looked = match found.elements {
            1 => "one element that was".to_owned(),
            n => format!("{} elements that were", grouped(n)),
        };
        if others == 0 {
            let text =
                format!("The catalogue has no other arithmetic for these operands than {own}'s.");
            return Some(Fact::new("alike", text));
        }
        if same == 0 {
            let all = match others {
                1 => "the 1 other arithmetic".to_owned(),
                n => format!("all {n} other arithmetics"),
            };
            let text = format!(
                "These data tell {own} from {all} of the catalogue for these operands: each gives other bits somewhere \
                 among the {looked} looked at."
            );
            return Some(Fact::new("alike", text));
        }
        let told = match others - same {
            0 => "That is every other arithmetic".to_owned(),
            n => format!("They tell it from {n} of {others} arithmetics"),
        };
        let names = self.named(&found.same);
        let text = format!(
            "These data do not tell {own} from {names}: all give the same bits on the {looked} looked at. {told} of the \
             catalogue for these operands."
        );
        Some(Fact::caution("alike", text))
    }

    /// `one, another and 3 others`
    fn named(&self, alike: &[Alike]) -> String {
        const NAMED: usize = 4;
        let name = |alike: &Alike| match alike.accumulator == self.model.arithmetic.accumulator {
            true => format!("{} {}", alike.architecture, alike.instruction),
            false => format!(
                "{} {} (-> {})",
                alike.architecture, alike.instruction, alike.accumulator
            ),
        };
        let mut names: Vec<String> = alike.iter().take(NAMED).map(name).collect();
        if alike.len() > NAMED {
            names.push(format!("{} others", alike.len() - NAMED));
        }
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }
}

impl Model {
    /// How it is known, in words.
    pub fn evidence_in_words(&self) -> String {
        let proven = "reproduces results captured on real GPUs";
        evidence_of_rule(self.evidence, self.file.as_ref(), proven)
    }
}

/// How the kernel chained the instruction, and what a library says of it.
fn schedule(schedule: &Scheduled) -> Section {
    let name = format!("{}: {}", schedule.name, schedule.title);
    let mut facts = vec![Fact::new("schedule", name).and([schedule.summary.clone()])];
    for [first, end] in &schedule.omitted_k {
        let text = format!(
            "k {first} to {}: D is no product of all of A and B",
            end - 1
        );
        facts.push(Fact::caution("leaves out", text));
    }
    if let Some(factors) = &schedule.factors {
        let shown = |factor: &Factor| format!("{} (0x{})", factor.value, factor.code);
        let (alpha, beta) = (&factors.alpha, &factors.beta);
        let text = format!("alpha = {}, beta = {}", shown(alpha), shown(beta));
        facts.push(
            match [alpha, beta].iter().any(|factor| factor.value != "1") {
                true => Fact::new("factors", text),
                false => Fact::detail("factors", text),
            },
        );
        facts.extend(
            factors
                .scale_result
                .as_ref()
                .map(|scale| Fact::new("scale of D", shown(scale))),
        );
        facts.extend(
            factors
                .repeated()
                .map(|repeated| Fact::new("scales", repeated)),
        );
    }
    let given: BTreeSet<_> = schedule
        .constants
        .iter()
        .filter_map(|c| c.given_by.as_deref())
        .collect();
    let given: Vec<_> = given.into_iter().collect();
    let given = match given.is_empty() {
        true => String::new(),
        false => format!(", changed by {}", given.join(" ")),
    };
    let text = format!(
        "{}{given}; a D that agrees confirms it, one that differs may have another",
        schedule.evidence
    );
    facts.push(Fact::caution("order", text));
    facts.extend(
        schedule
            .kernel
            .iter()
            .flat_map(|kernel| kernel_facts(kernel)),
    );
    let row = |constant: &super::super::ScheduledConstant| Constant {
        name: constant.name.clone(),
        value: value(&constant.value),
        known: constant.evidence.map_or("given".into(), |e| e.to_string()),
        source: constant.source.join(", "),
        note: constant
            .given_by
            .clone()
            .or(constant.note.clone())
            .unwrap_or_default(),
    };
    Section {
        id: "schedule",
        heading: "The kernel's schedule".to_owned(),
        facts,
        digests: vec![Digest {
            of: "schedule".to_owned(),
            part: "",
            sha256: schedule.sha256.clone(),
            about: String::new(),
        }],
        constants: schedule.constants.iter().map(row).collect(),
        sources: schedule.sources.clone().into_iter().collect(),
        ..Section::default()
    }
}

/// What the library says of the kernel, and which part of it was stated, given, assumed.
fn kernel_facts(kernel: &KernelWords) -> Vec<Fact> {
    let place = kernel.place.as_ref().or(kernel.text.as_ref());
    let place = place.map_or(String::new(), |place| format!(" ({place})"));
    let order = format!("{}: {}", kernel.family, kernel.order);
    let mut facts = vec![Fact::new("kernel", format!("{}{place}", kernel.kind)).and([order])];
    facts.extend(kernel.lines().into_iter().map(|(how, what)| match how {
        "assumed" | "UNKNOWN" => Fact::caution(how, what),
        _ => Fact::new(how, what),
    }));
    facts.extend(
        kernel
            .defect
            .as_ref()
            .map(|defect| Fact::caution("defect", defect)),
    );
    facts
}
