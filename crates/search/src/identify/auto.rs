//! A check that names no unit: the first one that gives D.

use super::document::{Fit, Identification};
use super::{Formats, Identify, IdentifyError, Limits, Schedules};
use crate::check::{
    Check, CheckError, Expected, FpmrRequest, ModelRequest, ModelSource, Progress, ScheduleRequest,
    Source, TtnnRequest,
};
use crate::compose::verify;
use crate::io::{self, STDIN};
use crate::report::Chosen;
use crate::role::Role;

/// The result of the search.
pub enum Auto {
    /// The check by the first model that fits, and all that fit.
    Found(Box<Check>, Chosen),
    /// No model fits, of so many that were tested.
    Nothing(usize),
}

/// Whether a check leaves the choice of the model to D.
pub fn is_requested(check: &Check) -> bool {
    matches!(&check.model.from, ModelSource::Catalogue(name) if name == "auto")
}

/// Searches for models that give D, as `identify` does; arrays that are [`Source::Memory`] come from the caller, by their
/// fields.
///
/// # Errors
/// If there is no D, the request names more of the model than formats, or the search fails.
pub fn choose(
    check: &Check,
    memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    progress: &dyn Progress,
) -> Result<Auto, IdentifyError> {
    let refused = |reason: &str| Err(CheckError::request("arch", reason).into());
    let Expected::Tensor(d) = &check.expected else {
        return refused("`arch` auto needs the D tensor, not a digest; name the GPU");
    };
    let model = &check.model;
    let leaves_it_open = model.instruction.is_none()
        && model.acc.is_none()
        && model.c_dtype.is_none()
        && model.scale_dtype.is_none()
        && model.scale_block.is_none()
        && model.ttnn == TtnnRequest::default()
        && model.fpmr == FpmrRequest::default()
        && check.schedule == Default::default()
        && !check.operands.has(Role::AzpAdj);
    if !leaves_it_open {
        return refused(
            "`arch` auto chooses the instruction, accumulator and schedule; leave them out, or name the GPU",
        );
    }
    let piped = |(_, source): (_, &Source)| {
        source
            .path()
            .is_some_and(|path| path == std::path::Path::new(STDIN) || path.starts_with("/dev"))
    };
    if check.sources().any(piped) {
        return refused(
            "`arch` auto reads every file twice, but standard input can be read only once; name a file or the GPU",
        );
    }
    let request = Identify {
        operands: check.operands.clone(),
        d: d.clone(),
        formats: Formats {
            a: Some(model.dtype),
            b: model.dtype_b,
            d: check.d_dtype,
        },
        kernel: None,
        scale_result: None,
        architectures: Vec::new(),
        schedules: Schedules::Auto,
        limits: Limits::default(),
        engine: check.engine,
    };
    let (found, checks) = request.prepare_with(memory)?.choose(progress)?;
    let tested = found.plain + found.schedules.as_ref().map_or(0, |s| s.tested);
    let Some(first) = checks.into_iter().next() else {
        return Ok(Auto::Nothing(tested));
    };
    let mut check = check.clone();
    check.model = first.model;
    check.schedule = first.schedule;
    check.d_dtype = first.d_dtype;
    let chosen = Chosen {
        fits: fits(&found),
        tested,
        untested: found.untested + found.schedules.as_ref().map_or(0, |s| s.untested),
    };
    Ok(Auto::Found(Box::new(check), chosen))
}

/// Compares a report's chosen model with a new search; differences as sentences with JSON paths.
///
/// # Errors
/// If there is no D, or the search fails.
pub fn confirm(
    check: &Check,
    reported: &Chosen,
    progress: &dyn Progress,
) -> Result<Vec<String>, IdentifyError> {
    let mut request = check.clone();
    request.model = ModelRequest {
        dtype_b: check.model.dtype_b,
        ..Check::in_memory("auto", check.model.dtype).model
    };
    request.schedule = ScheduleRequest::default();
    // The request names D's format whether an option named it or the search found it.
    let mut search = |d_dtype| -> Result<Vec<String>, IdentifyError> {
        request.d_dtype = d_dtype;
        Ok(match choose(&request, &mut |_| None, progress)? {
            Auto::Found(first, _) if *first != *check => {
                vec!["`request` does not name the first model that fits".to_owned()]
            }
            Auto::Found(_, found) => verify::differences_at("rule.chosen", reported, &found),
            Auto::Nothing(_) => vec!["`rule.chosen`: no model gives this D".to_owned()],
        })
    };
    match search(None) {
        Ok(wrong) if wrong.is_empty() => Ok(wrong),
        _ => search(check.d_dtype),
    }
}

/// The names of all that fit.
fn fits(found: &Identification) -> Vec<String> {
    let names = |fit: &Fit| {
        let under = match &fit.model.schedule {
            Some(schedule) => format!(" under {}", schedule.name),
            None => String::new(),
        };
        let to = fit.model.arithmetic.accumulator;
        let names = fit.model.names.iter();
        names
            .map(|name| format!("{} {} -> {to}{under}", name.architecture, name.instruction))
            .collect::<Vec<_>>()
    };
    found.fits.iter().flat_map(names).collect()
}
