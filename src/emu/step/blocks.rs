//! Blocks of K between which an accumulator goes through memory: how tt-metal's kernels take a long K.

use serde::{Deserialize, Serialize};

use crate::common::words::words;
use crate::num::{Class, Format, Overflow, Rounding, Target, Unpacked, round_code};

/// What becomes of the accumulator between two blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// k of a block.
    pub k: usize,
    /// Whether the sums of blocks are added in memory. Every block but the first and the last starts from zero then, and its
    /// sum is added to the one in memory, by IEEE to nearest even, subnormal numbers as zeros of their sign; the last block
    /// starts from that sum. Otherwise every block starts from the sum of those before it.
    pub l1_acc: bool,
    /// How a sum comes back from memory.
    pub reload: Reload,
}

words! {
    /// How a sum comes back from memory.
    pub enum Reload {
        /// As it was stored
        Exact = "exact",
        /// Cut to TF32: 10 fraction bits
        Tf32 = "tf32",
        /// Cut to BF16: 7 fraction bits
        Bf16 = "bf16",
    }
}

/// A chain of blocks on its way.
#[derive(Clone, Copy, Debug)]
pub struct Blocked {
    /// The accumulator that the result is read from.
    pub main: u64,
    /// One that starts from zero in this block, where sums are added in memory.
    alone: Option<u64>,
    /// What is in memory.
    stored: u64,
    /// Products of the block so far.
    done: usize,
}

impl Blocks {
    pub fn start(c: u64) -> Blocked {
        Blocked {
            main: c,
            alone: None,
            stored: 0,
            done: 0,
        }
    }

    /// Takes some products of one block; `add` adds them to an accumulator.
    pub fn run(
        &self,
        format: Format,
        carried: &mut Blocked,
        count: usize,
        mut add: impl FnMut(u64) -> u64,
    ) {
        if carried.done == self.k {
            carried.stored = match carried.alone {
                Some(alone) => added_in_memory(format, carried.stored, alone),
                None => carried.main,
            };
            carried.main = self.reload.of(format, carried.stored);
            carried.alone = self.l1_acc.then_some(format.zero(false));
            carried.done = 0;
        }
        carried.main = add(carried.main);
        carried.alone = carried.alone.map(&mut add);
        carried.done += count;
    }

    pub fn summary(&self) -> String {
        let added = if self.l1_acc {
            ", sums added in memory (the last block starts from their sum)"
        } else {
            ""
        };
        let reload = match self.reload {
            Reload::Exact => "",
            Reload::Tf32 => ", truncated to TF32 when read back",
            Reload::Bf16 => ", truncated to BF16 when read back",
        };
        format!("; through memory every {} k{added}{reload}", self.k)
    }

    /// # Errors
    /// What no kernel has.
    pub fn check(&self, format: Format, tile: usize) -> Result<(), String> {
        if self.k == 0 || !self.k.is_multiple_of(tile) || self.k > 1 << 20 {
            return Err(format!(
                "blocks.k is {}; it must be a multiple of {tile}",
                self.k
            ));
        }
        match (format, self.reload) {
            (Format::Fp32, _) | (Format::Bf16, Reload::Exact) => Ok(()),
            (Format::Bf16, _) => {
                Err("a bf16 sum is read back unchanged: blocks.reload must be exact".into())
            }
            _ => Err(format!(
                "it is not known how blocks of an {format} accumulator go through memory"
            )),
        }
    }
}

impl Reload {
    fn of(self, format: Format, code: u64) -> u64 {
        let cut = self.cuts(format);
        code >> cut << cut
    }

    /// Bits that are lost.
    pub fn cuts(self, format: Format) -> u32 {
        match (format, self) {
            (Format::Fp32, Reload::Tf32) => 13,
            (Format::Fp32, Reload::Bf16) => 16,
            _ => 0,
        }
    }
}

/// What the packer makes of a sum in memory and one that it adds to it, FP32 or BF16. The NaN of a sum in memory counts as
/// the largest FP64 number of its sign, in BF16; one that is added, as a number of its fraction.
pub fn added_in_memory(format: Format, stored: u64, more: u64) -> u64 {
    let (x, y) = (format.unpack(stored), format.unpack(more));
    let infinity = |negative| format.infinity(negative).expect("it accumulates");
    if format == Format::Fp32 {
        if x.is_nan()
            || y.is_nan()
            || x.is_infinite() && y.is_infinite() && x.negative != y.negative
        {
            return 0x7fc0_0000;
        }
    } else {
        let bf16_nan = x.is_infinite() && y.is_infinite() && x.negative != y.negative;
        if bf16_nan {
            return 0x7fc0;
        }
        if x.is_nan() && !y.is_infinite() {
            return infinity(x.negative);
        }
    }
    for number in [x, y] {
        if number.is_infinite() {
            return infinity(number.negative);
        }
    }
    let (x, y) = (finite(x, format), finite(y, format));
    // Of numbers far apart the smaller one only says on which side of the other the sum lies.
    let lsb = x.1.max(y.1) - 64;
    let aligned = |(value, own): (i128, i32)| match own - lsb {
        up @ 0.. => value << up,
        down => value >> (-down).min(127) | i128::from(value & ((1 << (-down).min(100)) - 1) != 0),
    };
    let sum = aligned(x) + aligned(y);
    if sum == 0 {
        let negative = stored >> (format.width() - 1) & more >> (format.width() - 1) == 1;
        return format.zero(negative);
    }
    let target = Target {
        overflow: Overflow::ToInfinity,
        ..Target::full(format, Rounding::NearestEven)
    };
    let code = target.round(sum < 0, sum.unsigned_abs(), lsb, false);
    if format.unpack(code).is_below_normal(format) {
        format.zero(sum < 0)
    } else {
        code
    }
}

/// A number as an integer and the exponent of its last bit; subnormal ones are zero, NaNs ordinary numbers.
fn finite(x: Unpacked, format: Format) -> (i128, i32) {
    let fraction = format.fraction_bits();
    let (significand, exponent) = match x.class {
        Class::Finite => (x.flushed(format).significand, x.exponent),
        _ => (1 << fraction | x.significand, format.max_exponent() + 1),
    };
    let value = i128::from(significand);
    (
        if x.negative { -value } else { value },
        exponent - fraction as i32,
    )
}

/// What the packer makes of an accumulator for BF16 output: NaNs become infinity; to nearest, ties away; no -0.
pub fn packed(format: Format, code: u64) -> u64 {
    let x = format.unpack(code);
    let rounded = match x.class {
        Class::Finite => round_code(format, code, Format::Bf16, Rounding::NearestAway, 0),
        _ => return Format::Bf16.infinity(x.negative).expect("it has one"),
    };
    if Format::Bf16.unpack(rounded).is_below_normal(Format::Bf16) {
        0
    } else {
        rounded
    }
}
