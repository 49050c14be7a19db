//! Tenstorrent's matrix unit: multipliers of a few bits that take slices of the significands, phase by phase, and round
//! every phase into the accumulator.
//!
//! The instruction is MVMUL of floating-point formats. `rnu` rounds to nearest, ties toward plus infinity. `minus_one` is Wormhole's fault. There are no special values: an exponent field of all
//! ones is ordinary, one of 0 is zero. Each phase takes `group` · `groups` products of the tile at a time:
//!
//! ```text
//! 1. slices     significands have 11 bits, the hidden one first. A: in phases 0 and 1 the upper a_slice bits, else the rest;
//!                 B: in even phases the upper b_slice bits, in odd ones the next b_slice
//!                 P = the product of the slices; F = the sum of the exponents - a_slice in phases 2, 3 - b_slice in odd phases.
//!                 F counts even if P is zero. A zero operand: P = 0, and F = zero_exponent less the same, or does not count
//! 2. groups     G = largest F of the group; S = Σ of the P, each moved to G and rounded (product) to the last bit of a P there.
//!                 If G is no exponent of the accumulator's normal numbers: S = 0, and G does not count
//! 3. grid       E = largest G and exponent of c; if none counts, the result is +0. Unit 2^(E - 23)
//!                 every S and c is rounded (sum, addend) to units, then again to multiples of 2^narrow_bits units
//! 4. result     T = their sum in units, rounded (result) to the accumulator's bits. Zero and values too small: +0. Too large: the
//!                 code of infinity, in fp16 7fff with the sign. With minus_one = n, T = -1 unit gives -2^n units
//! 5. blocks     after every blocks.k products the accumulator goes through memory and comes back as blocks.reload says: exact, cut
//!                 to tf32 or to bf16. With l1_acc each block except the first and last starts from +0, and its sum is added to the
//!                 one in memory (IEEE, to nearest even, subnormals as zeros of their sign); the last block starts from that sum
//! ```
//!
//! *Example* (`phases` is `[0]`, bf16 into fp32). 1 · 1.03125: 2^-5 is below B's five bits, so the result is `3f800000`. With phases 0 and 1 it is
//! `3f840000`.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::blocks::{Blocks, packed};
use super::checks::check_group;
use super::kind::{Carried, KnownFault, Products, StepKind, ThroughMemory};
use super::term::{Term, signed};
use super::trace::{Source, TraceObserver};
use crate::common::words::words;
use crate::num::{Class, Format, Formats, Rounding, Unpacked, result_code, shift_right};

/// Bits of a significand that the slices divide, the hidden one included.
const SIGNIFICAND: u32 = 11;
/// Bits of the accumulator's significand.
const SUM: u32 = 24;

words! {
    /// How bits are dropped.
    pub enum Dropping {
        /// Toward zero
        TowardZero = "rz",
        /// To nearest, ties to even
        NearestEven = "rne",
        /// To nearest, ties away from zero
        NearestAway = "rna",
        /// To nearest, ties toward plus infinity
        NearestUp = "rnu",
    }
}

/// Constants of a product of slices. This file begins with its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sliced {
    /// Products of a group.
    pub group: usize,
    /// Groups that are added to the accumulator at once.
    pub groups: usize,
    /// Products that every phase goes over before the next one begins.
    pub tile: usize,
    /// The phases, in their order: 0 to 3.
    pub phases: Vec<u32>,
    /// Bits of A's upper slice.
    pub a_slice: u32,
    /// Bits of each of B's slices.
    pub b_slice: u32,
    /// The exponent that a product with zero counts as; null: it does not count.
    pub zero_exponent: Option<i32>,
    /// Bits of a 24-bit sum that the accumulator lacks, and that are rounded off before the addition.
    pub narrow_bits: u32,
    pub rounding: Droppings,
    /// What happens between blocks of K; null: one chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// A fault: the power of two, in units, that a sum of minus one unit gives; null: it gives minus one.
    pub minus_one: Option<u32>,
}

/// How bits are dropped, place by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Droppings {
    /// Products, on the grid of their group.
    pub product: Dropping,
    /// The sums of groups, on the grid of all.
    pub sum: Dropping,
    /// The accumulator, likewise.
    pub addend: Dropping,
    /// The result.
    pub result: Dropping,
}

impl Dropping {
    fn shift(self, value: i128, down: u32) -> i128 {
        let negative = value < 0;
        let rounding = match self {
            Dropping::TowardZero => Rounding::TowardZero,
            Dropping::NearestEven => Rounding::NearestEven,
            Dropping::NearestAway => Rounding::NearestAway,
            Dropping::NearestUp => {
                return match down {
                    0 => value,
                    _ => (value + (1 << (down.min(100) - 1))) >> down.min(100),
                };
            }
        };
        let magnitude = shift_right(value.unsigned_abs(), down, rounding, negative);
        signed(negative, magnitude)
    }
}

/// A number: its exponent and its significand of so many bits; none of zero.
fn taken(x: Unpacked, format: Format, bits: u32) -> Option<(i32, u64)> {
    let above = bits - 1 - format.fraction_bits();
    let hidden = 1 << format.fraction_bits();
    let beyond = format.max_exponent() + 1;
    let (exponent, significand) = match x.class {
        Class::Finite if x.is_below_normal(format) => return None,
        Class::Finite => (x.exponent, x.significand),
        Class::Infinite => (beyond, hidden),
        Class::Nan => (beyond, hidden | x.significand),
    };
    Some((exponent, significand << above))
}

/// A product of slices, in units of the last bit of two slices of its exponent.
struct Product {
    negative: bool,
    magnitude: u128,
    exponent: Option<i32>,
}

/// With what a term competes that does not count: nothing lies so low.
const NEVER: i32 = -4096;

impl StepKind for Sliced {
    fn span(&self) -> usize {
        self.tile
    }

    fn add(&self, products: Products, c: u64, observer: &mut impl TraceObserver) -> u64 {
        let accumulator = products.formats.accumulator;
        let at_once = self.group * self.groups;
        let mut code = c;
        for &phase in &self.phases {
            for first in (0..self.tile).step_by(at_once) {
                let total = self.total(products, (phase, first), code, observer);
                code = total.map_or(0, |(total, unit)| self.close(accumulator, total, unit));
                observer.result(accumulator, code);
            }
        }
        code
    }

    fn summary(&self) -> String {
        let fault = match self.minus_one {
            Some(_) => "; known fault: a sum of minus one unit becomes far too large",
            None => "",
        };
        format!(
            "{} products in slices of {} by {} bits, phase {}: groups of {} rounded at their largest exponent, then \
             {} groups and C rounded 24 bits below the largest{fault}",
            self.tile,
            self.a_slice,
            self.b_slice,
            listed(&self.phases),
            self.group,
            self.groups
        ) + &self.blocks.map_or(String::new(), |blocks| blocks.summary())
    }

    fn check(&self, formats: Formats) -> Result<(), String> {
        check_group(self.group)?;
        let at_once = self.group.checked_mul(self.groups).filter(|n| *n > 0);
        if at_once
            .is_none_or(|n| self.tile == 0 || self.tile > 1024 || !self.tile.is_multiple_of(n))
        {
            return Err("tile must be a multiple of group times groups, at most 1024".into());
        }
        if self.group > 64 || self.groups > 64 {
            return Err("group and groups must be at most 64".into());
        }
        check_phases(&self.phases)?;
        // Of a whole significand nothing is left for a second slice.
        let second = 2 * u32::from(self.phases.iter().any(|phase| phase % 2 == 1));
        if !(6..=SIGNIFICAND).contains(&self.a_slice)
            || !(1..=SIGNIFICAND).contains(&self.b_slice)
            || self.b_slice * second > SIGNIFICAND
        {
            return Err(format!(
                "a_slice must be 6 to 11 and b_slice 1 to 5, or 11 if no phase uses the second slice; they are {} \
                and {}",
                self.a_slice, self.b_slice
            ));
        }
        if self
            .zero_exponent
            .is_some_and(|zero| !(-4096..=4096).contains(&zero))
        {
            return Err("zero_exponent must lie within 4096 of 0".into());
        }
        if self.minus_one.is_some_and(|bits| bits > 64) {
            return Err("minus_one must be at most 64".into());
        }
        let accumulator = formats.accumulator;
        if !matches!(accumulator, Format::Fp32 | Format::Fp16 | Format::Bf16) {
            return Err(format!(
                "the accumulator must be fp32, fp16 or bf16, not {accumulator}"
            ));
        }
        if self.narrow_bits + accumulator.fraction_bits() >= SUM {
            return Err(format!(
                "narrow_bits leaves fewer bits than {accumulator} has"
            ));
        }
        for format in [formats.a, formats.b] {
            if format.fraction_bits() > 10 || format.infinity(false).is_none() {
                return Err(format!(
                    "operands must have infinities and at most 10 fraction bits, unlike {format}"
                ));
            }
        }
        let [a, b] = [formats.a, formats.b].map(Format::exponent_bits);
        if a != b {
            return Err("operands with 8-bit and 5-bit exponents cannot be mixed".into());
        }
        if let Some(blocks) = self.blocks {
            blocks.check(accumulator, self.tile)?;
        }
        if accumulator.exponent_bits() < a {
            return Err(format!(
                "{accumulator} has a smaller exponent range than the operands"
            ));
        }
        Ok(())
    }

    fn needs_accumulator(&self) -> bool {
        true
    }

    fn is_part_of(&self, k: usize) -> bool {
        self.tile == self.group * self.groups && self.tile < k
    }

    fn through_memory(&self) -> ThroughMemory {
        ThroughMemory::Blocks(self.blocks)
    }

    fn set_blocks(&mut self, blocks: Blocks) {
        self.blocks = Some(blocks);
    }

    fn known_fault(&self) -> Option<&dyn KnownFault> {
        self.minus_one.map(|_| self as &dyn KnownFault)
    }

    fn own_schedules(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn rounds(&self) -> bool {
        self.blocks.is_none()
    }

    /// The packer's; of other formats no source publishes it.
    fn rounds_results(&self, to: Format) -> Option<Rounding> {
        (to == Format::Bf16).then_some(Rounding::NearestAway)
    }

    fn converted(&self, from: Format, code: u64, to: Format) -> u64 {
        match to {
            Format::Bf16 => packed(from, code),
            // Refused beforehand: nobody knows it.
            _ => result_code(from, code, to, Rounding::NearestEven),
        }
    }

    fn start(&self, _: Formats, c: u64) -> Carried {
        match self.blocks {
            Some(_) => Carried::Blocks(Blocks::start(c)),
            None => Carried::Code(c),
        }
    }

    fn carry(
        &self,
        formats: Formats,
        carried: &mut Carried,
        count: usize,
        add: &mut dyn FnMut(u64) -> u64,
    ) {
        match (carried, self.blocks) {
            (Carried::Blocks(carried), Some(blocks)) => {
                blocks.run(formats.accumulator, carried, count, add);
            }
            (Carried::Code(c), None) => *c = add(*c),
            _ => unreachable!("carried by another kind of step"),
        }
    }

    fn finish(&self, _: Formats, carried: &Carried) -> u64 {
        match carried {
            Carried::Code(code) => *code,
            Carried::Blocks(carried) => carried.main,
            Carried::Exact(_) => unreachable!("carried by another kind of step"),
        }
    }
}

impl KnownFault for Sliced {
    fn bits(&self) -> u32 {
        self.minus_one.unwrap_or(0)
    }

    fn sums(&self) -> Vec<(usize, Range<usize>)> {
        let all = self.instructions();
        all.map(|(alone, first)| (alone.phases[0] as usize, first..first + alone.tile))
            .collect()
    }

    fn add_struck(&self, products: Products, c: u64, struck: usize) -> u64 {
        let format = products.formats.accumulator;
        let instructions = self.phases.iter().flat_map(|&phase| {
            let firsts = (0..self.tile).step_by(self.group * self.groups);
            firsts.map(move |first| (phase, first))
        });
        instructions.enumerate().fold(c, |code, (number, at)| {
            match self.total(products, at, code, &mut ()) {
                None => 0,
                Some((_, unit)) if number == struck => self.close(format, -1, unit),
                Some((total, unit)) => self.close(format, total, unit),
            }
        })
    }
}

impl Sliced {
    /// The instructions of a step, one after another, as steps of their own, and the first product of each.
    pub fn instructions(&self) -> impl Iterator<Item = (Sliced, usize)> {
        let tile = self.group * self.groups;
        self.phases.iter().flat_map(move |&phase| {
            let firsts = (0..self.tile).step_by(tile);
            firsts.map(move |first| {
                let alone = Sliced {
                    tile,
                    phases: vec![phase],
                    ..self.clone()
                };
                (alone, first)
            })
        })
    }

    /// Fraction bits of a product of slices.
    fn fraction(&self) -> i32 {
        (self.a_slice + self.b_slice) as i32 - 2
    }

    /// The sum of one instruction, in units of a power of two: so many products as `groups` groups have, from `first` on.
    fn total(
        &self,
        products: Products,
        (phase, first): (u32, usize),
        code: u64,
        observer: &mut impl TraceObserver,
    ) -> Option<(i128, i32)> {
        let Products { formats, a, .. } = products;
        let format = formats.accumulator;
        // Fields count from here: a result of this exponent is 0.
        let lowest = format.min_exponent() - 1;
        let (low_a, low_b) = (phase >= 2, phase % 2 == 1);
        let below = if low_b { self.b_slice } else { 0 } + if low_a { self.a_slice } else { 0 };

        let mut sums = Vec::with_capacity(self.groups);
        for group in 0..self.groups {
            let begin = first + group * self.group;
            let there = a.len().saturating_sub(begin).min(self.group);
            let all = (begin..begin + self.group)
                .map(|k| self.product(products, k, (low_a, low_b), below));
            let all: Vec<Product> = all.collect();
            observer.stage(STAGES[phase as usize], || (begin..begin + there).collect());
            let largest = all.iter().filter_map(|product| product.exponent).max();
            let counts = largest.filter(|largest| *largest > lowest);
            let grid = counts.unwrap_or(NEVER);
            let lsb = grid - self.fraction();
            observer.aligned(grid, lsb);
            let mut sum = 0;
            for (i, product) in all.iter().enumerate() {
                let kept = match (counts, product.exponent) {
                    (Some(largest), Some(own)) => {
                        let value = signed(product.negative, product.magnitude);
                        self.kept_product(value, largest - own)
                    }
                    _ => 0,
                };
                let source = if i < there {
                    Source::Product(i)
                } else {
                    Source::Missing
                };
                let exponent = product.exponent.unwrap_or(NEVER);
                let term = Term {
                    negative: product.negative,
                    magnitude: product.magnitude,
                    lsb: exponent - self.fraction(),
                    exponent: exponent.min(grid),
                };
                observer.term(|| term.kept(source, kept, lsb));
                sum += kept;
            }
            observer.sum(sum, lsb, false);
            sums.push((begin - first, there, grid, sum));
        }

        let c = format.unpack(code);
        let own = taken(c, format, SUM);
        let by_c = own.map_or(NEVER, |(exponent, _)| exponent);
        let largest = sums
            .iter()
            .map(|(_, _, grid, _)| *grid)
            .fold(by_c, i32::max);
        observer.stage("accumulator", || {
            let there = a.len().saturating_sub(first);
            (first..first + there.min(self.group * self.groups)).collect()
        });
        if largest <= lowest {
            return None;
        }
        // The last of 24 bits.
        let unit = largest - (SUM as i32 - 1);
        let grid = unit + self.narrow_bits as i32;
        observer.aligned(largest, grid);
        let mut total = 0;
        for (first, there, exponent, sum) in sums {
            let kept = self.kept_sum(sum, largest - exponent);
            let source = match there {
                0 => Source::Missing,
                count => Source::Products { first, count },
            };
            let term = Term::sum(sum, exponent - self.fraction(), exponent);
            observer.term(|| term.kept(source, kept, unit));
            total += kept;
        }
        let (exponent, significand) = own.unwrap_or((NEVER, 0));
        let addend = Term {
            negative: c.negative,
            magnitude: significand.into(),
            lsb: exponent - (SUM as i32 - 1),
            exponent,
        };
        let value = signed(addend.negative, addend.magnitude);
        let kept = self.twice(value, largest - exponent, self.rounding.addend);
        observer.term(|| addend.kept(Source::Addend, kept, unit));
        let total = total + kept;
        observer.sum(total, unit, false);
        Some((total, unit))
    }

    /// The product of two slices.
    fn product(
        &self,
        Products { formats, a, b, .. }: Products,
        k: usize,
        (low_a, low_b): (bool, bool),
        below: u32,
    ) -> Product {
        let pair = match (a.get(k), b.get(k)) {
            (Some(&a), Some(&b)) => Some((a, b)),
            _ => None,
        };
        let negative = pair.is_some_and(|(a, b)| a.negative != b.negative);
        let taken = |x, format| taken(x, format, SIGNIFICAND);
        let taken = pair.and_then(|(a, b)| Some((taken(a, formats.a)?, taken(b, formats.b)?)));
        let Some(((ea, a), (eb, b))) = taken else {
            return Product {
                negative,
                magnitude: 0,
                exponent: self.zero_exponent.map(|zero| zero - below as i32),
            };
        };
        // The slices with their leading bits where the upper ones have theirs.
        let rest = SIGNIFICAND - self.a_slice;
        let a = if low_a {
            (a & ((1 << rest) - 1)) << (2 * self.a_slice - SIGNIFICAND)
        } else {
            a >> rest
        };
        let mask = (1 << self.b_slice) - 1;
        let b = if low_b {
            b >> (SIGNIFICAND - 2 * self.b_slice) & mask
        } else {
            b >> (SIGNIFICAND - self.b_slice)
        };
        Product {
            negative,
            magnitude: u128::from(a * b),
            exponent: Some(ea + eb - below as i32),
        }
    }

    /// A product of slices, with its sign, that lies so far below its group's grid.
    pub fn kept_product(&self, product: i128, below: i32) -> i128 {
        self.rounding.product.shift(product, below as u32)
    }

    /// A group's sum, whose grid lies so far below the largest exponent of all.
    pub fn kept_sum(&self, sum: i128, below: i32) -> i128 {
        // In units of 2^(exponent - 23).
        let value = sum << (SUM as i32 - 1 - self.fraction());
        self.twice(value, below, self.rounding.sum)
    }

    fn twice(&self, value: i128, below: i32, how: Dropping) -> i128 {
        let once = how.shift(value, below.min(100) as u32);
        how.shift(once, self.narrow_bits) << self.narrow_bits
    }

    /// The sum `total * 2^unit` in the accumulator's format.
    pub fn close(&self, format: Format, total: i128, unit: i32) -> u64 {
        let (total, negative) = match self.minus_one {
            Some(bits) if total == -1 => (1u128 << bits, true),
            _ => (total.unsigned_abs(), total < 0),
        };
        if total == 0 {
            return 0;
        }
        let sign = u64::from(negative) << (format.width() - 1);
        let bits = 128 - total.leading_zeros() as i32;
        let precision = format.fraction_bits() as i32 + 1;
        let (significand, exponent) = match u32::try_from(bits - precision) {
            Ok(down) => {
                let value = signed(negative, total);
                let kept = self.rounding.result.shift(value, down).unsigned_abs();
                let carried = kept >> precision != 0;
                (
                    kept >> u32::from(carried),
                    unit + bits - 1 + i32::from(carried),
                )
            }
            Err(_) => (total << (precision - bits), unit + bits - 1),
        };
        let field = exponent - (format.min_exponent() - 1);
        let fraction = format.fraction_bits();
        let most = (1 << format.exponent_bits()) - 1;
        if field <= 0 {
            return 0;
        }
        // Of FP16 the largest field is a number's.
        let code = match format {
            Format::Fp16 if field > most => (1 << (fraction + format.exponent_bits())) - 1,
            Format::Fp16 => (field as u64) << fraction | significand as u64 & ((1 << fraction) - 1),
            _ if field >= most => (most as u64) << fraction,
            _ => (field as u64) << fraction | significand as u64 & ((1 << fraction) - 1),
        };
        sign | code
    }
}

pub(super) fn check_phases(phases: &[u32]) -> Result<(), String> {
    if (1..=4).contains(&phases.len()) && phases.iter().all(|phase| *phase <= 3) {
        return Ok(());
    }
    Err("phases must be one to four numbers from 0 to 3".into())
}

/// `0, 1, 2`
pub(super) fn listed(phases: &[u32]) -> String {
    let numbers: Vec<_> = phases.iter().map(u32::to_string).collect();
    numbers.join(", ")
}

/// What stages are called.
const STAGES: [&str; 4] = [
    "phase 0, upper slice of A by first of B",
    "phase 1, upper slice of A by second of B",
    "phase 2, lower slice of A by first of B",
    "phase 3, lower slice of A by second of B",
];
