//! Operands that torch drew on a GPU: `torch.randn` on CUDA, and what a program made of it.

use std::fmt;

use super::MAX_ELEMENTS;
use crate::float32::randn::{self, Randn, silu};
use crate::float32::{Arith, Natively, negated, with_fma};
use crate::num::{Format, Rounding, result_code};

/// What comes in place of a class.
pub const WORD: &str = "torch-cuda-randn";

/// `torch-cuda-randn:SEED:OFFSET:SMS`, and steps behind the shape, which follow in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torch {
    pub seed: u64,
    /// Of the generator: 0 after `manual_seed`, a multiple of 4.
    pub offset: u64,
    /// Of the GPU, whose threads draw the numbers.
    pub sms: u32,
    /// `times-HEX`: times this FP32 number.
    pub times: Option<u32>,
    /// `silu-times-OFFSET`: silu of the number, times one that is drawn from this offset.
    pub silu_times: Option<u64>,
    pub pairs: Option<Pairs>,
}

/// What odd columns are, of the number left of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// `pairs-negated`: its negative.
    Negated,
    /// `pairs-plus-HEX`: its sum with this FP32 number.
    Plus(u32),
}

impl Torch {
    /// Reads what is between the word and the shape, and behind that.
    pub fn parse([seed, offset, sms]: [&str; 3], steps: &[&str]) -> Result<Torch, String> {
        let number = |text: &str| text.parse::<u64>().ok();
        let seed =
            number(seed).ok_or_else(|| format!("{seed:?} is not a seed (a number below 2^64)"))?;
        let four = |text: &str| {
            let offset = number(text).filter(|offset| offset.is_multiple_of(4));
            offset.ok_or_else(|| {
                format!("{text:?} is not an offset of the generator (a multiple of 4)")
            })
        };
        let sms: Option<u32> = sms.parse().ok().filter(|sms| (1..=4096).contains(sms));
        let mut torch = Torch {
            seed,
            offset: four(offset)?,
            sms: sms.ok_or("the number of SMs must be 1 to 4096")?,
            times: None,
            silu_times: None,
            pairs: None,
        };
        for step in steps {
            let factor = |hex: &str| {
                let known = u32::from_str_radix(hex, 16).ok().filter(|_| hex.len() == 8);
                let finite = known.filter(|code| f32::from_bits(*code).is_finite());
                finite.ok_or_else(|| {
                    format!(
                        "{step:?}: {hex:?} is not eight hexadecimal digits of a finite FP32 number"
                    )
                })
            };
            let again = torch.pairs.is_some()
                || match *step {
                    "pairs-negated" => torch.pairs.replace(Pairs::Negated).is_some(),
                    _ if let Some(hex) = step.strip_prefix("pairs-plus-") => {
                        torch.pairs.replace(Pairs::Plus(factor(hex)?)).is_some()
                    }
                    _ if let Some(offset) = step.strip_prefix("silu-times-") => {
                        torch.silu_times.replace(four(offset)?).is_some()
                    }
                    _ if let Some(hex) = step.strip_prefix("times-") => {
                        torch.silu_times.is_some() || torch.times.replace(factor(hex)?).is_some()
                    }
                    _ => {
                        return Err(format!(
                            "{step:?} is not a step (times-HEX, silu-times-OFFSET, pairs-negated, pairs-plus-HEX)"
                        ));
                    }
                };
            if again {
                return Err(format!(
                    "{step:?} comes too late: each step once, in the order of docs/generator.md"
                ));
            }
        }
        Ok(torch)
    }

    /// The shape between them, and the formats that torch draws.
    pub fn check(elements: usize) -> Result<(), String> {
        if elements > randn::MAX_ELEMENTS.min(MAX_ELEMENTS) {
            return Err(format!(
                "it has more than {} elements, which torch draws in parts",
                randn::MAX_ELEMENTS
            ));
        }
        Ok(())
    }

    pub fn takes(format: Format) -> Result<(), String> {
        match format {
            Format::Fp32 | Format::Fp16 | Format::Bf16 => Ok(()),
            other => Err(format!("{WORD} gives fp32, fp16 or bf16, not {other}")),
        }
    }

    /// The codes of some rows, from a row on.
    pub fn fill(
        &self,
        format: Format,
        [row, columns]: [usize; 2],
        elements: usize,
        payload: &mut [u8],
    ) {
        let width = format.bytes();
        let draw = |offset| Randn::new(self.seed, offset, self.sms, elements);
        let (numbers, others) = (draw(self.offset), self.silu_times.map(draw));
        let arith = Natively::new();
        let number = |index: usize| {
            let z = numbers.at(arith, index as u64);
            let z = self.times.map_or(z, |factor| arith.mul(z, factor));
            match others {
                None => z,
                Some(others) => arith.mul(silu(z), others.at(arith, index as u64)),
            }
        };
        with_fma(|| {
            for (at, bytes) in payload.chunks_exact_mut(width).enumerate() {
                let pairs = self.pairs.filter(|_| at % columns % 2 == 1);
                // At one place, so that it is compiled for fused operations.
                let number = number(row * columns + at - usize::from(pairs.is_some()));
                let number = match pairs {
                    None => number,
                    Some(Pairs::Negated) => negated(number),
                    Some(Pairs::Plus(more)) => arith.add(number, more),
                };
                let code = rounded(number, format);
                bytes.copy_from_slice(&code.to_le_bytes()[..width]);
            }
        });
    }
}

/// As `Tensor.to` rounds it.
fn rounded(number: u32, format: Format) -> u64 {
    match format {
        Format::Bf16 => u64::from((number + 0x7fff + (number >> 16 & 1)) >> 16),
        Format::Fp32 => number.into(),
        _ => result_code(Format::Fp32, number.into(), format, Rounding::NearestEven),
    }
}

impl fmt::Display for Torch {
    /// What is between the prefix and the shape.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORD}:{}:{}:{}", self.seed, self.offset, self.sms)
    }
}

impl Torch {
    /// What is behind the shape.
    pub fn steps(&self) -> String {
        let times = self.times.map(|factor| format!(":times-{factor:08x}"));
        let silu = self
            .silu_times
            .map(|offset| format!(":silu-times-{offset}"));
        let pairs = self.pairs.map(|pairs| match pairs {
            Pairs::Negated => ":pairs-negated".to_owned(),
            Pairs::Plus(more) => format!(":pairs-plus-{more:08x}"),
        });
        [times, silu, pairs].into_iter().flatten().collect()
    }
}
