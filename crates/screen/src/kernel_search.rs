//! Whether a D is what another kernel or another architecture computes.

use super::make::payload;
use super::tiles::Tiles;
use crate::candidates::{Conditions, Wanted, candidates, guesses};
use crate::check::{Check, Prepared, ScheduleRequest};
use crate::deadline;
use crate::emu::Catalogue;
use crate::emu::schedule::Overrides;
use crate::engines::resources;
use crate::io::tree::Hash;
use crate::num::Format;

/// Another computation that gives a D.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// In plain words.
    pub name: String,
    /// Its check, for this product.
    pub check: Check,
    /// Whether only the order of sums differs.
    pub schedule: bool,
}

impl Other {
    /// What this kernel or schedule computes of another product.
    pub fn of(&self, product: &Check) -> Other {
        let mut check = product.clone();
        if self.schedule {
            check.schedule = self.check.schedule.clone();
            // A kernel text names the instruction; an order alone does not.
            let instruction = &mut check.model.instruction;
            *instruction = instruction.take().or(self.check.model.instruction.clone());
        } else {
            check.model.from = self.check.model.from.clone();
            check.model.instruction = self.check.model.instruction.clone();
        }
        Other {
            check,
            ..self.clone()
        }
    }
}

/// Schedules that are tried, the likely ones first.
const MOST: usize = 400;

/// Presets with slices that are tried, too, and how many slices.
const IN_PLACE: [&str; 4] = [
    "cutlass-splitk-serial",
    "cutlass-splitk-universal",
    "cublas-workspace-f32",
    "cublas-nvjet-splitk",
];
const SLICES: std::ops::RangeInclusive<usize> = 2..=16;

/// The first other computation whose whole D has this digest. `tile` is one that differs, which rules out most.
pub fn other(
    prepared: &Prepared,
    tiles: &Tiles,
    (index, tile): (usize, &[u8]),
    digest: Hash,
) -> Option<Other> {
    let problem = prepared.problem();
    let arithmetic = &prepared.model().arithmetic;
    let result = prepared.replay().format();
    let instruction = &prepared.choice().instruction.name;
    let mut check = prepared.spelled_out();
    let is_scheduled = check.schedule != ScheduleRequest::default();
    if is_scheduled {
        // Other orders are of the same instruction, and one chain over K is one of them.
        check.model.instruction = Some(instruction.clone());
        check.schedule = ScheduleRequest::default();
    }
    let ordered = |schedule, how: String| Other {
        name: format!("{instruction} {how}"),
        check: Check {
            schedule,
            ..check.clone()
        },
        schedule: true,
    };
    let mut tries = Vec::new();
    if is_scheduled {
        let plain = ScheduleRequest::default();
        tries.push(ordered(plain, "in one chain over K".to_owned()));
    }
    if arithmetic.accumulator == Format::Fp32 {
        let guesses = guesses(&Wanted {
            arithmetic,
            problem: &problem,
            result,
            scales: None,
            zeros: true,
            afford: &|_| true,
        });
        tries.extend(guesses.into_iter().take(MOST).map(|guess| {
            let schedule = ScheduleRequest::preset(&guess.preset.name, &guess.overrides);
            ordered(schedule, format!("with {guess}"))
        }));
        // Kernels that split K in place; of these the guesses have cuBLAS's alone.
        for name in IN_PLACE {
            tries.extend(SLICES.map(|slices| {
                let overrides = Overrides {
                    split_k: Some(slices),
                    ..Overrides::default()
                };
                let schedule = ScheduleRequest::preset(name, &overrides);
                ordered(schedule, format!("with {name} (split_k {slices})"))
            }));
        }
    }
    let conditions = Conditions {
        blocks: false,
        a: &|format| format == arithmetic.a,
        b: &|format| format == arithmetic.b,
        c: &|format| format == arithmetic.addend(),
        d: &|format| format == arithmetic.accumulator,
        scale: &|scale| scale.is_none(),
        k: problem.k,
    };
    for candidate in candidates(Catalogue::builtin(), &conditions) {
        let Some(name) = candidate.names.first() else {
            continue;
        };
        if candidate.arithmetic == *arithmetic {
            continue;
        }
        let check = check.clone().with_rule(
            [&name.architecture, &name.instruction],
            &candidate.arithmetic,
        );
        tries.push(Other {
            name: format!("{} {}", name.architecture, name.instruction),
            check,
            schedule: false,
        });
    }
    tries
        .into_iter()
        .find(|other| fits(other, tiles, (index, tile), digest))
}

/// Whether a computation gives this tile, and the whole D.
pub fn fits(other: &Other, tiles: &Tiles, (index, tile): (usize, &[u8]), digest: Hash) -> bool {
    let Ok(prepared) = other.check.prepare(&resources()) else {
        return false;
    };
    let replay = prepared.replay();
    if replay.format() != tiles.format || replay.problem.d_shape() != tiles.shape {
        return false;
    }
    let [rows, columns] = tiles.place(index);
    let codes = replay.part(0, rows, columns, &deadline::unheard);
    let width = tiles.format.bytes();
    let computed = codes
        .iter()
        .flat_map(|code| code.to_le_bytes().into_iter().take(width));
    if !computed.eq(tile.iter().copied()) {
        return false;
    }
    Hash::of([&payload(&prepared, &())[..]]) == digest
}
