//! Units beyond the plain tensor core: block scales, integers, a simulator's chain of halves.
//!
//! Expected values are literals of the literature or recomputed here in straight lines from it,
//! in native arithmetic or exact fractions; none was computed by the engine.

mod block_scaled;
mod block_window;
pub mod dot;
mod gpgpu_sim;
mod integers;
mod vortex;
