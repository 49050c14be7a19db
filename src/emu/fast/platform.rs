//! The instruction sets there are kernels for.

use std::sync::OnceLock;

use super::integers;
use super::kernel::{self, Tile};
use super::pack::{self, Decoded, Panel, Row, StripB};
use super::plan::Plan;
use super::selftest;
use super::vector::portable::Portable;
use crate::emu::step::IntegerSum;

/// An instruction set that this machine has: values come only from [`Platform::available`] and
/// [`Platform::detect`], which look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Platform(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// In tests elsewhere: through an emulation of its instructions.
    #[cfg(any(target_arch = "aarch64", test))]
    Neon,
}

/// Work that is compiled anew for every instruction set: its `run` is always inlined, which a closure
/// cannot ask for.
pub(in crate::emu) trait Wide {
    type Output;
    fn run(self) -> Self::Output;
}

impl Platform {
    /// The environment variable that names one, for tests and for doubts.
    pub const VARIABLE: &'static str = "TCVERIFY_SIMD";

    /// Every platform that this machine has, the fastest last.
    pub fn available() -> Vec<Platform> {
        #[allow(unused_mut)]
        let mut platforms = vec![Platform(Set::Portable)];
        // Its lanes were thought through for little endian only.
        #[cfg(any(target_arch = "aarch64", test))]
        if cfg!(target_endian = "little") {
            platforms.push(Platform(Set::Neon));
        }
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c") {
                platforms.push(Platform(Set::Avx2));
            }
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
            {
                platforms.push(Platform(Set::Avx512));
            }
        }
        platforms
    }

    /// The one to use: the fastest that agrees with the portable one on a self-test, or the one
    /// that `TCVERIFY_SIMD` names.
    ///
    /// # Errors
    /// If that names one that this machine lacks, or that fails the self-test.
    pub fn detect() -> Result<Platform, String> {
        static CHOICE: OnceLock<Result<Platform, String>> = OnceLock::new();
        CHOICE.get_or_init(Platform::choose).clone()
    }

    fn choose() -> Result<Platform, String> {
        let available = Platform::available();
        let Ok(name) = std::env::var(Platform::VARIABLE) else {
            let sound = available.into_iter().rev().find(|p| selftest::passes(*p));
            return sound.ok_or_else(|| "no kernel passes its self-test".to_owned());
        };
        let Some(named) = available.iter().find(|p| p.name() == name) else {
            let names: Vec<_> = available.iter().map(|p| p.name()).collect();
            return Err(format!(
                "{} is {name:?}; this machine has {}",
                Platform::VARIABLE,
                names.join(", ")
            ));
        };
        if selftest::passes(*named) {
            Ok(*named)
        } else {
            Err(format!(
                "the {name} kernel fails its self-test on this machine"
            ))
        }
    }

    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(any(target_arch = "aarch64", test))]
            Set::Neon => "neon",
        }
    }

    /// Columns of B that the kernel takes at a time.
    pub(super) fn columns(self) -> usize {
        match self.0 {
            Set::Portable => 32,
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => 32,
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => 64,
            #[cfg(any(target_arch = "aarch64", test))]
            Set::Neon => 16,
        }
    }

    /// Takes a row of A apart.
    pub(super) fn decode_row(
        self,
        plan: &Plan,
        codes: &[u32],
        scales: &[u8],
        row: &mut Row,
    ) -> Decoded {
        match self.0 {
            Set::Portable => pack::decode_row(plan, codes, scales, row),
            #[cfg(any(target_arch = "aarch64", test))]
            Set::Neon => pack::decode_row(plan, codes, scales, row),
            // SAFETY: `available` detected AVX2 or more before it made a value of these variants.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 | Set::Avx512 => unsafe { decode_row_avx2(plan, codes, scales, row) },
        }
    }

    /// Takes a strip of B apart.
    pub(super) fn decode_strip(
        self,
        panel: &Panel,
        codes: &[u32],
        scales: &[u8],
        count: usize,
        strip: &mut StripB,
    ) {
        match self.0 {
            Set::Portable => pack::decode_strip(panel, codes, scales, count, strip),
            #[cfg(any(target_arch = "aarch64", test))]
            Set::Neon => pack::decode_strip(panel, codes, scales, count, strip),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 | Set::Avx512 => unsafe {
                decode_strip_avx2(panel, codes, scales, count, strip)
            },
        }
    }

    /// Runs a tile of integers; see [`integers::tile`].
    pub(super) fn integers(
        self,
        step: &IntegerSum,
        a: &[[i32; integers::ROWS]],
        b: &[[i32; integers::COLUMNS]],
        d: &mut [[i32; integers::COLUMNS]; integers::ROWS],
    ) {
        match self.0 {
            // SAFETY: `available` detected AVX2 or more before it made a value of these variants.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 | Set::Avx512 => unsafe { integers_avx2(step, a, b, d) },
            _ => integers::tile(step, a, b, d),
        }
    }

    /// Runs plain Rust, compiled for this platform's vectors.
    pub(in crate::emu) fn wide<W: Wide>(self, work: W) -> W::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 | Set::Avx512 if is_x86_feature_detected!("fma") => {
                // SAFETY: `available` detected AVX2 before it made a value of these variants, and
                // fused multiply-adds were just now.
                unsafe { wide_avx2(work) }
            }
            _ => work.run(),
        }
    }

    /// Runs a tile; see [`kernel::run`].
    pub(super) fn run(self, tile: &mut Tile) -> bool {
        match self.0 {
            // SAFETY: plain Rust.
            Set::Portable => unsafe { kernel::run::<Portable>(tile) },
            // SAFETY: `available` detected the features before it made a value of this variant.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { run_avx2(tile) },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { run_avx512(tile) },
            // SAFETY: every aarch64 target with a standard library has NEON; the emulation is plain
            // Rust.
            #[cfg(any(target_arch = "aarch64", test))]
            Set::Neon => unsafe { kernel::run::<super::vector::neon::Neon>(tile) },
        }
    }
}

// The same plain Rust, compiled for wider vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn decode_row_avx2(plan: &Plan, codes: &[u32], scales: &[u8], row: &mut Row) -> Decoded {
    pack::decode_row(plan, codes, scales, row)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn decode_strip_avx2(
    panel: &Panel,
    codes: &[u32],
    scales: &[u8],
    count: usize,
    strip: &mut StripB,
) {
    pack::decode_strip(panel, codes, scales, count, strip);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn integers_avx2(
    step: &IntegerSum,
    a: &[[i32; integers::ROWS]],
    b: &[[i32; integers::COLUMNS]],
    d: &mut [[i32; integers::COLUMNS]; integers::ROWS],
) {
    integers::tile(step, a, b, d);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn wide_avx2<W: Wide>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
unsafe fn run_avx2(tile: &mut Tile) -> bool {
    // SAFETY: this function's own features are those that `Avx2` needs.
    unsafe { kernel::run::<super::vector::avx2::Avx2>(tile) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn run_avx512(tile: &mut Tile) -> bool {
    // SAFETY: this function's own features are those that `Avx512` needs.
    unsafe { kernel::run::<super::vector::avx512::Avx512>(tile) }
}
