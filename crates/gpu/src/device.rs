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

/// Something that runs shaders.
pub trait Device: Send + Sync {
    fn info(&self) -> &DeviceInfo;

    /// All of a product of one matrix, row by row: codes of the accumulator's format, or [`FLAG`].
    ///
    /// # Errors
    /// What the device or its driver says: it is lost, or has no memory.
    fn compute(
        &self,
        plan: &ShaderPlan,
        problem: &Problem,
        progress: Progress,
    ) -> Result<Vec<u32>, String>;
}
