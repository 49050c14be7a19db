//! What the request names, each left out or ignored.

use super::super::{Ask, Case, Hypothesis, Setting};
use super::Variation;
use crate::emu::schedule::{AddendAt, BoundSchedule, Function, ScheduleSpec, Values};
use crate::num::F32;

/// What reports call this test.
pub const TRIED: &str =
    "what the request names left out (bias, alpha, beta, activation, scales, C)";

const ONE: u32 = 0x3f80_0000;

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let Some(kernel) = case.replay.kernel else {
        return Ok(Vec::new());
    };
    let (spec, values) = (kernel.spec, kernel.values);
    let mut all = Vec::new();
    let mut add =
        |what: String, setting, change: &dyn Fn(ScheduleSpec, Values) -> (ScheduleSpec, Values)| {
            let (spec, values) = change(spec.clone(), values.clone());
            let one = Variation::new(case, Hypothesis::SettingIgnored, what);
            all.push(one.around(spec, values).asking(Ask::LeftOut(setting)));
        };
    if values.has_bias() {
        let without = |spec, values: Values| (spec, values.without_bias());
        add("the bias was left out".into(), Setting::Bias, &without);
    }
    let number = |code: u32| F32(code);
    if values.alpha != ONE {
        let what = format!(
            "the sum was not multiplied by alpha ({})",
            number(values.alpha)
        );
        add(what, Setting::Alpha, &|spec, values| {
            (spec, with(values, |of| of.alpha = ONE))
        });
    }
    let has_c = case.replay.problem.c.is_some();
    if values.beta != ONE && has_c {
        let what = format!("C was not multiplied by beta ({})", number(values.beta));
        add(what, Setting::Beta, &|spec, values| {
            (spec, with(values, |of| of.beta = ONE))
        });
    }
    if let Some(function) = spec.epilogue.function {
        let name = match function {
            Function::Relu | Function::ReluNan => "ReLU",
            Function::Gelu => "GELU",
            Function::Silu => "SiLU",
        };
        let what = format!("{name} was not applied");
        add(what, Setting::Activation, &|mut spec, values| {
            spec.epilogue.function = None;
            (spec, values)
        });
    }
    if let Some(scale) = values.scale_result.filter(|scale| *scale != ONE) {
        let what = format!("the scale of the result ({}) was left out", number(scale));
        let left = Setting::ScaleResult;
        add(what, left, &|spec, values| {
            (spec, with(values, |of| of.scale_result = None))
        });
        let inverse = (1.0 / f32::from_bits(scale)).to_bits();
        let scale_result = Some(inverse);
        let what = format!(
            "the result was divided by its scale ({}), not multiplied",
            number(scale)
        );
        let one = Variation::new(case, Hypothesis::Scales, what);
        all.push(one.around(
            spec.clone(),
            with(values.clone(), |of| of.scale_result = scale_result),
        ));
    }
    if has_c && spec.addend == AddendAt::Epilogue {
        let one = Variation::new(case, Hypothesis::COmitted, "C is left out");
        all.push(Variation {
            without_c: true,
            ..one.asking(Ask::WithoutC)
        });
    }
    Ok(all)
}

/// C that is added to the products, left out.
pub fn without_c<'a>(case: &Case<'a>) -> Option<Variation<'a>> {
    let replay = case.replay;
    let plain = replay.kernel.is_none() && replay.problem.c.is_some();
    let one = || Variation::new(case, Hypothesis::COmitted, "C is left out");
    plain.then(|| Variation {
        without_c: true,
        ..one().asking(Ask::WithoutC)
    })
}

/// Numbers with a change.
fn with(mut values: Values, change: impl FnOnce(&mut Values)) -> Values {
    change(&mut values);
    values
}

/// Functions that a kernel may apply where the request names none.
pub fn functions<'a>(case: &Case<'a>) -> Option<Variation<'a>> {
    let replay = case.replay;
    let (mut spec, values) = match replay.kernel {
        Some(kernel) => (kernel.spec.clone(), kernel.values.clone()),
        None => (ScheduleSpec::plain(), Values::default()),
    };
    if spec.epilogue.function.is_some() || replay.problem.scales.is_some() {
        return None;
    }
    spec.epilogue.function = Some(Function::Relu);
    let fits =
        BoundSchedule::check_compatible(&spec, replay.arithmetic, &replay.problem, replay.format());
    fits.ok()?;
    Some(Variation::new(case, Hypothesis::Relu, "ReLU is applied").around(spec, values))
}
