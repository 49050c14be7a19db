//! What is written and not judged: a commitment, and the result itself.

use std::path::Path;

use anyhow::Result;
use sha2::Digest;

use super::{Op, said};
use crate::check::{PreparedOperation, Progress};
use crate::cli::args::is_npy;
use crate::cli::documents::pretty;
use crate::cli::progress::Bar;
use crate::cli::{Ending, show};
use crate::commit::Hash;
use crate::io::npy::write_header;
use crate::io::{Outputs, escaped_path, hex};

impl Op {
    pub(super) fn commit(
        &self,
        prepared: &PreparedOperation,
        mut outputs: Outputs,
        path: &Path,
    ) -> Result<Ending> {
        let output = outputs.open("the commitment", path)?;
        let text = pretty(&said(prepared.commitment())?)?;
        output.commit(|out| out.write_all(&text))?;
        if !self.report.quiet && path.as_os_str() != "-" {
            let digest = Hash::of([&text[..]]);
            show::print(|out| writeln!(out, "{digest}  {}", escaped_path(path)))?;
        }
        Ok(Ending::Done)
    }

    pub(super) fn replay(
        &self,
        prepared: &PreparedOperation,
        mut outputs: Outputs,
        path: &Path,
    ) -> Result<Ending> {
        is_npy(path)?;
        let job = said(prepared.job())?;
        let output = outputs.open("the result", path)?;
        let mut hash = sha2::Sha256::new();
        output.commit(|out| {
            write_header(job.format, &job.shape, out)?;
            let bar = Bar::new();
            bar.begin(job.shape.iter().map(|&n| n as u64).product());
            let mut written = Ok(());
            job.run(&|elements| bar.advance(elements), |band| {
                hash.update(band.payload);
                if written.is_ok() {
                    written = out.write_all(band.payload);
                }
            });
            drop(bar);
            written?;
            // Before the file becomes visible.
            prepared.confirm_unchanged().map_err(std::io::Error::other)
        })?;
        if !self.report.quiet && path.as_os_str() != "-" {
            let digest = hex(&hash.finalize());
            show::print(|out| writeln!(out, "{digest}  {}", escaped_path(path)))?;
        }
        Ok(Ending::Done)
    }
}
