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
