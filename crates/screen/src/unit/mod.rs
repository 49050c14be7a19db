//! The parts of a unit that a fault can break, and steps of a unit whose datapath is broken: one file a kind.
//!
//! A faulty step runs the sound one, takes down its trace, changes numbers on their way, and lets the step's own methods
//! align, add and round them again. A kind without a file has faults of operands, scales and results alone.

mod block_dot;
mod block_window;
mod chained;
mod exact_sum;
mod fma;
mod fused;
mod fused_floor;
mod integers;
mod sliced;
#[cfg(test)]
mod tests;

use crate::emu::step::{Carried, Products, Step, StepKind, TermTrace, TraceObserver};
use crate::num::{Class, Format, Formats, Rounding, Unpacked, shift_right};

/// The parts of a unit, and the bits of the numbers in them; 0 where a kind has no such part.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// Beside each other, in a step.
    pub multipliers: usize,
    pub aligners: usize,
    /// Whether a fault can change what a multiplier returns.
    pub tells_products: bool,
    /// Bits of a term behind the aligner.
    pub aligned_bits: u32,
    pub sum_bits: u32,
    /// Bits of a rounded result below this one are always 0.
    pub lowest_result_bit: u32,
}

/// Bits below the larger term's leading one that a fused multiply-add of this format has wires for: a product of two
/// significands and room for the rounding.
pub fn fma_bits(accumulator: Format) -> u32 {
    2 * (accumulator.fraction_bits() + 1) + 2
}

/// The wires between the parts of a unit: what a part returns is what the next one takes.
pub trait Datapath {
    /// The magnitude of a product, from multiplier `k` of the step to the aligner.
    fn multiplied(&self, k: usize, magnitude: u128) -> u128;

    /// A term of the sum, from its aligner to the adder, in units of the grid. Aligners are counted as products or, where
    /// several products are added before, as their sums. C's is sound.
    fn shifted(&self, aligner: usize, kept: i128) -> i128;

    /// The sum, from the adder to the rounding, in units of the grid.
    fn added(&self, sum: i128) -> i128;

    /// The next accumulator, from the rounding to its register.
    fn rounded(&self, format: Format, code: u64) -> u64;
}

/// A kind of step whose parts a fault can break.
trait Parts: StepKind {
    fn unit(&self, formats: Formats) -> Unit;

    /// [`StepKind::add`] through this datapath.
    fn add_through(&self, products: Products, c: u64, datapath: &impl Datapath) -> u64;
}

macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        impl Unit {
            pub fn of(step: &Step, formats: Formats) -> Unit {
                match step {
                    $(Step::$kind(step) => step.unit(formats),)*
                    other => Unit {
                        tells_products: false,
                        ..Unit::plain(other.span())
                    },
                }
            }
        }

        fn add_through(step: &Step, products: Products, c: u64, datapath: &impl Datapath) -> u64 {
            match step {
                $(Step::$kind(step) => step.add_through(products, c, datapath),)*
                sound => sound.add(products, c, &mut ()),
            }
        }
    };
}

kinds! {
    BlockDot,
    BlockWindow,
    ComplementDot,
    ExactSum,
    FlooredPairs,
    FmaChain,
    Fused,
    FusedFloor,
    FusedHalves,
    IntegerSum,
    OrderedFma,
    PairwiseFlush,
    Sliced,
    SlicedIntegers,
}

/// [`StepKind::run`] through a datapath.
pub fn run_through(
    step: &Step,
    products: Products,
    carried: &mut Carried,
    datapath: &impl Datapath,
) {
    let Products {
        formats,
        a,
        b,
        scales,
    } = products;
    if let Carried::Exact(_) = carried {
        return step.run_scaled(formats, a, b, scales, carried);
    }
    step.carry(formats, carried, a.len(), &mut |c| {
        let code = add_through(step, products, c, datapath);
        datapath.rounded(formats.accumulator, code)
    });
}

impl Unit {
    /// A multiplier and an aligner for each product of a step; nothing else is known.
    fn plain(span: usize) -> Unit {
        Unit {
            multipliers: span,
            aligners: span,
            tells_products: true,
            aligned_bits: 0,
            sum_bits: 0,
            lowest_result_bit: 0,
        }
    }

    /// Terms and their sum on one grid.
    fn aligned(self, bits: u32) -> Unit {
        Unit {
            aligned_bits: bits,
            sum_bits: bits,
            ..self
        }
    }
}

/// A part of a step.
#[derive(Debug, Default)]
struct Stage {
    /// Its products, counted within the step.
    k: Vec<usize>,
    exponent: i32,
    grid: i32,
    terms: Vec<TermTrace>,
    /// Whether it came to a sum: not beside infinities and NaNs, nor where all is zero.
    adds: bool,
}

#[derive(Default)]
struct Stages(Vec<Stage>);

impl Stages {
    fn last(&mut self) -> &mut Stage {
        if self.0.is_empty() {
            self.0.push(Stage::default());
        }
        self.0.last_mut().expect("there is one")
    }
}

impl TraceObserver for Stages {
    fn stage(&mut self, _: &'static str, k: impl FnOnce() -> Vec<usize>) {
        self.0.push(Stage {
            k: k(),
            ..Stage::default()
        });
    }

    fn term(&mut self, term: impl FnOnce() -> TermTrace) {
        self.last().terms.push(term());
    }

    fn aligned(&mut self, exponent: i32, grid: i32) {
        let stage = self.last();
        (stage.exponent, stage.grid) = (exponent, grid);
    }

    fn sum(&mut self, _: i128, _: i32, _: bool) {
        self.last().adds = true;
    }
}

/// What a sound step does: the last stage, and those before it.
///
/// # Errors
/// The result of a step whose last stage adds nothing.
fn traced(step: &impl StepKind, products: Products, c: u64) -> Result<(Stage, Vec<Stage>), u64> {
    let mut stages = Stages::default();
    let code = step.add(products, c, &mut stages);
    let last = stages.0.pop().filter(|last| last.adds);
    last.map(|last| (last, stages.0)).ok_or(code)
}

/// `(-1)^negative * magnitude * 2^lsb` in units of `2^grid`.
fn align(negative: bool, magnitude: u128, lsb: i32, grid: i32, rounding: Rounding) -> i128 {
    let kept = match u32::try_from(grid - lsb) {
        _ if magnitude == 0 => 0,
        Ok(down) => shift_right(magnitude, down, rounding, negative),
        Err(_) => magnitude << (lsb - grid),
    };
    signed(negative, kept)
}

fn signed(negative: bool, magnitude: u128) -> i128 {
    if negative {
        -(magnitude as i128)
    } else {
        magnitude as i128
    }
}

/// A traced product behind its multiplier and its aligner, `k`.
fn product(term: &TermTrace, k: usize, rounding: Rounding, datapath: &impl Datapath) -> i128 {
    let magnitude = datapath.multiplied(k, term.magnitude);
    let kept = align(term.negative, magnitude, term.lsb, term.kept_lsb, rounding);
    datapath.shifted(k, kept)
}

/// Operands whose product is what multiplier `k` returns; only for units that take no more than the product from them.
fn multiplied(
    a: Unpacked,
    b: Unpacked,
    k: usize,
    datapath: &impl Datapath,
) -> (Unpacked, Unpacked) {
    let right = u128::from(a.significand) * u128::from(b.significand);
    let given = datapath.multiplied(k, right);
    if given == right || a.class != Class::Finite || b.class != Class::Finite {
        return (a, b);
    }
    let with = |x: Unpacked, significand| Unpacked { significand, ..x };
    (with(a, given as u64), with(b, 1))
}
