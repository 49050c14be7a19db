//! Formats and numbers, written for this bench alone: it shares nothing with the library's own.

/// A binary floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub exponent_bits: u32,
    pub fraction_bits: u32,
    /// The largest exponent field holds numbers, but for one NaN of all ones (E4M3).
    pub finite: bool,
    /// Low bits of the code that mean nothing (TF32 in an FP32 register).
    pub unused: u32,
}

const fn layout(exponent_bits: u32, fraction_bits: u32) -> Layout {
    Layout {
        exponent_bits,
        fraction_bits,
        finite: false,
        unused: 0,
    }
}

pub const FP16: Layout = layout(5, 10);
pub const BF16: Layout = layout(8, 7);
pub const E5M2: Layout = layout(5, 2);
pub const FP32: Layout = layout(8, 23);
pub const TF32: Layout = Layout {
    unused: 13,
    ..layout(8, 10)
};
pub const E4M3: Layout = Layout {
    finite: true,
    ..layout(4, 3)
};

/// What a code means: `±significand * 2^(exponent - fraction bits)`, not normalised.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    Nan,
    Infinite { negative: bool },
    Finite(Number),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Number {
    pub negative: bool,
    pub significand: u128,
    /// Weight of the significand's last bit.
    pub last: i32,
    /// With which exponent it takes part in an alignment.
    pub exponent: i32,
    pub subnormal: bool,
}

impl Layout {
    pub fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    pub fn bits(self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    pub fn code(self, negative: bool, field: u64, fraction: u64) -> u64 {
        let sign = u64::from(negative) << (self.bits() - 1);
        (sign | field << self.fraction_bits | fraction) << self.unused
    }

    pub fn largest_field(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    pub fn infinity(self, negative: bool) -> u64 {
        self.code(negative, self.largest_field(), 0)
    }

    pub fn read(self, code: u64) -> Meaning {
        let code = code >> self.unused;
        let fraction = code & ((1 << self.fraction_bits) - 1);
        let field = code >> self.fraction_bits & self.largest_field();
        let negative = code >> (self.bits() - 1) & 1 == 1;
        if field == self.largest_field() {
            let all = fraction == (1 << self.fraction_bits) - 1;
            match self.finite {
                true if all => return Meaning::Nan,
                false if fraction == 0 => return Meaning::Infinite { negative },
                false => return Meaning::Nan,
                true => {}
            }
        }
        let hidden = if field == 0 {
            0
        } else {
            1 << self.fraction_bits
        };
        let exponent = field.max(1) as i32 - self.bias();
        Meaning::Finite(Number {
            negative,
            significand: u128::from(hidden | fraction),
            last: exponent - self.fraction_bits as i32,
            exponent,
            subnormal: field == 0 && fraction != 0,
        })
    }
}

/// SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
}
