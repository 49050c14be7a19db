//! The view of a report.

use super::phrase::{counted, grouped, listed, of, some};
use super::sentences::{
    all, bare, card, integers, low_bits, nonfinite, nothing_finite, proves, sampled,
};
use super::{Digest, Fact, Section, Trace, Tried, View, differences};
use crate::{
    EngineUsed, Merged, Outcome, ProductRule, Report, Rule, SameBits, Scheduled, SignedParts, Unit,
    Verdict, in_brackets,
};
use tcverify_common::role::Role;
use tcverify_emu::{Evidence, shape_text};
use tcverify_io::printable;

/// What a report proves if some of its parts were trusted.
const BELIEVED: &str = "The verdict trusts whoever supplied the parts that were neither signed nor run again: such a \
                        part can be made from D without a replay. 'shard plan --signer' restricts whose parts are \
                        accepted, 'shard merge --audit' runs some again.";

impl Report {
    /// The report as every form shows it.
    pub fn view(&self) -> View {
        let produced = &self.reproduced;
        let sample = produced.sample.as_ref();
        let shape = produced.shape.as_slice();
        let computed = sample.map_or(all(shape), |sample| sample.elements);
        let mut figures = differences::figures(self.comparison(), computed);
        if let Rule::Product(rule) = &self.rule {
            let work = computed.saturating_mul(rule.product.k as u64);
            figures.push(("multiply-adds replayed".to_owned(), grouped(work)));
        }
        let evidence = self.rule.evidence();
        figures.push(("evidence".to_owned(), evidence.to_string()));
        let result = self.called();
        let [by, about] = self.lines();
        let mut sections = vec![];
        let (how, command) = match &self.rule {
            Rule::Product(rule) => {
                let chosen = choice(rule).map(|chosen| Fact::caution("chosen", chosen));
                sections.push(rule.model.section(by.clone(), chosen));
                sections.extend(rule.schedule.as_ref().map(Scheduled::section));
                ("step by step", "tcverify explain")
            }
            Rule::Operation(rule) => {
                sections.push(rule.section(by.clone(), self.rule.evidence_in_words()));
                ("operation by operation", "tcverify explain --op")
            }
        };
        sections.extend([self.inputs_section(&about), self.replay_section(result)]);
        let sentence = in_brackets(&self.sentence(), &self.terms());
        let proven = evidence == Evidence::Captured;
        let trusted = self.trusted();
        View {
            schema: self.schema.to_string(),
            tone: self.verdict.into(),
            word: self.verdict.title().to_owned(),
            qualified: format!(
                "{}{}{}",
                self.rule.qualified(self.verdict),
                self.qualified(),
                trusted.map_or(String::new(), Merged::qualified)
            ),
            sentence: match trusted {
                Some(merged) => format!("{sentence}, {}", merged.condition()),
                None => sentence,
            },
            about: vec![by, about],
            evidence: evidence.to_string(),
            causes: differences::causes(&self.causes),
            tried: match self.unexplained() {
                Some(left @ 1..) => self.comparison().map(|c| {
                    let all = format!("for {} mismatches", of(left, c.mismatches));
                    Tried {
                        short: all.clone(),
                        all,
                    }
                }),
                _ => differences::nothing(&self.tried, &self.untried, result),
            },
            reproduced: self.digests(),
            figures,
            differences: self.comparison().and_then(|comparison| {
                let of = (result, produced.format, shape);
                differences::of_comparison(comparison, (&self.causes, &self.places), of)
            }),
            trace: Some(Trace {
                text: String::new(),
                how,
                command,
            }),
            sections,
            ambiguity: self.ambiguity(),
            proves: match trusted {
                Some(_) => BELIEVED.to_owned(),
                None => proves(
                    self.verdict,
                    sample.is_some_and(|part| part.seed.is_some()),
                    proven,
                    self.unexplained() == Some(0),
                ),
            },
            repeat: self.command.clone(),
            test: [
                "tcverify".to_owned(),
                "tcverify".to_owned(),
                self.equation(),
            ],
            ..View::default()
        }
    }

    /// The SHA-256 of what was reproduced, and of what was given if that is another.
    fn digests(&self) -> Vec<String> {
        let (produced, name) = (&self.reproduced, bare(self.called()));
        let given = match &self.outcome {
            Outcome::Digest {
                expected_payload_sha256,
            } => Some(expected_payload_sha256),
            Outcome::Elements { .. } => {
                let given = self.inputs.get(&self.result());
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

    /// What the result is made of beside its operands, and how it is stored.
    pub fn terms(&self) -> Vec<String> {
        self.rule.terms(self.inputs.keys(), self.reproduced.format)
    }

    /// How many mismatches its causes leave; none if it names none.
    fn unexplained(&self) -> Option<u64> {
        let all = self.comparison()?.mismatches;
        let explained = self.causes.iter().map(|cause| cause.mismatches).sum();
        (!self.causes.is_empty()).then(|| all.saturating_sub(explained))
    }

    /// What sentences call the result.
    pub(super) fn called(&self) -> &str {
        match self.reproduced.output.as_deref() {
            None => "D",
            Some("y") => "the result",
            Some(other) => other,
        }
    }

    /// How it was merged, if its verdict rests on trusted parts.
    fn trusted(&self) -> Option<&Merged> {
        let merged = self.merged.as_ref();
        merged.filter(|of| !of.trusted.is_empty() && self.verdict != Verdict::Different)
    }

    /// The rule, and what it was applied to.
    fn lines(&self) -> [String; 2] {
        let produced = &self.reproduced;
        match &self.rule {
            Rule::Product(rule) => [
                rule.model.line(produced.conversion.as_ref()),
                rule.product
                    .line(self.inputs.contains_key(&Role::C), &self.terms()),
            ],
            Rule::Operation(rule) => {
                let shape = shape_text(&produced.shape);
                let output = produced.output.as_deref().unwrap_or_default();
                let about = format!("{output} {shape}: {}", rule.about);
                [rule.line(produced.format), about]
            }
        }
    }

    /// `d.npy = a.npy * b.npy + c.npy`; of an operation its result.
    fn equation(&self) -> String {
        let path = |role| self.inputs.get(&role).map(|input| input.path.as_str());
        let (Some(a), Some(b)) = (path(Role::A), path(Role::B)) else {
            let last = self.inputs.last_key_value();
            let last = last.map(|(_, input)| input.path.as_str());
            return last.unwrap_or(self.called()).to_owned();
        };
        let d = path(self.result()).unwrap_or(match &self.outcome {
            Outcome::Digest {
                expected_payload_sha256,
            } => expected_payload_sha256,
            Outcome::Elements { .. } => "D",
        });
        let addend = path(Role::C).map_or(String::new(), |c| format!(" + {c}"));
        format!("{d} = {a} * {b}{addend}")
    }

    fn inputs_section(&self, about: &str) -> Section {
        let (label, all) = match &self.rule {
            Rule::Product(_) => ("product", "operands, model and D"),
            Rule::Operation(_) => ("result", "rule, arrays and result"),
        };
        let mut facts = vec![Fact::new(label, about)];
        let inputs = self.inputs.iter();
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
        if let Some(commitment) = &self.commitment {
            let text = format!("{}: {all} are the committed ones", commitment.path);
            facts.push(Fact::detail("commitment", text));
            let file = Digest::new("commitment", &commitment.file_sha256).part("file");
            let root = Digest::new("commitment", &commitment.root).part("root");
            digests.push(file.about(&commitment.path));
            digests.push(root.about(format!("of the Merkle tree over {}", self.called())));
        }
        let product = self.rule.product().map(|rule| &rule.product);
        let cards = self.inputs.iter().map(|(role, input)| {
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

    fn replay_section(&self, result: &str) -> Section {
        let produced = &self.reproduced;
        let contents = format!("{} {}", shape_text(&produced.shape), produced.format);
        let sample = produced.sample.as_ref();
        let name = produced.output.as_deref().unwrap_or("D");
        let mut facts = vec![Fact::detail("contents", &contents)];
        let mut digests = Vec::new();
        match &self.outcome {
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
        facts.extend(self.merged.as_ref().map(|merged| {
            Fact::new("merged", merged.sentence()).caution_if(!merged.trusted.is_empty())
        }));
        let engine = self.engine.as_ref();
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
    fn ambiguity(&self) -> Option<Fact> {
        let rule = self.rule.product()?;
        let found = self.ambiguity.as_ref()?;
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
                let whole = self
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
}

impl Merged {
    /// What follows the verdict.
    fn qualified(&self) -> String {
        match self.trusted.len() as u64 {
            0 => String::new(),
            trusted => format!(", {} parts trusted", of(trusted, self.parts)),
        }
    }

    /// What the sentence of such a verdict ends with.
    fn condition(&self) -> String {
        let trusted = self.trusted.len() as u64;
        format!(
            "if {} parts are believed that were neither signed nor run again",
            of(trusted, self.parts)
        )
    }

    /// `from 8 parts: 2 run again (0, 5), 6 signed by 3d40...`
    pub(crate) fn sentence(&self) -> String {
        let list = |parts: &[u64]| {
            const SHOWN: usize = 8;
            let shown = parts.iter().take(SHOWN).map(u64::to_string);
            let more = (parts.len() > SHOWN).then(|| "...".to_owned());
            let all: Vec<_> = shown.chain(more).collect();
            format!("{} ({})", grouped(parts.len() as u64), all.join(", "))
        };
        let mut kinds = Vec::new();
        if !self.run_again.is_empty() {
            kinds.push(format!("{} run again", list(&self.run_again)));
        }
        for SignedParts { key, parts } in &self.signed {
            kinds.push(format!("{} signed by {key}", list(parts)));
        }
        if !self.trusted.is_empty() {
            kinds.push(format!("{} trusted", list(&self.trusted)));
        }
        let parts = counted(self.parts, "part");
        format!("from {parts}: {}", kinds.join(", "))
    }
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
