//! What is found of a fleet, as claims about the files of results.

use super::fleet::{Condition, Fleet, Gpu};
use crate::attest::{CLEAN, Claims, Descriptor, TestVerdict};
use crate::commit::Hash;

impl Fleet {
    /// The claims about files of results, by name and SHA-256.
    pub fn claims(&self, results: Vec<(String, Hash)>) -> Claims {
        let result = |gpu: &Gpu| match gpu.condition {
            Condition::Clean => TestVerdict::Passed,
            // Every D that was compared is right, but not all were.
            Condition::Incomplete => TestVerdict::Warned,
            _ => TestVerdict::Failed,
        };
        let named = |gpu: &Gpu| format!("{}/{}", gpu.device.host, gpu.device.index);
        let clean = self.gpus.iter().all(|gpu| gpu.condition.right());
        let files = results.into_iter();
        Claims {
            subjects: files
                .map(|(name, sha256)| Descriptor::new(name, sha256))
                .collect(),
            configuration: vec![Descriptor::new("suite", self.suite)],
            tests: self
                .gpus
                .iter()
                .map(|gpu| (named(gpu), result(gpu)))
                .collect(),
            properties: clean.then(|| CLEAN.to_owned()).into_iter().collect(),
            policies: Vec::new(),
        }
    }
}
