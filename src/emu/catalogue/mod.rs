//! The built-in architectures, found by the names people use.

mod choose;
mod names;

use std::collections::HashMap;
use std::sync::OnceLock;

pub use choose::{Choice, NoRule, Wanted, WantedScale};
pub use names::NotModelled;
use names::{Maker, OfTarget, Spelled, bare_capability, nearest, normalised};

use super::model::{Architecture, Instruction, Rule};

const FILES: &[&str] = &[
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
    include_str!("rdna3.json"),
    include_str!("rdna3.5.json"),
    include_str!("rdna4.json"),
    include_str!("wormhole.json"),
    include_str!("blackhole.json"),
    include_str!("avx512.json"),
    include_str!("avx10.json"),
    include_str!("amx.json"),
    include_str!("arm.json"),
    include_str!("ieee-fma.json"),
    include_str!("exact.json"),
    include_str!("vortex-tfr.json"),
    include_str!("vortex-drl.json"),
    include_str!("gpgpu-sim.json"),
];

/// The architectures that come with the tool.
#[derive(Debug)]
pub struct Catalogue {
    architectures: Vec<Architecture>,
    /// By name as it is looked up, what is called so, each maker's.
    named: HashMap<String, Vec<(Option<Maker>, Named)>>,
}

/// What a name stands for: the architecture, or the known GPU, of this place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Modelled(usize),
    NotModelled(usize),
}

/// A name that is not an architecture, and the nearest that is, if one is near.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownArchitecture {
    pub name: String,
    pub nearest: Option<String>,
    /// What it is, if it is a GPU that is known but not modelled.
    pub unmodelled: Option<&'static NotModelled>,
    /// What several makers call so: the titles.
    pub several: Vec<String>,
}

impl std::fmt::Display for UnknownArchitecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnknownArchitecture {
            name,
            nearest,
            unmodelled,
            several,
        } = self;
        if name == "auto" {
            return f.write_str("only 'tcverify check' accepts \"auto\"; name the GPU");
        }
        if !several.is_empty() {
            return write!(
                f,
                "{name:?} may be {}: write the maker before it",
                several.join(" or ")
            );
        }
        if let Some(NotModelled {
            title,
            like,
            measured,
            ..
        }) = unmodelled
        {
            let unknown = "nobody has published or captured how its matrix unit rounds";
            let measured = measured.as_deref().unwrap_or(unknown);
            write!(
                f,
                "{name:?} is {title}, which is not modelled: {measured}. "
            )?;
            if let Some(like) = like {
                write!(
                    f,
                    "The most similar model is {like:?}, but a verdict by it would rest on a guess; "
                )?;
            }
            return f.write_str(
                "'tcverify probe' and 'tcverify infer' find out how a GPU computes ('tcverify archs' lists the \
                 modelled ones)",
            );
        }
        write!(f, "there is no architecture or GPU called {name:?}; ")?;
        match nearest {
            Some(nearest) => {
                let all = "('tcverify archs' lists them)";
                write!(f, "did you mean {nearest:?}? {all}")
            }
            None => f.write_str(
                "give a GPU's target instead: sm_90, whose compute_cap `nvidia-smi` \
                 prints as 9.0, or gfx942, which `rocminfo` prints ('tcverify archs' lists the known ones)",
            ),
        }
    }
}

impl std::error::Error for UnknownArchitecture {}

impl Catalogue {
    /// The catalogue, parsed once. A test checks its files, not every process.
    ///
    /// # Panics
    /// If a built-in file is malformed, which a test rules out.
    pub fn builtin() -> &'static Catalogue {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| {
            let parse = |text: &&str| serde_json::from_str(text).expect("built-in architecture");
            let architectures: Vec<Architecture> = FILES.iter().map(parse).collect();
            Catalogue {
                named: named(&architectures),
                architectures,
            }
        })
    }

    pub fn architectures(&self) -> &[Architecture] {
        &self.architectures
    }

    /// All rules, each with its architecture and instruction.
    pub fn rules(&self) -> impl Iterator<Item = (&Architecture, &Instruction, &Rule)> {
        self.architectures.iter().flat_map(|architecture| {
            let rules = architecture.rules();
            rules.map(move |(instruction, rule)| (architecture, instruction, rule))
        })
    }

    /// The architecture with this name, compute capability (`sm_90`, `9.0`, `(9, 0)`, `compute_90`) or GPU; case,
    /// spaces, dashes and a leading maker ("NVIDIA", "AMD", "Tesla" ...) do not matter, nor the words for memory and
    /// form in a driver's name of a GPU (`NVIDIA H100 80GB HBM3`). A maker's GPU is never another maker's.
    ///
    /// # Errors
    /// The nearest known name, if one is near.
    pub fn find(&self, name: &str) -> Result<&Architecture, UnknownArchitecture> {
        let found = Spelled::all(name).into_iter().find_map(|spelled| {
            let called = self.named.get(&spelled.bare)?.iter();
            let mut called: Vec<Named> = called
                .filter(|(maker, _)| spelled.is(&spelled.bare, *maker))
                .map(|(_, named)| *named)
                .collect();
            called.dedup();
            (!called.is_empty()).then_some(called)
        });
        let unknown = UnknownArchitecture {
            name: name.to_owned(),
            nearest: None,
            unmodelled: None,
            several: Vec::new(),
        };
        Err(match found.as_deref() {
            Some([Named::Modelled(at)]) => return Ok(&self.architectures[*at]),
            Some([Named::NotModelled(at)]) => UnknownArchitecture {
                unmodelled: Some(&NotModelled::all()[*at]),
                ..unknown
            },
            Some(several) => UnknownArchitecture {
                several: several.iter().map(|one| self.title(*one)).collect(),
                ..unknown
            },
            None => {
                let names = || self.architectures.iter().flat_map(names_of);
                UnknownArchitecture {
                    nearest: match bare_capability(name) {
                        Some(target) => names().find(|known| **known == target).map(str::to_owned),
                        None => nearest(name, names()),
                    },
                    ..unknown
                }
            }
        })
    }

    fn title(&self, named: Named) -> String {
        match named {
            Named::Modelled(at) => self.architectures[at].title.clone(),
            Named::NotModelled(at) => NotModelled::all()[at].title.clone(),
        }
    }
}

/// All names, as they are looked up.
fn named(architectures: &[Architecture]) -> HashMap<String, Vec<(Option<Maker>, Named)>> {
    let mut all: HashMap<String, Vec<(Option<Maker>, Named)>> = HashMap::new();
    let mut add = |name: &str, maker, named| {
        all.entry(normalised(name))
            .or_default()
            .push((maker, named));
    };
    for (at, arch) in architectures.iter().enumerate() {
        for name in names_of(arch) {
            add(name, Maker::of_title(&arch.title), Named::Modelled(at));
        }
    }
    for (at, known) in NotModelled::all().iter().enumerate() {
        for name in &known.names {
            add(name, Maker::of_title(&known.title), Named::NotModelled(at));
        }
    }
    for gpus in OfTarget::all() {
        let has = |arch: &Architecture| names_of(arch).any(|name| name == gpus.target);
        let at = architectures.iter().position(has).expect("a known target");
        for name in &gpus.names {
            add(name, Maker::of_title(&gpus.maker), Named::Modelled(at));
        }
    }
    all
}

/// Whether a name is one of these, as [`Catalogue::find`] compares names; or its target is.
pub fn is_called(name: &str, names: &[String]) -> bool {
    let spelled = Spelled::all(name);
    let target = OfTarget::of(name);
    names.iter().any(|known| {
        let bare = normalised(known);
        target == Some(known) || spelled.iter().any(|name| name.bare == bare)
    })
}

fn names_of(arch: &Architecture) -> impl Iterator<Item = &str> {
    let names = [&arch.name].into_iter().chain(&arch.also).chain(&arch.gpus);
    names.map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_parses_and_every_constant_has_a_source() {
        for text in FILES {
            Architecture::from_json(text).unwrap();
        }
    }

    #[test]
    fn names_of_one_maker_are_unambiguous() {
        for (name, called) in &Catalogue::builtin().named {
            for (at, (maker, _)) in called.iter().enumerate() {
                let twice = called[..at].iter().any(|(other, _)| other == maker);
                assert!(!twice, "{name} is listed twice: {called:?}");
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
            ("Graviton3", "arm"),
            ("AWS Graviton 4", "arm"),
            ("Apple M4", "arm"),
            ("Neoverse-V2", "arm"),
            ("NVIDIA Grace", "arm"),
            ("AMD Radeon RX 7900 XTX", "rdna3"),
            ("gfx1151", "rdna3.5"),
            ("RDNA 3.5", "rdna3.5"),
            ("Radeon(TM) 8060S", "rdna3.5"),
            ("RX 9070 XT", "rdna4"),
            // As torch gives them.
            ("9.0", "hopper"),
            ("(8, 9)", "ada"),
            ("(12,0)", "rtx-blackwell"),
            ("NVIDIA H100 80GB HBM3", "hopper"),
            ("NVIDIA H100 PCIe", "hopper"),
            ("NVIDIA H100 NVL", "hopper"),
            ("NVIDIA GH200 480GB", "hopper"),
            ("NVIDIA A100-SXM4-80GB", "ampere"),
            ("NVIDIA A100 80GB PCIe", "ampere"),
            ("Tesla V100-SXM2-16GB", "volta"),
            ("Tesla T4", "turing"),
            ("NVIDIA GeForce RTX 4060 Laptop GPU", "ada"),
            ("NVIDIA GeForce RTX 4070 SUPER", "ada"),
            ("NVIDIA RTX 6000 Ada Generation", "ada"),
            ("NVIDIA RTX 4000 SFF Ada Generation", "ada"),
            ("NVIDIA L20", "ada"),
            ("NVIDIA GeForce RTX 4090 D", "ada"),
            ("4090", "ada"),
            ("NVIDIA A10G", "ampere"),
            ("NVIDIA A10-24Q", "ampere"),
            ("NVIDIA RTX A2000 12GB", "ampere"),
            ("NVIDIA GeForce RTX 3070 with Max-Q Design", "ampere"),
            ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", "ampere"),
            ("NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb+me", "ampere"),
            ("compute_86", "ampere"),
            ("compute_90a", "hopper"),
            ("NVIDIA H20e", "hopper"),
            ("NVIDIA H20-3e", "hopper"),
            ("NVIDIA H200 NVL", "hopper"),
            ("Tesla V100S-PCIE-32GB", "volta"),
            ("NVIDIA TITAN V", "volta"),
            (
                "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                "rtx-blackwell",
            ),
            (
                "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
                "rtx-blackwell",
            ),
            ("NVIDIA RTX PRO 4000 Blackwell SFF Edition", "rtx-blackwell"),
            ("AMD Instinct MI325X", "cdna3"),
            ("AMD Instinct MI308X OAM", "cdna3"),
            ("AMD Instinct MI300X VF", "cdna3"),
            ("gfx942:sramecc+:xnack-", "cdna3"),
            ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "cdna2"),
            ("AMD Instinct MI250 (MCM) OAM AC MBA", "cdna2"),
            ("AMD Radeon 780M Graphics", "rdna3"),
            ("7900 XTX", "rdna3"),
            ("Tenstorrent p100", "blackhole"),
            ("p100a", "blackhole"),
        ] {
            let found = Catalogue::builtin().find(name).unwrap();
            assert_eq!(found.name, arch, "{name}");
        }
        let error = Catalogue::builtin().find("hoper").unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("hopper"));
        for (name, title) in [
            ("mi350x", "AMD CDNA 4"),
            ("sm_103", "NVIDIA Blackwell Ultra"),
            ("Tesla P100-PCIE-16GB", "NVIDIA Pascal"),
            (
                "NVIDIA GeForce GTX 1660 Ti",
                "NVIDIA Turing without tensor cores",
            ),
            ("NVIDIA B300", "NVIDIA Blackwell Ultra"),
        ] {
            let error = Catalogue::builtin().find(name).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains(title) && text.contains("not modelled"),
                "{text}"
            );
        }
        let error = Catalogue::builtin().find("rubin").unwrap_err();
        assert_eq!(error.nearest, None);
        // Two makers have one.
        let text = Catalogue::builtin().find("P100").unwrap_err().to_string();
        assert!(
            text.contains("NVIDIA Pascal (sm_60, sm_61) or Tenstorrent Blackhole"),
            "{text}"
        );
        // A word that may make it another GPU.
        for other in [
            "NVIDIA H100 X2",
            "NVIDIA L40 Z 48GB",
            "9.9",
            "80GB",
            "(9, 0",
            "9.0.1",
            // Another maker's, or none's.
            "AMD H100",
            "NVIDIA Gaudi",
            "Google A100",
            "NVIDIA MI300X",
            "Tesla p150",
            "Tenstorrent A100",
            "Radeon RTX 4090",
            "NVIDIA",
            "MIG 1g.10gb",
            "compute_",
            "gfx942:other+",
            "NVIDIA L21",
            "A100 MIGHTY",
        ] {
            let error = Catalogue::builtin().find(other).unwrap_err();
            assert_eq!(error.nearest, None, "{other}");
            assert!(error.to_string().contains("sm_90"), "{error}");
        }
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
