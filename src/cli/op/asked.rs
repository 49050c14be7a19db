//! The words of the command line as a request.

use anyhow::{Result, bail, ensure};

use super::Op;
use crate::check::{EngineChoice, Operation, Source, Strictness, option};
use crate::num::F32;
use crate::ops::{self, Layout};
use crate::role::Role;

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
            let named = named.and_then(|(name, path)| Some((Role::of_field(name)?, path)));
            let named = named.filter(|(role, _)| Role::OPERATION.contains(role));
            match named {
                Some((role, path)) => {
                    let source = Source::parse(path.as_ref()).map_err(anyhow::Error::msg)?;
                    let twice = asked.sources().contains_key(&role);
                    ensure!(!twice, "{} is named twice", role.field());
                    set(&mut asked, role, source);
                }
                None => plain.push(word),
            }
        }
        let given = asked.sources();
        let expected = expected.into_iter().filter_map(Role::of_field);
        let free: Vec<_> = expected
            .chain([Role::Y])
            .filter(|role| !given.contains_key(role))
            .collect();
        if plain.len() > free.len() {
            let missing: Vec<_> = free
                .iter()
                .map(|&role| match role {
                    Role::Y => "the result",
                    operand => operand.field(),
                })
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
        for (role, path) in free.into_iter().zip(plain) {
            let source = Source::parse(path).map_err(anyhow::Error::msg)?;
            set(&mut asked, role, source);
        }
        Ok(asked)
    }
}

/// Names an array.
fn set(asked: &mut Operation, role: Role, source: Source) {
    if let Some(field) = asked.array(role) {
        *field = Some(source);
    }
}
