//! `check --against`: whether files and model are the committed ones.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::commit::{committed, read_commitment};
use super::inputs::{Operand, Operands};
use super::show;
use crate::emu::Choice;
use crate::emu::schedule::Kernel;
use crate::report::Committed;

#[derive(Args)]
pub struct AgainstArgs {
    /// Make sure first that operands, model and D are those of a commitment ('tcverify commit'); if one
    /// is not, the exit code is 1 and there is no report
    #[arg(long, value_name = "C.json", conflicts_with_all = ["d_digest"], help_heading = "Comparison")]
    against: Option<PathBuf>,
}

impl AgainstArgs {
    pub fn path(&self) -> Option<&Path> {
        self.against.as_deref()
    }

    /// What the report says of the commitment, nothing without one; or `Err` within if something
    /// is not what was committed, which has been said then.
    pub fn confirm(
        &self,
        choice: &Choice,
        kernel: Option<&Kernel>,
        operands: &Operands,
        d: Option<&Operand>,
    ) -> Result<std::result::Result<Option<Committed>, ()>> {
        let (Some(path), Some(d)) = (&self.against, d) else {
            return Ok(Ok(None));
        };
        let (commitment, file_sha256) = read_commitment(path)?;
        let found = committed(choice, kernel, operands, d, commitment.d.block_rows)?;
        for operand in operands.all().chain([d]) {
            operand.confirm_unchanged()?;
        }
        let path = path.display().to_string();
        let differences = commitment.differences(&found);
        if !differences.is_empty() {
            show::different(&format!(
                "not what {path} commits to: {}",
                differences.join("; ")
            ));
            return Ok(Err(()));
        }
        Ok(Ok(Some(Committed {
            path,
            file_sha256,
            root: commitment.d.root.to_string(),
        })))
    }
}
