//! Formats of operands, as their files name them.

use std::path::Path;

use super::error::CheckError;
use super::fields::Fields;
use super::source::Source;
use crate::io;
use crate::num::Format;

/// Who opens the files that are asked for their formats.
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

impl Fields {
    /// A's and B's formats, where neither the fields nor a kernel's words say them: as the files name them
    /// (`.safetensors`, `ml_dtypes`, NumPy's own FP16). FP32 and FP64 arrays may hold values of any narrower
    /// format, so theirs are to be said.
    ///
    /// # Errors
    /// If a file cannot be read, or does not name its format.
    pub fn formats_of_files(&mut self, from: &dyn FormatsFrom) -> Result<(), CheckError> {
        let said = match &self.kernel {
            Some(text) => {
                crate::kernel::read(text).is_ok_and(|text| text.settings.operands.is_some())
            }
            None => false,
        };
        if self.dtype.is_some() || said {
            return Ok(());
        }
        let (Some(a), Some(b)) = (&self.a, &self.b) else {
            return Ok(());
        };
        let a = of_file("a", a, from)?;
        let b = match self.dtype_b {
            Some(format) => format,
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
        return missing(&format!("`{field}`, {source}, has any"));
    };
    if path.as_os_str() == "-" {
        return missing("standard input is read but once");
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
            "{source} does not say it (descr {:?})",
            descr.text()
        )),
    }
}
