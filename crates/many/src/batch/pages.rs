//! A folder of pages: one for every case that was judged, and an index of all.

use std::path::{Path, PathBuf};

use super::{BatchError, Case};
use crate::batch::report::{Batch, CaseVerdict};
use crate::forms::html;
use crate::forms::{PageOf, View};
use crate::io::{Fault, FaultKind, FileError, Output, Outputs, escaped_path};

/// Where the pages go.
pub struct Pages {
    folder: PathBuf,
    /// Names of cases, in their order.
    names: Vec<String>,
    index: Output,
}

impl Pages {
    /// Claims the files; makes the folder if it does not exist.
    ///
    /// # Errors
    /// If the folder is a file, or a page would be written over something that is read.
    pub fn open(folder: &Path, cases: &[Case], outputs: &mut Outputs) -> Result<Pages, BatchError> {
        let fail =
            |reason: String| BatchError::Other(format!("{}: {reason}", escaped_path(folder)));
        if folder == Path::new("-") || (folder.exists() && !folder.is_dir()) {
            let reason = "the pages of a batch are a folder of files: name an existing folder, or one that can be \
                created";
            return Err(fail(reason.into()));
        }
        let names = cases.iter().map(|case| case.name.clone());
        let names: Vec<String> = names.collect();
        for place in 0..names.len() {
            let page = folder.join(file_name(place, names.len()));
            let role = format!("the page of case {}", place + 1);
            outputs.claim(&role, &page).map_err(BatchError::File)?;
        }
        let index = folder.join("index.html");
        outputs
            .claim("the index", &index)
            .map_err(BatchError::File)?;
        std::fs::create_dir_all(folder)
            .map_err(|error| fail(format!("cannot be created: {error}")))?;
        Ok(Pages {
            index: prepare(&index).map_err(BatchError::File)?,
            folder: folder.to_owned(),
            names,
        })
    }

    /// Writes the page of a case.
    pub(super) fn write(&self, place: usize, view: View) -> Result<(), FileError> {
        let all = PageOf {
            case: self.names[place].clone(),
            index: "index.html".to_owned(),
        };
        let output = prepare(&self.folder.join(file_name(place, self.names.len())))?;
        output.commit(|out| html(&view.within(all), out))
    }

    /// Writes the index: last, when all that it leads to is there.
    pub fn finish(self, batch: &Batch) -> Result<(), FileError> {
        let page = |place: usize| {
            let judged = batch.cases[place].verdict != CaseVerdict::Unjudged;
            judged.then(|| file_name(place, self.names.len()))
        };
        self.index.commit(|out| html(&batch.view(&page), out))
    }
}

/// The output of a page. A link there would lead out of the folder, so it is refused.
fn prepare(page: &Path) -> Result<Output, FileError> {
    if std::fs::symlink_metadata(page).is_ok_and(|about| about.is_symlink()) {
        let reason = "is a link, but pages are written only inside their folder; remove it";
        Err(Fault::new(FaultKind::Unwritable, reason).of(page))
    } else {
        Output::prepare(page)
    }
}

/// The file of a page, by number, as names of cases may be anything; all numbers have the same width.
fn file_name(place: usize, count: usize) -> String {
    let digits = count.to_string().len().max(3);
    format!("case-{:0digits$}.html", place + 1)
}
