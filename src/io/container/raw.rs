//! `FILE#SHAPE:FORMAT`: the elements of a raw dump, as a program writes them that knows no file format.
//!
//! Such a file says nothing of itself, so everything is in the name: `a.bin#64x512:bf16`, and behind an `@` the byte
//! where the elements begin. Elements are little-endian and row by row.

use crate::npy::{Descr, Header, payload_length};
use crate::num::Format;
use crate::{Fault, FaultKind, bail, ensure};

/// What a name after the `#` states.
#[derive(Debug, PartialEq, Eq)]
pub struct Raw {
    shape: Vec<usize>,
    format: Format,
    /// Where elements begin; if it is stated, more may follow them.
    offset: Option<usize>,
}

impl Raw {
    /// The parts of such a name; none if it is another one.
    ///
    /// # Errors
    /// If it has this form, but no such format.
    pub fn parse(name: &str) -> Result<Option<Raw>, Fault> {
        let Some((shape, rest)) = name.split_once(':') else {
            return Ok(None);
        };
        let axes = shape.split('x');
        let axes: Option<Vec<usize>> = axes
            .map(|axis| axis.parse().ok().filter(|_| is_number(axis)))
            .collect();
        let Some(shape) = axes else {
            return Ok(None);
        };
        let (format, offset) = match rest.split_once('@') {
            None => (rest, None),
            Some((format, offset)) => (format, Some(offset)),
        };
        let offset = match offset {
            None => None,
            Some(text) => match text.parse().ok().filter(|_| is_number(text)) {
                Some(offset) => Some(offset),
                None => bail!("has no such place: after '@' the number of a byte is expected"),
            },
        };
        ensure!(
            shape.len() <= crate::npy::MOST_AXES,
            "has too many axes after the '#'"
        );
        let Some(format) = Format::from_name(format).filter(|f| f.ignored_bits() == 0) else {
            bail!(
                "has no such format: after '#SHAPE:' a format of stored elements is expected, such as bf16, fp16, \
                 fp32, fp64, e4m3, e5m2 or int8"
            )
        };
        Ok(Some(Raw {
            shape,
            format,
            offset,
        }))
    }

    /// The header that a file of these bytes would have.
    ///
    /// # Errors
    /// If the file is shorter, or longer without a stated place.
    pub fn header(self, file: usize) -> Result<Header, Fault> {
        let width = self.format.bytes();
        let payload = payload_length(&self.shape, width)?;
        let start = self.offset.unwrap_or(0);
        let there = file.saturating_sub(start);
        if there < payload || self.offset.is_none() && there > payload {
            let more = if there > payload {
                "; behind '@' state the byte at which they begin"
            } else {
                ""
            };
            return Err(Fault::new(
                FaultKind::Elements,
                format!(
                    "has {there} bytes{}, but {} elements of {} are {payload} bytes{more}",
                    match self.offset {
                        Some(start) => format!(" from byte {start} on"),
                        None => String::new(),
                    },
                    payload / width,
                    self.format
                ),
            ));
        }
        Ok(Header {
            descr: Descr::parse(self.format.name())?,
            fortran_order: false,
            shape: self.shape,
            data_start: start,
        })
    }
}

/// Digits alone, without a sign and without zeros before them.
fn is_number(text: &str) -> bool {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_raw_elements() {
        let raw = |shape: &[usize], format, offset| {
            let shape = shape.to_vec();
            Some(Raw {
                shape,
                format,
                offset,
            })
        };
        for (name, expected) in [
            ("64x512:bf16", raw(&[64, 512], Format::Bf16, None)),
            ("2x3x4:FP32@128", raw(&[2, 3, 4], Format::Fp32, Some(128))),
            ("8:int8", raw(&[8], Format::Int8, None)),
            // Arrays of containers may be called so.
            ("layer.0:weight", None),
            ("64x512", None),
            ("x:bf16", None),
            ("-1x2:bf16", None),
            ("01x2:bf16", None),
            ("64x:bf16", None),
        ] {
            assert_eq!(Raw::parse(name).unwrap(), expected, "{name}");
        }
        for name in ["2x2:tf32", "2x2:half8", "2x2:bf16@", "2x2:bf16@-1", "2x2:"] {
            assert!(Raw::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn sizes_must_agree() {
        let header = |name: &str, file| Raw::parse(name).unwrap().unwrap().header(file);
        assert_eq!(header("2x3:fp16", 12).unwrap().data_start, 0);
        assert_eq!(header("2x3:fp16@4", 16).unwrap().data_start, 4);
        assert_eq!(header("2x3:fp16@4", 100).unwrap().shape, [2, 3]);
        assert!(header("0x3:fp16", 0).is_ok());
        for (name, file) in [
            ("2x3:fp16", 11),
            ("2x3:fp16", 13),
            ("2x3:fp16@4", 15),
            ("2x3:fp16@18446744073709551615", 16),
            ("4294967296x4294967296x4294967296:fp16", 12),
        ] {
            assert!(header(name, file).is_err(), "{name}");
        }
    }
}
