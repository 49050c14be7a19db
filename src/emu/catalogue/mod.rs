//! The built-in architectures, found by the names people use.

use std::sync::OnceLock;

use super::model::{Architecture, Arithmetic, Instruction, Rule, pairs};
use crate::num::Format;

const FILES: [&str; 14] = [
    include_str!("volta.json"),
    include_str!("turing.json"),
    include_str!("ampere.json"),
    include_str!("ada.json"),
    include_str!("hopper.json"),
    include_str!("blackwell.json"),
    include_str!("rtx-blackwell.json"),
    include_str!("cdna1.json"),
    include_str!("cdna2.json"),
    include_str!("cdna3.json"),
    include_str!("ieee-fma.json"),
    include_str!("exact.json"),
    include_str!("vortex-tfr.json"),
    include_str!("vortex-drl.json"),
];

/// The architectures that come with the tool.
#[derive(Debug)]
pub struct Catalogue {
    architectures: Vec<Architecture>,
}

/// A rule chosen for a product.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    pub architecture: &'a Architecture,
    pub instruction: &'a Instruction,
    pub rule: &'a Rule,
    pub arithmetic: Arithmetic,
}

/// A name that is no architecture, and the nearest that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownArchitecture {
    pub name: String,
    pub nearest: String,
}

impl std::fmt::Display for UnknownArchitecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "no architecture or GPU is called {:?}; did you mean {:?}? ('tcverify archs' lists them)",
            self.name, self.nearest
        )
    }
}

impl std::error::Error for UnknownArchitecture {}

/// A combination that an architecture does not have, and what it has instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoRule(String);

impl std::fmt::Display for NoRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoRule {}

impl Catalogue {
    /// The catalogue, parsed once.
    ///
    /// # Panics
    /// If a built-in file is malformed, which a test rules out.
    pub fn builtin() -> &'static Catalogue {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| Catalogue {
            architectures: FILES
                .iter()
                .map(|text| Architecture::from_json(text).expect("built-in architecture"))
                .collect(),
        })
    }

    pub fn architectures(&self) -> &[Architecture] {
        &self.architectures
    }

    /// The architecture with this name, compute capability or GPU name; case, spaces, dashes and
    /// a leading "NVIDIA" or "AMD" (then "GeForce" or "Instinct") do not matter.
    ///
    /// # Errors
    /// The nearest known name.
    pub fn find(&self, name: &str) -> Result<&Architecture, UnknownArchitecture> {
        let wanted = normalise(name);
        let names = || {
            self.architectures
                .iter()
                .flat_map(|arch| names_of(arch).map(move |name| (name, arch)))
        };
        if let Some((_, arch)) = names().find(|(name, _)| normalise(name) == wanted) {
            return Ok(arch);
        }
        // Distances first, then the catalogue's order: ties are deterministic.
        let nearest = names()
            .min_by_key(|(name, _)| strsim::damerau_levenshtein(&normalise(name), &wanted))
            .map(|(name, _)| name.to_owned());
        Err(UnknownArchitecture {
            name: name.to_owned(),
            nearest: nearest.expect("the catalogue is not empty"),
        })
    }
}

fn names_of(arch: &Architecture) -> impl Iterator<Item = &str> {
    let names = [&arch.name].into_iter().chain(&arch.also).chain(&arch.gpus);
    names.map(String::as_str)
}

fn normalise(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let bare: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    let without = |name: &str, prefixes: [&str; 2]| {
        let bare = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
        bare.unwrap_or(name).to_owned()
    };
    without(&without(&bare, ["nvidia", "amd"]), ["geforce", "instinct"])
}

impl Architecture {
    /// The rule for these operand formats. Without an instruction, the architecture's first that
    /// has one; without an accumulator, FP32 where there is a choice.
    ///
    /// # Errors
    /// What the architecture (or the instruction) offers instead.
    pub fn select(
        &self,
        instruction: Option<&str>,
        operands: [Format; 2],
        accumulator: Option<Format>,
    ) -> Result<Choice<'_>, NoRule> {
        if let Some(name) = instruction
            && !self.instructions.iter().any(|i| i.name == name)
        {
            let names: Vec<_> = self.instructions.iter().map(|i| i.name.as_str()).collect();
            return Err(NoRule(format!(
                "{} has no instruction {name:?}; it has {}",
                self.name,
                names.join(", ")
            )));
        }
        let candidates = || {
            let chosen = |i: &&Instruction| instruction.is_none_or(|name| i.name == name);
            let rules = |i| rules_of(i);
            self.instructions.iter().filter(chosen).flat_map(rules)
        };
        let fits = |rule: &Rule, accumulator| {
            rule.operands.contains(&operands) && rule.accumulator == accumulator
        };
        let accumulators = match accumulator {
            Some(format) => vec![format],
            None => vec![Format::Fp32, Format::Fp64, Format::Fp16],
        };
        for accumulator in accumulators {
            if let Some((instruction, rule)) = candidates().find(|(_, r)| fits(r, accumulator)) {
                return Ok(Choice {
                    architecture: self,
                    instruction,
                    rule,
                    arithmetic: Arithmetic::of(rule, operands),
                });
            }
        }

        let [a, b] = operands;
        let asked = match accumulator {
            Some(accumulator) => format!("{a}*{b} with {accumulator} accumulation"),
            None => format!("{a}*{b}"),
        };
        let through = instruction.map_or(String::new(), |name| format!(" through {name}"));
        let mut possible: Vec<String> = candidates()
            .map(|(i, r)| {
                format!(
                    "  {:<12} {} -> {}",
                    i.name,
                    pairs(&r.operands),
                    r.accumulator
                )
            })
            .collect();
        if instruction.is_some() {
            possible.push(format!(
                "  other instructions: see 'tcverify archs {}'",
                self.name
            ));
        }
        Err(NoRule(format!(
            "{} does not multiply {asked}{through}; possible are\n{}",
            self.name,
            possible.join("\n")
        )))
    }
}

fn rules_of(instruction: &Instruction) -> impl Iterator<Item = (&Instruction, &Rule)> {
    instruction
        .rules
        .iter()
        .map(move |rule| (instruction, rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_parses_and_every_constant_has_a_source() {
        for text in FILES {
            Architecture::from_json(text).unwrap();
        }
    }

    #[test]
    fn names_are_unambiguous() {
        let mut seen = BTreeSet::new();
        for arch in Catalogue::builtin().architectures() {
            for name in names_of(arch) {
                assert!(
                    seen.insert(normalise(name)),
                    "{name} names two architectures"
                );
            }
        }
    }

    #[test]
    fn names_people_use() {
        for (name, arch) in [
            ("h100", "hopper"),
            ("sm_90", "hopper"),
            ("SM90", "hopper"),
            ("NVIDIA H100", "hopper"),
            ("GeForce RTX 4090", "ada"),
            ("rtx-3080", "ampere"),
            ("sm_86", "ampere"),
            ("V100", "volta"),
            ("t4", "turing"),
            ("b200", "blackwell"),
            ("RTX_Blackwell", "rtx-blackwell"),
            ("RTX 5090", "rtx-blackwell"),
            ("AMD Instinct MI300X", "cdna3"),
            ("mi250x", "cdna2"),
            ("gfx90a", "cdna2"),
            ("CDNA 1", "cdna1"),
            ("IEEE FMA", "ieee-fma"),
            ("Ten-Four", "vortex-tfr"),
        ] {
            let found = Catalogue::builtin().find(name).unwrap();
            assert_eq!(found.name, arch, "{name}");
        }
        let error = Catalogue::builtin().find("hoper").unwrap_err();
        assert_eq!(error.nearest, "hopper");
    }

    #[test]
    fn a_missing_source_is_refused() {
        let mut hopper = Catalogue::builtin().find("hopper").unwrap().clone();
        hopper.known_by.remove("nan");
        let text = serde_json::to_string(&hopper).unwrap();
        let reason = Architecture::from_json(&text).unwrap_err();
        assert!(reason.contains("known_by entry for nan"), "{reason}");
    }
}
