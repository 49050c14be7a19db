//! The header: magic, version, length, and a Python dictionary of three literals.

use super::Descr;
use crate::{Fault, FaultKind};
use crate::{bail, ensure};

type Result<T, E = Fault> = std::result::Result<T, E>;

const MAGIC: &[u8] = b"\x93NUMPY";

/// A header of a plain array is about a hundred bytes; NumPy itself distrusts those over 10,000.
const MAX_HEADER: usize = 1 << 16;

/// As many axes as NumPy allows.
pub const MOST_AXES: usize = 64;

/// The contents of a `.npy` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub descr: Descr,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
    /// Where the elements start in the file.
    pub data_start: usize,
}

impl Header {
    /// Bytes from a file's start that hold any header.
    pub const ENOUGH: usize = 12 + MAX_HEADER;

    /// Reads the header of a whole file and checks the file's length against it.
    ///
    /// # Errors
    /// What is wrong, to be read after the file's name.
    pub fn parse(file: &[u8]) -> Result<Header> {
        Header::parse_start(file, file.len())
    }

    /// Reads the header of a file of `length` bytes from its first bytes, [`Header::ENOUGH`] of them
    /// or all there are, and checks the length against it.
    pub fn parse_start(file: &[u8], length: usize) -> Result<Header> {
        ensure!(
            file.starts_with(MAGIC),
            "is not a .npy file: it does not start with the bytes \\x93NUMPY"
        );
        let cut = || Fault::from("ends within its header".to_owned());
        let &[major, minor] = file.get(6..8).ok_or_else(cut)? else {
            unreachable!("a slice of two")
        };
        let (text_length, text_start) = match (major, minor) {
            (1, 0) => {
                let field = file.get(8..).and_then(|rest| rest.first_chunk());
                (usize::from(u16::from_le_bytes(*field.ok_or_else(cut)?)), 10)
            }
            (2 | 3, 0) => {
                let field = file.get(8..).and_then(|rest| rest.first_chunk());
                (u32::from_le_bytes(*field.ok_or_else(cut)?) as usize, 12)
            }
            _ => bail!("has .npy version {major}.{minor}; versions 1.0, 2.0 and 3.0 exist"),
        };
        ensure!(
            text_length <= MAX_HEADER,
            "declares a header of {text_length} bytes; limit: {MAX_HEADER}"
        );
        let data_start = text_start + text_length;
        let Some(text) = file.get(text_start..data_start) else {
            bail!(
                "is truncated: its header should end at byte {data_start}, but the file ends at {length}"
            );
        };
        let Ok(text) = std::str::from_utf8(text) else {
            bail!("has a header that is not text")
        };
        let fields = Fields::parse(text).map_err(|fault| {
            let text = shorten(text);
            fault.within(format_args!(
                "its header {text:?} is not the header of a plain array"
            ))
        })?;
        let header = Header {
            descr: Descr::parse(&fields.descr)?,
            fortran_order: fields.fortran_order,
            shape: fields.shape,
            data_start,
        };
        header.check_length(length)?;
        Ok(header)
    }

    fn check_length(&self, file: usize) -> Result<()> {
        let promised = payload_length(&self.shape, self.descr.width())?;
        let present = file - self.data_start;
        ensure!(
            present >= promised,
            "is truncated: its header declares {promised} bytes of elements, the file has {present}"
        );
        ensure!(
            present <= promised,
            "is too long: its header declares {promised} bytes of elements, the file has {present}"
        );
        Ok(())
    }
}

/// Bytes of the elements of an array.
///
/// # Errors
/// If no memory can hold an array of that shape.
pub fn payload_length(shape: &[usize], width: usize) -> Result<usize> {
    // As if no axis were 0, for strides are products of the others.
    let whole = shape
        .iter()
        .try_fold(width, |product, &axis| product.checked_mul(axis.max(1)));
    // No file is that long, and offsets into it must fit a signed integer.
    let whole = whole.filter(|&n| isize::try_from(n).is_ok());
    let Some(whole) = whole else {
        bail!("declares the shape {shape:?}, which no memory can hold")
    };
    Ok(if shape.contains(&0) { 0 } else { whole })
}

fn shorten(text: &str) -> String {
    let text = text.trim_end();
    if text.chars().count() <= 120 {
        return text.to_owned();
    }
    text.chars().take(117).chain("...".chars()).collect()
}

/// The three entries of the dictionary.
struct Fields {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Fields {
    fn parse(text: &str) -> Result<Fields> {
        let mut p = Parser { rest: text };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        p.expect('{')?;
        while !p.accept('}') {
            let key = p.string()?;
            p.expect(':')?;
            let repeated = match key.as_str() {
                "descr" => descr.replace(p.descr()?).is_some(),
                "fortran_order" => fortran_order.replace(p.boolean()?).is_some(),
                "shape" => shape.replace(p.shape()?).is_some(),
                _ => bail!("it has the unknown key {:?}", shorten(&key)),
            };
            ensure!(!repeated, "it has the key {key:?} twice");
            if !p.accept(',') {
                p.expect('}')?;
                break;
            }
        }
        ensure!(p.at_end(), "it has text after its closing brace");
        let lacks = |key| Fault::from(format!("the key '{key}' is missing"));
        Ok(Fields {
            descr: descr.ok_or_else(|| lacks("descr"))?,
            fortran_order: fortran_order.ok_or_else(|| lacks("fortran_order"))?,
            shape: shape.ok_or_else(|| lacks("shape"))?,
        })
    }
}

/// Just enough of Python's literals. Nothing recurses, so no input can exhaust the stack.
struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.skip_space();
        let after = self.rest.strip_prefix(wanted);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.accept(wanted) {
            return Ok(());
        }
        match self.rest.chars().next() {
            Some(found) => bail!("it has {found:?} where {wanted:?} was expected"),
            None => bail!("it ends where {wanted:?} was expected"),
        }
    }

    fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest.is_empty()
    }

    fn string(&mut self) -> Result<String> {
        let quote = if self.accept('\'') {
            '\''
        } else if self.accept('"') {
            '"'
        } else {
            bail!("a quoted string was expected")
        };
        let Some((inside, after)) = self.rest.split_once(quote) else {
            bail!("a string has no end")
        };
        ensure!(!inside.contains('\\'), "a string has an escape");
        self.rest = after;
        Ok(inside.to_owned())
    }

    fn descr(&mut self) -> Result<String> {
        self.skip_space();
        ensure!(
            !self.rest.starts_with('['),
            "its elements are structured records; save each field as a separate array"
        );
        self.string()
    }

    fn boolean(&mut self) -> Result<bool> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(after) = self.rest.strip_prefix(word) {
                self.rest = after;
                return Ok(value);
            }
        }
        bail!("True or False was expected")
    }

    fn shape(&mut self) -> Result<Vec<usize>> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.accept(')') {
            ensure!(
                shape.len() < MOST_AXES,
                "its shape has more than {MOST_AXES} axes"
            );
            shape.push(self.integer()?);
            if !self.accept(',') {
                // Python reads (3) as a number; only NumPy's own spelling is taken.
                ensure!(shape.len() > 1, "its shape is not a tuple");
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn integer(&mut self) -> Result<usize> {
        self.skip_space();
        ensure!(
            !self.rest.starts_with('-'),
            "its shape has a negative number"
        );
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        ensure!(
            digits > 0,
            "its shape contains something that is not a number"
        );
        let (number, after) = self.rest.split_at(digits);
        // Python takes 016 for a mistake, because it once meant 14.
        ensure!(
            !number.starts_with('0') || number.bytes().all(|digit| digit == b'0'),
            "its shape has a number with leading zeros"
        );
        // Python 2 wrote long integers as 5L.
        self.rest = after.strip_prefix('L').unwrap_or(after);
        let number = number.parse();
        let large = "its shape has a number too large for this machine";
        number.map_err(|error: std::num::ParseIntError| {
            Fault::caused(FaultKind::Malformed, large, error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Result<(String, bool, Vec<usize>)> {
        let fields = Fields::parse(text)?;
        Ok((fields.descr, fields.fortran_order, fields.shape))
    }

    #[test]
    fn spellings_that_occur() {
        let plain = ("<f4".to_owned(), false, vec![3, 4]);
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}",
            "{\"shape\":(3,4,),\"fortran_order\":False,\"descr\":\"<f4\"}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L), }\n",
        ] {
            assert_eq!(fields(text).unwrap(), plain, "{text}");
        }
        let scalar = fields("{'descr': '<f4', 'fortran_order': True, 'shape': ()}").unwrap();
        assert_eq!(scalar, ("<f4".to_owned(), true, vec![]));
    }

    #[test]
    fn spellings_that_do_not() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (03,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (016, 16), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (016L, 16L), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }",
            "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': 1}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f4, 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': ((((((((((3,), }",
        ] {
            assert!(fields(text).is_err(), "{text}");
        }
    }
}
