//! The `descr` of a header: the type of the elements, as far as it determines that.

use crate::Fault;
use crate::num::{self, Format};
use crate::tensor::{Encoding, Stored};
use crate::{bail, ensure};

/// An element type that can hold numbers of the formats known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descr {
    text: String,
    kind: Kind,
    width: usize,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// IEEE floats: each element is a number.
    Float(Format),
    /// Opaque bytes: each element is a code of a format named elsewhere.
    Code,
    /// Integers: each element is a number of an integer format, or a code of any other.
    Integer { signed: bool },
    /// A descr that names the format itself.
    Named(Format),
}

impl Descr {
    /// A little-endian type that another kind of file calls `text`.
    pub(crate) fn foreign(text: String, kind: Kind, width: usize) -> Descr {
        Descr {
            text,
            kind,
            width,
            big_endian: false,
        }
    }

    /// Understands the `descr` of a header.
    ///
    /// # Errors
    /// If elements of that type cannot be numbers of any known format.
    pub fn parse(text: &str) -> Result<Descr, Fault> {
        // Some writers put the name of a type instead of a type string.
        if let Some(format) = Format::from_name(text) {
            ensure!(
                format.ignored_bits() == 0,
                "its descr {text:?} is not a stored type"
            );
            return Ok(Descr {
                text: text.to_owned(),
                kind: match format {
                    Format::Fp16 | Format::Fp32 | Format::Fp64 => Kind::Float(format),
                    _ => Kind::Named(format),
                },
                width: format.bytes(),
                big_endian: false,
            });
        }
        let mut rest = text.chars();
        let order = rest.next();
        let kind = rest.next();
        let digits = rest.as_str();
        let width: usize = match digits {
            "1" => 1,
            "2" => 2,
            "4" => 4,
            "8" => 8,
            _ => 0,
        };
        let kind = match (kind, width) {
            (Some('O'), _) => bail!(
                "it holds pickled Python objects (descr {text:?}), which are never loaded; save a plain array"
            ),
            (Some('f'), 2) => Kind::Float(Format::Fp16),
            (Some('f'), 4) => Kind::Float(Format::Fp32),
            (Some('f'), 8) => Kind::Float(Format::Fp64),
            // What ml_dtypes writes for float8_e5m2, and for nothing else.
            (Some('f'), 1) => Kind::Named(Format::E5m2),
            (Some('V'), 1 | 2 | 4 | 8) => Kind::Code,
            (Some(kind @ ('u' | 'i')), 1 | 2 | 4 | 8) => Kind::Integer {
                signed: kind == 'i',
            },
            _ => bail!(
                "its element type {text:?} is not supported; expected a byte order ('<', '>' or '|') and one of f2 \
                 f4 f8, u1 u2 u4 u8, i1 i2 i4 i8, V1 V2 V4 V8"
            ),
        };
        let big_endian = match order {
            Some('<') => false,
            Some('>') => true,
            // No byte order to speak of, or opaque bytes as they lay in a little-endian memory.
            Some('|') if width == 1 || text.starts_with("|V") => false,
            _ => bail!("its descr {text:?} lacks the byte order: expected '<' or '>'"),
        };
        Ok(Descr {
            text: text.to_owned(),
            kind,
            width,
            big_endian,
        })
    }

    /// As written in the header; of other files than `.npy` with their kind before it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Bytes of one element.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The format, where the descr alone decides it: a float type, or a name. `V2` is what
    /// ml_dtypes writes for bfloat16.
    pub fn own_format(&self) -> Option<Format> {
        match self.kind {
            Kind::Float(format) | Kind::Named(format) => Some(format),
            Kind::Code if self.width == 2 => Some(Format::Bf16),
            Kind::Code | Kind::Integer { .. } => None,
        }
    }

    /// The format of the numbers that elements are, where the descr determines it: as
    /// [`Descr::own_format`], and integers that are of a format known here.
    pub fn number_format(&self) -> Option<Format> {
        match (self.kind, self.width) {
            (Kind::Integer { signed: true }, 1) => Some(Format::Int8),
            (Kind::Integer { signed: false }, 1) => Some(Format::Uint8),
            (Kind::Integer { signed: true }, 4) => Some(Format::Int32),
            _ => self.own_format(),
        }
    }

    /// The format as which elements keep their stored bits: their own, or for codes a format of
    /// that width whose every code is taken as it is.
    pub fn as_stored(&self) -> Format {
        match (self.kind, self.width) {
            (Kind::Float(format) | Kind::Named(format), _) => format,
            (_, 1) => Format::E4m3,
            (_, 2) => Format::Fp16,
            (_, 4) => Format::Fp32,
            (_, _) => Format::Fp64,
        }
    }

    /// How elements of this type hold numbers of `format`.
    ///
    /// # Errors
    /// If they cannot.
    pub fn stored_as(&self, format: Format) -> Result<Stored, Fault> {
        let encoding = match self.kind {
            Kind::Float(own) if own == format => Encoding::Code,
            // A TF32 or XF32 operand is an FP32 register.
            Kind::Float(Format::Fp32) if format.ignored_bits() != 0 => Encoding::Code,
            Kind::Float(own) => Encoding::Value(own),
            // Checkpoints store scales without a sign as E4M3: the same numbers, and no negative one.
            Kind::Named(Format::E4m3) if format == Format::Ue4m3 => Encoding::Value(Format::E4m3),
            Kind::Named(own) => {
                ensure!(
                    own == format,
                    "its header declares {own} (descr {:?}), but the request says {format}",
                    self.text
                );
                Encoding::Code
            }
            Kind::Integer { signed } if format.is_integer() => {
                let same = signed == (format.kind() == num::Kind::Signed)
                    && 8 * self.width as u32 == format.width();
                if same {
                    Encoding::Code
                } else {
                    Encoding::Integer { signed }
                }
            }
            Kind::Code | Kind::Integer { .. } => {
                ensure!(
                    self.width == format.bytes(),
                    "its elements are {} byte{} wide (descr {:?}); {format} codes need {}",
                    self.width,
                    if self.width == 1 { "" } else { "s" },
                    self.text,
                    format.bytes()
                );
                Encoding::Code
            }
        };
        Ok(Stored {
            width: self.width,
            big_endian: self.big_endian,
            encoding,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_each_type_stores_each_format() {
        use Encoding::{Code, Integer, Value};
        use Format::*;
        for (descr, format, expected) in [
            ("<f2", Fp16, Some(Code)),
            (">f2", Fp16, Some(Code)),
            ("<f2", Bf16, Some(Value(Fp16))),
            ("<V2", Bf16, Some(Code)),
            (">V2", Bf16, Some(Code)),
            ("|V2", Bf16, Some(Code)),
            ("<u2", Bf16, Some(Code)),
            ("<i2", Fp16, Some(Code)),
            ("<u2", E4m3, None),
            ("|u1", E4m3, Some(Code)),
            ("|i1", E2m1, Some(Code)),
            ("|V1", E3m2, Some(Code)),
            ("<V1", E3m2, Some(Code)),
            ("<f1", E5m2, Some(Code)),
            ("<f1", E4m3, None),
            ("<f4", Tf32, Some(Code)),
            ("<u4", Tf32, Some(Code)),
            ("<f8", Tf32, Some(Value(Fp64))),
            ("<f4", Xf32, Some(Code)),
            ("|V1", E4m3fnuz, Some(Code)),
            ("<f1", E5m2fnuz, None),
            ("float8_e4m3fnuz", E4m3fnuz, Some(Code)),
            ("float8_e4m3fnuz", E4m3, None),
            ("float8_e5m2fnuz", E5m2fnuz, Some(Code)),
            ("<f4", E4m3, Some(Value(Fp32))),
            ("<u4", Fp64, None),
            ("bfloat16", Bf16, Some(Code)),
            ("bfloat16", Fp16, None),
            ("float8_e4m3fn", E4m3, Some(Code)),
            ("float32", Bf16, Some(Value(Fp32))),
            ("|i1", Int8, Some(Code)),
            ("|u1", Int8, Some(Integer { signed: false })),
            ("|V1", Int8, Some(Code)),
            ("<i8", Int8, Some(Integer { signed: true })),
            ("|i1", Int4, Some(Integer { signed: true })),
            ("|V1", Int4, Some(Code)),
            ("|u1", Uint8, Some(Code)),
            ("<i4", Int32, Some(Code)),
            (">i4", Int32, Some(Code)),
            ("<u4", Int32, Some(Integer { signed: false })),
            ("<V4", Int32, Some(Code)),
            ("<f4", Int8, Some(Value(Fp32))),
            ("float8_e8m0fnu", Ue8m0, Some(Code)),
        ] {
            let stored = Descr::parse(descr).unwrap().stored_as(format);
            assert_eq!(
                stored.ok().map(|s| s.encoding),
                expected,
                "{descr} {format}"
            );
        }
    }

    #[test]
    fn types_that_hold_no_numbers_are_refused() {
        for descr in [
            "|O", "|b1", "<c8", "<M8[ns]", "|S4", "<U3", "<f16", "=f4", "|f4", "|V3", "f4", "",
            "<", "<é2", "tf32", "xf32",
        ] {
            assert!(Descr::parse(descr).is_err(), "{descr}");
        }
    }
}
