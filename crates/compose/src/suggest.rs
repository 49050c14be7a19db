//! What would give a D that differs, and the check for it.

use super::{Diagnosed, ambiguity};
use crate::candidates::cost;
use crate::check::{
    Check, EngineChoice, Naming, Operands, Part, Prepared, ScheduleRequest, ScheduleSource,
    Selection, Source, Tf32Input, Verb, command_line, shell_line,
};
use crate::diagnose::{Ask, Case, Diagnosis, Finding, Setting, diagnose};
use crate::emu::Catalogue;
use crate::report::{Cause, Conclusion};
use crate::role::Role;
use crate::tensor::Tensor;

/// What fits a D that differs, and what was tried.
pub fn diagnosed(prepared: &Prepared, found: &Conclusion, part: Option<&Part>) -> Diagnosed {
    let Some(given) = prepared.d() else {
        return Default::default();
    };
    let replayed = ambiguity::cost_of_replay(prepared, part);
    let Diagnosis {
        findings,
        places,
        tried,
        untried,
    } = diagnosis(prepared, given, found, replayed);
    let cause = |finding: Finding| Cause {
        command: command(prepared, &finding.ask),
        kind: finding.kind,
        sentence: finding.sentence,
        at: finding.at,
        mismatches: finding.mismatches,
        area: finding.place,
    };
    Diagnosed {
        causes: findings.into_iter().map(cause).collect(),
        places,
        tried: tried.into_iter().map(Into::into).collect(),
        untried: untried.into_iter().map(Into::into).collect(),
    }
}

/// Everything that explains a D that a check does not give. `replayed` is what its replay has cost, in multiply-adds of the exact
/// engine: the search may take two fifths of that.
pub fn diagnosis(
    prepared: &Prepared,
    given: &Tensor,
    found: &Conclusion,
    replayed: u64,
) -> Diagnosis {
    let scaled = prepared.request().operands.has_scales();
    diagnose(&Case {
        replay: prepared.replay(),
        given,
        tolerance: prepared.request().tolerance,
        comparison: &found.comparison,
        sample: &found.sample,
        architecture: &prepared.choice().architecture.name,
        rule: &|operands| {
            let model = prepared.request().clone().with_formats(operands).model;
            let (schedule, texts) = (prepared.scheduling(), prepared.texts());
            let model = model.select(scaled, schedule, texts).ok()?;
            Some(model.arithmetic)
        },
        catalogue: Catalogue::builtin(),
        engines: prepared.engines(),
        work: cost::FLOOR.max(replayed / 5 * 2),
        is_rest: false,
    })
}

fn command(prepared: &Prepared, ask: &Ask) -> Option<String> {
    // No command line names what a program holds.
    if prepared.request().is_in_memory() {
        return None;
    }
    let check = Check {
        selection: Selection::default(),
        naming: Naming::default(),
        against: None,
        // The engine that computes makes no difference to the bits.
        engine: EngineChoice::Fast,
        ..prepared.spelled_out()
    };
    let changed = changed(prepared, check, ask)?;
    Some(shell_line(command_line(Verb::Check, &changed)))
}

/// The check, changed as a finding asks; none if no request can express that.
fn changed(prepared: &Prepared, mut check: Check, ask: &Ask) -> Option<Check> {
    let operands = &mut check.operands;
    // What is generated depends on the operand it is for, and on the format.
    let generated = |role| matches!(operands.get(role), Some(Source::Generated(_)));
    let generated = generated(Role::A) || generated(Role::B);
    let exchange = |operands: &mut Operands| {
        let a_and_b = [Role::A, Role::B].map(|role| operands.arrays.remove(&role));
        let exchanged = [Role::B, Role::A].into_iter().zip(a_and_b);
        let exchanged = exchanged.filter_map(|(role, source)| Some((role, source?)));
        operands.arrays.extend(exchanged);
    };
    match ask {
        Ask::Nothing => return None,
        Ask::Transposed([a, b]) => {
            operands.transpose_a ^= a;
            operands.transpose_b ^= b;
        }
        Ask::Reversed | Ask::Exchanged if generated => return None,
        Ask::Reversed => {
            exchange(operands);
            (operands.transpose_a, operands.transpose_b) =
                (!operands.transpose_b, !operands.transpose_a);
        }
        Ask::Exchanged => {
            exchange(operands);
            std::mem::swap(&mut operands.transpose_a, &mut operands.transpose_b);
        }
        Ask::WithoutC => {
            operands.arrays.remove(&Role::C);
            check.schedule.overrides.beta = None;
        }
        Ask::LeftOut(setting) => {
            let given = &mut check.schedule.overrides;
            match setting {
                Setting::Bias => {
                    operands.arrays.remove(&Role::Bias);
                    operands.bias_dtype = None;
                }
                Setting::Alpha => given.alpha = None,
                Setting::Beta => given.beta = None,
                Setting::Activation => given.activation = None,
                Setting::ScaleResult => given.scale_result = None,
            }
        }
        Ask::Schedule { preset, overrides } => {
            check.schedule = ScheduleRequest::preset(preset, overrides);
        }
        Ask::Epilogue(epilogue) => {
            let schedule = &mut check.schedule;
            if schedule.from == ScheduleSource::Plain {
                *schedule = ScheduleRequest::preset("plain", epilogue);
            } else {
                // A kernel's text says itself how often it promotes.
                let of_text = matches!(schedule.from, ScheduleSource::Kernel(_));
                if of_text && epilogue.promote.is_some() {
                    return None;
                }
                let given = &mut schedule.overrides;
                given.alpha = epilogue.alpha.or(given.alpha);
                given.beta = epilogue.beta.or(given.beta);
                given.activation = epilogue.activation.or(given.activation);
                given.promote = epilogue.promote.or(given.promote);
            }
        }
        Ask::Formats(formats) => {
            // A file that names its type cannot be read as another.
            let [a, b] = *formats;
            let readable = |(role, format)| prepared.arrays()[role].source.tensor(format).is_ok();
            if generated || ![(Role::A, a), (Role::B, b)].into_iter().all(readable) {
                return None;
            }
            check = check.with_formats(*formats);
        }
        Ask::Result(format) => {
            prepared
                .arrays()
                .get(Role::D)?
                .source
                .tensor(*format)
                .ok()?;
            check.d_dtype = Some(*format);
        }
        Ask::Tf32Nearest(nearest) => {
            operands.tf32_input = if *nearest {
                Tf32Input::Nearest
            } else {
                Tf32Input::Truncate
            };
        }
        Ask::AnyNan => check.tolerance.any_nan = true,
        Ask::AnyZero => check.tolerance.any_zero = true,
        Ask::Both(one, other) => {
            let check = changed(prepared, check, one)?;
            return changed(prepared, check, other);
        }
        Ask::Model {
            name,
            arithmetic,
            convert_to,
        } => {
            check = check.with_rule([&name.architecture, &name.instruction], arithmetic);
            check.d_dtype = convert_to.or(check.d_dtype);
        }
    }
    Some(check)
}
