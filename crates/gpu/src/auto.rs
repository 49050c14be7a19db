//! When a GPU is worth it, for whoever leaves the choice to the program. All engines give the same bits, so time alone is
//! at stake, and nothing here is an error.

use std::sync::Arc;

use tcverify_emu::Arithmetic;
use tcverify_emu::engine::OpenedDevice;
use tcverify_tensor::Problem;

use super::device::DeviceInfo;
use super::engine::Gpu;
use super::fill::Vetted;
use super::models::shader;

/// Multiply-adds of one core in about a second, by the faster kernels of docs/performance.md: a driver may take that long to
/// open a device, compile a shader and prove it.
const OF_A_CORE: u64 = 1 << 34;

/// The fewest rows, columns, and k of a chain. The CPU packs each code for a device and takes its sums apart again, a few
/// nanoseconds each, in which a core computes up to a hundred multiply-adds.
const LEAST: usize = 1024;

/// Whether a product of so many chains of sums pays for a device, beside so many cores.
pub fn pays([m, n, k]: [usize; 3], chains: usize, batches: usize, cores: usize) -> bool {
    let work = (batches * m * n) as u64 * k as u64;
    let least = m.min(n).min(k / chains.max(1));
    least >= LEAST && work >= OF_A_CORE * cores as u64
}

/// The first GPU that has its own memory. One that shares the CPU's shares its power, too, and may be slower; a program that
/// stands for a GPU is.
pub fn preferred(adapters: &[DeviceInfo]) -> Option<usize> {
    adapters.iter().position(|adapter| adapter.discrete)
}

impl Gpu {
    /// The device that computes a product of so many chains sooner than the CPU, if there is one.
    pub fn sooner(
        arithmetic: &Arithmetic,
        problem: &Problem,
        chains: usize,
    ) -> Option<OpenedDevice> {
        let Problem { m, n, k, .. } = *problem;
        let cores = rayon::current_num_threads();
        let pays = pays([m, n, k], chains, problem.batches(), cores);
        let shader = || shader(arithmetic).is_some_and(|plan| plan.takes(k));
        if !pays || problem.selected.is_some() || !shader() {
            return None;
        }
        let number = preferred(&Gpu::list()?)?;
        let vetted = Gpu::open(Some(u8::try_from(number).ok()?)).ok()?;
        Gpu::if_sound(vetted, arithmetic)
    }

    /// A device, if it passes its self-test for a model.
    pub fn if_sound(vetted: Arc<Vetted>, arithmetic: &Arithmetic) -> Option<OpenedDevice> {
        let sound = vetted.vet(&shader(arithmetic)?, arithmetic, None).is_ok();
        sound.then(|| Gpu::ready(vetted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_pays_that_takes_cores_a_second() {
        let large = [4096, 8192, 8192];
        assert!(pays(large, 1, 1, 16));
        assert!(!pays(large, 1, 1, 17));
        assert!(pays(large, 1, 2, 17));
        // As much work, but many codes for it.
        assert!(!pays([1 << 10, 1 << 28, 1], 1, 1, 1));
        assert!(!pays([1, 1 << 19, 1 << 19], 1, 1, 1));
        assert!(!pays([512, 1 << 16, 1 << 13], 1, 1, 1));
        // Chains of 128 k.
        assert!(!pays(large, 64, 1, 1) && pays(large, 8, 1, 1));
    }

    #[test]
    fn no_program_is_preferred() {
        let named = |name: &str, discrete| DeviceInfo {
            name: name.to_owned(),
            driver: String::new(),
            backend: "Vulkan".to_owned(),
            discrete,
        };
        let [software, shared, own] =
            [("software", false), ("shared", false), ("own", true)].map(|(name, d)| named(name, d));
        assert_eq!(preferred(&[]), None);
        assert_eq!(preferred(&[software.clone(), shared.clone()]), None);
        assert_eq!(preferred(&[software, shared, own]), Some(2));
    }
}
