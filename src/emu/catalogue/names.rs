//! Names of GPUs that people use: how they are compared, and which GPUs exist whose arithmetic is unknown.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::Architecture;

/// A GPU or family that the catalogue does not describe.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotModelled {
    /// For people.
    pub title: String,
    pub names: Vec<String>,
    /// What was measured of it, where that is known.
    pub measured: Option<String>,
    /// The architecture of the catalogue that is most like it, if one is: a guess, to try.
    pub like: Option<String>,
}

/// GPUs of a target that an architecture's file does not list. Sources: NVIDIA's list of CUDA GPUs, AMD's of GPUs that
/// ROCm supports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfTarget {
    pub maker: String,
    /// A name of an architecture, such as `sm_86`.
    pub target: String,
    pub names: Vec<String>,
}

impl OfTarget {
    /// The names of GPUs by their targets.
    pub fn all() -> &'static [OfTarget] {
        static ALL: OnceLock<Vec<OfTarget>> = OnceLock::new();
        ALL.get_or_init(|| {
            let text = include_str!("gpus.json");
            serde_json::from_str(text).expect("built-in list")
        })
    }

    /// The target of the GPU that is called so.
    pub fn of(name: &str) -> Option<&'static str> {
        let spelled = Spelled::all(name);
        let is_it = |gpus: &&OfTarget| {
            let maker = Maker::of_title(&gpus.maker);
            let mut names = gpus.names.iter().map(|name| normalised(name));
            names.any(|known| spelled.iter().any(|name| name.is(&known, maker)))
        };
        Some(&OfTarget::all().iter().find(is_it)?.target)
    }
}

impl NotModelled {
    /// All of them.
    ///
    /// # Panics
    /// If the built-in file is malformed, which a test rules out.
    pub fn all() -> &'static [NotModelled] {
        static ALL: OnceLock<Vec<NotModelled>> = OnceLock::new();
        ALL.get_or_init(|| {
            let text = include_str!("not-modelled.json");
            serde_json::from_str(text).expect("built-in list")
        })
    }
}

/// Whose GPU it is. One maker's GPU is never another's with a similar name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    Nvidia,
    Amd,
    Tenstorrent,
    Google,
    Intel,
    Apple,
    Huawei,
    Aws,
}

impl Maker {
    /// That of a GPU's first word, if the word says nothing else.
    fn of_word(word: &str) -> Option<Maker> {
        match word {
            "nvidia" | "geforce" | "tesla" | "grid" => Some(Maker::Nvidia),
            "amd" | "radeon" | "instinct" => Some(Maker::Amd),
            "tenstorrent" => Some(Maker::Tenstorrent),
            "google" => Some(Maker::Google),
            "intel" => Some(Maker::Intel),
            "apple" => Some(Maker::Apple),
            "huawei" => Some(Maker::Huawei),
            "aws" => Some(Maker::Aws),
            _ => None,
        }
    }

    /// That of an architecture's title, which begins with it; a reference or a simulator has none.
    pub fn of_title(title: &str) -> Option<Maker> {
        Maker::of_word(&title.split(' ').next()?.to_ascii_lowercase())
    }
}

/// A name as it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    maker: Option<Maker>,
    /// Without case, spaces, dashes and the maker's words.
    pub bare: String,
}

impl Spelled {
    fn of(words: &[&str]) -> Spelled {
        let mut rest = words;
        let mut maker = None;
        while let [word, others @ ..] = rest {
            let named = Maker::of_word(word);
            // `Radeon(TM) 8060S`.
            if named.is_none() && !(maker.is_some() && *word == "tm") {
                break;
            }
            maker = maker.or(named);
            rest = others;
        }
        Spelled {
            maker,
            bare: rest.concat(),
        }
    }

    /// As it is written; without the words for its memory and form; and, of a number alone (`4090`), with the words
    /// that stand before such numbers.
    pub fn all(name: &str) -> Vec<Spelled> {
        let lower = name.to_ascii_lowercase();
        let target = target(&lower);
        let words = words(target.as_deref().unwrap_or(&lower));
        let whole = Spelled::of(&words);
        let mut all = vec![whole.clone()];
        if let Some(kept) = without_form(&words) {
            all.push(Spelled::of(kept));
        }
        let numbers: Vec<_> = all.clone();
        for number in numbers {
            let digits = number.bare.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 4 {
                let series = ["rtx", "gtx", "rx"].iter();
                all.extend(series.map(|series| Spelled {
                    maker: number.maker,
                    bare: format!("{series}{}", number.bare),
                }));
            }
        }
        all
    }

    /// Whether a known name of that maker's is this one.
    pub fn is(&self, known: &str, maker: Option<Maker>) -> bool {
        let other = matches!((self.maker, maker), (Some(one), Some(other)) if one != other);
        self.bare == known && !other
    }
}

/// The parts of a name in lower case that are letters and digits.
fn words(lower: &str) -> Vec<&str> {
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect()
}

/// A name without case, spaces, dashes and the maker's words.
pub fn normalised(name: &str) -> String {
    Spelled::of(&words(&name.to_ascii_lowercase())).bare
}

/// The target in what tools print for it: `sm_90` of `9.0` and `compute_90`, `gfx942` of `gfx942:sramecc+:xnack-`.
fn target(lower: &str) -> Option<String> {
    if let Some(rest) = lower.strip_prefix("compute_") {
        let digit = rest.starts_with(|c: char| c.is_ascii_digit());
        return digit.then(|| format!("sm_{rest}"));
    }
    let gfx = lower
        .rsplit("--")
        .next()
        .filter(|text| text.starts_with("gfx"));
    if let Some((target, features)) = gfx.and_then(|text| text.split_once(':')) {
        let known =
            |feature: &str| ["sramecc", "xnack"].contains(&feature.trim_end_matches(['+', '-']));
        return features.split(':').all(known).then(|| target.to_owned());
    }
    capability(lower)
}

/// `sm_90` of `9.0` and `(9, 0)`, as `torch.cuda.get_device_capability` gives it.
pub fn capability(text: &str) -> Option<String> {
    let text = text.trim();
    let inside = text
        .strip_prefix('(')
        .and_then(|text| text.strip_suffix(')'));
    let (major, minor) = match inside {
        Some(pair) => pair.split_once(',')?,
        None => text.split_once('.')?,
    };
    let number = |text: &str, most: usize| {
        let text = text.trim();
        let digits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.to_owned())
    };
    Some(format!("sm_{}{}", number(major, 2)?, number(minor, 1)?))
}

impl Architecture {
    /// Whether CUDA's libraries run there: one of its names is a compute capability.
    pub fn has_compute_capability(&self) -> bool {
        self.also.iter().any(|name| name.starts_with("sm_"))
    }
}

/// `sm_90` of `90`, which may be meant.
pub fn bare_capability(text: &str) -> Option<String> {
    let text = text.trim();
    let is_one = (2..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_one.then(|| format!("sm_{text}"))
}

/// The words of a driver's name for a GPU before those for its memory and form: `NVIDIA A100-SXM4-80GB`. Any other
/// word may make it another GPU.
fn without_form<'w, 't>(words: &'w [&'t str]) -> Option<&'w [&'t str]> {
    const FORMS: [&str; 23] = [
        "pcie",
        "nvl",
        "sxm",
        "oam",
        "mcm",
        "ac",
        "mba",
        "vf",
        "dgxs",
        "laptop",
        "gpu",
        "graphics",
        "mobile",
        "generation",
        "super",
        "edition",
        "server",
        "workstation",
        "with",
        "max",
        "q",
        "design",
        "vgpu",
    ];
    let numbered = |word: &str, units: &[&str]| {
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
        unit.len() < word.len() && units.contains(&unit)
    };
    let form = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_digit());
        FORMS.contains(&word)
            || ["sxm", "hbm"].contains(&digits) && digits != word
            || ["hbm2e", "hbm3e"].contains(&word)
            // `A10-24Q`, of a virtual GPU.
            || numbered(word, &["gb", "q", "c"])
    };
    // `MIG 1g.10gb`, and what follows: an instance computes as the whole GPU.
    let mig = words.iter().position(|word| *word == "mig");
    let instance = mig.filter(|at| {
        let mut profile = words[at + 1..].iter();
        profile
            .next()
            .is_some_and(|word| numbered(word, &["g", "c"]))
    });
    let before = &words[..instance.unwrap_or(words.len())];
    let kept = before.iter().rposition(|word| !form(word))? + 1;
    (kept < words.len()).then(|| &words[..kept])
}

/// The kind of a name; only names of one kind are near each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `sm_90`, `gfx942`.
    Target,
    /// `H100`, `MI250X`.
    Product,
    /// `hopper`.
    Word,
}

fn kind(normalised: &str) -> Kind {
    let digits = normalised.bytes().any(|b| b.is_ascii_digit());
    match normalised {
        name if name.starts_with("sm") || name.starts_with("gfx") => Kind::Target,
        // cdna3 and rdna4 are families like hopper.
        name if name.starts_with("cdna") || name.starts_with("rdna") => Kind::Word,
        _ if digits => Kind::Product,
        _ => Kind::Word,
    }
}

/// The name of the same kind that is one typing error away, or two from a word. Another number is another GPU, and so is
/// another letter of a product: of those, none is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let wanted = normalised(name);
    let most = match kind(&wanted) {
        Kind::Product => return None,
        Kind::Word => 2,
        Kind::Target => 1,
    };
    // What is much longer than every name is near to none, and comparing takes as long as it is.
    let known = known.filter(|other| name.len() <= other.len() + 8);
    let digits = |name: &str| -> String { name.chars().filter(char::is_ascii_digit).collect() };
    let same_kind = known.filter(|other| {
        let other = normalised(other);
        kind(&other) == kind(&wanted) && digits(&other) == digits(&wanted)
    });
    // Distances first, then the catalogue's order: ties are deterministic.
    let distances = same_kind.map(|other| {
        let distance = strsim::damerau_levenshtein(&normalised(other), &wanted);
        (distance, other)
    });
    let (distance, nearest) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= most && 2 * distance < wanted.len()).then(|| nearest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_not_mixed() {
        let known = ["T4", "MI250X", "A100", "hopper", "sm_90", "GB200", "cdna3"];
        let near = |name: &str| nearest(name, known.into_iter());
        for name in [
            "auto", "9.0", "mi355x", "mi250", "gb310", "sm_75", "sm_91", "t5", "h100", "cdna2",
        ] {
            assert_eq!(near(name), None, "{name}");
        }
        assert_eq!(near("hoper").as_deref(), Some("hopper"));
        assert_eq!(near("ms_90"), None);
        assert_eq!(near("smm_90").as_deref(), Some("sm_90"));
    }

    #[test]
    fn capabilities() {
        assert_eq!(capability("9.0").as_deref(), Some("sm_90"));
        assert_eq!(capability("(12, 0)").as_deref(), Some("sm_120"));
        assert_eq!(capability("10.3").as_deref(), Some("sm_103"));
        for name in ["9", "1.20", "h100", "9.a", "", "(9, 0", "9.0.1", "+9.0"] {
            assert_eq!(capability(name), None, "{name}");
        }
        assert_eq!(bare_capability("120").as_deref(), Some("sm_120"));
        assert_eq!(bare_capability("9"), None);
    }

    #[test]
    fn what_is_not_modelled_is_in_no_architecture() {
        let catalogue = super::super::Catalogue::builtin();
        for known in NotModelled::all() {
            assert!(!known.names.is_empty() && !known.title.is_empty());
            assert!(Maker::of_title(&known.title).is_some(), "{}", known.title);
            for name in &known.names {
                let error = catalogue.find(name).expect_err(name);
                let like = known.like.as_ref();
                assert!(like.is_none_or(|like| catalogue.find(like).is_ok()));
                let found = error.unmodelled.expect("itself");
                assert_eq!(found.title, known.title, "{name}");
            }
        }
    }

    #[test]
    fn a_listed_gpu_is_of_its_target() {
        let catalogue = super::super::Catalogue::builtin();
        for gpus in OfTarget::all() {
            assert!(Maker::of_title(&gpus.maker).is_some(), "{}", gpus.maker);
            let target = catalogue.find(&gpus.target).unwrap();
            for name in &gpus.names {
                let name = format!("{} {name}", gpus.maker);
                assert_eq!(catalogue.find(&name).unwrap().name, target.name, "{name}");
                assert_eq!(OfTarget::of(&name), Some(gpus.target.as_str()), "{name}");
            }
        }
        assert_eq!(OfTarget::of("A100"), None);
    }
}
