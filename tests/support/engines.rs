//! Everything that can compute a product on this machine.

use tcverify::emu::Engine;
use tcverify::kernels::Platform;

/// The exact engine and one fast engine for every instruction set there is.
pub fn engines() -> Vec<Engine<'static>> {
    let fast = Platform::available().into_iter().map(Platform::engine);
    [Engine::Exact].into_iter().chain(fast).collect()
}

/// Such as `With(Platform(Avx2))`.
pub fn name(engine: Engine) -> String {
    format!("{engine:?}")
}
