//! Which models give a D.

use pyo3::prelude::*;
use tcverify::check::CheckError;
use tcverify::identify::{Formats, Identify, IdentifyError, Limits, Schedules};
use tcverify::report::{FITS_SHOWN, Layout};
use tcverify::role::Role;

use crate::error;
use crate::report::written;
use crate::request::{Arrays, Request};
use crate::watch::attended;

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
    let formats = Formats {
        a: fields.dtype,
        b: fields.dtype_b,
        d: fields.d_dtype,
    };
    // What is looked for is no part of the request, but a check has it.
    let mut asked = fields;
    asked.arch = Some(String::new());
    asked.dtype = Some(formats.a.unwrap_or(tcverify::num::Format::Fp16));
    let (kernel, scale_result) = (asked.kernel.take(), asked.scale_result.take());
    let d = asked
        .d
        .take()
        .ok_or_else(|| error::request(py, "d", "`d` is missing".into()))?;
    let schedules = match schedules {
        "auto" => Schedules::Auto,
        "always" => Schedules::Always,
        "never" => Schedules::Never,
        _ => {
            let reason = "`schedules` is \"auto\", \"always\" or \"never\"".into();
            return Err(error::request(py, "schedules", reason));
        }
    };
    let check = tcverify::check::Check::try_from(asked);
    let check = check.map_err(|error| error::check(py, &error))?;
    let request = Identify {
        operands: check.operands,
        d,
        formats,
        kernel,
        scale_result,
        architectures: Vec::new(),
        schedules,
        limits: Limits {
            sample: sample.max(1),
            seed,
            budget,
            quick,
        },
        engine: check.engine,
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
    let fragment = written(|out| view.notebook(out))?;
    Ok((view.plain_text(Layout::default()), json + "\n", fragment))
}
