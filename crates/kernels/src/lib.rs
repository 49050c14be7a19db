//! Vector kernels for the matrix units of GPUs: packing, cache blocking, tiles over all cores. A [`KernelConfig`] says
//! what is computed, in numbers alone. A tile or step whose preconditions fail goes to the exact engine. All bits are those of
//! that engine.
//!
//! * `models`: which kernel computes a model, and its constants; no other file knows models. `config`: the kernels there are.
//! * `driver`: how a product becomes tiles; `tile`: what a kernel offers; `codes`: how it reads a strip of B.
//! * `group`: fused dot-adds; `lanes`: of products that are added before; `blocks`: of FP4 with scales. `chain`, `ordered`, `pairs`, `rounded`, `half`: IEEE operations. `few`: products cut to grids, a few at a time. `sums`: exact sums, `double_sums` of FP64. `integers`. `slices`: of significands.
//! * `vector`: the instructions; `platform`: the sets of them that this machine has; `vouch`: none is
//!   used before it has passed a self-test (`selftest`) by awkward numbers.
//! * `native`: dot products of this processor, which are judged as a GPU's are.
//! * `selected`: products of a compressed A, as dense ones.
//! * `special`: infinities and NaNs, which most kernels take for zeros.
//!
//! # What bounds each kernel
//!
//! Operations per register of 16 products (8 with AVX2), without those per group and loads. A Zen 5 core with full-width
//! AVX-512 does, per cycle, two multiplications, FMAs, FP additions or conversions, and four integer operations of which two may
//! be any; four in all. The limit is in multiply-adds per cycle and core.
//!
//! | kernel | operations per register | limit |
//! |---|---|---|
//! | `group`, FP32 results | multiply, integer add, convert, integer add | 16 |
//! | `group`, FP16 results | two multiplies, convert, integer add | 11 |
//! | `group`, FP8 with AVX512-VPOPCNTDQ | an FMA | 32 |
//! | `floor` | as FP16 results, and some 50 to 70 per group of 4, 8 or 16 | 3.4, 5.6 or 7 |
//! | `sticky` | two multiplies, two conversions, add, xor, or | 8 |
//! | `lanes`, pairs | some 40 for two: products, exponents, cuts, additions, dead lanes; then as `sticky` | 3 |
//! | `lanes`, fours | an FMA, and some 15 for four | 12 |
//! | `blocks` | 8 for sixteen, and two conversions, two multiplies and two FMAs in FP64 | 36 |
//! | `sums`, groups whose sum FP64 holds | an FMA of two registers in FP64; per group two additions and three conversions of each | 16 without the ends of groups; about 7 of 4, 4 of 2 |
//! | `sums`, others and `exact` | two FMAs of two registers in FP64 | 8; a group of 2 doubles the work |
//! | `double_sums` | 14 of two registers in FP64: a multiplication, an FMA, ten additions, two ands | 1.3 |
//! | `chain`, FP32 | an FMA | 32 |
//! | `chain`, FP64 | an FMA of two registers | 16 |
//! | `ordered` | an FMA | 32; 16 (Emerald Rapids, two operations per cycle) |
//! | `pairs` | 1.5: two multiplies, two FMAs, two adds for four products | 21 |
//! | `rounded`, to odd | for two registers: a multiply, two of an FMA and two of an addition, two tests, a blend | 8 (Emerald Rapids, two operations per cycle) |
//! | `few`, two products | some 32 for two | 2 (Emerald Rapids, two operations per cycle) |
//! | `few`, four products | some 48 for four | 2.7 (the same) |
//! | `half` | an FMA, two ands, subtract, minimum | 13 |
//! | `integers` | a multiply of pairs and an add, for two products | 32 |
//! | `slices` | on registers of twice as many products: eleven once, three per phase; per phase and 16 products some 70 on each register of accumulators | 6 in one phase, 2 in four |
//!
//! Without AVX-512, `sums` has no directed rounding and uses Knuth's two-sum: eleven operations and more instead of one.

mod blocks;
mod chain;
mod codes;
mod config;
mod context;
mod decode;
mod dense;
mod double_sums;
mod driver;
mod few;
mod group;
mod half;
mod integers;
mod lanes;
mod models;
mod native;
mod ordered;
mod pairs;
mod platform;
mod real;
mod recent;
mod rounded;
mod selected;
mod selftest;
mod slices;
mod special;
mod sums;
mod tile;
mod vector;
mod vouch;

use std::sync::atomic::{AtomicU64, Ordering};

pub use blocks::{BlockPlan, BlockStep};
pub use chain::ChainPlan;
pub use config::KernelConfig;
pub use few::{CutRule, FewPlan};
pub use group::{DotAdd, FloorPlan, FloorStep, GroupPlan, StickyPlan, StickyStep};
pub use half::HalfPlan;
pub use integers::IntegerPlan;
pub use lanes::{LanePlan, LaneRule, LaneStep};
pub use models::plan;
pub use native::{Lanes, Native};
pub use ordered::OrderedPlan;
pub use pairs::PairsPlan;
pub use platform::Platform;
pub use rounded::{RoundedPlan, Toward};
pub use slices::{Blocks, SlicePlan};
pub use sums::{Scaled, SumPlan};

use tcverify_emu::engine::{Promotion, Work};

use self::config::{WithKernel, with_kernel};
use self::context::Context;

/// Computes the rows of D from `first_row` on, matrices of a batch one after another, that `out` has room for:
/// codes of the accumulator's format. Returns how many multiply-adds the exact engine did; none if nothing was
/// computed: the product is too small to pack, or the kernel fails its self-test.
fn fill(
    work: Work,
    (plan, platform): (KernelConfig, Platform),
    first_row: usize,
    out: &mut [u64],
) -> Option<u64> {
    struct Fill<'a> {
        context: Context<'a>,
        first_row: usize,
        out: &'a mut [u64],
    }

    impl WithKernel for Fill<'_> {
        type Out = ();

        fn with<K: tile::MicroKernel>(self, kernel: &K) {
            driver::fill(self.context, kernel, self.first_row, self.out);
        }
    }

    if driver::is_small(work.problem) {
        return None;
    }
    let platform = platform.vouched(&plan, work.formats).ok()?;
    let fallback = AtomicU64::new(0);
    let fill = Fill {
        context: Context {
            work,
            fallback: &fallback,
        },
        first_row,
        out,
    };
    with_kernel((plan, platform), fill);
    Some(fallback.load(Ordering::Relaxed))
}

/// Sums of chains of a product of one matrix, in C order, and how many multiply-adds the exact engine did; none if the
/// kernel of a plan does not compute all chains in one go.
fn promoted(
    work: Work,
    (plan, platform): (KernelConfig, Platform),
    promotion: Promotion,
) -> Option<(Vec<u32>, u64)> {
    struct Promoted<'a> {
        context: Context<'a>,
        promotion: Promotion<'a>,
    }

    impl WithKernel for Promoted<'_> {
        type Out = Option<Vec<u32>>;

        fn with<K: tile::MicroKernel>(self, kernel: &K) -> Option<Vec<u32>> {
            driver::promoted(self.context, kernel, self.promotion)
        }
    }

    let platform = platform.vouched(&plan, work.formats).ok()?;
    let fallback = AtomicU64::new(0);
    let promoted = Promoted {
        context: Context {
            work,
            fallback: &fallback,
        },
        promotion,
    };
    let sums = with_kernel((plan, platform), promoted)?;
    Some((sums, fallback.load(Ordering::Relaxed)))
}
