//! Everything that can compute a product on this machine.

use tcverify::emu::{Engine, Platform};

/// The exact engine and one fast engine for every instruction set there is.
pub fn engines() -> Vec<Engine<'static>> {
    let fast = Platform::available().into_iter().map(Engine::Fast);
    [Engine::Exact].into_iter().chain(fast).collect()
}

pub fn name(engine: Engine) -> &'static str {
    match engine {
        Engine::Exact => "exact",
        Engine::Fast(platform) => platform.name(),
        Engine::Gpu(_) => "gpu",
    }
}
