//! Names of GPUs that people use: how they are compared, and which GPUs exist whose arithmetic is unknown.

use std::sync::OnceLock;

use serde::Deserialize;

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

    /// The one that is called so.
    pub fn find(name: &str) -> Option<&'static NotModelled> {
        let wanted = normalised(name);
        let is_it = |known: &&NotModelled| known.names.iter().any(|n| normalised(n) == wanted);
        NotModelled::all().iter().find(is_it)
    }
}

/// A name without case, spaces, dashes and the maker's words.
pub fn normalised(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let bare: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    let without = |name: &str, prefixes: &[&str]| {
        let bare = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
        bare.unwrap_or(name).to_owned()
    };
    without(
        &without(&bare, &["nvidia", "amd"]),
        &["geforce", "instinct", "tesla", "radeontm", "radeon"],
    )
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

/// `sm_90` of `90`, which may be meant.
pub fn bare_capability(text: &str) -> Option<String> {
    let text = text.trim();
    let is_one = (2..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_one.then(|| format!("sm_{text}"))
}

/// A driver's name for a GPU without the words for its memory and form: `NVIDIA A100-SXM4-80GB`. Any other word may
/// make it another GPU.
pub fn without_form(name: &str) -> Option<String> {
    const FORMS: [&str; 9] = [
        "pcie",
        "nvl",
        "sxm",
        "oam",
        "laptop",
        "gpu",
        "mobile",
        "generation",
        "super",
    ];
    let form = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = word.trim_start_matches(|c: char| c.is_ascii_digit());
        FORMS.contains(&word)
            || ["sxm", "hbm"].contains(&digits) && digits != word
            || ["hbm2e", "hbm3e"].contains(&word)
            || number == "gb" && number != word
    };
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let kept = words.iter().rposition(|word| !form(word))? + 1;
    (kept < words.len()).then(|| normalised(&words[..kept].concat()))
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

/// The name of the same kind that is one typing error away, or two from a word; two digits make another GPU.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let wanted = normalised(name);
    let most = if kind(&wanted) == Kind::Word { 2 } else { 1 };
    // What is much longer than every name is near to none, and comparing takes as long as it is.
    let known = known.filter(|other| name.len() <= other.len() + 8);
    let same_kind = known.filter(|other| kind(&normalised(other)) == kind(&wanted));
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
        let known = ["T4", "MI250X", "hopper", "sm_90", "GB200", "cdna3"];
        let near = |name: &str| nearest(name, known.into_iter());
        for name in ["auto", "9.0", "mi355x", "gb310", "sm_75", "t5"] {
            assert_eq!(near(name), None, "{name}");
        }
        assert_eq!(near("hoper").as_deref(), Some("hopper"));
        assert_eq!(near("mi250").as_deref(), Some("MI250X"));
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
            for name in &known.names {
                assert!(catalogue.find(name).is_err(), "{name}");
                let like = known.like.as_ref();
                assert!(like.is_none_or(|like| catalogue.find(like).is_ok()));
                let found = NotModelled::find(name).expect("itself");
                assert_eq!(found.title, known.title, "{name}");
            }
        }
    }
}
