//! How many multiprocessors GPUs have: kernels cut their work by it. The numbers and their source stand in
//! `multiprocessors.json`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Capability;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "source")]
    _source: String,
    gpus: Vec<Gpu>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gpu {
    name: String,
    target: String,
    count: u32,
}

impl Gpu {
    fn is_one_of(&self, gpus: &[Capability]) -> bool {
        Capability::parse(&self.target).is_some_and(|own| gpus.contains(&own))
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_json::from_str(include_str!("multiprocessors.json")).expect("a test reads it")
});

/// All of them, for people: `A100 108, ...`.
pub fn listed() -> String {
    let all = TABLE.gpus.iter();
    let all = all.map(|gpu| format!("{} {}", gpu.name, gpu.count));
    all.collect::<Vec<_>>().join(", ")
}

/// The numbers that a search tries on any of these GPUs; all, if none of them is listed.
pub fn tried(gpus: &[Capability]) -> Vec<u32> {
    let any = TABLE.gpus.iter().any(|gpu| gpu.is_one_of(gpus));
    let all = TABLE.gpus.iter();
    let all = all.filter(|gpu| !any || gpu.is_one_of(gpus));
    all.map(|gpu| gpu.count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_gpus() {
        assert!(
            TABLE
                .gpus
                .iter()
                .all(|gpu| Capability::parse(&gpu.target).is_some())
        );
        assert_eq!(tried(&[Capability::new(9, 0)]), [78, 114, 132]);
        assert_eq!(tried(&[Capability::new(7, 0)]).len(), TABLE.gpus.len());
        assert!(listed().starts_with("A100 108, "));
    }
}
