//! `check --arch auto`: the unit that gives D.

use anyhow::{Result, ensure};

use super::args::in_options;
use super::progress::Bar;
use crate::check::{
    Check, Expected, FpmrRequest, ModelRequest, ModelSource, ScheduleRequest, Source, TtnnRequest,
};
use crate::compose::verify;
use crate::identify::document::{Fit, Identification};
use crate::identify::{Formats, Identify, Limits, Schedules};
use crate::io::STDIN;
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

/// Searches for models that give D, as `identify` does.
///
/// # Errors
/// If there is no D, or the request names more of the model than formats.
pub fn choose(check: &Check) -> Result<Auto> {
    let Expected::Tensor(d) = &check.expected else {
        anyhow::bail!("--arch auto needs the D tensor, not a digest; name the GPU");
    };
    let model = &check.model;
    ensure!(
        model.instruction.is_none()
            && model.acc.is_none()
            && model.c_dtype.is_none()
            && model.scale_dtype.is_none()
            && model.scale_block.is_none()
            && model.ttnn == TtnnRequest::default()
            && model.fpmr == FpmrRequest::default()
            && check.schedule == Default::default()
            && !check.operands.has(Role::AzpAdj),
        "--arch auto chooses the instruction, accumulator and schedule; omit their options, or name the GPU"
    );
    let piped = |(_, source): (_, &Source)| {
        source
            .path()
            .is_some_and(|path| path == std::path::Path::new(STDIN) || path.starts_with("/dev"))
    };
    ensure!(
        !check.sources().any(piped),
        "--arch auto reads every file twice, but standard input can be read only once; name a file or the GPU"
    );
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
    let prepared = in_options(request.prepare())?;
    let (found, checks) = in_options(prepared.choose(&Bar::new()))?;
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
/// If there is no D.
pub fn confirm(check: &Check, reported: &Chosen) -> Result<Vec<String>> {
    let mut request = check.clone();
    request.model = ModelRequest {
        from: ModelSource::Catalogue("auto".into()),
        dtype: check.model.dtype,
        dtype_b: check.model.dtype_b,
        instruction: None,
        acc: None,
        c_dtype: None,
        scale_dtype: None,
        scale_block: None,
        ttnn: TtnnRequest::default(),
        fpmr: FpmrRequest::default(),
    };
    request.schedule = ScheduleRequest::default();
    // The request names D's format whether an option named it or the search found it.
    let mut search = |d_dtype| -> Result<Vec<String>> {
        request.d_dtype = d_dtype;
        Ok(match choose(&request)? {
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
