//! Schedules that take FP64 or FP32 operands apart and multiply the parts in a narrower format.

use crate::emu::schedule::{Overrides, Schedule};
use crate::num::Format;

/// Numbers of slices, the commonest first.
const SLICES: [usize; 6] = [7, 8, 6, 9, 10, 5];

/// Tiles of kernels that take the operands of a tile apart, the commonest first.
const TILES: [usize; 4] = [32, 64, 16, 128];

/// Presets, and whether their tiles decide bits.
const PRESETS: [(&str, bool); 12] = [
    ("cutlass-bf16x9", false),
    ("cutlass-bf16x9-4-bands", false),
    ("cutlass-bf16x9-3-bands", false),
    ("triton-tf32x3-third", true),
    ("triton-tf32x3-second", true),
    ("triton-tf32x3", true),
    ("triton-bf16x3", true),
    ("triton-bf16x6", true),
    ("xla-bf16x9", true),
    ("cutlass-3xtf32", false),
    ("cutlass-3xtf32-staged", false),
    ("cublas-fp64-slices", false),
];

/// A preset, and every variant of it that is worth a try.
pub struct Emulation {
    pub preset: &'static Schedule,
    /// What the instruction multiplies.
    pub narrow: Format,
    pub variants: Vec<Overrides>,
}

/// The emulations of products of this format.
pub fn emulations(wide: Format) -> Vec<Emulation> {
    let all = PRESETS.into_iter().filter_map(|(name, tiled)| {
        let preset = Schedule::preset(name).expect("a built-in schedule");
        let [_, narrow] = preset.spec.emulates().filter(|[of, _]| *of == wide)?;
        Some(Emulation {
            preset,
            narrow,
            variants: variants(wide, tiled),
        })
    });
    all.collect()
}

fn variants(wide: Format, tiled: bool) -> Vec<Overrides> {
    let none = Overrides::default();
    if wide == Format::Fp64 {
        let of = |&slices: &usize| Overrides {
            slices: Some(slices),
            ..none.clone()
        };
        return SLICES.iter().map(of).collect();
    }
    if !tiled {
        return vec![none];
    }
    let of = |&tile: &usize| Overrides {
        tile_k: Some(tile),
        ..none.clone()
    };
    TILES.iter().map(of).collect()
}
