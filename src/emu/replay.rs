//! A whole (batched) product, on all cores, a band of rows at a time.

use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::engine::{Engine, Progress, Promotion};
use super::schedule::{self, BoundSchedule, Run};
use super::{Arithmetic, GatheredRows, Problem};
use crate::common::deadline;
use crate::num::{Format, Rounding};
use crate::tensor::{Tensor, parallel};

/// Bytes of D in memory at a time (at least 64 rows). Bands of small matrices are smaller: a band then stays in a cache
/// from writing to reading, and no matrix is packed twice.
const BAND: usize = 32 << 20;
const SMALL_BAND: usize = 1 << 20;

/// The fewest elements of a task that turns codes into a payload.
const STORED: usize = 1 << 12;

/// Neighbouring columns of B that are read together where elements are computed alone.
const TOGETHER: usize = 32;

/// A product to compute and the arithmetic to compute it with.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    pub problem: Problem<'a>,
    pub arithmetic: &'a Arithmetic,
    /// Round every element of the finished product once, to nearest even, to this format.
    pub convert_to: Option<Format>,
    pub engine: Engine<'a>,
    /// The schedule of the kernel around the instruction; without one, a chain over all of K.
    pub kernel: Option<BoundSchedule<'a>>,
}

/// Some consecutive rows of D; the matrices of a batch count on one after another.
#[derive(Debug)]
pub struct Band<'a> {
    pub first_row: usize,
    /// Their canonical payload.
    pub payload: &'a [u8],
}

/// A place in D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    pub batch: usize,
    pub row: usize,
    pub column: usize,
}

/// How much of a product the exact engine computed, in multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactShare {
    pub total: u64,
    /// Those that the exact engine computed.
    pub exact: u64,
}

impl<'a> Replay<'a> {
    /// D's format.
    pub fn format(&self) -> Format {
        self.convert_to.unwrap_or(self.arithmetic.accumulator)
    }

    pub fn shape(&self) -> Vec<usize> {
        self.problem.d_shape()
    }

    /// Multiply-adds of the whole product, those of zeros that fill tiles up included.
    pub fn work(&self) -> u64 {
        let k = self.problem.k;
        let span = self.arithmetic.step.span();
        let products = self.kernel.map_or(k, |kernel| kernel.products(k, span));
        self.problem.work() / k.max(1) as u64 * products as u64
    }

    /// Computes D and hands it to `sink` from the first row to the last. Memory stays bounded by
    /// the size of a band, whatever the size of D.
    ///
    /// # Errors
    /// The first error of `sink`, which ends the replay.
    pub fn run<E>(
        &self,
        progress: Progress,
        mut sink: impl FnMut(Band) -> Result<(), E>,
    ) -> Result<(), E> {
        self.bands(progress, |band, _| sink(band))
    }

    /// Computes D, discards it and counts the exact engine's share: for tests, and to see why a product
    /// takes long.
    pub fn exact_share(&self) -> ExactShare {
        let mut exact = 0;
        self.all_bands(&deadline::unheard, |_, more| exact += more);
        let total = self.work();
        ExactShare { total, exact }
    }

    /// Computes some rows of D, which count on from matrix to matrix, as [`Replay::run`] computes all.
    ///
    /// # Errors
    /// The first error of `sink`, which ends the replay.
    ///
    /// # Panics
    /// If D has no such rows.
    pub fn rows<E>(
        &self,
        rows: Range<usize>,
        progress: Progress,
        mut sink: impl FnMut(Band) -> Result<(), E>,
    ) -> Result<(), E> {
        let (m, n) = (self.problem.m, self.problem.n);
        assert!(rows.end <= self.problem.batches() * m);
        let mut start = rows.start;
        while start < rows.end {
            let batch = start / m;
            let end = rows.end.min((batch + 1) * m);
            let here = start - batch * m..end - batch * m;
            self.rectangle(batch, here, 0..n).run(progress, |band| {
                sink(Band {
                    first_row: start + band.first_row,
                    payload: band.payload,
                })
            })?;
            start = end;
        }
        Ok(())
    }

    /// As [`Replay::run`]; every band comes with the multiply-adds that the exact engine spent on it.
    fn bands<E>(
        &self,
        progress: Progress,
        mut sink: impl FnMut(Band, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.assert_suited();
        let row_bytes = self.problem.n * self.format().bytes();
        let rows = self.problem.batches() * self.problem.m;
        let m = self.problem.m;
        let band_rows = match SMALL_BAND / (m * row_bytes) {
            0 => (BAND / row_bytes).max(64),
            matrices => matrices * m,
        };
        let band_rows = band_rows.min(rows);
        let mut payload = vec![0u8; band_rows * row_bytes];
        let mut codes = vec![0u64; band_rows * self.problem.n];
        for first_row in (0..rows).step_by(band_rows) {
            let count = band_rows.min(rows - first_row);
            let payload = &mut payload[..count * row_bytes];
            let exact = self.fill(first_row, &mut codes[..count * self.problem.n], progress);
            self.store(&codes, payload);
            sink(Band { first_row, payload }, exact)?;
        }
        Ok(())
    }

    /// All bands for a sink that cannot fail.
    fn all_bands(&self, progress: Progress, mut sink: impl FnMut(Band, u64)) {
        let Ok(()) = self.bands(progress, |band, exact| {
            sink(band, exact);
            Ok::<(), Infallible>(())
        });
    }

    /// A rectangle of one matrix as a product of its own.
    pub fn rectangle(&self, batch: usize, rows: Range<usize>, columns: Range<usize>) -> Replay<'a> {
        let start = [rows.start, columns.start];
        Replay {
            problem: self.problem.matrix(batch).part(rows, columns),
            kernel: self.kernel.map(|kernel| kernel.part(batch, start)),
            ..*self
        }
    }

    /// Computes D and keeps it.
    pub fn collect(&self, progress: Progress) -> Tensor {
        let mut all = Vec::new();
        self.all_bands(progress, |band, _| all.extend_from_slice(band.payload));
        Tensor::from_payload(self.format(), self.shape(), all)
    }

    /// Computes a rectangle of one matrix: codes of D's format, row by row.
    pub fn part(
        &self,
        batch: usize,
        rows: Range<usize>,
        columns: Range<usize>,
        progress: Progress,
    ) -> Vec<u64> {
        let width = self.format().bytes();
        let mut codes = Vec::with_capacity(rows.len() * columns.len());
        let part = self.rectangle(batch, rows, columns);
        part.all_bands(progress, |band, _| {
            codes.extend(band.payload.chunks_exact(width).map(|bytes| {
                let mut code = [0; 8];
                code[..width].copy_from_slice(bytes);
                u64::from_le_bytes(code)
            }));
        });
        codes
    }

    /// # Panics
    /// If the problem is not one of this arithmetic; whoever reads files checks that first.
    fn assert_suited(&self) {
        let block = |scaled: Option<usize>| scaled.unwrap_or(0);
        assert_eq!(
            block(self.problem.scales.map(|s| s.block)),
            block(self.arithmetic.scale.map(|s| s.block)),
            "a problem has the scales of its model"
        );
        let longest = self.arithmetic.longest_k().unwrap_or(usize::MAX);
        assert!(self.problem.k <= longest, "D of one step is no C");
    }

    /// One element of a larger D, of which this problem has the row of A and the column of B alone;
    /// `kernel` is that of the larger product.
    pub fn alone(&self, at: Element, kernel: Option<BoundSchedule>) -> u64 {
        let Element { batch, row, column } = at;
        let kernel = kernel.map(|kernel| kernel.part(batch, [0, column]));
        self.gathered(self.problem, kernel, &[row])[0]
    }

    /// Computes some elements alone: codes of D's format, in the order given.
    pub fn elements(&self, at: &[Element]) -> Vec<u64> {
        self.assert_suited();
        let place = |&i: &usize| {
            let Element { batch, row, column } = at[i];
            let tile = self.kernel.and_then(|kernel| kernel.tile(row, column));
            let tile = tile.map(|(tile, _)| tile);
            ((batch, tile, column / TOGETHER), row, column)
        };
        let mut order: Vec<usize> = (0..at.len()).collect();
        order.sort_unstable_by_key(place);
        let neighbours: Vec<_> = order.chunk_by(|x, y| place(x).0 == place(y).0).collect();
        let computed = parallel::map(neighbours.len(), |group| {
            let elements: Vec<_> = neighbours[group].iter().map(|&i| at[i]).collect();
            self.neighbours(&elements)
        });
        let mut codes = vec![0; at.len()];
        for (indices, found) in neighbours.iter().zip(computed) {
            for (&i, code) in indices.iter().zip(found) {
                codes[i] = code;
            }
        }
        codes
    }

    /// Elements of neighbouring columns of one matrix, in the order of their rows.
    fn neighbours(&self, elements: &[Element]) -> Vec<u64> {
        let Element { batch, row, column } = elements[0];
        let left = column / TOGETHER * TOGETHER;
        let mut columns = left..self.problem.n.min(left + TOGETHER);
        if let Some((_, [_, tile])) = self.kernel.and_then(|kernel| kernel.tile(row, column)) {
            columns = columns.start.max(tile.start)..columns.end.min(tile.end);
        }
        let part = self.problem.matrix(batch);
        let part = part.part(0..self.problem.m, columns.clone());
        let kernel = |column| Some(self.kernel?.part(batch, [0, column]));
        if elements.len() <= 4 || part.selected.is_some() {
            // Not worth bringing together.
            let alone = |&Element { row, column, .. }: &Element| {
                let local = column - columns.start;
                let problem = part.part(row..row + 1, local..local + 1);
                self.gathered(problem, kernel(column), &[row])[0]
            };
            return elements.iter().map(alone).collect();
        }
        let mut rows: Vec<usize> = elements.iter().map(|element| element.row).collect();
        rows.dedup();
        // Rows and columns that lie far apart are brought together once.
        let gathered = GatheredRows::of(&part, &rows);
        let problem = gathered.problem();
        let position = |element: &Element| {
            let row = rows.binary_search(&element.row).expect("gathered");
            (row, element.column - columns.start)
        };
        if !self.engine.on_cpu().computes(self.arithmetic) {
            let alone = |element: &Element| {
                let (row, column) = position(element);
                let problem = problem.part(row..row + 1, column..column + 1);
                self.gathered(problem, kernel(element.column), &[element.row])[0]
            };
            return elements.iter().map(alone).collect();
        }
        // Computing all columns of these rows takes a kernel less time than the exact engine needs for
        // some of them.
        let all = self.gathered(problem, kernel(columns.start), &rows);
        let code = |element: &Element| {
            let (row, column) = position(element);
            all[row * columns.len() + column]
        };
        elements.iter().map(code).collect()
    }

    /// Codes of D's format of a small part of one tile of D: `rows` are its rows in D.
    fn gathered(
        &self,
        problem: Problem,
        kernel: Option<BoundSchedule>,
        rows: &[usize],
    ) -> Vec<u64> {
        let part = Replay {
            problem,
            arithmetic: self.arithmetic,
            engine: self.engine.on_cpu(),
            kernel: None,
            ..*self
        };
        if let Some(kernel) = kernel {
            let kernel = kernel.gathered(rows);
            let span = self.arithmetic.step.span();
            let traversal = kernel.traversal(problem.k, span, rows[0], kernel.place.column);
            let mut run = Run::new(&part, kernel, &deadline::unheard);
            return run.block(&kernel, &problem, &traversal);
        }
        let mut codes = vec![0; problem.m * problem.n];
        part.codes(0, &mut codes, &deadline::unheard);
        codes.into_iter().map(|code| part.convert(code)).collect()
    }

    /// Computes the rows of D from `first_row` on that `codes` has room for, before what ends a bare chain.
    /// Returns how many multiply-adds fell to the exact engine.
    pub fn fill(&self, first_row: usize, codes: &mut [u64], progress: Progress) -> u64 {
        if self.problem.selected.is_some() {
            return self.fill_by_rows(first_row, codes, progress);
        }
        let Some(kernel) = self.kernel else {
            return self.codes(first_row, codes, progress);
        };
        let mut bare = *self;
        bare.kernel = None;
        let mut run = Run::new(&bare, kernel, progress);
        run.fill(first_row, codes);
        run.exact
    }

    /// Computes rows of D for a compressed A: together, or each as a product with the rows of B that it selects.
    fn fill_by_rows(&self, first_row: usize, codes: &mut [u64], progress: Progress) -> u64 {
        let work = self.arithmetic.work(&self.problem, progress);
        if let (None, Some(fast)) = (self.kernel, self.engine.on_cpu().fast())
            && let Some(exact) = fast.fill(self.arithmetic, work, first_row, codes)
        {
            return exact;
        }
        let (m, n) = (self.problem.m, self.problem.n);
        let exact = AtomicU64::new(0);
        parallel::chunks_mut(codes, n, &|i, codes| {
            let (batch, row) = ((first_row + i) / m, (first_row + i) % m);
            let mut of_row = self.rectangle(batch, row..row + 1, 0..n);
            of_row.engine = self.engine.on_cpu();
            exact.fetch_add(of_row.fill(0, codes, progress), Ordering::Relaxed);
        });
        exact.into_inner()
    }

    /// Codes in D's format, as its payload.
    fn store(&self, codes: &[u64], payload: &mut [u8]) {
        let n = self.problem.n;
        let width = self.format().bytes();
        // A kernel's epilogue has converted them.
        let unchanged = self.kernel.is_some()
            || self
                .convert_to
                .is_none_or(|to| to == self.arithmetic.accumulator);
        payload
            .par_chunks_mut(n * width)
            .with_min_len(STORED.div_ceil(n))
            .zip(codes.par_chunks(n))
            .for_each(|(bytes, codes)| match (width, unchanged) {
                // Loops over common widths are worth compiling by themselves.
                (2, true) => {
                    for (bytes, &code) in bytes.chunks_exact_mut(2).zip(codes) {
                        bytes.copy_from_slice(&(code as u16).to_le_bytes());
                    }
                }
                (4, true) => {
                    for (bytes, &code) in bytes.chunks_exact_mut(4).zip(codes) {
                        bytes.copy_from_slice(&(code as u32).to_le_bytes());
                    }
                }
                _ => {
                    for (bytes, &code) in bytes.chunks_exact_mut(width).zip(codes) {
                        let code = if unchanged { code } else { self.convert(code) };
                        bytes.copy_from_slice(&code.to_le_bytes()[..width]);
                    }
                }
            });
    }

    /// The bare chains over K: codes of the accumulator's format, from `first_row` on. Returns how many
    /// multiply-adds fell to the exact engine.
    pub(super) fn codes(&self, first_row: usize, codes: &mut [u64], progress: Progress) -> u64 {
        let (problem, arithmetic) = (&self.problem, self.arithmetic);
        let exact = (self.engine).fill(arithmetic, problem, first_row, codes, progress);
        if self.is_filled_up(problem.k) {
            let fill = |code: &mut u64| *code = arithmetic.filled_up(problem.k, *code);
            codes.par_iter_mut().for_each(fill);
        }
        exact
    }

    /// Whether zero products that fill up the last instruction can show.
    fn is_filled_up(&self, k: usize) -> bool {
        let whole = self.arithmetic.instruction_k;
        whole.is_some_and(|whole| !k.is_multiple_of(whole))
    }

    /// Whether [`Replay::promoted`] is worth a try.
    pub(super) fn may_promote(&self) -> bool {
        let fast = self.engine.fast();
        fast.is_some_and(|fast| fast.promotes(self.arithmetic))
    }

    /// Sums of chains of a product of one matrix, if an engine computes them in one go: codes, and
    /// the multiply-adds that fell to the exact engine.
    pub(super) fn promoted(
        &self,
        promotion: Promotion,
        progress: Progress,
    ) -> Option<(Vec<u32>, u64)> {
        // The engine goes from chain to chain at once.
        let mut first = 0;
        for &end in promotion.ends {
            if self.is_filled_up(end - first) {
                return None;
            }
            first = end;
        }
        let (arithmetic, work) = (
            self.arithmetic,
            self.arithmetic.work(&self.problem, progress),
        );
        self.engine.fast()?.promoted(arithmetic, work, promotion)
    }

    /// A code of the accumulator's format as D has it, without a kernel.
    pub fn convert(&self, code: u64) -> u64 {
        let from = self.arithmetic.accumulator;
        let Some(to) = self.convert_to.filter(|&to| to != from) else {
            return code;
        };
        // What becomes of a NaN is the step's.
        let natively = from == Format::Fp32
            && code & 0x7fff_ffff <= 0x7f80_0000
            && !self.engine.is_exact()
            && self.arithmetic.rounding_to(to) == Rounding::NearestEven;
        match to {
            Format::Bf16 if natively => schedule::to_bf16(code as u32).into(),
            Format::Fp16 if natively => schedule::to_fp16(code as u32).into(),
            _ => self.arithmetic.converted(code, to),
        }
    }
}
