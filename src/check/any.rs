//! Whatever is asked, prepared.

use super::asked::Request;
use super::error::CheckError;
use super::subject::Subject;
use crate::io::Files;

impl Request {
    /// Reads and chooses everything that it needs, among the files of a run; nothing is computed.
    pub fn prepare_in(&self, files: &Files) -> Result<Box<dyn Subject>, CheckError> {
        Ok(match self {
            Request::Product(check) => Box::new(check.prepare_in(files)?),
            Request::Operation(asked) => Box::new(asked.prepare_in(files)?),
        })
    }

    /// All that decides a verdict but its words and the arrays, which are not looked at.
    pub fn basis(&self) -> Result<String, CheckError> {
        match self {
            Request::Product(check) => check.basis(),
            Request::Operation(asked) => asked.basis(),
        }
    }
}
