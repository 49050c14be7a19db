//! Formats of operands, as their files name them.

use std::path::Path;

use super::error::CheckError;
use super::fields::RequestFields;
use super::source::Source;
use crate::io;
use crate::num::Format;

/// Opens the files whose formats are needed.
pub trait FormatsFrom {
    /// # Errors
    /// If the file of a field cannot be opened, or may not be.
    fn open(&self, field: &'static str, path: &Path) -> Result<io::Source, CheckError>;
}

/// Any file that there is.
impl FormatsFrom for () {
    fn open(&self, field: &'static str, path: &Path) -> Result<io::Source, CheckError> {
        io::Source::open(path).map_err(CheckError::file(field))
    }
}

impl RequestFields {
    /// Sets A's and B's formats where the fields do not state them: as the files name them (`.safetensors`, `ml_dtypes`, NumPy's own FP16). FP32 and FP64 arrays may hold values of any narrower
    /// format, so theirs are to be given.
    ///
    /// # Errors
    /// If a file cannot be read, or does not name its format.
    pub fn formats_of_files(&mut self, from: &dyn FormatsFrom) -> Result<(), CheckError> {
        if self.dtype.is_some() {
            return Ok(());
        }
        let (Some(a), Some(b)) = (&self.a, &self.b) else {
            return Ok(());
        };
        let a = of_file("a", a, from)?;
        let b = match self.dtype_b {
            Some(format) => format,
            // What codes of weights become.
            None if self.weights.is_some() => a,
            None => of_file("b", b, from)?,
        };
        self.dtype = Some(a);
        self.dtype_b = (a != b).then_some(b);
        Ok(())
    }
}

fn of_file(
    field: &'static str,
    source: &Source,
    from: &dyn FormatsFrom,
) -> Result<Format, CheckError> {
    let missing = |why: &str| {
        let reason = format!("`dtype` is missing, and {why}");
        Err(CheckError::request("dtype", reason))
    };
    let Source::File(path) = source else {
        return missing(&format!("`{field}`, {source}, can have any format"));
    };
    if path.as_os_str() == "-" {
        return missing("standard input can be read only once");
    }
    let file = from.open(field, path)?;
    let descr = &file.header().descr;
    match descr.own_format() {
        Some(Format::Fp32 | Format::Fp64) => missing(&format!(
            "{source} (descr {:?}) may hold values of any narrower format",
            descr.text()
        )),
        Some(own) => Ok(own),
        None => missing(&format!(
            "{source} does not state it (descr {:?}){}",
            descr.text(),
            if descr.width() == 2 {
                ": is it fp16 or bf16?"
            } else {
                ""
            }
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An array of one number.
    fn array(folder: &Path, name: &str, descr: &str) -> Source {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, 1), }}");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(format!("{header:<117}\n").bytes());
        bytes.extend([0; 8]);
        let width: usize = descr[2..].parse().expect("bytes of a number");
        bytes.truncate(128 + width);
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("a file");
        Source::File(path)
    }

    #[test]
    fn each_file_names_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let [half, brain, single] = [("h", "<f2"), ("b", "<V2"), ("s", "<f4")]
            .map(|(name, descr)| array(folder.path(), name, descr));
        let found = |a: &Source, b: &Source, dtype_b| {
            let mut fields = RequestFields {
                a: Some(a.clone()),
                b: Some(b.clone()),
                dtype_b,
                ..RequestFields::default()
            };
            let read = fields.formats_of_files(&());
            read.map(|()| (fields.dtype.expect("found"), fields.dtype_b))
        };
        let (fp16, bf16) = (Format::Fp16, Format::Bf16);
        assert_eq!(found(&half, &half, None).unwrap(), (fp16, None));
        assert_eq!(found(&half, &brain, None).unwrap(), (fp16, Some(bf16)));
        assert_eq!(found(&brain, &half, None).unwrap(), (bf16, Some(fp16)));
        // A format that is given for B is not looked up.
        assert_eq!(
            found(&half, &single, Some(bf16)).unwrap(),
            (fp16, Some(bf16))
        );
        assert_eq!(found(&half, &single, Some(fp16)).unwrap(), (fp16, None));
        for (a, b) in [(&half, &single), (&single, &half)] {
            let error = found(a, b, None).unwrap_err().to_string();
            assert!(error.contains("values of any narrower format"), "{error}");
        }
        let mut given = RequestFields {
            dtype: Some(bf16),
            a: Some(half),
            ..RequestFields::default()
        };
        given.formats_of_files(&()).unwrap();
        assert_eq!((given.dtype, given.dtype_b), (Some(bf16), None));
    }
}
