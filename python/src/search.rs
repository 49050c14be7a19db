//! Which models give a D.

use pyo3::prelude::*;
use tcverify::check::{CheckError, EngineChoice, Operands, RequestFields, Source};
use tcverify::forms;
use tcverify::forms::Layout;
use tcverify::identify::document::FITS_SHOWN;
use tcverify::identify::{Formats, Identify, IdentifyError, Limits, Schedules};
use tcverify::role::Role;

use crate::error;
use crate::report::written;
use crate::request::{Arrays, Request};
use crate::watch::attended;

/// A result to search, and what it was computed from, if that is known.
pub struct Searched {
    pub d: Source,
    pub operands: Option<Operands>,
    pub formats: Formats,
    pub kernel: Option<String>,
    pub scale_result: Option<tcverify::num::F32>,
}

impl Searched {
    pub fn of(py: Python<'_>, mut asked: RequestFields) -> PyResult<Searched> {
        let missing = || error::request(py, "d", "`d` is missing".into());
        let d = asked.d.take().ok_or_else(missing)?;
        let formats = Formats {
            a: asked.dtype,
            b: asked.dtype_b,
            d: asked.d_dtype,
        };
        let (kernel, scale_result) = (asked.kernel.take(), asked.scale_result.take());
        let operands = if asked.a.is_some() && asked.b.is_some() {
            let operands = asked.operands();
            Some(operands.map_err(|error| error::check(py, &error))?)
        } else {
            None
        };
        Ok(Searched {
            d,
            operands,
            formats,
            kernel,
            scale_result,
        })
    }
}

/// When schedules are searched.
pub fn schedules(py: Python<'_>, when: &str) -> PyResult<Schedules> {
    match when {
        "auto" => Ok(Schedules::Auto),
        "always" => Ok(Schedules::Always),
        "never" => Ok(Schedules::Never),
        _ => {
            let reason = "`schedules` is \"auto\", \"always\" or \"never\"".into();
            Err(error::request(py, "schedules", reason))
        }
    }
}

/// What fits, as text, as JSON, and for a notebook.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn identify(
    py: Python<'_>,
    fields: &str,
    arrays: Arrays,
    schedules: &str,
    sample: usize,
    seed: u64,
    budget: u64,
    quick: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, String)> {
    let Request { fields, mut arrays } = Request::new(py, fields, &arrays)?;
    let asked = Searched::of(py, fields)?;
    let operands = asked.operands.ok_or_else(|| {
        error::request(
            py,
            "a",
            "`a` and `b` are missing: nothing can be searched".into(),
        )
    })?;
    let request = Identify {
        operands,
        d: asked.d,
        formats: asked.formats,
        kernel: asked.kernel,
        scale_result: asked.scale_result,
        architectures: Vec::new(),
        schedules: self::schedules(py, schedules)?,
        limits: Limits {
            sample: sample.max(1),
            seed,
            budget,
            quick,
        },
        engine: EngineChoice::Fast,
    };
    let found = attended(py, progress.as_ref(), move |progress| {
        let prepared = request.prepare_with(&mut |field| arrays.remove(&Role::of_field(field)?))?;
        prepared.run(progress)
    })?;
    let found = found.map_err(|error: IdentifyError| error::identify(py, &error))?;
    let json = serde_json::to_string_pretty(&found).map_err(|error| {
        error::check(
            py,
            &CheckError::Request {
                field: "a",
                reason: error.to_string(),
            },
        )
    })?;
    let view = found.view(FITS_SHOWN);
    let fragment = written(|out| forms::notebook(&view, out))?;
    Ok((view.plain_text(Layout::default()), json + "\n", fragment))
}
