//! A D whose numbers have another format than it was read as.

use crate::diagnose::trial::{Stored, Trial};
use crate::diagnose::whole::computation;
use crate::diagnose::whole::schedule;
use crate::diagnose::{Ask, Case, Found, Hypothesis};
use crate::emu::Replay;
use crate::num::{Format, Rounding, convert_exact, result_code};

/// What reports call this test.
pub const TRIED: &str = "a D of another format, or of a narrower one";

/// Different numbers that elements must have before their format counts as evidence.
const DISTINCT: usize = 16;

/// The other 16-bit format for the same codes; or a narrower one from which D was widened, as in NumPy dumps
/// (`d.float().numpy()`).
pub fn narrow(case: &Case, computing: &Trial, scheduling: &Trial) -> Vec<Found> {
    let format = case.replay.format();
    match format {
        Format::Fp16 => Vec::from_iter(exchanged(case, computing, Format::Bf16)),
        Format::Bf16 => Vec::from_iter(exchanged(case, computing, Format::Fp16)),
        Format::Fp32 => widened(case, computing, scheduling),
        _ => Vec::new(),
    }
}

/// The computation with its result rounded to the other 16-bit format.
fn exchanged(case: &Case, trial: &Trial, other: Format) -> Option<Found> {
    if case.replay.arithmetic.accumulator != Format::Fp32 {
        return None;
    }
    let rounded = Replay {
        convert_to: Some(other),
        ..case.replay
    };
    trial.fits_replay(&rounded).then(|| {
        let own = case.replay.format();
        let what = format!("D holds {other} codes that were read as {own}");
        let found = trial.found(Hypothesis::ResultFormat, what);
        match case.given.reread(other) {
            Some(_) => found.asking(Ask::Result(other)),
            None => found,
        }
    })
}

fn widened(case: &Case, computing: &Trial, scheduling: &Trial) -> Vec<Found> {
    for narrow in [Format::Bf16, Format::Fp16] {
        let read = |stored: Stored| {
            let given = narrowed(stored.given, narrow)?;
            Some(Stored { given, ..stored })
        };
        let all: Option<Vec<Stored>> = computing.elements().map(read).collect();
        let Some(all) = all else { continue };
        let (different, equal) = all.split_at(computing.differing().count());
        let read = Case {
            replay: Replay {
                convert_to: Some(narrow),
                ..case.replay
            },
            ..*case
        };
        let trials =
            [computing, scheduling].map(|trial| read.trial(different, equal, trial.work()));
        let saying = |text: String| {
            let found = Found::new(Hypothesis::RoundedNarrower, text);
            // Such FP32 can be read as the narrow format.
            found.asking(Ask::Result(narrow))
        };
        let held = format!(
            "D holds {narrow} numbers stored as {}, as .float() makes them; pass --d-dtype {narrow}",
            Format::Fp32
        );
        if trials[0].fits_replay(&read.replay) {
            return vec![saying(format!("{held}: {}", trials[0].describe()))];
        }
        let mut found = computation::computations(&read, &trials[0]);
        if found.is_empty() {
            found = schedule::schedules(&read, &trials[1]);
        }
        if let Some(found) = found.into_iter().next() {
            return vec![Found {
                ask: Ask::Both(Box::new(Ask::Result(narrow)), Box::new(found.ask.clone())),
                ..saying(format!("{held}. {}", found.text))
            }];
        }
        // A few numbers may need few bits by chance.
        let mut codes: Vec<u64> = all.iter().map(|stored| stored.given).collect();
        codes.sort_unstable();
        codes.dedup();
        let reproduced = case.sample.different.iter().map(|seen| seen.reproduced);
        let wide = reproduced.filter(|&code| convert_exact(Format::Fp32, code, narrow).is_err());
        if codes.len() >= DISTINCT && 2 * wide.count() > case.sample.different.len() {
            let count = all.len();
            return vec![saying(format!(
                "{held}. All {count} tested elements are such numbers, but not all equal the model's result, so the \
                 kernel or model also differs"
            ))];
        }
    }
    Vec::new()
}

/// The code of an FP32 number in a narrower format, if that holds it exactly, or if it is a NaN.
fn narrowed(code: u64, narrow: Format) -> Option<u64> {
    let nan = Format::Fp32.unpack(code).is_nan();
    let rounded = result_code(Format::Fp32, code, narrow, Rounding::TowardZero);
    let back = convert_exact(narrow, rounded, Format::Fp32);
    (nan || back == Ok(code)).then_some(rounded)
}
