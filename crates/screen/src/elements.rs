//! Elements of D that one part of a GPU computes.

use std::fmt;

use crate::emu::layout::LayoutKind;

/// Elements of D that pass through one part of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Lane(usize),
    /// Rows, or columns (axis 1), whose number has this remainder.
    Every {
        axis: usize,
        period: usize,
        rest: usize,
    },
}

/// Periods at which wrong addresses repeat on faulty GPUs (NVIDIA, arXiv 2605.04213).
pub const PERIODS: [usize; 4] = [16, 8, 4, 2];

impl Where {
    pub fn holds(self, at: [usize; 2]) -> bool {
        match self {
            Where::Lane(wanted) => lane(at[0], at[1]) == wanted,
            Where::Every { axis, period, rest } => at[axis] % period == rest,
        }
    }

    /// Where nine of ten elements or more lie: a lane, else rows or columns of the longest period.
    pub fn most(elements: &[[usize; 2]]) -> Option<Where> {
        let lanes = (0..32).map(Where::Lane);
        let every = PERIODS.iter().flat_map(|&period| {
            let rests =
                move |axis| (0..period).map(move |rest| Where::Every { axis, period, rest });
            [0, 1].into_iter().flat_map(rests)
        });
        let mut all = lanes.chain(every);
        all.find(|place| {
            let inside = elements.iter().filter(|&&at| place.holds(at)).count();
            inside > 0 && 10 * inside >= 9 * elements.len()
        })
    }
}

/// As `--inject` has it.
impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Where::Lane(lane) => write!(f, "lane={lane}"),
            Where::Every { axis, period, rest } => {
                write!(f, "{}={rest}/{period}", ["rows", "columns"][axis])
            }
        }
    }
}

/// The lane by which a simulated fault and a judgement name a unit, as PTX `mma` with D of 16x8 has it, and `wgmma`,
/// whose warps have 16 rows each. For other layouts it only names the elements at these places.
pub fn lane(row: usize, column: usize) -> usize {
    LayoutKind::MmaM16n8.unit_of(row, column)
}
