//! Which lane of a warp holds an element of D.

use crate::emu::layout::LayoutKind;

/// The lane by which a simulated fault and a judgement name a unit: that of PTX `mma` with D of 16x8 and of
/// `wgmma`, whose warps have 16 rows each. Of other layouts it is a name for elements at these places.
pub fn lane(row: usize, column: usize) -> usize {
    LayoutKind::MmaM16n8.unit_of(row, column)
}

/// The elements of a lane in D, row by row.
pub fn of_lane([m, n]: [usize; 2], wanted: usize) -> impl Iterator<Item = [usize; 2]> {
    let all = (0..m).flat_map(move |row| (0..n).map(move |column| [row, column]));
    all.filter(move |[row, column]| lane(*row, *column) == wanted)
}
