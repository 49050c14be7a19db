//! The words of the command line as a request.

use anyhow::{Result, bail, ensure};

use super::Op;
use crate::check::{EngineChoice, Operation, Source, Strictness, option};
use crate::num::F32;
use crate::ops::{self, Layout};

impl Op {
    pub(super) fn asked(&self) -> Result<Operation> {
        let number = |field: &str, text: &Option<String>| -> Result<Option<F32>> {
            let read = text.as_ref().map(|text| text.parse::<F32>()).transpose();
            read.map_err(|reason| anyhow::anyhow!("{} {reason}", option(field)))
        };
        let strict = |word: Strictness| (word == Strictness::Any).then_some(word);
        let mut asked = Operation {
            operation: Some(self.operation.replace('-', "_")),
            variant: self.variant.clone(),
            variant_file: self.variant_file.clone(),
            arch: self.arch.clone(),
            dtype: self.dtype,
            eps: number("eps", &self.eps)?,
            softmax_scale: number("softmax_scale", &self.softmax_scale)?,
            causal: self.causal.then_some(true),
            layout: self.layout.as_deref().map(|axes| match axes {
                "bhsd" => Layout::Bhsd,
                _ => Layout::Bshd,
            }),
            interleaved: self.interleaved.then_some(true),
            group: self.group,
            tile: self.tile.clone(),
            output: self.output.clone(),
            y_digest: self.y_digest.clone(),
            nan: strict(self.nan),
            zero: strict(self.zero),
            rows: self
                .part
                .rows
                .as_ref()
                .map(|text| text.parse())
                .transpose()
                .map_err(|reason: String| anyhow::anyhow!("--rows {reason}"))?,
            sample: self.part.sample,
            seed: self.part.seed,
            seed_from: self.part.seed_from.clone(),
            beacon: self.part.beacon.clone(),
            max_mismatches: self.max_mismatches,
            no_causes: self.no_causes.then_some(true),
            engine: (self.engine != EngineChoice::Fast).then_some(self.engine),
            ..Operation::default()
        };
        // Why an operation is none comes before what its arrays would be.
        let rule = match &self.variant_file {
            Some(_) => None,
            None => {
                let operation = asked.operation.as_deref().unwrap_or_default();
                let found = ops::find(operation, self.variant.as_deref());
                Some(&found.map_err(anyhow::Error::msg)?.rule)
            }
        };
        let expected: Vec<&str> = match rule {
            Some(rule) => rule.arrays().to_vec(),
            None => ops::of(asked.operation.as_deref().unwrap_or_default())
                .map_err(anyhow::Error::msg)?[0]
                .rule
                .arrays()
                .to_vec(),
        };
        let mut plain = Vec::new();
        for word in &self.arrays {
            let named = word.to_str().and_then(|text| text.split_once('='));
            let named = named.filter(|(name, _)| Operation::default().set(name, Source::Memory));
            match named {
                Some((name, path)) => {
                    let source = Source::parse(path.as_ref()).map_err(anyhow::Error::msg)?;
                    let twice = asked.sources().iter().any(|(known, _)| *known == name);
                    ensure!(!twice, "{name} is named twice");
                    asked.set(name, source);
                }
                None => plain.push(word),
            }
        }
        let given: Vec<_> = asked.sources().into_iter().map(|(name, _)| name).collect();
        let free: Vec<_> = expected
            .into_iter()
            .chain(["y"])
            .filter(|n| !given.contains(n))
            .collect();
        if plain.len() > free.len() {
            let missing: Vec<_> = free
                .iter()
                .map(|&name| if name == "y" { "the result" } else { name })
                .collect();
            let missing = match missing.is_empty() {
                true => "no file".to_owned(),
                false => missing.join(", "),
            };
            bail!(
                "{} takes {missing} beside those that are named; name what else it takes, such as weight=FILE \
                 ({} files are given)",
                self.operation,
                self.arrays.len()
            );
        }
        for (name, path) in free.into_iter().zip(plain) {
            let source = Source::parse(path).map_err(anyhow::Error::msg)?;
            asked.set(name, source);
        }
        Ok(asked)
    }
}
