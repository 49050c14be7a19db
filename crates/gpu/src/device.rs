//! Something that runs shaders.

use tcverify_emu::engine::Progress;
use tcverify_tensor::Problem;

use super::plan::ShaderPlan;

/// Stands for an element that the shader leaves to the exact engine: no finite code of a float.
pub const FLAG: u32 = u32::MAX;

/// What a device calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    pub name: String,
    pub driver: String,
    /// Vulkan, Metal or Direct3D 12.
    pub backend: String,
    /// Whether it is a GPU with memory of its own.
    pub discrete: bool,
}

impl std::fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DeviceInfo {
            name,
            driver,
            backend,
            ..
        } = self;
        write!(f, "{name} ({backend}, {driver})")
    }
}

/// The chains of a product.
#[derive(Clone, Copy, Debug)]
pub struct Chains<'a> {
    /// Where they end: k, ascending; the last one is the product's.
    pub ends: &'a [usize],
    /// Of a plan that promotes: whether totals start from the first chain's accumulators, not from +0 and those.
    pub from_first: bool,
}

/// Something that runs shaders.
pub trait Device: Send + Sync {
    fn info(&self) -> &DeviceInfo;

    /// All of a product of one matrix, row by row: codes of the accumulator's format, or [`FLAG`]. A plan that promotes adds
    /// up chains; any other has one.
    ///
    /// # Errors
    /// What the device or its driver says: it is lost, or has no memory.
    fn compute(
        &self,
        plan: &ShaderPlan,
        problem: &Problem,
        chains: Chains,
        progress: Progress,
    ) -> Result<Vec<u32>, String>;
}
