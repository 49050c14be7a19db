//! One panel of k: B packed, and tasks over all cores.

use std::ops::Range;

use super::chains::Main;
use super::{Slab, TASK_ROWS};
use crate::context::Flags;
use crate::tile::{MicroKernel, Operand, Packed};
use tcverify_tensor::{Block, parallel};

/// Some rows times some strips.
struct Task {
    /// Which block of rows, counted from the slab's first.
    block: usize,
    strip: usize,
    /// How many strips.
    run: usize,
}

impl<K: MicroKernel> Slab<'_, K> {
    /// Adds the products of a panel of k to the accumulators of a block of columns, and those perhaps to
    /// main ones.
    pub(super) fn multiply(
        &self,
        k: Range<usize>,
        columns: Range<usize>,
        b: &mut [K::B],
        state: &mut [K::State],
        main: Option<Main>,
        flags: &Flags,
    ) {
        let wide = self.wide();
        let kernel = self.kernel;
        let panel = kernel.panel(k.clone());
        let [of_a, of_b] = Operand::both(self.context.work.problem, self.batch);
        let pack_strip = |i: usize, strip: &mut K::B| {
            let left = columns.start + i * wide;
            let mine = left..columns.end.min(left + wide);
            kernel.pack_b(&panel, of_b, mine.clone(), strip);
            Flags::set(&flags.columns[mine], strip.special());
        };
        let blocks = self.rows.len().div_ceil(TASK_ROWS);
        let pack = |block: usize| {
            let first = self.rows.start + block * TASK_ROWS;
            let rows = first..self.rows.end.min(first + TASK_ROWS);
            let a = kernel.pack_a(&panel, of_a, rows);
            Flags::set(&flags.rows[block * TASK_ROWS..], a.special());
            a
        };
        let tasks = self.tasks(b.len());
        // With one block of rows every strip of B has one task, which packs the strip right before it reads it.
        let (rooms, packed): (Vec<Option<&mut K::B>>, &[K::B]) = match (blocks, tasks.first()) {
            (1, Some(task)) => (b.chunks_mut(task.run).map(<[_]>::first_mut).collect(), &[]),
            _ => {
                let strips = b.iter_mut().enumerate().collect();
                parallel::each_of(strips, &|(i, strip)| pack_strip(i, strip));
                (tasks.iter().map(|_| None).collect(), b)
            }
        };
        // Where a block of rows is several tasks, it is packed once for all of them.
        let shared: Vec<K::A> = if tasks.len() > blocks {
            parallel::map(blocks, pack)
        } else {
            Vec::new()
        };
        let states = self.deal(&tasks, state);
        let (mains, chains) = match main {
            Some(main) => (self.deal(&tasks, main.sums), Some(main.chains)),
            None => (self.deal(&tasks, &mut []), None),
        };
        let states = states.into_iter().zip(mains);
        let tasks = tasks.into_iter().zip(rooms).zip(states).collect();
        parallel::each_of(tasks, &|((task, mut room), (mut states, mut mains))| {
            let own;
            let a = match shared.get(task.block) {
                Some(a) => a,
                None => {
                    own = pack(task.block);
                    &own
                }
            };
            let first = self.rows.start + task.block * TASK_ROWS;
            let rows = first..self.rows.end.min(first + TASK_ROWS);
            let mut scratch = match chains {
                Some(chains) if chains.whole => vec![K::State::default(); TASK_ROWS * wide],
                _ => Vec::new(),
            };
            if room.is_some() {
                let left = columns.start + task.strip * wide;
                let right = columns.end.min(left + task.run * wide);
                of_b.codes.read_ahead(k.clone(), left..right);
            }
            let mut done = 0;
            for i in 0..task.run {
                let left = columns.start + (task.strip + i) * wide;
                let block = Block {
                    batch: self.batch,
                    rows: rows.clone(),
                    columns: left..columns.end.min(left + wide),
                };
                let state = if scratch.is_empty() {
                    &mut *states[i]
                } else {
                    let size = rows.len().next_multiple_of(kernel.tile().0) * wide;
                    scratch[..size].fill(kernel.start(0));
                    &mut scratch[..size]
                };
                let b = match &mut room {
                    Some(room) => {
                        pack_strip(task.strip + i, room);
                        &**room
                    }
                    None => &packed[task.strip + i],
                };
                self.strip(&panel, &k, a, b, &block, state);
                if let Some(chains) = chains {
                    let lines = mains[i].chunks_mut(wide);
                    let lines = rows.clone().zip(state.chunks_mut(wide).zip(lines));
                    for (row, (state, main)) in lines {
                        let main = &mut main[..block.columns.len()];
                        chains.end(kernel, [row, left], state, main);
                    }
                }
                done += rows.len() * block.columns.len();
            }
            (self.context.work.progress)((done * k.len()) as u64);
        });
    }

    /// Blocks of rows times runs of strips: enough for every core, also where rows are few.
    fn tasks(&self, strips: usize) -> Vec<Task> {
        let blocks = self.rows.len().div_ceil(TASK_ROWS);
        let across = self.tasks.div_ceil(blocks);
        let run = strips.div_ceil(across);
        let task = |strip: usize, block| Task {
            block,
            strip,
            run: run.min(strips - strip),
        };
        let firsts = (0..strips).step_by(run);
        firsts
            .flat_map(|strip| (0..blocks).map(move |block| task(strip, block)))
            .collect()
    }

    /// The accumulators of every task, strip by strip; none of an empty state.
    fn deal<'s, S>(&self, tasks: &[Task], state: &'s mut [S]) -> Vec<Vec<&'s mut [S]>> {
        let blocks = self.rows.len().div_ceil(TASK_ROWS);
        let run = tasks.first().map_or(1, |task| task.run);
        let mut dealt: Vec<Vec<&mut [S]>> = tasks
            .iter()
            .map(|task| Vec::with_capacity(task.run))
            .collect();
        let wide = self.wide();
        for (strip, state) in state.chunks_mut(self.padded_rows() * wide).enumerate() {
            for (block, state) in state.chunks_mut(TASK_ROWS * wide).enumerate() {
                dealt[strip / run * blocks + block].push(state);
            }
        }
        dealt
    }
}
