//! What becomes of finished sums: other conversions to D's format, and a bias that is added after one.

use super::{Variation, sums_with};
use crate::diagnose::defects::known;
use crate::diagnose::estimate::value;
use crate::diagnose::{Case, Hypothesis};
use crate::emu::schedule::Values;
use crate::emu::{Element, Replay};
use crate::num::{Class, Format, Rounding, result_code, round_code};
use crate::report::SampledElement;

/// What reports call this test.
pub const TRIED: &str =
    "other conversions of finished sums (saturated or not, rounded twice or otherwise, flushed)";

pub fn list<'a>(case: &Case<'a>) -> Result<Vec<Variation<'a>>, &'static str> {
    let replay = case.replay;
    let format = replay.format();
    let narrow = format.fraction_bits() < Format::Fp32.fraction_bits();
    let mut all = Vec::new();
    if replay.problem.selected.is_some() {
        return Ok(all);
    }
    if format == Format::Int32 {
        all.extend(integers(case));
        return Ok(all);
    }
    all.extend(clipped(case));
    if replay.arithmetic.accumulator != Format::Fp32 {
        return Ok(all);
    }
    let whole = "results are rounded to whole numbers";
    let one = Variation::new(case, Hypothesis::Conversion, whole);
    all.push(one.ending(move |replay, at| {
        let sums = unrounded(replay, format, at).into_iter();
        let whole = |code: u64| u64::from(f32::from_bits(code as u32).round_ties_even().to_bits());
        let stored = |code: u64| match format {
            Format::Fp32 => code,
            _ => result_code(Format::Fp32, code, format, Rounding::NearestEven),
        };
        sums.map(|code| stored(whole(code))).collect()
    }));
    if !narrow {
        return Ok(all);
    }
    let mut add = |what: String, convert: Box<dyn Fn(u64) -> u64 + Sync>| {
        let one = Variation::new(case, Hypothesis::Conversion, what);
        all.push(one.ending(move |replay, at| {
            let sums = unrounded(replay, format, at).into_iter();
            sums.map(&convert).collect()
        }));
    };
    overflows(format, &mut add);
    for between in [Format::Fp16, Format::Bf16] {
        let wider = between.fraction_bits() > format.fraction_bits();
        if between == format || !(wider || format.fraction_bits() > between.fraction_bits()) {
            continue;
        }
        let what = format!("sums are rounded to {between} first, then to {format}");
        add(
            what,
            Box::new(move |code| {
                let code = result_code(Format::Fp32, code, between, Rounding::NearestEven);
                result_code(between, code, format, Rounding::NearestEven)
            }),
        );
    }
    // Without a schedule another test does this.
    for (rounding, how) in [
        (Rounding::TowardZero, "toward zero (RZ)"),
        (Rounding::NearestAway, "to nearest, ties away (RNA)"),
    ] {
        if replay.kernel.is_some() {
            let what = format!("D is rounded to {format} {how} instead of to nearest even");
            add(
                what,
                Box::new(move |code| result_code(Format::Fp32, code, format, rounding)),
            );
        }
    }
    add(
        format!("subnormal results are flushed to zero ({format})"),
        Box::new(move |code| {
            let code = result_code(Format::Fp32, code, format, Rounding::NearestEven);
            flushed(format, code)
        }),
    );
    all.extend(bias_after(case));
    Ok(all)
}

/// Integer sums cut to fewer bits, saturated, without their sign, or rounded through a floating-point format.
fn integers<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    type Cut = fn(i32) -> i32;
    let all: [(&str, Cut); 12] = [
        (
            "sums are cut to INT8 (their low 8 bits, with a sign)",
            |x| i32::from(x as i8),
        ),
        ("sums are cut to UINT8 (their low 8 bits)", |x| {
            i32::from(x as u8)
        }),
        ("sums saturate to INT8, at -128 and 127", |x| {
            x.clamp(-128, 127)
        }),
        ("sums saturate to UINT8, at 0 and 255", |x| x.clamp(0, 255)),
        (
            "sums are cut to INT16 (their low 16 bits, with a sign)",
            |x| i32::from(x as i16),
        ),
        ("sums saturate to INT16, at -32,768 and 32,767", |x| {
            x.clamp(-32_768, 32_767)
        }),
        ("sums are rounded to FP32 and back", |x| x as f32 as i32),
        ("sums are rounded to BF16 and back", |x| {
            through(x, Format::Bf16)
        }),
        ("sums are rounded to FP16 and back", |x| {
            through(x, Format::Fp16)
        }),
        ("ReLU is applied", |x| x.max(0)),
        ("the magnitude (without the sign) is stored", |x| {
            x.wrapping_abs()
        }),
        ("the negative of every sum is stored", |x| x.wrapping_neg()),
    ];
    let variation = |(what, cut): (&str, Cut)| {
        Variation::new(case, Hypothesis::Conversion, what).ending(move |replay, at| {
            let sums = replay.elements(at).into_iter();
            sums.map(|code| u64::from(cut(code as u32 as i32) as u32))
                .collect()
        })
    };
    all.into_iter().map(variation).collect()
}

/// An integer as a number of this format, rounded to nearest, and back.
fn through(x: i32, format: Format) -> i32 {
    // INT32 to FP32 to a narrower format, as conversions of tensors go.
    let code = u64::from((x as f32).to_bits());
    let narrow = result_code(Format::Fp32, code, format, Rounding::NearestEven);
    value(format, narrow) as i32
}

/// What sums beyond the largest number may become.
fn overflows(format: Format, add: &mut dyn FnMut(String, Box<dyn Fn(u64) -> u64 + Sync>)) {
    let fp8 = matches!(format, Format::E4m3 | Format::E5m2);
    let nan = format.sign_mask() - 1;
    if fp8 {
        let beyond = match format {
            Format::E4m3 => "NaN",
            _ => "infinite",
        };
        let what = format!(
            "sums beyond the largest {format} become {beyond} instead of saturating: a policy of conversions, not a fault"
        );
        let round = move |code| round_code(Format::Fp32, code, format, Rounding::NearestEven, nan);
        add(what, Box::new(round));
    }
    if format == Format::Fp16 {
        let what = "sums beyond 65504 are stored as 65504 instead of infinity: a policy of conversions, not a fault";
        add(
            what.into(),
            Box::new(move |code| {
                let rounded = result_code(Format::Fp32, code, format, Rounding::NearestEven);
                let largest = 0x7bff | rounded & format.sign_mask();
                let finite = Format::Fp32.unpack(code).class == Class::Finite;
                if finite && format.unpack(rounded).is_infinite() {
                    largest
                } else {
                    rounded
                }
            }),
        );
    }
    if format == Format::E4m3 {
        let what = "sums saturate at 240, the largest E4M3FNUZ of MI300, not at 448";
        add(
            what.into(),
            Box::new(move |code| {
                let rounded = result_code(Format::Fp32, code, format, Rounding::NearestEven);
                let sign = rounded & format.sign_mask();
                let magnitude = rounded & !format.sign_mask();
                // 0x77 is 240.
                if (0x78..=0x7e).contains(&magnitude) {
                    0x77 | sign
                } else {
                    rounded
                }
            }),
        );
    }
}

/// Results that are clipped: all that differ are one number, or it and its negative.
fn clipped<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let format = case.replay.format();
    let seen = &case.sample.different;
    if seen.len() < 4 {
        return Vec::new();
    }
    // The commonest: another fault may have other numbers.
    let magnitude = |one: &SampledElement| one.given & !format.sign_mask();
    let alike = |one: &SampledElement| {
        seen.iter()
            .filter(|x| magnitude(x) == magnitude(one))
            .count()
    };
    let Some(limit) = seen.iter().max_by_key(|one| alike(one)).map(magnitude) else {
        return Vec::new();
    };
    let number = move |code: u64| value(format, code);
    let at = number(limit);
    let is_clipped = |one: &&SampledElement| {
        let [given, expected] = [one.given, one.reproduced].map(number);
        magnitude(one) == limit && expected.abs() > at && given * expected > 0.0
    };
    let clipped: Vec<&SampledElement> = seen.iter().filter(is_clipped).collect();
    if 4 * clipped.len() < 3 * seen.len() || limit == 0 || !at.is_finite() {
        return Vec::new();
    }
    let signs: Vec<bool> = clipped.iter().map(|one| number(one.given) > 0.0).collect();
    let [high, low] = [signs.contains(&true), signs.contains(&false)];
    let what = match (high, low) {
        (true, true) => format!("results are clipped at -{at} and {at}"),
        (true, false) => format!("results above {at} are stored as {at}"),
        _ => format!("results below -{at} are stored as -{at}"),
    };
    let one = Variation::new(case, Hypothesis::Clipped, what);
    vec![one.ending(move |replay, elements| {
        let clip = |code: u64| match number(code) {
            x if high && x > at => limit,
            x if low && x < -at => limit | format.sign_mask(),
            _ => code,
        };
        replay.elements(elements).into_iter().map(clip).collect()
    })]
}

/// A subnormal number as zero of its sign.
pub fn flushed(format: Format, code: u64) -> u64 {
    let magnitude = code & !format.sign_mask();
    let fraction = format.fraction_bits() + format.ignored_bits();
    if magnitude >> fraction == 0 {
        code & format.sign_mask()
    } else {
        code
    }
}

/// Elements before they are rounded to this format, in f32.
fn unrounded(replay: &Replay, format: Format, at: &[Element]) -> Vec<u64> {
    let wide = Replay {
        convert_to: None,
        ..*replay
    };
    let sums = wide.elements(at);
    let fp8 = matches!(format, Format::E4m3 | Format::E5m2);
    let scaled = replay
        .kernel
        .filter(|kernel| fp8 && kernel.spec.epilogue.result_scale.is_some());
    let Some(scale) = scaled.and_then(|kernel| kernel.values.scale_result) else {
        return sums;
    };
    // It is multiplied last, and only into FP8.
    let times = |code: u64| {
        let product = f32::from_bits(code as u32) * f32::from_bits(scale);
        u64::from(product.to_bits())
    };
    sums.into_iter().map(times).collect()
}

/// The bias added to sums that were rounded before, as `x @ W.T + b` does; and a bias that was rounded first.
fn bias_after<'a>(case: &Case<'a>) -> Vec<Variation<'a>> {
    let format = case.replay.format();
    let Some(kernel) = case.replay.kernel.filter(|kernel| kernel.values.has_bias()) else {
        return Vec::new();
    };
    if kernel.spec.epilogue.function.is_some() {
        return Vec::new();
    }
    let values: &'a Values = kernel.values;
    let bias = move |at: &Element| f32::from_bits(values.bias(at.batch, at.column).unwrap_or(0));
    let rounded = move |x: f32| {
        let code = u64::from(x.to_bits());
        result_code(Format::Fp32, code, format, Rounding::NearestEven)
    };
    let narrowed = move |x: f32| value(format, rounded(x)) as f32;
    let without = values.clone().without_bias();
    let both = [false, true].into_iter();
    both.map(|of_bias| {
        let what = if of_bias {
            format!("the bias is rounded to {format} before it is added")
        } else {
            let known = known("bias_after_rounding", case.architecture);
            format!(
                "the product is rounded to {format} before the bias is added, and the sum is rounded again (two \
                 operations, as 'x @ W.T + b' has them){known}"
            )
        };
        let without = without.clone();
        let one = Variation::new(case, Hypothesis::BiasAfterRounding, what);
        one.ending(move |replay, at| {
            let sums = sums_with(replay, &without, at);
            let added = sums.map(|(sum, at)| {
                if of_bias {
                    sum + narrowed(bias(at))
                } else {
                    narrowed(sum) + bias(at)
                }
            });
            added.map(rounded).collect()
        })
    })
    .collect()
}
