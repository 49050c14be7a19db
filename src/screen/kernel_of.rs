//! Whether a D is what another kernel or another architecture computes.

use sha2::{Digest, Sha256};

use super::tiles::Tiles;
use crate::candidates::{Asked, Conditions, candidates, guesses};
use crate::check::{Check, Prepared, ScheduleRequest};
use crate::commit::Hash;
use crate::deadline;
use crate::emu::Catalogue;
use crate::emu::schedule::Overrides;
use crate::num::Format;

/// Another computation that gives a D.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// In words.
    pub name: String,
    /// Its check, for this product.
    pub check: Check,
    /// Whether only the order of sums is another.
    pub schedule: bool,
}

impl Other {
    /// The same computation of another product.
    pub fn of(&self, product: &Check) -> Other {
        let mut check = product.clone();
        if self.schedule {
            check.schedule = self.check.schedule.clone();
            // A kernel's words say who computes; an order alone does not.
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

/// Presets with slices that are tried besides, and how many slices.
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
    let mut tries = Vec::new();
    let mut check = prepared.spelled_out();
    if check.schedule != ScheduleRequest::default() {
        // Other orders are of the same instruction, and one chain over K is one of them.
        check.model.instruction = Some(prepared.choice().instruction.name.clone());
        check.schedule = ScheduleRequest::default();
        tries.push(Other {
            name: format!("{} in one chain over K", prepared.choice().instruction.name),
            check: check.clone(),
            schedule: true,
        });
    }
    let order = match arithmetic.accumulator {
        Format::Fp32 => guesses(&Asked {
            arithmetic,
            problem: &problem,
            result,
            scales: None,
            zeros: true,
        }),
        _ => Vec::new(),
    };
    for guess in order.into_iter().take(MOST) {
        let schedule = ScheduleRequest::preset(&guess.preset.name, &guess.overrides);
        let check = Check {
            schedule,
            ..check.clone()
        };
        tries.push(Other {
            name: format!("{} with {guess}", prepared.choice().instruction.name),
            check,
            schedule: true,
        });
    }
    // What divides K in place, which the list above has of cuBLAS alone.
    if arithmetic.accumulator == Format::Fp32 {
        for name in IN_PLACE {
            for slices in SLICES {
                let overrides = Overrides {
                    split_k: Some(slices),
                    ..Overrides::default()
                };
                let check = Check {
                    schedule: ScheduleRequest::preset(name, &overrides),
                    ..check.clone()
                };
                tries.push(Other {
                    name: format!(
                        "{} with {name} (split_k {slices})",
                        prepared.choice().instruction.name
                    ),
                    check,
                    schedule: true,
                });
            }
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
        let check = check.clone().with_rule(name, &candidate.arithmetic);
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
    let Ok(prepared) = other.check.prepare() else {
        return false;
    };
    let replay = prepared.replay();
    if replay.format() != tiles.format || replay.problem.d_shape() != tiles.shape {
        return false;
    }
    let [rows, columns] = tiles.place(index);
    let codes = replay.part(0, rows, columns, &deadline::unheard);
    let width = tiles.format.bytes();
    let payload = codes
        .iter()
        .flat_map(|code| code.to_le_bytes().into_iter().take(width));
    if !payload.eq(tile.iter().copied()) {
        return false;
    }
    let d = super::make::payload(&prepared, &());
    Hash(Sha256::digest(&d).into()) == digest
}
