//! How rows of a result are computed: all of them in bands, some of them, one of them in detail.

use std::ops::Range;

use super::BoundOp;
use crate::common::deadline;
use crate::emu::{Band, Engine};
use crate::float32::{Event, Log, UlpPerturbation};
use crate::tensor::parallel;

/// Elements of a result that are in memory at a time, one unit at the least.
const BAND: usize = 4 << 20;
/// Elements that are worth a task.
const TASK: usize = 1 << 13;

impl BoundOp<'_> {
    fn fill(&self, rows: Range<usize>, out: &mut [u32]) {
        match self.engine {
            Engine::Exact => self.work.exactly(rows, out),
            Engine::With(_) => self.work.natively(rows, out),
        }
    }

    /// Computes the result and hands it to `sink`, from the first row to the last; memory is bounded by a band.
    /// `progress` gets numbers of elements.
    pub fn run(&self, progress: &(dyn Fn(u64) + Sync), mut sink: impl FnMut(Band)) {
        let (rows, columns, width) = (self.rows(), self.columns(), self.format.bytes());
        let mut start = 0;
        while start < rows {
            // Units brought together into tasks, tasks into a band.
            let mut tasks = Vec::new();
            let mut next = start;
            while next < rows && (next == start || (next - start) * columns < BAND) {
                let first = next;
                while next < rows && (next == first || (next - first) * columns < TASK) {
                    next = self.work.end(next).min(rows);
                }
                tasks.push(first..next);
            }
            let mut codes = vec![0u32; (next - start) * columns];
            let mut rest = codes.as_mut_slice();
            let mut pieces = Vec::with_capacity(tasks.len());
            for task in tasks {
                let (piece, others) = rest.split_at_mut(task.len() * columns);
                rest = others;
                pieces.push((task, piece));
            }
            parallel::each_of(pieces, &|(task, piece): (Range<usize>, &mut [u32])| {
                let elements = piece.len() as u64;
                self.unit_by_unit(task, piece);
                progress(elements);
            });
            let mut payload = vec![0u8; codes.len() * width];
            for (bytes, code) in payload.chunks_exact_mut(width).zip(&codes) {
                bytes.copy_from_slice(&code.to_le_bytes()[..width]);
            }
            sink(Band {
                first_row: start,
                payload: &payload,
            });
            start = next;
        }
    }

    /// Computes some rows, ascending, and hands the codes of each to `sink`, in their order. Those that follow each other
    /// in a unit are computed together.
    pub fn some(
        &self,
        rows: &[usize],
        progress: &(dyn Fn(u64) + Sync),
        mut sink: impl FnMut(&[u32]),
    ) {
        let columns = self.columns().max(1);
        for rows in rows.chunks((BAND / columns).max(1)) {
            let mut tasks: Vec<Range<usize>> = Vec::new();
            let mut end = 0;
            for &row in rows {
                match tasks.last_mut() {
                    Some(task) if task.end == row && row < end => task.end += 1,
                    _ => {
                        tasks.push(row..row + 1);
                        end = self.work.end(row);
                        // Small units side by side.
                        while (end - row) * columns < TASK && end < self.rows() {
                            end = self.work.end(end);
                        }
                    }
                }
            }
            let computed = parallel::map(tasks.len(), |i| {
                let task = tasks[i].clone();
                let mut codes = vec![0; task.len() * columns];
                self.unit_by_unit(task, &mut codes);
                progress(codes.len() as u64);
                codes
            });
            computed
                .iter()
                .flat_map(|codes| codes.chunks(columns))
                .for_each(&mut sink);
        }
    }

    fn unit_by_unit(&self, task: Range<usize>, piece: &mut [u32]) {
        let columns = self.columns();
        let mut row = task.start;
        while row < task.end {
            deadline::poll();
            let end = self.work.end(row).min(task.end);
            let at = (row - task.start) * columns..(end - task.start) * columns;
            self.fill(row..end, &mut piece[at]);
            row = end;
        }
    }

    /// Computes one row alone: codes of the result's format.
    pub fn row(&self, row: usize) -> Vec<u32> {
        let mut out = vec![0; self.columns()];
        self.fill(row..row + 1, &mut out);
        out
    }

    /// Computes one row as if one of its operations had given the next number; the codes, and how many operations there
    /// are.
    pub fn bumped(&self, row: usize, at: u64, up: bool) -> (Vec<u32>, u64) {
        let perturbation = UlpPerturbation::new(at, up);
        let mut out = vec![0; self.columns()];
        self.work.perturbed(&perturbation, row, &mut out);
        (out, perturbation.seen())
    }

    /// Products of a row that the tensor core adds up, of attention.
    pub fn products(&self) -> u64 {
        self.work.products()
    }

    /// Computes one row by the specification and records every operation: the events, how many had no room, and the
    /// codes.
    pub fn trace(&self, row: usize, room: usize) -> (Vec<Event>, u64, Vec<u32>) {
        let log = Log::with_room(room);
        let mut out = vec![0; self.columns()];
        self.work.tracing(&log, row, &mut out);
        let (events, lost) = log.finish();
        (events, lost, out)
    }
}
