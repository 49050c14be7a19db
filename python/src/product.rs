//! Everything about a product but the verdict on it.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use tcverify::batch::{BatchError, Pages, State, protect, read, root, run};
use tcverify::check::{Attention, CheckError, Subject};
use tcverify::compose::Planned;
use tcverify::engines::resources_of;
use tcverify::explain::{Wish, write};
use tcverify::forms::{self, Layout};
use tcverify::io::{FileError, Files, Outputs, Privacy, Source, payload_sha256};
use tcverify::memory::Limits;
use tcverify::num::Format;
use tcverify::policy::AdmissionPolicy;
use tcverify::report::write_json;
use tcverify::tensor::Tensor;

use crate::array::Array;
use crate::error;
use crate::report::{BatchResult, plain, written};
use crate::request::{Arrays, Request};
use crate::watch::{attended, in_pool};

/// The bytes of a tensor's payload, its format and shape.
pub type Payload<'py> = (Bound<'py, PyArray1<u8>>, &'static str, Vec<usize>);

pub fn payload<'py>(py: Python<'py>, tensor: &Tensor) -> Payload<'py> {
    let mut bytes = Vec::with_capacity(tensor.len() * tensor.format().bytes());
    tensor.for_each_payload_chunk(|chunk| bytes.extend_from_slice(chunk));
    let (format, shape) = (tensor.format().name(), tensor.shape().to_vec());
    (bytes.into_pyarray(py), format, shape)
}

/// D as the model computes it.
#[pyfunction]
pub fn replay<'py>(
    py: Python<'py>,
    fields: &str,
    arrays: Arrays,
    progress: Option<Py<PyAny>>,
) -> PyResult<Payload<'py>> {
    let request = Request::new(py, fields, &arrays)?.with_formats(py)?;
    let computed = attended(py, progress.as_ref(), move |progress| {
        let prepared = request.prepare()?;
        let mut bytes = Vec::new();
        let elements = prepared
            .replay()
            .shape()
            .iter()
            .try_fold(1usize, |n, &m| n.checked_mul(m));
        let size = elements.and_then(|n| n.checked_mul(prepared.replay().format().bytes()));
        let reserved = size.map(|size| bytes.try_reserve_exact(size).is_ok());
        if reserved != Some(true) {
            return Ok(None);
        }
        prepared.stream(progress, &mut |band| bytes.extend_from_slice(band.payload))?;
        let replay = prepared.replay();
        Ok(Some((bytes, replay.format(), replay.shape())))
    })?;
    let computed = computed.map_err(|error: CheckError| error::check(py, &error))?;
    let Some((bytes, format, shape)) = computed else {
        return Err(PyMemoryError::new_err(
            "D does not fit into memory: ask for a part of it with `rows`",
        ));
    };
    Ok((bytes.into_pyarray(py), format.name(), shape))
}

/// By which rule D would be judged: as text, as JSON, and for a notebook. Nothing is computed.
#[pyfunction]
pub fn plan(py: Python<'_>, fields: &str, arrays: Arrays) -> PyResult<(String, String, String)> {
    let request = Request::new(py, fields, &arrays)?.with_formats(py)?;
    let rule = attended(py, None, move |_| Ok(Planned::of(&request.prepare()?)))?;
    let rule = rule.map_err(|error: CheckError| error::check(py, &error))?;
    let view = rule.view();
    Ok((
        view.plain_text(Layout::default()),
        written(|out| write_json(&rule, out))?,
        written(|out| forms::notebook(&view, out))?,
    ))
}

/// One element, as text and as JSON, and whether D (if it is given) has it.
#[pyfunction]
pub fn explain(
    py: Python<'_>,
    fields: &str,
    arrays: Arrays,
    at: Vec<usize>,
    all_steps: bool,
) -> PyResult<(String, String, Option<bool>)> {
    let request = Request::new(py, fields, &arrays)?.with_formats(py)?;
    let wish = if all_steps {
        Wish::All
    } else {
        Wish::default()
    };
    let explained = attended(py, None, move |_| {
        let prepared = request.prepare()?;
        let explanation = tcverify::compose::explanation(&prepared, &at, wish)?;
        prepared.confirm_unchanged()?;
        Ok(explanation)
    })?;
    let explanation = explained.map_err(|error: CheckError| error::check(py, &error))?;
    let json = serde_json::to_string_pretty(&explanation).map_err(std::io::Error::from)?;
    let same = explanation.given.as_ref().map(|given| given.same);
    Ok((plain(|out| write(&explanation, out))?, json + "\n", same))
}

/// An array of NumPy's, or one in a file.
#[derive(FromPyObject)]
pub enum Operand<'py> {
    Held(Array<'py>),
    File(PathBuf),
}

impl Operand<'_> {
    pub fn source(&self, py: Python<'_>, name: &str) -> PyResult<Source> {
        match self {
            Operand::Held(array) => array.source(name),
            Operand::File(path) => {
                Source::open(path).map_err(|error| error::request(py, name, format!("{error:#}")))
            }
        }
    }

    pub fn tensor(&self, py: Python<'_>, name: &str, format: Option<Format>) -> PyResult<Tensor> {
        let source = self.source(py, name)?;
        let descr = &source.header().descr;
        let format = format.unwrap_or_else(|| descr.number_format().unwrap_or(descr.as_stored()));
        let tensor = source.tensor(format);
        tensor.map_err(|error| error::request(py, name, format!("{error:#}")))
    }
}

/// The SHA-256 of an array's canonical payload.
#[pyfunction]
pub fn digest(py: Python<'_>, array: Operand, dtype: Option<&str>) -> PyResult<String> {
    let named = |name: &str| {
        let unknown = || error::request(py, "dtype", format!("`dtype`: no format {name:?}"));
        Format::from_name(name).ok_or_else(unknown)
    };
    let tensor = array.tensor(py, "array", dtype.map(named).transpose()?)?;
    Ok(py.detach(|| in_pool(|| payload_sha256(&tensor))))
}

/// All cases of a manifest, or of a folder of case folders.
#[pyfunction]
pub fn batch(
    py: Python<'_>,
    manifest: PathBuf,
    policy: Option<PathBuf>,
    resume: Option<PathBuf>,
    html: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<BatchResult> {
    let policy = policy.map(|path| Ok((AdmissionPolicy::of_cases(&path, root(&manifest))?, path)));
    let policy = policy.transpose();
    let policy =
        policy.map_err(|error: FileError| error::request(py, "policy", format!("{error:#}")))?;
    let judged = attended(py, progress.as_ref(), move |progress| {
        let terms = policy.as_ref().map(|(policy, _)| policy);
        let found = read(&manifest, terms)?;
        let products = found.products();
        let (cases, refused) = (found.cases, found.refused);
        let (own, coverage) = (found.own, found.coverage);
        let mut outputs = Outputs::new();
        let policy = policy
            .as_ref()
            .map(|(policy, path)| (policy, path.as_path()));
        protect(&mut outputs, &manifest, (&cases, &own), policy);
        if let Some(path) = &resume {
            outputs.claim("the state", path).map_err(BatchError::File)?;
        }
        let pages = html.map(|folder| Pages::open(&folder, &cases, &mut outputs));
        let pages = pages.transpose()?;
        let state = State::open(resume.as_deref(), &manifest, &cases)?;
        let most = terms.and_then(|policy| policy.limits.memory);
        let resources = resources_of(Files::new(Privacy::Auto, Limits::within(most)));
        let mut batch = run(
            (cases, refused),
            &state,
            &resources,
            terms,
            (pages.as_ref(), Attention::Report),
            progress,
        )?;
        batch.policy = policy.map(|(policy, path)| policy.described(path));
        if let Some(coverage) = coverage {
            batch.cover(coverage, &products);
        }
        if let Some(pages) = pages {
            pages.finish(&batch).map_err(BatchError::File)?;
        }
        Ok(batch)
    })?;
    judged
        .map(BatchResult)
        .map_err(|error: BatchError| error::batch(py, &error))
}
