//! What the request names, each left out or ignored; and its bias used otherwise.

use super::{Trial, Variation, sums_with};
use crate::diagnose::epilogue::numbers;
use crate::diagnose::estimate::value;
use crate::diagnose::{Ask, Case, Hypothesis, Setting};
use crate::emu::schedule::{AddendAt, BoundSchedule, Function, ScheduleSpec, Values};
use crate::emu::{Element, Replay};
use crate::num::{F32, Format, Rounding, result_code};
use crate::tensor::Tensor;

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
        all.extend(other_biases(case, spec, values));
    }
    let mut add =
        |what: String, setting, change: &dyn Fn(ScheduleSpec, Values) -> (ScheduleSpec, Values)| {
            let (spec, values) = change(spec.clone(), values.clone());
            let one = Variation::new(case, Hypothesis::SettingIgnored, what);
            all.push(one.around(spec, values).asking(Ask::LeftOut(setting)));
        };
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

/// The bias added otherwise: twice, subtracted, by rows, from the next or previous column.
fn other_biases<'a>(case: &Case<'a>, spec: &ScheduleSpec, values: &Values) -> Vec<Variation<'a>> {
    let problem = case.replay.problem;
    let (m, n) = (problem.m, problem.n);
    let at = |batch: usize, column: usize| f32::from_bits(values.bias(batch, column).unwrap_or(0));
    let batches = problem.batches();
    let table = |of: &dyn Fn(usize, usize) -> f32| -> Vec<u64> {
        let all = (0..batches).flat_map(|batch| (0..n).map(move |column| (batch, column)));
        all.map(|(batch, column)| u64::from(of(batch, column).to_bits()))
            .collect()
    };
    let mut lists: Vec<(&str, Vec<u64>)> = vec![
        (
            "the bias is added twice",
            table(&|batch, column| 2.0 * at(batch, column)),
        ),
        (
            "the bias is subtracted, not added",
            table(&|batch, column| -at(batch, column)),
        ),
    ];
    if n > 1 {
        for (what, by) in [
            (
                "every column adds the bias of the next one, wrapping around",
                1,
            ),
            (
                "every column adds the bias of the one before, wrapping around",
                n - 1,
            ),
        ] {
            lists.push((what, table(&|batch, column| at(batch, (column + by) % n))));
        }
        lists.push((
            "every column adds the bias of the first one",
            table(&|batch, _| at(batch, 0)),
        ));
    }
    // Rounded to D's format, it is tried among conversions.
    let narrower = [Format::Bf16, Format::Fp16].into_iter();
    for narrow in narrower.filter(|narrow| *narrow != case.replay.format()) {
        let rounded = |x: f32| {
            let code = u64::from(x.to_bits());
            value(
                narrow,
                result_code(Format::Fp32, code, narrow, Rounding::NearestEven),
            ) as f32
        };
        let what = match narrow {
            Format::Bf16 => "the bias is rounded to BF16 before it is added",
            _ => "the bias is rounded to FP16 before it is added",
        };
        lists.push((what, table(&|batch, column| rounded(at(batch, column)))));
    }
    let own = table(&at);
    lists.retain(|(_, codes)| *codes != own);
    let mut all = Vec::new();
    for (what, codes) in lists {
        let mut shape = problem.a.batch_shape().to_vec();
        shape.extend([1, n]);
        let bias = Tensor::from_codes(Format::Fp32, shape, &codes);
        let Ok(values) = values.clone().without_bias().with_bias(&bias, &problem) else {
            continue;
        };
        let one = Variation::new(case, Hypothesis::SettingOtherwise, what);
        all.push(one.around(spec.clone(), values));
    }
    let plain = spec.epilogue.function.is_none();
    if !plain || case.replay.arithmetic.accumulator != Format::Fp32 {
        return all;
    }
    let first = values.clone();
    all.push(added_last(
        case,
        "the bias is added twice, the second time to the finished sum",
        values.clone(),
        move |at| first.bias(at.batch, at.column),
    ));
    if m == n && m > 1 {
        let by_rows = values.clone();
        all.push(added_last(
            case,
            "the bias is added by rows, not by columns",
            values.clone().without_bias(),
            move |at| by_rows.bias(at.batch, at.row),
        ));
    }
    all
}

/// A number added to the sums that a kernel with these values finishes, in f32.
fn added_last<'a>(
    case: &Case<'a>,
    what: &str,
    values: Values,
    number: impl Fn(&Element) -> Option<u32> + Sync + 'a,
) -> Variation<'a> {
    let one = Variation::new(case, Hypothesis::SettingOtherwise, what);
    one.ending(move |replay: &Replay, at: &[Element]| {
        let sums = sums_with(replay, &values, at);
        let added = sums.map(|(sum, at)| sum + f32::from_bits(number(at).unwrap_or(0)));
        added
            .map(|sum| replay.convert(u64::from(sum.to_bits())))
            .collect()
    })
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

/// A factor of all sums, concluded from the median of what the tested elements are multiplied by.
pub fn factor<'a>(case: &Case<'a>, trial: &Trial) -> Option<Variation<'a>> {
    let replay = case.replay;
    let format = replay.format();
    let kernel = replay.kernel;
    let plain = kernel.is_none_or(|k| k.values.alpha == ONE && k.spec.epilogue.function.is_none());
    if format.is_integer() || !plain || replay.problem.c.is_some() {
        return None;
    }
    let at: Vec<Element> = trial.differing().map(|stored| stored.at).collect();
    if !trial.affords(trial.price(&at)) {
        return None;
    }
    let expected = replay.elements(&at);
    let pairs = trial.differing().zip(expected);
    let ratios = pairs.map(|(stored, code)| value(format, stored.given) / value(format, code));
    let mut ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite()).collect();
    ratios.sort_by(f64::total_cmp);
    let median = *ratios.get(ratios.len() / 2)?;
    let error = (-f64::from(format.fraction_bits())).exp2() * median.abs();
    let alpha = *numbers([median - error, median + error]).first()?;
    if alpha == 1.0 {
        return None;
    }
    let (spec, values) = match kernel {
        Some(kernel) => (kernel.spec.clone(), kernel.values.clone()),
        None => (ScheduleSpec::plain(), Values::default()),
    };
    let what = format!("the sum of products is multiplied by {alpha} (alpha)");
    let one = Variation::new(case, Hypothesis::Alpha, what);
    Some(one.around(spec, with(values, |of| of.alpha = alpha.to_bits())))
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
