//! Why two results differ.

use pyo3::prelude::*;
use tcverify::compare::{Compare, Held, Hints};
use tcverify::forms;
use tcverify::forms::Layout;
use tcverify::identify::{IdentifyError, Limits};

use crate::error;
use crate::report::written;
use crate::request::{Arrays, Request};
use crate::search::{Searched, schedules};
use crate::watch::attended;

/// One of the two: the fields of what was multiplied, the arrays, names of architectures, rows.
type OfSide<'py> = (String, Arrays<'py>, Vec<String>, Option<(usize, usize)>);

/// What separates two results, as text, as JSON, and for a notebook.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    sides: [OfSide<'_>; 2],
    when: &str,
    budget: u64,
    max_mismatches: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, String)> {
    let mut held = Held::default();
    let mut read = Vec::with_capacity(2);
    for ((fields, arrays, architectures, rows), held) in sides.into_iter().zip(&mut held) {
        let request = Request::new(py, &fields, &arrays)?;
        *held = request.arrays;
        read.push((Searched::of(py, request.fields)?, architectures, rows));
    }
    let [left, right]: [_; 2] = read.try_into().ok().expect("two were read");
    let ((left, left_archs, left_rows), (right, right_archs, right_rows)) = (left, right);
    let hints = |of: &Searched, architectures| Hints {
        architectures,
        kernel: of.kernel.clone(),
    };
    let span = |rows: Option<(usize, usize)>| rows.map(|(from, to)| from..to);
    let mut request = Compare::new([left.d.clone(), right.d.clone()]);
    request.formats = [left.formats.d, right.formats.d];
    request.rows = [span(left_rows), span(right_rows)];
    request.hints = [hints(&left, left_archs), hints(&right, right_archs)];
    request.operand_formats = [left.formats.a, left.formats.b];
    request.operands = left.operands.zip(right.operands).map(<[_; 2]>::from);
    request.schedules = schedules(py, when)?;
    request.limits = Limits {
        budget,
        ..Limits::default()
    };
    request.max_mismatches = max_mismatches;
    let found = attended(py, progress.as_ref(), move |progress| {
        request.run_with(&held, progress)
    })?;
    let found = found.map_err(|error: IdentifyError| error::identify(py, &error))?;
    let json = serde_json::to_string_pretty(&found);
    let json = json.map_err(|error| error::request(py, "a", error.to_string()))?;
    let view = found.view();
    let fragment = written(|out| forms::notebook(&view, out))?;
    Ok((view.plain_text(Layout::default()), json + "\n", fragment))
}
