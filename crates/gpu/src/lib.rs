//! Matrix units of GPUs, computed by compute shaders: 32-bit integer arithmetic alone, which every GPU does exactly. Numbers
//! and plans in, bits out.
//!
//! * `engine`: a GPU as an engine, and how it is kept honest; `models`: which shader computes a model.
//! * `auto`: when a GPU is worth it, where the program may choose.
//! * `plan`: what a shader computes, as numbers, and which units one can compute.
//! * `shader`: its text, in WGSL.
//! * `device`: something that runs it.
//! * `fill`: products by a device, and the elements that it leaves to the exact engine.
//! * `chains`: the same by their chains on the CPU, where a schedule promotes.
//! * `selftest`: no device is used before it agrees with the exact engine.
//! * `adapter`: the GPUs of this machine (feature `wgpu`).

#[cfg(feature = "wgpu")]
mod adapter;
mod auto;
mod chains;
#[cfg(all(test, feature = "wgpu"))]
mod cost;
mod device;
mod engine;
mod fill;
mod models;
mod plan;
mod selftest;
mod shader;

#[cfg(feature = "wgpu")]
pub use adapter::{Adapter, adapters};
pub use auto::preferred;
pub use device::{Chains, Device, DeviceInfo, FLAG};
pub use engine::Gpu;
pub use fill::Vetted;
pub use models::shader;
pub use plan::{CutRule, FewUnit, FloorUnit, FusedUnit, ShaderPlan, Unit};
pub use shader::{TILE, source};
