//! How elements lie in bytes, and what one of them is.

use tcverify_num::Format;

/// How one stored element becomes a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// It is the code.
    Code,
    /// It is a number in this format; the code is the one that means the same.
    Value(Format),
    /// It is an integer in two's complement, or an unsigned one.
    Integer { signed: bool },
}

/// How elements lie in the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Bytes of one stored element: 1, 2, 4 or 8.
    pub width: usize,
    pub big_endian: bool,
    pub encoding: Encoding,
}

impl Stored {
    /// The integer that a stored element is, under [`Encoding::Integer`].
    pub fn integer(self, raw: u64) -> i128 {
        let unused = 64 - 8 * self.width as u32;
        match self.encoding {
            Encoding::Integer { signed: true } => ((raw << unused) as i64 >> unused).into(),
            _ => raw.into(),
        }
    }

    /// The code of an element that is an integer, if the format has it.
    pub(super) fn integer_code(self, raw: u64, format: Format) -> Option<u64> {
        let value = i64::try_from(self.integer(raw)).ok()?;
        format.integer_code(value)
    }
}
