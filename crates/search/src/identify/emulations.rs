//! Candidates that take FP32 or FP64 operands apart and multiply the parts in a narrower format.

use std::borrow::Cow;

use super::captured::Captured;
use super::readings::Readings;
use super::schedules::ScheduleContext;
use crate::candidates::{Candidate, Emulation, Guess, Name, emulations};
use crate::emu::schedule::BoundSchedule;
use crate::emu::{Architecture, Catalogue};
use crate::num::Format;

/// Formats that kernels emulate.
const WIDE: [Format; 2] = [Format::Fp32, Format::Fp64];

/// Every unit of a narrow format under every emulation of the files' own format, where A, B and D share one; `units` lists
/// those that multiply a format.
pub fn candidates(
    context: &ScheduleContext,
    units: &dyn Fn(Format) -> Vec<Candidate>,
) -> Vec<Candidate> {
    let mut found = Vec::new();
    for wide in WIDE {
        let all = emulations(wide).into_iter().enumerate();
        for (place, emulation) in all.filter(|(_, one)| may_be(context.captured, wide, one.narrow))
        {
            for unit in suited(units(emulation.narrow), emulation.narrow) {
                let under = under(&unit, &emulation, (wide, place + 1));
                found.extend(under.filter(|candidate| context.takes(candidate)));
            }
        }
    }
    found
}

/// Whether the files may be a product of a wide format by way of a narrow one. FP32 may be read as TF32.
pub fn may_be(captured: &Captured, wide: Format, narrow: Format) -> bool {
    let Captured { a, b, d, .. } = captured;
    let reads =
        |readings: &Readings| readings.has(wide) || narrow == Format::Tf32 && readings.has(narrow);
    d.has(wide) && reads(a) && reads(b)
}

/// Those of a narrow format's units that an emulation may use.
fn suited(mut units: Vec<Candidate>, narrow: Format) -> Vec<Candidate> {
    units.retain(|unit| unit.arithmetic.step.own_schedules().is_none());
    if !narrow.is_integer() {
        return units;
    }
    // cuBLAS's, so on GPUs of CUDA. Sums of slices are exact, so all units give the same: they are one candidate.
    let catalogue = Catalogue::builtin();
    let of_cuda = |name: &Name| {
        let found = catalogue.find(&name.architecture);
        found.is_ok_and(Architecture::has_compute_capability)
    };
    let names = units.iter().flat_map(|unit| unit.names.clone());
    let names: Vec<Name> = names.filter(of_cuda).collect();
    let one = units
        .into_iter()
        .find(|unit| unit.names.iter().any(of_cuda));
    let one = one.map(|one| Candidate { names, ..one });
    one.into_iter().collect()
}

/// The candidates of a unit under the variants of an emulation.
fn under<'a>(
    unit: &'a Candidate,
    emulation: &'a Emulation,
    (wide, rank): (Format, usize),
) -> impl Iterator<Item = Candidate> {
    emulation.variants.iter().filter_map(move |overrides| {
        let mut schedule = emulation.preset.clone();
        overrides.apply(&mut schedule).ok()?;
        let guess = Guess {
            preset: Cow::Borrowed(emulation.preset),
            overrides: overrides.clone(),
            spec: schedule.spec,
            rank,
            plan: None,
        };
        Some(unit.under(guess, wide))
    })
}

/// The most multiply-adds that one of these takes for an element.
pub fn products(candidates: &[Candidate], context: &ScheduleContext) -> usize {
    let of = |candidate: &Candidate| {
        let (given, guess) = (context.given(candidate), candidate.schedule.as_ref()?);
        let kernel = BoundSchedule::new(&guess.spec, &given.values, &given.problem);
        Some(kernel.products(given.problem.k, candidate.arithmetic.step.span()))
    };
    candidates.iter().filter_map(of).max().unwrap_or(0)
}
