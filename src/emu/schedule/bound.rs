//! A schedule at work on one product: its numbers, and where in D it works.

use std::ops::Range;

use super::traversal::{KTraversal, TileOfD};
use super::{Parts, ScaledAt, ScheduleSpec, SharedChains, Values};
use crate::Problem;

/// A schedule and the numbers of one product that it works with.
#[derive(Clone, Copy, Debug)]
pub struct BoundSchedule<'a> {
    pub spec: &'a ScheduleSpec,
    pub values: &'a Values,
    pub place: Place<'a>,
    /// Where sums of chains are kept for other schedules of the same product; for single elements.
    pub(super) shared: Option<&'a SharedChains>,
}

/// Where in D a part of it lies.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub batch: usize,
    /// Of the first element.
    pub row: usize,
    pub column: usize,
    /// The rows, where they are not consecutive.
    pub rows: Option<&'a [usize]>,
    /// Rows and columns of D.
    pub size: [usize; 2],
}

impl Place<'_> {
    pub fn row_of(&self, i: usize) -> usize {
        match self.rows {
            Some(rows) => rows[i],
            None => self.row + i,
        }
    }
}

impl<'a> BoundSchedule<'a> {
    /// For all of a product's D.
    pub fn new(spec: &'a ScheduleSpec, values: &'a Values, problem: &Problem) -> BoundSchedule<'a> {
        BoundSchedule {
            spec,
            values,
            place: Place {
                batch: 0,
                row: 0,
                column: 0,
                rows: None,
                size: [problem.m, problem.n],
            },
            shared: None,
        }
    }

    /// With chains in common with other schedules of the same arithmetic on the same operands.
    pub fn sharing<'b>(&self, chains: &'b SharedChains) -> BoundSchedule<'b>
    where
        'a: 'b,
    {
        BoundSchedule {
            shared: Some(chains),
            ..*self
        }
    }

    /// For a rectangle of one matrix, from this element on.
    pub fn part(&self, batch: usize, [row, column]: [usize; 2]) -> BoundSchedule<'a> {
        debug_assert!(self.place.rows.is_none(), "rows are gathered last");
        BoundSchedule {
            place: Place {
                batch: self.place.batch + batch,
                row: self.place.row + row,
                column: self.place.column + column,
                ..self.place
            },
            ..*self
        }
    }

    /// For some rows of this part.
    pub fn gathered<'b>(&self, rows: &'b [usize]) -> BoundSchedule<'b>
    where
        'a: 'b,
    {
        debug_assert!(self.place.row == 0);
        BoundSchedule {
            place: Place {
                rows: Some(rows),
                ..self.place
            },
            ..*self
        }
    }

    /// Whether the sum of each part is multiplied by scales.
    pub(super) fn scales_parts(&self) -> bool {
        let scaling = self.spec.scales.as_ref();
        scaling.is_some_and(|scaling| scaling.at == ScaledAt::Parts)
    }

    /// Rows and columns of a tile of D, where tiles differ.
    fn tile_size(&self) -> Option<[usize; 2]> {
        match self.spec.split.as_ref()?.parts {
            Parts::Tiles { tile, .. } => Some(tile),
            _ => None,
        }
    }

    /// The tile of D that an element is in, where tiles differ.
    pub fn tile(&self, row: usize, column: usize) -> Option<([usize; 2], [Range<usize>; 2])> {
        let tile = self.tile_size()?;
        let at = [row / tile[0], column / tile[1]];
        let range = |i: usize| at[i] * tile[i]..((at[i] + 1) * tile[i]).min(self.place.size[i]);
        Some((at, [range(0), range(1)]))
    }

    /// How the tile of D with this element is computed, by a unit that adds `span` products in a step.
    ///
    /// # Panics
    /// If a constant of the spec is still open; [`BoundSchedule::check`] refuses that first.
    pub fn traversal(&self, k: usize, span: usize, row: usize, column: usize) -> KTraversal {
        if k == 0 {
            return KTraversal::without_products();
        }
        let tile = self.tile_size().map_or(TileOfD::ONLY, |tile| TileOfD {
            at: [row / tile[0], column / tile[1]],
            count: [0, 1].map(|i| self.place.size[i].div_ceil(tile[i])),
        });
        KTraversal::new(self.spec, k, span, tile).expect("checked beforehand")
    }

    /// The k that the first tile of D leaves out, as ranges: its kernel never adds their products.
    pub fn omitted(&self, k: usize, span: usize) -> Vec<[usize; 2]> {
        let omitted = self.traversal(k, span, 0, 0).omitted.into_iter();
        omitted.map(|k| [k.start, k.end]).collect()
    }

    /// Multiply-adds for one element of D, by the first tile's measure.
    pub fn products(&self, k: usize, span: usize) -> usize {
        if let Some(slices) = self.spec.fixed_point.and_then(|fixed| fixed.slices) {
            return k * (slices * (slices + 1) / 2);
        }
        self.traversal(k, span, 0, 0).products()
    }
}
