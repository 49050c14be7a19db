//! Operands that torch drew on a GPU: `torch.randn`, `rand` and `randint` on CUDA, and what a program made of them.

use std::fmt;

use super::num::Format;
use tcverify_common::words::{Word as _, words};

/// The most elements: torch draws a larger tensor in parts, each of which takes the generator anew.
const MAX_ELEMENTS: usize = (1 << 29) - 1;

/// What comes in place of a class, before the name of torch's function.
pub const WORD: &str = "torch-cuda-";

/// `torch-cuda-randn:SEED:OFFSET:SMS`, and steps behind the shape, which follow in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torch {
    pub law: Law,
    /// Of integers: the least, and what is above the greatest.
    pub bounds: [i16; 2],
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

words! {
    /// The function that draws.
    pub enum Law {
        /// From a bell curve.
        Normal = "randn",
        /// From 0 on, below 1.
        Uniform = "rand",
        /// A tensor of the format itself, in which what rounds to 1 is 0.
        UniformOfFormat = "rand-of-format",
        /// With bounds: integers from LOW on, below HIGH.
        Integers = "randint",
    }
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
    pub fn parse(parts: &[&str], steps: &[&str]) -> Result<Torch, String> {
        let law = Law::of_word(parts[0]).ok_or("torch has randn, rand, rand-of-format, randint")?;
        let integer = |text: &str| text.parse().map_err(|_| format!("{text:?} is no bound"));
        let (bounds, drawn) = match (law, &parts[1..]) {
            (Law::Integers, [low, high, drawn @ ..]) => ([integer(low)?, integer(high)?], drawn),
            (_, drawn) => ([0, 1], drawn),
        };
        let &[seed, offset, sms] = drawn else {
            return Err("it lacks parts before the shape".into());
        };
        if bounds[0] >= bounds[1] {
            return Err("LOW must be below HIGH".into());
        }
        if law == Law::UniformOfFormat && !steps.is_empty() {
            return Err("rand-of-format has no steps".into());
        }
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
            law,
            bounds,
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

    /// Whether torch draws so many at once. It writes integers of 8 bytes.
    pub fn check(&self, elements: usize) -> Result<(), String> {
        let most = MAX_ELEMENTS >> u32::from(self.law == Law::Integers);
        if elements > most {
            return Err(format!(
                "it has more than {most} elements, which torch draws in parts"
            ));
        }
        Ok(())
    }

    /// Whether there are numbers of a format.
    pub fn takes(&self, format: Format) -> Result<(), String> {
        let bytes = self.law == Law::Integers && matches!(self.bounds, [-128..=127, -127..=128]);
        match format {
            Format::Fp32 | Format::Fp16 | Format::Bf16 => Ok(()),
            Format::Int8 if bytes && self.steps().is_empty() => Ok(()),
            other => Err(format!(
                "{WORD}* gives fp32, fp16, bf16 (randint without steps, to 127: int8), not {other}"
            )),
        }
    }
}

impl fmt::Display for Torch {
    /// What is between the prefix and the shape.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORD}{}", self.law.word())?;
        if self.law == Law::Integers {
            write!(f, ":{}:{}", self.bounds[0], self.bounds[1])?;
        }
        write!(f, ":{}:{}:{}", self.seed, self.offset, self.sms)
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
