//! What decides the verdict on a case but its operands and D, as one digest.

use serde::Serialize;

use super::{Case, Work};
use crate::check::{
    CheckError, Model, ModelSource, Prepared, Scheduling, Verb, command_line, model,
};
use crate::commit::Hash;
use crate::report::Model as ReportedModel;

/// The digest of all that decides a verdict but the operands and D.
///
/// # Errors
/// If there is no such model or schedule.
pub(super) fn fingerprint(case: &Case) -> Result<Hash, CheckError> {
    let check = match &case.work {
        Work::Product(check) => check,
        Work::Operation(asked) => return Ok(digest_of_operation(case, &asked.basis()?)),
    };
    // What a kernel's words make of a product is known when its operands are.
    if let Some(kernel) = check.schedule.kernel() {
        let file = match &check.model.from {
            ModelSource::File(path) => {
                let read = model::read(path);
                Some(
                    read.map_err(|error| CheckError::File {
                        field: "model",
                        error,
                    })?
                    .1,
                )
            }
            ModelSource::Catalogue(_) => None,
        };
        return Ok(digest(case, &file, &kernel.said.sha256()?));
    }
    let scheduling = check.schedule.resolve()?;
    let scaled = check.operands.has_scales();
    let model = check.model.select(scaled, &scheduling)?;
    Ok(of_preset(case, &model, &scheduling))
}

/// The same for a case whose files have been read.
pub(super) fn of_read(case: &Case, prepared: &Prepared) -> Hash {
    let (model, scheduling) = (prepared.model(), prepared.scheduling());
    match scheduling.said_sha256() {
        Some(said) => digest(case, &model.file().map(|(_, sha256)| sha256), &said),
        None => of_preset(case, model, scheduling),
    }
}

fn of_preset(case: &Case, model: &Model, scheduling: &Scheduling) -> Hash {
    let model = ReportedModel::of(&model.choice(), model.file());
    digest(case, &model, &scheduling.schedule)
}

fn digest(case: &Case, model: &impl Serialize, schedule: &impl Serialize) -> Hash {
    let words = words_of(case);
    let words = words.iter().map(|word| word.as_encoded_bytes().to_vec());
    let text = |json: serde_json::Result<String>| json.expect("plain data").into_bytes();
    let mut pieces = vec![env!("CARGO_PKG_VERSION").into()];
    pieces.extend(words);
    pieces.push(format!("{:?}", case.k).into_bytes());
    // A verdict under another policy, or under none, is none under this one.
    pieces.push(format!("{:?}", case.policy).into_bytes());
    pieces.push(text(serde_json::to_string(model)));
    pieces.push(text(serde_json::to_string(schedule)));
    Hash::of([text(serde_json::to_string(&pieces)).as_slice()])
}

/// The words that ask for a case.
fn words_of(case: &Case) -> Vec<std::ffi::OsString> {
    match &case.work {
        Work::Product(check) => command_line(Verb::Check, check),
        Work::Operation(asked) => asked.command_line(),
    }
}

pub(super) fn digest_of_operation(case: &Case, basis: &str) -> Hash {
    let words = words_of(case);
    let words = words.iter().map(|word| word.as_encoded_bytes().to_vec());
    let mut pieces: Vec<Vec<u8>> = vec![env!("CARGO_PKG_VERSION").into(), basis.into()];
    pieces.extend(words);
    pieces.push(format!("{:?}", case.policy).into_bytes());
    let text = serde_json::to_string(&pieces).expect("plain data");
    Hash::of([text.as_bytes()])
}
