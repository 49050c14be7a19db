//! Defects that others met and published: what a cause that gives D's very bits is also known as. Claims that nobody
//! confirmed are not in the list.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::emu::Evidence;

/// A defect that somebody described.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Defect {
    /// What this tool finds.
    cause: String,
    /// Where it was met, for people.
    known: String,
    source: String,
    evidence: Evidence,
    /// Only on these; without them on all.
    #[serde(default)]
    architectures: Vec<String>,
}

fn all() -> &'static [Defect] {
    static ALL: OnceLock<Vec<Defect>> = OnceLock::new();
    ALL.get_or_init(|| serde_json::from_str(include_str!("defects.json")).expect("built-in list"))
}

/// What to say of a cause after its own words; nothing on an architecture where nobody met it.
pub fn known(cause: &str, architecture: &str) -> String {
    let of_it = |defect: &&Defect| {
        let everywhere = defect.architectures.is_empty();
        let here = defect.architectures.iter().any(|name| name == architecture);
        defect.cause == cause && (everywhere || here)
    };
    let found = all().iter().find(of_it);
    found.map_or_else(String::new, |defect| {
        format!(
            " (known: {}; {}, {})",
            defect.known, defect.evidence, defect.source
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_source_and_a_place() {
        for defect in all() {
            let architecture = defect.architectures.first().map_or("any", String::as_str);
            let said = known(&defect.cause, architecture);
            assert!(said.contains(&defect.source), "{said}");
            assert!(defect.evidence >= Evidence::Inferred && !defect.source.is_empty());
            let architectures = crate::emu::Catalogue::builtin();
            for name in &defect.architectures {
                assert!(architectures.find(name).is_ok(), "{name}");
            }
        }
        assert_eq!(known("accumulator_overwritten", "hopper"), "");
        assert_eq!(known("nothing", "hopper"), "");
    }
}
