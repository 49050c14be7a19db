//! Attention in blocks of keys, from the last to the first, as FlashAttention computes it: products by the tensor core,
//! exponentials by the special function unit, the result being the accumulator that lives.

mod plan;
mod thread;

use std::ops::Range;

use super::arrays::Rows;
use super::float32::{
    Arith, Divide, Flushing, Function, MINUS_INFINITY, ONE, divide, ex2_approx, is_nan, max,
    negated,
};
use super::row_kernel::RowKernel;
use super::rule::{Attention, WithoutSum};
use crate::common::deadline;
use crate::emu::{Arithmetic, Engine, Problem, Replay};
use crate::num::Format;
use crate::tensor::Tensor;
pub use plan::plan;

/// Where things are in the arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    /// Heads are the axis before tokens.
    pub heads_first: bool,
    pub heads: usize,
    pub kv_heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub dim: usize,
    /// Elements of a head of v.
    pub value_dim: usize,
}

impl Axes {
    /// The row of a batch, head and token in an array.
    pub fn row(&self, heads: usize, tokens: usize, [batch, head, token]: [usize; 3]) -> usize {
        if self.heads_first {
            (batch * heads + head) * tokens + token
        } else {
            (batch * tokens + token) * heads + head
        }
    }

    /// Batch, head and token of a row of Q.
    pub fn place(&self, row: usize) -> [usize; 3] {
        let all = self.heads * self.queries;
        let (batch, inside) = (row / all, row % all);
        if self.heads_first {
            [batch, inside / self.queries, inside % self.queries]
        } else {
            [batch, inside % self.heads, inside / self.heads]
        }
    }
}

pub struct Kernel<'a> {
    rule: &'a Attention,
    arithmetic: &'a Arithmetic,
    engine: Engine<'static>,
    q: Rows<'a>,
    k: Rows<'a>,
    v: Rows<'a>,
    at: Axes,
    /// Rows of Q and keys of a block.
    tile: [usize; 2],
    /// What the head's elements of q and k, and those of v, are filled up to.
    wide: [usize; 2],
    causal: bool,
    /// The factor of scores times log2(e).
    scale: u32,
    /// Which scores of a block have their power by the polynomial.
    polynomial: Vec<bool>,
    output: Output,
}

/// Which output is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Result,
    /// The largest score of a query, as it was when it ended.
    Largest,
    /// The sum of a query's powers.
    Sum,
}

/// Four lanes share a row of the accumulator; lane t has columns 8a + 2t and 8a + 2t + 1.
const LANES: usize = 4;

/// What is carried from block to block of some rows of one head.
struct State {
    largest: Vec<u32>,
    /// A lane's sum.
    sums: Vec<[u32; LANES]>,
    /// The accumulator, row by row.
    out: Vec<u32>,
}

impl RowKernel for Kernel<'_> {
    fn end(&self, row: usize) -> usize {
        let Axes { heads, queries, .. } = self.at;
        if self.output != Output::Result && self.at.heads_first {
            return row + 1;
        }
        let of_row = self.queries_of_row();
        let row = row * of_row;
        let [batch, _, token] = self.at.place(row);
        let next = queries.min((token / self.tile[0] + 1) * self.tile[0]);
        if self.at.heads_first {
            row - token + next
        } else {
            (batch * queries + next) * heads / of_row
        }
    }

    fn products(&self) -> u64 {
        (self.queries_of_row() * self.at.keys * (self.wide[0] + self.wide[1])) as u64
    }

    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let of_row = self.queries_of_row();
        let (rows, dim) = match self.output {
            Output::Result => (rows, self.at.value_dim),
            _ => (rows.start * of_row..rows.end * of_row, 1),
        };
        // Rows of one head and tile at a time, wherever they lie.
        let mut groups: Vec<([usize; 3], Vec<usize>)> = Vec::new();
        let mut places: std::collections::BTreeMap<[usize; 3], usize> = Default::default();
        for row in rows.clone() {
            let [batch, head, token] = self.at.place(row);
            let key = [batch, head, token / self.tile[0]];
            let group = *places.entry(key).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            groups[group].1.push(row);
        }
        for (key, members) in groups {
            let codes = if self.rule.ftz {
                self.head(Flushing(a), key, &members)
            } else {
                self.head(a, key, &members)
            };
            for (row, codes) in members.into_iter().zip(codes.chunks(dim)) {
                let at = (row - rows.start) * dim;
                out[at..at + dim].copy_from_slice(codes);
            }
        }
    }
}

impl Kernel<'_> {
    /// How many queries a row of what is computed is made of.
    fn queries_of_row(&self) -> usize {
        match self.output {
            Output::Result => 1,
            _ if self.at.heads_first => self.at.queries,
            _ => self.at.heads,
        }
    }

    /// Some rows of one tile of one head.
    fn head<A: Arith>(&self, a: A, [batch, head, tile]: [usize; 3], rows: &[usize]) -> Vec<u32> {
        let Axes {
            heads,
            kv_heads,
            queries,
            keys,
            ..
        } = self.at;
        let [m, n] = self.tile;
        let tokens: Vec<usize> = rows.iter().map(|&row| self.at.place(row)[2]).collect();
        let kv_head = head / (heads / kv_heads);
        // A causal row ends where the last query would see the last key.
        let visible = |token: usize| {
            if self.causal {
                (token + 1 + keys).saturating_sub(queries).min(keys)
            } else {
                keys
            }
        };
        let last = if self.causal {
            ((tile + 1) * m + keys).saturating_sub(queries).min(keys)
        } else {
            keys
        };
        let blocks = last.div_ceil(n);
        let masking = match (
            self.causal,
            queries.is_multiple_of(m) && keys.is_multiple_of(n),
        ) {
            (false, _) => 1,
            (true, true) => m.div_ceil(n),
            (true, false) => m.div_ceil(n) + 1,
        };
        let q = self.gathered(&self.q, self.wide[0], rows.iter().map(|&row| Some(row)));
        let mut state = State {
            largest: vec![MINUS_INFINITY; rows.len()],
            sums: vec![[0; LANES]; rows.len()],
            out: vec![0; rows.len() * self.wide[1]],
        };
        let ascending = self.rule.thread.as_ref().is_some_and(|t| t.ascending);
        for step in 0..blocks {
            let block = if ascending { step } else { blocks - 1 - step };
            a.stage(format_args!(
                "block {} of {blocks}: keys {} to {}",
                step + 1,
                block * n,
                ((block + 1) * n).min(keys) - 1
            ));
            let token = |key: usize| {
                (key < keys).then(|| self.at.row(kv_heads, keys, [batch, kv_head, key]))
            };
            let of_block = block * n..(block + 1) * n;
            let k = self.gathered(&self.k, self.wide[0], of_block.clone().map(token));
            let v = self.gathered(&self.v, self.wide[1], of_block.clone().map(token));
            let mut scores = self.multiplied(&q, &k, true, None);
            for (scores, &token) in scores.chunks_mut(n).zip(&tokens) {
                let seen = visible(token).saturating_sub(of_block.start).min(n);
                for (key, &score) in scores[..seen].iter().enumerate() {
                    a.noted(|| format!("q . key {}", of_block.start + key), score);
                }
                scores[seen..].fill(MINUS_INFINITY);
            }
            let p = match &self.rule.thread {
                Some(thread) => {
                    let masked = tokens.iter().map(|&token| self.masked(head, token, block));
                    let block = (step == 0, of_block.start, masked.collect());
                    self.block_of_threads(a, thread, block, scores, &mut state)
                }
                None => {
                    let checked = self.causal && step < masking;
                    self.block(a, step == 0, checked, scores, &mut state)
                }
            };
            state.out = self.multiplied(&p, &v, false, Some(&state.out));
            a.stage(format_args!(
                "powers times values, added to the accumulator"
            ));
            for (i, &out) in state.out.iter().enumerate() {
                let element = i % self.wide[1];
                a.column(element);
                a.noted(|| format!("accumulator {element}"), out);
            }
        }
        match self.output {
            Output::Result => self.finished(a, state),
            Output::Largest => state.largest,
            Output::Sum => state.sums.into_iter().map(|[sum, ..]| sum).collect(),
        }
    }

    /// Scores into powers; the state is scaled to the new maximum.
    fn block<A: Arith>(
        &self,
        a: A,
        first: bool,
        checked: bool,
        mut scores: Vec<u32>,
        state: &mut State,
    ) -> Tensor {
        let n = self.tile[1];
        let ex2 = |x: u32| {
            if self.rule.ftz {
                a.mufu(Function::Ex2, x)
            } else {
                ex2_approx(a, x, false)
            }
        };
        let to = self.q.format;
        let mut codes = Vec::with_capacity(scores.len() * to.bytes());
        for (row, scores) in scores.chunks_mut(n).enumerate() {
            let before = state.largest[row];
            let largest = scores.iter().fold(before, |largest, &s| max(largest, s));
            state.largest[row] = largest;
            a.noted(|| "the largest score so far".to_owned(), largest);
            let mut correction = ONE;
            if !first {
                let now = if checked && largest == MINUS_INFINITY {
                    0
                } else {
                    largest
                };
                a.stage(format_args!("the old sum, scaled to the new maximum"));
                correction = ex2(a.mul(a.sub(before, now), self.scale));
                self.scaled(a, row, correction, state);
            }
            a.stage(format_args!("powers of scores"));
            let scaled = match largest {
                MINUS_INFINITY => 0,
                largest => a.mul(largest, self.scale),
            };
            for s in scores.iter_mut() {
                let exponent = if self.rule.fused_exponent {
                    a.fma(*s, self.scale, negated(scaled))
                } else {
                    a.sub(a.mul(*s, self.scale), scaled)
                };
                *s = ex2(exponent);
            }
            a.stage(format_args!("the lanes' sums"));
            for (lane, sum) in state.sums[row].iter_mut().enumerate() {
                let columns = (2 * lane..n).step_by(8).flat_map(|c| [c, c + 1]);
                for (i, column) in columns.enumerate() {
                    let p = scores[column];
                    *sum = match (i, first) {
                        (0, true) => p,
                        (0, false) if self.rule.fused_sum => a.fma(*sum, correction, p),
                        (0, false) => a.add(a.mul(*sum, correction), p),
                        _ => a.add(*sum, p),
                    };
                }
            }
            a.stage(format_args!("powers rounded to {to}"));
            for &p in &*scores {
                let code = a.round(p, to).to_le_bytes();
                codes.extend_from_slice(&code[..to.bytes()]);
            }
        }
        Tensor::from_payload(to, vec![state.largest.len(), n], codes)
    }

    /// The accumulator of a row times a factor.
    fn scaled<A: Arith>(&self, a: A, row: usize, factor: u32, state: &mut State) {
        let wide = self.wide[1];
        let out = &mut state.out[row * wide..(row + 1) * wide];
        for (i, o) in out.iter_mut().enumerate() {
            a.column(i);
            *o = a.mul(*o, factor);
        }
    }

    fn finished<A: Arith>(&self, a: A, state: State) -> Vec<u32> {
        let to = self.q.format;
        let mut codes = Vec::with_capacity(state.largest.len() * self.at.value_dim);
        for (row, out) in state.out.chunks(self.wide[1]).enumerate() {
            let [s0, s1, s2, s3] = state.sums[row];
            a.stage(format_args!(
                "the sum, its reciprocal, the result times that"
            ));
            let sum = match self.rule.thread {
                Some(_) => s0,
                None => a.add(a.add(s0, s2), a.add(s1, s3)),
            };
            let inverse = if is_nan(sum) || sum << 1 == 0 {
                match self.rule.without_sum {
                    WithoutSum::One => ONE,
                    WithoutSum::Zero => 0,
                }
            } else {
                match self.rule.reciprocal {
                    Divide::Approx => a.mufu(Function::Rcp, sum),
                    how => divide(a, how, ONE, sum, self.rule.ftz),
                }
            };
            let scaled = out[..self.at.value_dim].iter().enumerate().map(|(i, &o)| {
                a.column(i);
                a.round(a.mul(o, inverse), to) as u32
            });
            codes.extend(scaled);
        }
        codes
    }

    /// Rows of an array side by side, padded with zeros to the kernel's width; a row that is not there is zeros.
    fn gathered(
        &self,
        array: &Rows,
        wide: usize,
        rows: impl Iterator<Item = Option<usize>>,
    ) -> Tensor {
        let width = array.format.bytes();
        let mut payload = Vec::new();
        let mut codes = vec![0u32; array.columns];
        let mut count = 0;
        for row in rows {
            match row {
                Some(row) => array.codes(row, 0..array.columns, &mut codes),
                None => codes.fill(0),
            }
            for code in &codes {
                payload.extend_from_slice(&code.to_le_bytes()[..width]);
            }
            payload.resize(payload.len() + (wide - array.columns) * width, 0);
            count += 1;
        }
        Tensor::from_payload(array.format, vec![count, wide], payload)
    }

    /// A product by the tensor core, in f32 codes row by row, from zeros or from an accumulator.
    fn multiplied(&self, a: &Tensor, b: &Tensor, transposed: bool, c: Option<&[u32]>) -> Vec<u32> {
        let b = if transposed {
            b.planes().transposed()
        } else {
            b.planes()
        };
        let c = c.map(|c| {
            let payload: Vec<u8> = c.iter().flat_map(|code| code.to_le_bytes()).collect();
            Tensor::from_payload(Format::Fp32, vec![a.shape()[0], b.columns()], payload)
        });
        let problem = Problem::new(a.planes(), b, c.as_ref().map(Tensor::planes));
        let replay = Replay {
            problem: problem.expect("shapes are the tile's"),
            arithmetic: self.arithmetic,
            convert_to: None,
            engine: self.engine,
            kernel: None,
        };
        let product = replay.collect(&deadline::unheard);
        let payload = product.as_payload().expect("canonical");
        let codes = payload
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        codes.collect()
    }
}
