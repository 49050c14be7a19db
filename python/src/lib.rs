//! What `tcverify` for Python is made of: arrays in, requests as JSON in, reports out. No verdict is made here, and
//! no argument is interpreted but by the types of the library.

mod array;
mod commit;
mod compare;
mod error;
mod product;
mod report;
mod request;
mod search;
mod watch;

use std::ffi::OsString;

use pyo3::prelude::*;
use tcverify::cli::run_captured;
use watch::attended;

#[pymodule]
mod _tcverify {
    use super::*;

    #[pymodule_export]
    use super::commit::{commit, open, verify};
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::product::{batch, digest, explain, plan, replay};
    #[pymodule_export]
    use super::report::{BatchResult, Judged, check, read_report};
    #[pymodule_export]
    use super::request::{field_names, normalised};
    #[pymodule_export]
    use super::search::identify;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// The command `tcverify`: its words, the program's name first; returns the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
        py.detach(|| tcverify::cli::main_of(words))
    }

    /// A command line without the program's name: the exit code, what it wrote, and what it had to say beside.
    /// It runs on threads of its own, and leaves signals and streams of the process alone.
    #[pyfunction]
    fn command(py: Python<'_>, words: Vec<OsString>) -> PyResult<(u8, Vec<u8>, String)> {
        let words: Vec<_> = std::iter::once("tcverify".into()).chain(words).collect();
        let done = attended(py, None, move |_| run_captured(&words, Vec::new()))?;
        let beside = String::from_utf8_lossy(&done.stderr).into_owned();
        Ok((done.exit_code, done.stdout, beside))
    }

    /// The catalogue's name of an architecture, compute capability or GPU, or none.
    #[pyfunction]
    fn architecture(name: &str) -> Option<String> {
        let found = tcverify::emu::Catalogue::builtin().find(name).ok()?;
        Some(found.name.clone())
    }

    /// Architectures of the catalogue: name, title, other names, GPUs.
    #[pyfunction]
    fn archs() -> Vec<(String, String, Vec<String>, Vec<String>)> {
        let all = tcverify::emu::Catalogue::builtin().architectures().iter();
        all.map(|arch| {
            (
                arch.name.clone(),
                arch.title.clone(),
                arch.also.clone(),
                arch.gpus.clone(),
            )
        })
        .collect()
    }

    /// The format of this name, or none.
    #[pyfunction]
    fn format_name(name: &str) -> Option<&'static str> {
        tcverify::num::Format::from_name(name).map(tcverify::num::Format::name)
    }
}
