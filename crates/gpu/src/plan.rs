//! What a shader computes: numbers alone.

mod few;
mod floor;

use tcverify_num::{Format, Formats, Kind, Rounding};

pub use few::{CutRule, FewUnit};
pub use floor::FloorUnit;

/// The k that a workgroup brings into its memory at a time; a step has to divide it.
pub(crate) const CHUNK: usize = 32;

/// The k of a dispatch; a scale has all of its own in one.
pub(crate) const PANEL: usize = 2048;

/// How many k are read together.
pub(crate) const QUAD: usize = 4;

/// A unit that a shader computes, with the formats of what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShaderPlan {
    pub formats: Formats,
    pub unit: Unit,
    /// Whether the accumulators of chains are added to totals in f32, to nearest even.
    pub promotes: bool,
}

/// The kinds of shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Fused dot-adds.
    Fused(FusedUnit),
    /// Two of them in turn from zero, C added last, to nearest even. The k of a step are taken in this order.
    Halves { half: FusedUnit, order: Vec<usize> },
    /// Floored dot-adds. The k of a step are taken sum by sum.
    Floor { unit: FloorUnit, order: Vec<usize> },
    /// A few products at a time. The k of a step are taken in this order.
    Few { unit: FewUnit, order: Vec<usize> },
    /// Integers: sums wrap around, or stay at the largest and smallest number after every so many products.
    Integers { clamped: Option<usize> },
}

/// A fused dot-add: products and C are aligned at the largest exponent, cut there, added, and the sum is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FusedUnit {
    /// Products of a step.
    pub group: usize,
    /// Bits below the leading one that alignment keeps.
    pub fraction_bits: u32,
    pub alignment: Rounding,
    /// The exponent of a zero term.
    pub zero_exponent: i32,
    /// Bits of the result's significand.
    pub precision: u32,
    pub rounding: Rounding,
    pub nan: u64,
    /// Significant bits of a sum that its rounding sees.
    pub sum_bits: Option<u32>,
    /// Whether a negative sum that is rounded to zero gives -0.
    pub minus_zero: bool,
}

impl ShaderPlan {
    /// Fused dot-adds; none if 32 bits do not hold their sums.
    pub fn fused(unit: FusedUnit, formats: Formats) -> Option<ShaderPlan> {
        let unit = unit.suits(formats).then_some(Unit::Fused(unit))?;
        Some(ShaderPlan::alone(unit, formats))
    }

    /// Two dot-adds in turn; `order` has the k of the first, then those of the second.
    pub fn halves(half: FusedUnit, order: Vec<usize>, formats: Formats) -> Option<ShaderPlan> {
        let full = order.len() == 2 * half.group && CHUNK.is_multiple_of(order.len());
        if !full || formats.scale.is_some() || !half.suits(formats) {
            return None;
        }
        Some(ShaderPlan::alone(Unit::Halves { half, order }, formats))
    }

    /// Floored dot-adds; none if 32 bits do not hold their parts.
    pub fn floor(unit: FloorUnit, formats: Formats) -> Option<ShaderPlan> {
        let order = unit.order();
        let unit = unit.suits(formats).then_some(Unit::Floor { unit, order })?;
        Some(ShaderPlan::alone(unit, formats))
    }

    /// A few products at a time; `groups` says which group of an instruction comes when. None if 32 bits do not hold their
    /// sums.
    pub fn few(unit: FewUnit, groups: &[usize], formats: Formats) -> Option<ShaderPlan> {
        let span = unit.size * groups.len();
        let whole = span == 2 || span.is_multiple_of(QUAD) && CHUNK.is_multiple_of(span);
        if !whole || !unit.suits(formats) {
            return None;
        }
        let of_group = |group: &usize| group * unit.size..(group + 1) * unit.size;
        let order = groups.iter().flat_map(of_group).collect();
        Some(ShaderPlan::alone(Unit::Few { unit, order }, formats))
    }

    /// Sums of products of integers.
    pub fn integers(formats: Formats, clamped: Option<usize>) -> Option<ShaderPlan> {
        let byte = |format: Format| format.is_integer() && format.bytes() == 1;
        let possible = byte(formats.a)
            && byte(formats.b)
            && formats.accumulator == Format::Int32
            && formats.addend == Format::Int32;
        let divides = |group: usize| group.is_multiple_of(QUAD) && CHUNK.is_multiple_of(group);
        let possible = possible && clamped.is_none_or(divides);
        let unit = Unit::Integers { clamped };
        possible.then(|| ShaderPlan::alone(unit, formats))
    }

    fn alone(unit: Unit, formats: Formats) -> ShaderPlan {
        ShaderPlan {
            formats,
            unit,
            promotes: false,
        }
    }

    /// The plan that also adds up chains; none if its numbers are not f32, with subnormal ones.
    pub fn promoting(&self) -> Option<ShaderPlan> {
        let flushes = |rule| matches!(rule, CutRule::Complement { flush_sums, .. } if flush_sums);
        let flushes = matches!(&self.unit, Unit::Few { unit, .. } if flushes(unit.rule));
        let Formats {
            accumulator, scale, ..
        } = self.formats;
        let possible = accumulator == Format::Fp32 && scale.is_none() && !flushes;
        possible.then(|| ShaderPlan {
            promotes: true,
            ..self.clone()
        })
    }

    /// The k of one step.
    pub(crate) fn step(&self) -> usize {
        match &self.unit {
            Unit::Fused(unit) => unit.group,
            Unit::Floor { unit, .. } => unit.group,
            Unit::Halves { order, .. } | Unit::Few { order, .. } => order.len(),
            Unit::Integers { clamped } => clamped.unwrap_or(CHUNK),
        }
    }

    /// The order in which the k of so many are taken, where it is not their own.
    #[cfg(feature = "wgpu")]
    pub(crate) fn order(&self) -> Option<&[usize]> {
        match &self.unit {
            Unit::Halves { order, .. } | Unit::Floor { order, .. } | Unit::Few { order, .. } => {
                Some(order)
            }
            Unit::Fused(_) | Unit::Integers { .. } => None,
        }
    }

    /// Whether the shader can leave elements to the exact engine, by the code that stands for that.
    pub(crate) fn flags(&self) -> bool {
        !matches!(self.unit, Unit::Integers { .. })
    }

    /// Whether the steps of so many k end where a four of k does: a shader takes no part of one.
    pub fn takes(&self, k: usize) -> bool {
        k.next_multiple_of(self.step()).is_multiple_of(QUAD)
    }

    /// What it computes, for messages.
    pub fn name(&self) -> String {
        let Formats {
            a, b, accumulator, ..
        } = self.formats;
        format!("{a} * {b} to {accumulator}")
    }
}

/// Numbers whose products have few bits.
fn narrow(format: Format) -> bool {
    format.kind() == Kind::Float && format.fraction_bits() <= 10
}

/// Bits by which the product of two significands lies above a grid so many bits below its own exponent.
fn up(formats: Formats, bits: u32) -> i32 {
    let fraction = formats.a.fraction_bits() + formats.b.fraction_bits();
    bits as i32 - fraction as i32
}

impl FusedUnit {
    fn suits(&self, formats: Formats) -> bool {
        let FusedUnit {
            group,
            fraction_bits,
            alignment,
            zero_exponent,
            precision,
            rounding,
            ..
        } = *self;
        // A zero term is told from others by its exponent, which lies below all of them.
        let scaled = formats.scale.is_none_or(|scale| {
            scale.format == Format::Ue8m0
                && scale.block.is_multiple_of(QUAD)
                && (CHUNK.is_multiple_of(scale.block)
                    || scale.block.is_multiple_of(CHUNK) && PANEL.is_multiple_of(scale.block))
        });
        narrow(formats.a)
            && narrow(formats.b)
            && matches!(formats.accumulator, Format::Fp32 | Format::Fp16)
            && formats.addend == formats.accumulator
            && scaled
            && group.is_multiple_of(QUAD)
            && CHUNK.is_multiple_of(group)
            && alignment == Rounding::TowardZero
            && matches!(rounding, Rounding::TowardZero | Rounding::NearestEven)
            && precision <= formats.accumulator.fraction_bits() + 1
            && (-1024..=0).contains(&zero_exponent)
            && (1..=28).contains(&fraction_bits)
            && self.parts(formats).is_some()
    }

    /// In how many parts, each of 32 bits with a sign, the terms of a group are added: one or two; none if a sum can need more.
    pub(crate) fn parts(&self, formats: Formats) -> Option<usize> {
        let group = self.group as u64;
        let significand = |format: Format| (2u64 << format.fraction_bits()) - 1;
        let product = significand(formats.a) * significand(formats.b);
        let up = self.up(formats);
        let term = match up {
            0.. => product << up,
            _ => product >> -up,
        };
        let addend = 1 << (self.fraction_bits + 1);
        let signed = 1 << 31;
        if product << up.max(0) >= signed {
            return None;
        }
        if group * term + addend < signed {
            return Some(1);
        }
        let halves = group / 2 * term + addend < signed && group * term + addend < 1 << 32;
        (halves && group.is_multiple_of(2 * QUAD as u64)).then_some(2)
    }

    /// Bits by which the product of two significands lies above the grid of its own exponent.
    pub(crate) fn up(&self, formats: Formats) -> i32 {
        up(formats, self.fraction_bits)
    }
}
