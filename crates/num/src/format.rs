//! The formats themselves, each a row of data.

use serde::{Deserialize, Serialize};

/// A number format that a tensor's elements can have.
///
/// Names are the ones used in reports, models and on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Fp16,
    Bf16,
    Tf32,
    Xf32,
    E4m3,
    E5m2,
    E4m3fnuz,
    E5m2fnuz,
    E3m2,
    E2m3,
    E2m1,
    Fp32,
    Fp64,
    Int8,
    Uint8,
    Int4,
    Uint4,
    Int32,
    Ue8m0,
    Ue4m3,
}

/// What a format's bits are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Sign, exponent and fraction.
    Float,
    /// An integer in two's complement.
    Signed,
    Unsigned,
    /// The scale of a block of operands: an exponent, perhaps a fraction, no sign.
    Scale,
}

/// What the largest exponent field of a format encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// As IEEE 754: fraction 0 is infinity, any other fraction NaN.
    Ieee,
    /// No infinity; exponent and fraction all ones is NaN, the rest are numbers (OCP E4M3).
    NanOnly,
    /// Every code is a finite number (OCP FP6 and FP4).
    None,
    /// No infinity and no -0, whose code is the one NaN; the bias is one more than usual.
    Fnuz,
}

/// All that is to be known of a format. A new one is a row here, a variant and a place in
/// [`Format::ALL`].
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    /// Other names: of ml_dtypes, PyTorch, CUTLASS and people.
    aliases: &'static [&'static str],
    kind: Kind,
    exponent_bits: u32,
    fraction_bits: u32,
    specials: Specials,
    /// Bytes of one element as stored.
    bytes: usize,
    /// Low bits of the stored code that the format does not have.
    ignored_bits: u32,
    /// The `descr` under which `.npy` files are written.
    npy: &'static str,
    /// The element type of `.safetensors` files that is this format and no other.
    safetensors: Option<&'static str>,
}

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    exponent_bits: u32,
    fraction_bits: u32,
    specials: Specials,
) -> Row {
    let bytes = (1 + exponent_bits + fraction_bits).div_ceil(8) as usize;
    Row {
        name,
        aliases,
        kind: Kind::Float,
        exponent_bits,
        fraction_bits,
        specials,
        bytes,
        ignored_bits: 0,
        // One code a byte.
        npy: "|u1",
        safetensors: None,
    }
}

/// As files name it.
const fn stored(npy: &'static str, safetensors: Option<&'static str>, row: Row) -> Row {
    Row {
        npy,
        safetensors,
        ..row
    }
}

/// An integer: all but a sign are fraction bits, as of a number without exponent.
const fn integer(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: Kind,
    bits: u32,
    npy: &'static str,
) -> Row {
    let fraction_bits = match kind {
        Kind::Signed => bits - 1,
        _ => bits,
    };
    Row {
        kind,
        bytes: bits.div_ceil(8) as usize,
        npy,
        ..row(name, aliases, 0, fraction_bits, Specials::None)
    }
}

/// The register of a unit that ignores its low 13 bits.
const fn register(name: &'static str) -> Row {
    Row {
        bytes: 4,
        ignored_bits: 13,
        npy: "<f4",
        ..row(name, &[], 8, 10, Specials::Ieee)
    }
}

const fn scale(row: Row) -> Row {
    Row {
        kind: Kind::Scale,
        bytes: 1,
        ..row
    }
}

impl Format {
    /// Every format, in the order in which help texts list them: floats, then what else can be multiplied, then the rest.
    pub const ALL: [Format; 20] = [
        Format::Fp16,
        Format::Bf16,
        Format::Tf32,
        Format::Xf32,
        Format::E4m3,
        Format::E5m2,
        Format::E4m3fnuz,
        Format::E5m2fnuz,
        Format::E3m2,
        Format::E2m3,
        Format::E2m1,
        Format::Fp32,
        Format::Fp64,
        Format::Int8,
        Format::Uint8,
        Format::Int4,
        Format::Uint4,
        Format::Int32,
        Format::Ue8m0,
        Format::Ue4m3,
    ];

    /// The floats.
    pub const FLOATS: [Format; 13] = *Format::ALL.first_chunk().expect("as many");

    /// What A and B may be: all but accumulators of integers, and scales.
    pub const OPERANDS: [Format; 17] = *Format::ALL.first_chunk().expect("as many");

    // OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2); OCP Microscaling Formats 1.0
    // (E3M2, E2M3, E2M1); IEEE 754-2019 (binary16, 32, 64); TF32 (NVIDIA) and XF32 (AMD) are a
    // binary32 register whose low 13 bits the unit ignores; FNUZ as in Noune et al.,
    // arXiv:2206.02915, AMD's FP8 and BF8. Scales: UE8M0 is E8M0 of OCP Microscaling Formats 1.0;
    // UE4M3 is E4M3 without its sign (PTX ISA).
    #[rustfmt::skip]
    const fn described(self) -> Row {
        use Specials::{Fnuz, Ieee, NanOnly, None as Finite};
        match self {
            Format::Fp16 => stored("<f2", Some("F16"),
                row("fp16", &["f16", "float16", "half"], 5, 10, Ieee)),
            // What ml_dtypes writes for bfloat16.
            Format::Bf16 => stored("<V2", Some("BF16"),
                row("bf16", &["bfloat16"], 8, 7, Ieee)),
            Format::Tf32 => register("tf32"),
            Format::Xf32 => register("xf32"),
            Format::E4m3 => stored("|u1", Some("F8_E4M3"),
                row("e4m3", &["float8_e4m3fn", "fp8_e4m3", "f8_e4m3", "e4m3fn"], 4, 3, NanOnly)),
            Format::E5m2 => stored("|u1", Some("F8_E5M2"),
                row("e5m2", &["float8_e5m2", "fp8_e5m2", "f8_e5m2"], 5, 2, Ieee)),
            Format::E4m3fnuz => stored("|u1", Some("F8_E4M3FNUZ"),
                row("e4m3fnuz", &["float8_e4m3fnuz", "fp8_e4m3fnuz", "f8_e4m3fnuz"], 4, 3, Fnuz)),
            Format::E5m2fnuz => stored("|u1", Some("F8_E5M2FNUZ"),
                row("e5m2fnuz", &["float8_e5m2fnuz", "fp8_e5m2fnuz", "f8_e5m2fnuz"], 5, 2, Fnuz)),
            Format::E3m2 => row("e3m2", &["float6_e3m2fn", "fp6_e3m2", "f6_e3m2", "e3m2fn"], 3, 2, Finite),
            Format::E2m3 => row("e2m3", &["float6_e2m3fn", "fp6_e2m3", "f6_e2m3", "e2m3fn"], 2, 3, Finite),
            Format::E2m1 => row("e2m1", &["float4_e2m1fn", "fp4_e2m1", "fp4", "f4_e2m1", "e2m1fn"], 2, 1, Finite),
            Format::Fp32 => stored("<f4", Some("F32"),
                row("fp32", &["f32", "float32", "float"], 8, 23, Ieee)),
            Format::Fp64 => stored("<f8", Some("F64"),
                row("fp64", &["f64", "float64", "double"], 11, 52, Ieee)),
            Format::Int8 => integer("int8", &["s8", "i8"], Kind::Signed, 8, "|i1"),
            Format::Uint8 => integer("uint8", &["u8"], Kind::Unsigned, 8, "|u1"),
            // What ml_dtypes writes: codes, where an integer type would promise values.
            Format::Int4 => integer("int4", &["s4", "i4"], Kind::Signed, 4, "|V1"),
            Format::Uint4 => integer("uint4", &["u4"], Kind::Unsigned, 4, "|V1"),
            Format::Int32 => integer("int32", &["s32", "i32"], Kind::Signed, 32, "<i4"),
            Format::Ue8m0 => scale(stored("|u1", Some("F8_E8M0"),
                row("ue8m0", &["e8m0", "e8m0fnu", "float8_e8m0fnu"], 8, 0, NanOnly))),
            Format::Ue4m3 => scale(row("ue4m3", &[], 4, 3, NanOnly)),
        }
    }

    /// The format's row of a table: it is needed for every element, and must not be computed each time.
    #[inline]
    const fn row(self) -> &'static Row {
        const ROWS: [Row; Format::ALL.len()] = {
            let mut rows = [Format::ALL[0].described(); Format::ALL.len()];
            let mut i = 0;
            while i < rows.len() {
                let format = Format::ALL[i];
                rows[format as usize] = format.described();
                i += 1;
            }
            rows
        };
        &ROWS[self as usize]
    }

    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Other names of the format.
    pub const fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// The format of this name; case does not matter and the common synonyms are known
    /// (`f16`, `float16`, `half`, `bfloat16`, `float8_e4m3fn`, ...).
    pub fn from_name(name: &str) -> Option<Format> {
        let lower = name.trim().to_ascii_lowercase();
        let named = |f: &Format| f.name() == lower || f.aliases().contains(&lower.as_str());
        Format::ALL.into_iter().find(named)
    }

    /// What a word that is not a format of its own may stand for: `fp8` is one of two.
    pub fn family(word: &str) -> &'static [Format] {
        const FAMILIES: [(&[&str], &[Format]); 4] = [
            (&["fp8", "f8", "float8"], &[Format::E4m3, Format::E5m2]),
            (&["fp6", "f6", "float6"], &[Format::E3m2, Format::E2m3]),
            (&["nvfp4", "mxfp4"], &[Format::E2m1]),
            (
                &["int", "integer"],
                &[Format::Int8, Format::Uint8, Format::Int4, Format::Uint4],
            ),
        ];
        let lower = word.trim().to_ascii_lowercase();
        let of_it = FAMILIES
            .iter()
            .find(|(words, _)| words.contains(&lower.as_str()));
        of_it.map_or(&[], |(_, formats)| formats)
    }

    /// The `descr` under which `.npy` files of this format are written: NumPy's own type where there
    /// is one.
    pub const fn npy_descr(self) -> &'static str {
        self.row().npy
    }

    /// The format of this element type of a `.safetensors` file, if that names one.
    pub fn from_safetensors(name: &str) -> Option<Format> {
        Format::ALL
            .into_iter()
            .find(|f| f.row().safetensors == Some(name))
    }

    #[inline]
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// Whether numbers are integers.
    #[inline]
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// Bytes of one element in memory and in a canonical payload.
    #[inline]
    pub const fn bytes(self) -> usize {
        self.row().bytes
    }

    #[inline]
    pub const fn exponent_bits(self) -> u32 {
        self.row().exponent_bits
    }

    /// Bits of the fraction field; the significand has one more. None in an integer: its significand
    /// counts units.
    #[inline]
    pub const fn fraction_bits(self) -> u32 {
        if self.is_integer() {
            0
        } else {
            self.row().fraction_bits
        }
    }

    #[inline]
    pub const fn specials(self) -> Specials {
        self.row().specials
    }

    /// Low bits of a stored element that are not part of the number (13 for TF32 and XF32, else 0).
    #[inline]
    pub const fn ignored_bits(self) -> u32 {
        self.row().ignored_bits
    }

    /// Bits of sign, exponent and fraction together.
    #[inline]
    pub const fn width(self) -> u32 {
        let row = self.row();
        let sign = match row.kind {
            Kind::Float | Kind::Signed => 1,
            Kind::Unsigned => 0,
            // UE4M3 has the place of a sign, and ignores it.
            Kind::Scale => 8 - row.exponent_bits - row.fraction_bits,
        };
        sign + row.exponent_bits + row.fraction_bits
    }

    #[inline]
    pub const fn bias(self) -> i32 {
        if self.is_integer() {
            return 0;
        }
        let half = 1 << (self.exponent_bits() - 1);
        match self.specials() {
            Specials::Fnuz => half,
            Specials::Ieee | Specials::NanOnly | Specials::None => half - 1,
        }
    }

    /// The exponent of subnormals and of the smallest normal numbers.
    #[inline]
    pub const fn min_exponent(self) -> i32 {
        match self {
            // Its field 0 is one more power of two.
            Format::Ue8m0 => -self.bias(),
            _ if self.is_integer() => 0,
            _ => 1 - self.bias(),
        }
    }

    /// The exponent of the largest finite numbers.
    #[inline]
    pub const fn max_exponent(self) -> i32 {
        if self.is_integer() {
            return self.width() as i32 - 1;
        }
        let top = (1 << self.exponent_bits()) - 1;
        match self.specials() {
            Specials::Ieee => top - 1 - self.bias(),
            // All of whose fraction is the NaN's.
            Specials::NanOnly if self.fraction_bits() == 0 => top - 1 - self.bias(),
            Specials::NanOnly | Specials::None | Specials::Fnuz => top - self.bias(),
        }
    }

    /// The largest code an element may have: all bits of sign, exponent, fraction and ignored ones.
    #[inline]
    pub const fn max_code(self) -> u64 {
        let bits = self.width() + self.ignored_bits();
        if bits == 64 {
            u64::MAX
        } else {
            (1 << bits) - 1
        }
    }

    /// Mask of the sign bit in a stored code; none without a sign.
    #[inline]
    pub const fn sign_mask(self) -> u64 {
        match self.kind() {
            Kind::Float | Kind::Signed => 1 << (self.width() + self.ignored_bits() - 1),
            Kind::Unsigned | Kind::Scale => 0,
        }
    }

    /// The sign bit of a stored code with this sign.
    #[inline]
    pub const fn sign(self, negative: bool) -> u64 {
        if negative { self.sign_mask() } else { 0 }
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_a_kind_come_first() {
        let floats = Format::ALL.iter().filter(|f| f.kind() == Kind::Float);
        assert!(floats.eq(&Format::FLOATS));
        let operands = Format::ALL.iter();
        let operands = operands.filter(|f| f.kind() != Kind::Scale && **f != Format::Int32);
        assert!(operands.eq(&Format::OPERANDS));
    }

    #[test]
    fn no_name_means_two_formats() {
        let mut names: Vec<&str> = Vec::new();
        for format in Format::ALL {
            names.push(format.name());
            names.extend(format.aliases());
            for name in format.aliases().iter().chain([&format.name()]) {
                assert_eq!(Format::from_name(name), Some(format));
                assert_eq!(Format::from_name(&name.to_uppercase()), Some(format));
            }
        }
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
