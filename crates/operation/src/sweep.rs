//! A function of one number on every pattern of 32 bits, as digests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Operation;
use crate::check::CheckError;
use crate::check::Progress;
use crate::deadline::interruptible;
use crate::emu::{Engine, Engines};
use crate::io::hex;
use crate::num::Format;
use crate::ops::{BoundOp, ExecContext, Inputs, Parameters, Rule};
use crate::report::Tool;
use crate::tensor::Tensor;

/// Value of the `schema` field.
pub const SWEEP: &str = "tcverify.sweep/1";
/// Patterns of a block: those whose first byte is its number, ascending.
const BLOCK: u32 = 1 << 24;

/// What a function gives for every pattern of 32 bits, or for some blocks of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    pub schema: String,
    pub operation: String,
    pub variant: String,
    /// Digest of the variant's rule, if that computed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_sha256: Option<String>,
    /// A program, or a GPU with its instruction, driver and versions.
    pub computed_by: serde_json::Value,
    /// By number, 0 to 255, the SHA-256 of the results for the 2^24 patterns whose first byte that is, ascending, each as
    /// four bytes, the least significant one first.
    pub blocks: BTreeMap<u8, String>,
}

impl Sweep {
    /// Reads a document.
    pub fn from_json(text: &str) -> Result<Sweep, String> {
        let read = crate::words::from_json(text);
        let read = read.and_then(|sweep: Sweep| match sweep.schema.as_str() {
            SWEEP if sweep.blocks.is_empty() => Err("it has no blocks".to_owned()),
            SWEEP => Ok(sweep),
            other => Err(format!("schema is {other:?}; expected {SWEEP:?}")),
        });
        let mut sweep = read.map_err(|reason| crate::io::printable_ends(&reason))?;
        for (block, sha256) in &mut sweep.blocks {
            let digest = crate::io::parse_sha256(sha256);
            *sha256 = digest.map_err(|reason| format!("block {block}: {reason}"))?;
        }
        Ok(sweep)
    }

    /// Blocks of this one that the other has otherwise, or lacks.
    pub fn differing(&self, other: &Sweep) -> Vec<u8> {
        let differs = |(block, sha256): (&u8, &String)| {
            (other.blocks.get(block) != Some(sha256)).then_some(*block)
        };
        self.blocks.iter().filter_map(differs).collect()
    }
}

/// Whether it is a function of one number.
fn of_one_number(rule: &Rule) -> bool {
    matches!(
        rule,
        Rule::RcpApprox(_)
            | Rule::RsqrtApprox(_)
            | Rule::Ex2Approx(_)
            | Rule::Expf(_)
            | Rule::Exp2f(_)
            | Rule::Tanhf(_)
            | Rule::Sqrt(_)
            | Rule::Silu(_)
            | Rule::Gelu(_)
    )
}

impl Operation {
    /// Computes some blocks of patterns by the variant's rule; memory is bounded by one of them.
    ///
    /// # Errors
    /// If there is no such variant, or it is not a function of one number.
    pub fn sweep(
        &self,
        engines: &dyn Engines,
        blocks: impl IntoIterator<Item = u8>,
        progress: &dyn Progress,
    ) -> Result<Sweep, CheckError> {
        let (variant, _) = self.variant()?;
        if !of_one_number(&variant.rule) {
            let reason = format!(
                "a sweep needs a unary 32-bit function, which {} is not",
                variant.rule.operation()
            );
            return Err(CheckError::request("operation", reason));
        }
        let engine = self.engine(engines)?;
        let blocks: Vec<u8> = blocks.into_iter().collect();
        progress.begin(blocks.len() as u64 * u64::from(BLOCK));
        let computed = interruptible(|| {
            let one = |block: u8| (block, digest(&variant.rule, engine, block, progress));
            blocks.iter().map(|&block| one(block)).collect()
        });
        Ok(Sweep {
            schema: SWEEP.to_owned(),
            operation: variant.rule.operation().to_owned(),
            variant: variant.name.clone(),
            rule_sha256: Some(variant.sha256()),
            computed_by: serde_json::to_value(Tool::default()).unwrap_or_default(),
            blocks: computed.map_err(CheckError::ended)?,
        })
    }
}

fn digest(rule: &Rule, engine: Engine<'static>, block: u8, progress: &dyn Progress) -> String {
    let first = u32::from(block) << 24;
    let patterns = (first..=first + (BLOCK - 1)).flat_map(u32::to_le_bytes);
    let shape = vec![1 << 12, 1 << 12];
    let x = Tensor::from_payload(Format::Fp32, shape, patterns.collect::<Vec<u8>>());
    let means = ExecContext {
        arithmetic: None,
        engine,
    };
    let inputs = Inputs::from([("x", &x)]);
    let parameters = Parameters::default();
    let job = BoundOp::new(rule, &inputs, &parameters, means).expect("a function of one number");
    let mut hash = Sha256::new();
    job.run(&|elements| progress.advance(elements), |band| {
        hash.update(band.payload);
    });
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Counted;
    use tcverify_engines as engines;

    /// One block against the specification, pattern by pattern.
    #[test]
    fn a_block_is_the_results_in_the_order_of_their_patterns() {
        use crate::ops::float32::{Exactly, ex2_approx};
        let request = Operation {
            operation: Some("ex2_approx".into()),
            variant: Some("ptx-ftz".into()),
            ..Operation::default()
        };
        // From -2^-1 down to -2^1, where the table shows.
        let counted = Counted::default();
        let found = request.sweep(engines::here(), [0xbf], &counted).unwrap();
        let counted = counted.counts();
        assert_eq!(counted, [1 << 24; 2]);
        let digest_of = |result: &dyn Fn(u32) -> u32| {
            let all = 0xbf00_0000..=0xbfff_ffffu32;
            let mut hash = Sha256::new();
            for pattern in all {
                hash.update(result(pattern).to_le_bytes());
            }
            hex(&hash.finalize())
        };
        let own = digest_of(&|x| ex2_approx(Exactly, x, true));
        assert_eq!(found.blocks, BTreeMap::from([(0xbf, own)]));
        // One result of them all is another number.
        let wrong = digest_of(&|x| ex2_approx(Exactly, x, true) ^ u32::from(x == 0xbf12_3456));
        let other = Sweep {
            blocks: BTreeMap::from([(0xbf, wrong)]),
            ..found.clone()
        };
        assert_eq!(other.differing(&found), [0xbf]);
        assert_eq!(found.differing(&found), [0u8; 0]);
    }
}
