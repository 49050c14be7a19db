//! The view of a check of a product.

use std::collections::BTreeSet;

use super::said::{
    all, card, constants, evidence_fact, evidence_of_rule, grouped, low_bits, proves, qualified,
    reproduced, sampled, sentence, some, value,
};
use super::{Constant, Digest, Fact, Section, Trace, View, Weight, differences};
use crate::emu::{Evidence, shape_text};
use crate::io::printable;
use crate::report::{
    Alike, Conversion, EngineUsed, Factor, KernelWords, Merged, Model, Outcome, Product, Report,
    Scheduled, Unit, Verdict,
};
use crate::role::Role;

/// What a report proves of which parts were believed.
const BELIEVED: &str = "It proves as much as those deserve trust who handed in the parts that were neither signed nor run again: \
                        such a part can be made of D without a replay. 'shard plan --signer' names whose parts are taken, \
                        'shard merge --audit' runs some again.";

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
        sections.extend(self.schedule.as_ref().map(Scheduled::section));
        sections.extend([self.inputs_section(), self.replay_section()]);
        let same = self.verdict == Verdict::Identical;
        let said = sentence(&self.outcome, same, sample, &produced.shape, "D");
        let proven = self.model.evidence == Evidence::Captured;
        View {
            schema: self.schema.to_string(),
            tone: self.verdict.into(),
            word: self.verdict.title().to_owned(),
            qualified: format!(
                "{chosen}{}{}",
                qualified(&self.outcome, sample, &produced.shape, "D"),
                self.believed().map_or(String::new(), Merged::qualified)
            ),
            sentence: match self.believed() {
                Some(_) => format!("parts say that {said}"),
                None => said,
            },
            about: vec![self.model_line(), self.product_line()],
            evidence: self.model.evidence.to_string(),
            causes: differences::causes(&self.causes),
            tried: differences::nothing(&self.tried, &self.untried, "D"),
            figures,
            differences: differences::of_result(
                &self.outcome,
                (&self.causes, &self.places),
                result,
            ),
            trace: Some(Trace {
                text: String::new(),
                how: "step by step",
                command: "tcverify explain",
            }),
            sections,
            ambiguity: self.ambiguity(),
            proves: match self.believed() {
                Some(_) => BELIEVED.to_owned(),
                None => proves(
                    self.verdict,
                    sample.is_some_and(|part| part.seed.is_some()),
                    proven,
                ),
            },
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

    /// How it was put together, if what it says is believed and not known.
    fn believed(&self) -> Option<&Merged> {
        let merged = self.merged.as_ref();
        merged.filter(|of| !of.believed.is_empty() && self.verdict != Verdict::Different)
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

    fn model_line(&self) -> String {
        self.model.line(self.reproduced.conversion.as_ref())
    }

    fn product_line(&self) -> String {
        self.product.line(self.inputs.get(&Role::C).is_some())
    }

    fn model_section(&self) -> Section {
        let chosen = self.choice().map(|chosen| Fact::caution("chosen", chosen));
        self.model.section(self.model_line(), chosen)
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
        facts.extend(
            self.merged
                .as_ref()
                .map(|merged| match merged.believed.is_empty() {
                    true => Fact::new("merged", merged.sentence()),
                    false => Fact::caution("merged", merged.sentence()),
                }),
        );
        facts.extend(
            self.engine
                .as_ref()
                .map(|engine| Fact::new("engine", of_gpu(engine))),
        );
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

    /// Which units share the arithmetic that judged, and which other arithmetics these data do not tell from it.
    fn ambiguity(&self) -> Option<Fact> {
        let found = self.discrimination.as_ref()?;
        let own = format!("{} {}", self.model.architecture, self.model.instruction);
        let unit = |unit: &Unit| format!("{} {}", unit.architecture, unit.instruction);
        let mut units: Vec<String> = found.shared.iter().map(unit).collect();
        // The one that was asked for comes first.
        units.sort_by_key(|unit| *unit != own);
        let alone = units.iter().all(|unit| *unit == own);
        let (others, same) = (found.others, found.same.len() as u64);
        let looked = match found.elements {
            1 => "the one element that was looked at".to_owned(),
            n => format!("the {} elements that were looked at", grouped(n)),
        };
        let whose = match alone {
            true => own,
            false => format!("{}, which share this arithmetic", listed(&units)),
        };
        let weigh = |fact: Fact| match alone && same == 0 {
            true => fact,
            false => Fact {
                weight: Weight::Caution,
                ..fact
            },
        };
        let rest = match (others, same) {
            (0, _) => "the catalogue has no other arithmetic for these operands".to_owned(),
            (1, 0) => format!(
                "the 1 other arithmetic of the catalogue for these operands differs on {looked}"
            ),
            (n, 0) => format!(
                "all {n} other arithmetics of the catalogue for these operands differ somewhere among {looked}"
            ),
            (n, _) => {
                let told =
                    match n - same {
                        0 => "no other arithmetic of the catalogue for these operands differs"
                            .to_owned(),
                        1 => "1 other arithmetic of the catalogue for these operands differs"
                            .to_owned(),
                        told => format!(
                            "{told} other arithmetics of the catalogue for these operands differ"
                        ),
                    };
                format!("so do {}, on {looked}; {told}", self.named(&found.same))
            }
        };
        Some(weigh(Fact::new(
            "alike",
            format!("Same bits from {whose}; {rest}."),
        )))
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
        listed(&names)
    }
}

/// `one, another and a third`
fn listed(names: &[String]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

impl Product {
    /// What is multiplied.
    pub fn line(&self, with_c: bool) -> String {
        let batch = match self.batch.as_slice() {
            [] => String::new(),
            batch => format!("{} times ", shape_text(batch)),
        };
        let addend = if with_c { "C" } else { "0" };
        let Product { m, n, k, .. } = self;
        match self.sparse {
            None => format!("{batch}{m}x{k} by {k}x{n}, plus {addend}"),
            Some(pattern) => {
                let [of, kept] = pattern.chunk();
                let pattern = pattern.name();
                format!(
                    "{batch}{m}x{k}, the {pattern} that are kept, by {}x{n}, plus {addend}",
                    k / kept * of
                )
            }
        }
    }
}

impl Model {
    /// Architecture, instruction and formats.
    pub fn line(&self, conversion: Option<&Conversion>) -> String {
        let arithmetic = &self.arithmetic;
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
            self.architecture, self.instruction, arithmetic.a, arithmetic.b, arithmetic.accumulator
        )
    }

    /// All that is known of it; `chosen` says how it was chosen, if nobody claimed it.
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
            digests: vec![Digest {
                of: "model".to_owned(),
                part: "",
                sha256: self.sha256.clone(),
                about: String::new(),
            }],
            constants: constants(&self.constants),
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

impl Scheduled {
    /// How the kernel chained the instruction, and what a library says of it.
    pub fn section(&self) -> Section {
        let name = format!("{}: {}", self.name, self.title);
        let mut facts = vec![Fact::new("schedule", name).and([self.summary.clone()])];
        for [first, end] in &self.omitted_k {
            let text = format!(
                "k {first} to {}: D is no product of all of A and B",
                end - 1
            );
            facts.push(Fact::caution("leaves out", text));
        }
        if let Some(factors) = &self.factors {
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
        let given: BTreeSet<_> = self
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
            self.evidence
        );
        facts.push(Fact::caution("order", text));
        facts.extend(self.kernel.iter().flat_map(|kernel| kernel_facts(kernel)));
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
                sha256: self.sha256.clone(),
                about: String::new(),
            }],
            constants: self.constants.iter().map(row).collect(),
            sources: self.sources.clone().into_iter().collect(),
            ..Section::default()
        }
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

/// Who computed, and how far it was checked.
fn of_gpu(engine: &EngineUsed) -> String {
    let [adapter, backend, driver] =
        [&engine.adapter, &engine.backend, &engine.driver].map(|text| printable(text));
    format!(
        "GPU {adapter} ({backend}, {driver}) computed {} multiply-adds, the CPU all others; the CPU computed {} of its {} tiles \
         again, without a difference",
        grouped(engine.multiply_adds),
        grouped(engine.tiles_computed_twice),
        grouped(engine.tiles),
    )
}
