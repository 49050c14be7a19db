//! A request: fields as JSON, arrays by field.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tcverify::check::{Check, CheckError, Prepared, RequestFields, Source, Tensors};
use tcverify::engines::resources;
use tcverify::io;
use tcverify::libraries::complete_by_text;
use tcverify::num::{Format, Kind};
use tcverify::role::{ByRole, Role};

use crate::array::Array;
use crate::error;

/// Arrays by the field that they are for.
pub type Arrays<'py> = BTreeMap<String, Array<'py>>;

/// The names of all fields of a check.
#[pyfunction]
pub fn field_names() -> Vec<&'static str> {
    RequestFields::NAMES.to_vec()
}

/// The fields of a check as documents have them: what contradicts itself or is unknown is refused.
#[pyfunction]
pub fn normalised(py: Python<'_>, fields: &str) -> PyResult<String> {
    let fields = read(py, fields)?;
    let check = Check::try_from(fields).map_err(|error| error::check(py, &error))?;
    serde_json::to_string(&check).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn read(py: Python<'_>, text: &str) -> PyResult<RequestFields> {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("no JSON object of fields: {error}")))?;
    for (name, value) in &mut fields {
        RequestFields::canonical(name, value);
    }
    let read: Result<RequestFields, _> =
        serde_path_to_error::deserialize(serde_json::Value::Object(fields));
    let mut read = read.map_err(|error| {
        let argument = error.path().to_string();
        let reason = error.into_inner().to_string();
        // As people say it.
        let reason = match reason.strip_prefix("unknown variant ") {
            Some(rest) => rest
                .replacen(", expected one of ", " is none of ", 1)
                .replacen(", expected ", " is none of ", 1),
            None => reason,
        };
        error::request(py, &argument, format!("`{argument}`: {reason}"))
    })?;
    complete_by_text(&mut read).map_err(|error| error::check(py, &error))?;
    Ok(read)
}

/// A request and the arrays that it is about.
pub struct Request {
    pub fields: RequestFields,
    pub arrays: ByRole<io::Source>,
}

impl Request {
    pub fn new(py: Python<'_>, fields: &str, arrays: &Arrays) -> PyResult<Request> {
        let mut fields = read(py, fields)?;
        let mut held = ByRole::new();
        for (name, array) in arrays {
            let none = || {
                let reason = format!("`{name}` is no argument that takes an array");
                error::request(py, name, reason)
            };
            let role = Role::of_field(name).ok_or_else(none)?;
            let field = fields.array(role).ok_or_else(none)?;
            *field = Some(Source::Memory);
            held.insert(role, array.source(name)?);
        }
        Ok(Request {
            fields,
            arrays: held,
        })
    }

    /// The same; formats of operands that nobody said are those of the arrays.
    pub fn with_formats(mut self, py: Python<'_>) -> PyResult<Request> {
        let own = |role: Role| {
            let header = self.arrays.get(&role)?.header();
            header.descr.number_format().filter(|format| {
                // FP32 arrays are TF32 operands, or FP32 ones; bytes are integers, or codes.
                !matches!(
                    (format, format.kind()),
                    (Format::Fp32, _) | (_, Kind::Unsigned)
                )
            })
        };
        let fields = &mut self.fields;
        if self.arrays.is_empty() {
            let stated = fields.formats_of_files(&());
            stated.map_err(|error| error::check(py, &error))?;
        }
        if fields.dtype.is_none() {
            fields.dtype = own(Role::A);
            if let (None, Some(a)) = (fields.dtype, self.arrays.get(&Role::A)) {
                let descr = a.header().descr.text();
                let reason = format!(
                    "`dtype` is missing: elements of `a` ({descr}) may be operands of several formats (float32: \
                     \"tf32\" of tensor cores or \"fp32\"; integers: codes of a format, or numbers)"
                );
                return Err(error::request(py, "dtype", reason));
            }
            let b = own(Role::B);
            if fields.dtype_b.is_none() && b != fields.dtype {
                fields.dtype_b = b;
            }
        }
        Ok(self)
    }

    pub fn check(&self) -> Result<Check, CheckError> {
        Check::try_from(self.fields.clone())
    }

    /// Everything that it needs, read and chosen.
    pub fn prepare(self) -> Result<Prepared, CheckError> {
        let check = self.check()?;
        self.prepared(&check)
    }

    /// The same for a check of these arrays that says more.
    pub fn prepared(self, check: &Check) -> Result<Prepared, CheckError> {
        let tensors = Tensors {
            arrays: self.arrays,
            ..Tensors::default()
        };
        Prepared::from_tensors(check, &resources(), tensors)
    }
}
