//! Operands rearranged for the kernel: a strip of rows (or columns) side by side, k by k, each
//! element as a float and as a small biased exponent. [`rows`]: of A; [`columns`]: of B. [`nudged`]: for
//! chains that round down.

mod columns;
mod nudged;
mod panel;
mod place;
mod rows;
mod span;

pub use columns::StripB;
pub use nudged::{Nudged, splat};
pub use panel::{Exponents, Panel, ROWS};
pub use rows::{PackedA, pack_a};
