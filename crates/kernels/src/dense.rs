//! Kernels on plain numbers: they share the packing, and differ in their arithmetic.

use std::marker::PhantomData;
use std::ops::Range;

use super::platform::{Platform, Vectorized};
use super::real::Real;
use super::tile::{MicroKernel, Operand, Packed, Panel, SpecialRule, StepFallback};
use super::vector::Vector;
use tcverify_num::Format;
use tcverify_tensor::Wide;

/// Rows of a strip of A.
pub const ROWS: usize = 4;

/// Rows of A in strips of [`ROWS`], `[strip][k][ROWS]`, or a strip of columns of B,
/// `[k][columns]`; what fills them up is +0.
#[derive(Debug, Default)]
pub struct Dense<T> {
    pub values: Vec<T>,
    /// Whether a row (or column) has an infinity or NaN; empty where the plan computes with them.
    pub special: Vec<bool>,
    /// The range of each strip; empty unless the plan measures.
    pub ranges: Vec<ExponentRange>,
}

impl<T> Packed for Dense<T> {
    fn special(&self) -> &[bool] {
        &self.special
    }
}

/// The smallest and the largest exponent field of nonzero numbers, as [`Real::exponent_field`] has
/// them; low > high where there are none.
#[derive(Clone, Copy, Debug)]
pub struct ExponentRange {
    pub low: i32,
    pub high: i32,
}

impl ExponentRange {
    /// The range of no numbers, where infinities and NaNs have the field `top`.
    pub fn empty(top: i32) -> ExponentRange {
        ExponentRange { low: top, high: 0 }
    }

    #[inline(always)]
    fn of<T: Real>(values: &[T]) -> ExponentRange {
        let mut range = ExponentRange::empty(T::TOP_FIELD);
        for &value in values {
            let (field, top) = (value.exponent_field(), T::TOP_FIELD);
            let low = if value.is_zero() { top } else { field };
            // Infinities and NaNs have none.
            let high = if field == top { 0 } else { field };
            range.low = range.low.min(low);
            range.high = range.high.max(high);
        }
        range
    }
}

/// Arithmetic on plain numbers: a kernel except its packing.
pub trait Plain: Sync {
    /// What it computes with.
    type Real: Real;
    /// An accumulator between panels.
    type State: Copy + Default + Send + Sync;

    /// Whether it needs the exponents of strips.
    const MEASURES: bool = false;

    /// The formats of A and B.
    fn formats(&self) -> [Format; 2];

    /// See [`MicroKernel`] for this and the next three.
    fn depth(&self) -> usize;
    fn specials(&self) -> SpecialRule;
    fn start(&self, code: u64) -> Self::State;
    fn finish(&self, state: Self::State) -> Option<u64>;

    /// See [`MicroKernel`].
    fn between(&self, state: Self::State) -> u64 {
        let code = self.finish(state);
        code.expect("kernels that give up tiles have codes for accumulators")
    }

    /// See [`MicroKernel`].
    fn commutes(&self) -> bool {
        true
    }

    /// Panels are filled up to whole groups of so many k; more than one only where zero products
    /// change nothing.
    fn group(&self) -> usize {
        1
    }

    /// Which operands of a format are zeros, if it has some.
    fn flushed(&self, _format: Format) -> Option<Flushed> {
        None
    }

    /// Whether the arithmetic is exact for these strips and accumulators.
    fn suits(&self, _a: Strip<Self::Real>, _b: Strip<Self::Real>, _state: &[Self::State]) -> bool {
        true
    }

    /// Adds the products of a panel.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    unsafe fn run<V: Vector>(&self, tile: DenseTile<Self::Real, Self::State>);
}

/// Numbers below 2^`below` are zeros, of their sign if `signed`, else +0.
#[derive(Clone, Copy, Debug)]
pub struct Flushed {
    pub below: i32,
    pub signed: bool,
}

/// A strip of packed numbers.
#[derive(Clone, Copy, Debug)]
pub struct Strip<'a, T> {
    pub values: &'a [T],
    /// None unless the plan measures.
    pub range: Option<ExponentRange>,
}

/// A tile: `[k][ROWS]`, `[k][columns]` and `[ROWS][columns]`; all have these lengths.
pub struct DenseTile<'a, T, S> {
    pub a: &'a [T],
    pub b: &'a [T],
    pub state: &'a mut [S],
    pub depth: usize,
    pub columns: usize,
    /// The ranges of the strips of A and B; none unless the plan measures.
    pub ranges: Option<[ExponentRange; 2]>,
    pub fallback: &'a dyn StepFallback,
}

/// The kernel of some arithmetic, with the vectors of a platform.
pub struct DenseKernel<P> {
    pub plan: P,
    pub platform: Platform,
}

impl<P: Plain> MicroKernel for DenseKernel<P> {
    type State = P::State;
    type Panel = Panel;
    type A = Dense<P::Real>;
    type B = Dense<P::Real>;

    fn tile(&self) -> (usize, usize) {
        (ROWS, P::Real::ACROSS * self.platform.lanes())
    }

    fn depth(&self) -> usize {
        self.plan.depth()
    }

    fn specials(&self) -> SpecialRule {
        self.plan.specials()
    }

    fn commutes(&self) -> bool {
        self.plan.commutes()
    }

    fn start(&self, code: u64) -> P::State {
        self.plan.start(code)
    }

    fn finish(&self, state: P::State) -> Option<u64> {
        self.plan.finish(state)
    }

    fn between(&self, state: P::State) -> u64 {
        self.plan.between(state)
    }

    fn panel(&self, k: Range<usize>) -> Panel {
        Panel::filled(k, self.plan.group())
    }

    fn pack_a(&self, panel: &Panel, operand: Operand, rows: Range<usize>) -> Dense<P::Real> {
        let ([format, _], count) = (self.plan.formats(), rows.len());
        let mut a = Dense {
            values: self.platform.wide(PackA {
                format,
                panel,
                operand,
                rows,
                number: PhantomData,
            }),
            ..Dense::default()
        };
        self.prepare(format, &mut a, ROWS, panel, count);
        a
    }

    fn room(&self) -> Dense<P::Real> {
        Dense::default()
    }

    fn pack_b(
        &self,
        panel: &Panel,
        operand: Operand,
        columns: Range<usize>,
        b: &mut Dense<P::Real>,
    ) {
        let ([_, format], wide, count) = (self.plan.formats(), self.tile().1, columns.len());
        self.platform.wide(PackB {
            format,
            panel,
            operand,
            columns,
            wide,
            b: &mut *b,
        });
        self.prepare(format, b, wide, panel, count);
    }

    fn run(
        &self,
        panel: &Panel,
        a: &Dense<P::Real>,
        strip: usize,
        b: &Dense<P::Real>,
        state: &mut [P::State],
        fallback: &dyn StepFallback,
    ) -> bool {
        let depth = panel.padded;
        let (a, b) = (a.strip(strip, depth * ROWS), b.strip(0, b.values.len()));
        let suits = self.plan.suits(a, b, state);
        if suits {
            let tile = DenseTile {
                a: a.values,
                b: b.values,
                state,
                depth,
                columns: self.tile().1,
                ranges: a.range.zip(b.range).map(|(a, b)| [a, b]),
                fallback,
            };
            let plan = &self.plan;
            self.platform.vectorized(RunTile { plan, tile });
        }
        suits
    }
}

impl<P: Plain> DenseKernel<P> {
    /// What there is to do to packed numbers of a format: `count` rows or columns, `lines` in a strip.
    fn prepare(
        &self,
        format: Format,
        packed: &mut Dense<P::Real>,
        lines: usize,
        panel: &Panel,
        count: usize,
    ) {
        let size = panel.padded * lines;
        if let Some(flushed) = self.plan.flushed(format) {
            packed.flush(flushed);
        }
        if self.plan.specials() != SpecialRule::Native {
            packed.zero_specials(lines, size, count);
        }
        if P::MEASURES {
            packed.measure(size);
        }
    }
}

/// A tile, for the vectors of a platform.
struct RunTile<'a, P: Plain> {
    plan: &'a P,
    tile: DenseTile<'a, P::Real, P::State>,
}

impl<P: Plain> Vectorized for RunTile<'_, P> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Vector>(self) {
        let RunTile { plan, tile } = self;
        assert!(tile.columns == P::Real::ACROSS * V::LANES);
        assert!(tile.a.len() == tile.depth * ROWS && tile.b.len() == tile.depth * tile.columns);
        assert!(tile.state.len() == ROWS * tile.columns);
        assert!(tile.depth.is_multiple_of(plan.group()));
        // SAFETY: the same promise.
        unsafe { plan.run::<V>(tile) }
    }
}

/// Packs rows of A.
struct PackA<'a, T> {
    format: Format,
    panel: &'a Panel,
    operand: Operand<'a>,
    rows: Range<usize>,
    number: PhantomData<T>,
}

impl<T: Real> Wide for PackA<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    fn run(self) -> Vec<T> {
        let Panel { k, padded } = self.panel;
        let mut values = vec![T::default(); self.rows.len().div_ceil(ROWS) * padded * ROWS];
        let mut row = vec![T::default(); k.len()];
        for (i, at) in self.rows.enumerate() {
            let block = [at..at + 1, k.clone()];
            T::read(self.format, self.operand.codes, block, &mut row);
            let strip = &mut values[i / ROWS * padded * ROWS..];
            for (out, &value) in strip.iter_mut().skip(i % ROWS).step_by(ROWS).zip(&row) {
                *out = value;
            }
        }
        values
    }
}

/// Packs columns of B, a strip of `wide`.
struct PackB<'a, T> {
    format: Format,
    panel: &'a Panel,
    operand: Operand<'a>,
    columns: Range<usize>,
    wide: usize,
    b: &'a mut Dense<T>,
}

impl<T: Real> Wide for PackB<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Panel { k, padded } = self.panel;
        let (wide, count) = (self.wide, self.columns.len());
        let block = [k.clone(), self.columns];
        let values = &mut self.b.values;
        if count == wide {
            values.resize(padded * wide, T::default());
            let (mine, rest) = values.split_at_mut(k.len() * wide);
            T::read(self.format, self.operand.codes, block, mine);
            rest.fill(T::default());
            return;
        }
        let mut narrow = vec![T::default(); k.len() * count];
        T::read(self.format, self.operand.codes, block, &mut narrow);
        values.clear();
        values.resize(padded * wide, T::default());
        for (out, row) in values.chunks_mut(wide).zip(narrow.chunks(count)) {
            out[..count].copy_from_slice(row);
        }
    }
}

impl<T> Dense<T> {
    fn strip(&self, strip: usize, size: usize) -> Strip<'_, T> {
        Strip {
            values: &self.values[strip * size..][..size],
            range: self.ranges.get(strip).copied(),
        }
    }
}

impl<T: Real> Dense<T> {
    fn flush(&mut self, Flushed { below, signed }: Flushed) {
        let smallest = below + T::TOP_FIELD / 2;
        for value in &mut self.values {
            let zero = if signed { value.zero() } else { T::default() };
            // Infinities and NaNs have the largest field.
            *value = if value.exponent_field() < smallest {
                zero
            } else {
                *value
            };
        }
    }

    /// Notes the exponents of strips of `size` numbers.
    fn measure(&mut self, size: usize) {
        self.ranges.clear();
        self.ranges
            .extend(self.values.chunks(size).map(ExponentRange::of));
    }

    /// Notes the rows or columns, `lines` in a strip of `size` numbers, that have an infinity or NaN,
    /// and makes those numbers zeros.
    fn zero_specials(&mut self, lines: usize, size: usize, count: usize) {
        self.special.clear();
        self.special.resize(count, false);
        for (strip, values) in self.values.chunks_mut(size).enumerate() {
            if values.iter().all(|value| value.is_finite()) {
                continue;
            }
            for values in values.chunks_mut(lines) {
                for (line, value) in values.iter_mut().enumerate() {
                    if !value.is_finite() {
                        *value = T::default();
                        self.special[strip * lines + line] = true;
                    }
                }
            }
        }
    }
}
