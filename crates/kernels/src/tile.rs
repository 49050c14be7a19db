//! The interface of a vector kernel, by which [`super::driver`] computes a product.

use std::ops::Range;

use tcverify_tensor::{Plane, Problem};

/// A matrix with its scales, if it has any.
#[derive(Clone, Copy)]
pub struct Operand<'a> {
    pub codes: Plane<'a>,
    /// And how many k share one.
    pub scales: Option<(Plane<'a>, usize)>,
}

impl<'a> Operand<'a> {
    /// A and B of one matrix of a product.
    pub fn both(problem: &Problem<'a>, batch: usize) -> [Operand<'a>; 2] {
        let Problem { a, b, scales, .. } = problem;
        [
            Operand {
                codes: a.plane(batch),
                scales: scales.map(|s| (s.a.plane(batch), s.block)),
            },
            Operand {
                codes: b.plane(batch),
                scales: scales.map(|s| (s.b.plane(batch), s.block)),
            },
        ]
    }
}

/// What scales' exponents span; low > high where there are none.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub low: i32,
    pub high: i32,
}

impl Span {
    pub const EMPTY: Span = Span {
        low: 1 << 20,
        high: -(1 << 20),
    };

    pub fn add(&mut self, exponent: i32) {
        self.low = self.low.min(exponent);
        self.high = self.high.max(exponent);
    }
}

/// A panel of k, padded to whole steps.
#[derive(Clone, Debug)]
pub struct Panel {
    pub k: Range<usize>,
    pub padded: usize,
}

impl Panel {
    /// Padded to whole steps of so many products.
    pub fn filled(k: Range<usize>, group: usize) -> Panel {
        Panel {
            padded: k.len().next_multiple_of(group),
            k,
        }
    }
}

/// A kernel: packs operands and multiplies a strip of rows of A by a strip of columns of B over a
/// panel of k.
pub trait MicroKernel: Sync {
    /// An accumulator between panels.
    type State: Copy + Default + Send + Sync;
    /// What the kernel keeps of a panel of k.
    type Panel: Sync;
    /// Rows of A, packed: some strips.
    type A: Packed + Send + Sync;
    /// A strip of columns of B, packed.
    type B: Packed + Send + Sync;

    /// Rows of a strip of A and columns of a strip of B.
    fn tile(&self) -> (usize, usize);

    /// How many k a panel has: whole steps.
    fn depth(&self) -> usize;

    /// The k of a panel where there is one strip of rows, so that B is read once.
    fn shallow(&self) -> usize {
        self.depth()
    }

    fn specials(&self) -> SpecialRule;

    /// The accumulator that means what C's code means.
    fn start(&self, code: u64) -> Self::State;

    /// The code of an accumulator; none if the exact engine has to compute the element.
    fn finish(&self, state: Self::State) -> Option<u64>;

    /// The code of an accumulator with which the exact engine goes on where a tile is given up. Of an element that this
    /// engine computes in the end, any NaN's.
    fn between(&self, state: Self::State) -> u64 {
        let code = self.finish(state);
        code.expect("kernels that give up tiles have codes for accumulators")
    }

    /// The code of an FP32 accumulator that cannot be a NaN; none where [`MicroKernel::finish`] decides.
    fn as_f32(_: Self::State) -> Option<u32> {
        None
    }

    /// Whether a result of zero has the right sign; otherwise the exact engine computes it. On the way no
    /// sign of a zero matters.
    fn knows_zeros(&self) -> bool {
        true
    }

    /// Whether the model gives the same if A and B change places, NaNs included.
    fn commutes(&self) -> bool {
        true
    }

    fn panel(&self, k: Range<usize>) -> Self::Panel;

    /// Packs rows of A.
    fn pack_a(&self, panel: &Self::Panel, operand: Operand, rows: Range<usize>) -> Self::A;

    /// Room for a strip of B.
    fn room(&self) -> Self::B;

    /// Packs columns of B, at most a strip.
    fn pack_b(&self, panel: &Self::Panel, operand: Operand, columns: Range<usize>, b: &mut Self::B);

    /// Adds the products of a panel to a tile of accumulators, row by row. False if a precondition
    /// failed; then the state is as it was, and the exact engine computes the tile.
    fn run(
        &self,
        panel: &Self::Panel,
        a: &Self::A,
        strip: usize,
        b: &Self::B,
        state: &mut [Self::State],
        fallback: &dyn StepFallback,
    ) -> bool;
}

/// Which packed rows or columns have an infinity or NaN.
pub trait Packed {
    /// Empty where the driver does not need it.
    fn special(&self) -> &[bool];
}

/// The exact engine, for single steps of single elements whose preconditions fail.
pub trait StepFallback {
    /// The code of the accumulator of an element of the tile after the products `k` of the panel.
    fn step(&self, row: usize, column: usize, k: Range<usize>, code: u64) -> u64;
}

/// What a kernel does with infinities and NaNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialRule {
    /// It computes with them.
    Native,
    /// It takes them for zeros. [`super::special`] corrects the elements that they reach, which does not
    /// depend on the arithmetic. A NaN has this code.
    Zeros { nan: u64 },
    /// It may compute anything with them: the exact engine computes every element that they reach.
    Exactly,
}
