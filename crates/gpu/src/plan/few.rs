//! A few products at a time: RDNA.

use tcverify_num::{Format, Formats};

use super::{narrow, up};

/// Two or four products and C are brought to one grid and added; the sum is rounded to nearest even.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FewUnit {
    /// Products that are added to C at once.
    pub size: usize,
    /// Bits kept below the largest sum of operands' exponents.
    pub product_bits: u32,
    /// Bits kept below C's highest bit.
    pub leading_bits: u32,
    /// The least that C's highest bit counts as.
    pub least_leading: Option<i32>,
    pub rule: CutRule,
}

/// What becomes of bits below a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutRule {
    /// Rounded toward minus infinity, pairs of products on a grid of their own first. A negative C of less than one unit
    /// counts as minus one on grids up to this one, and else as zero.
    Floored { vanishing_c: Option<i32> },
    /// Cut off, in one's complements where the sign is not C's; subnormal numbers may be zeros.
    Complement {
        flush_operands: bool,
        flush_sums: bool,
    },
}

impl FewUnit {
    pub(super) fn suits(&self, formats: Formats) -> bool {
        let FewUnit {
            size,
            product_bits,
            leading_bits,
            least_leading,
            rule,
        } = *self;
        let accumulators = [Format::Fp32, Format::Fp16, Format::Bf16];
        let rule = match rule {
            CutRule::Floored { .. } => matches!(size, 2 | 4) && least_leading.is_some(),
            // A product's highest bit, at most one above its exponent, decides no grid.
            CutRule::Complement { .. } => size == 2 && leading_bits > product_bits,
        };
        narrow(formats.a)
            && narrow(formats.b)
            && accumulators.contains(&formats.accumulator)
            && formats.addend == formats.accumulator
            && formats.scale.is_none()
            && (1..=26).contains(&product_bits)
            && (1..=28).contains(&leading_bits)
            // Units of large numbers overflow.
            && least_leading.is_none_or(|least| least <= 0)
            && rule
            && ((size as u64) << (product_bits + 2)) + (1 << (leading_bits + 1)) < 1 << 31
    }

    /// Bits by which the product of two significands lies above the grid of its own exponent.
    pub(crate) fn up(&self, formats: Formats) -> i32 {
        up(formats, self.product_bits)
    }
}
