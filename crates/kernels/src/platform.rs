//! The instruction sets there are kernels for.

use super::vector::portable::Portable;
use super::vector::{FmaDown, Vector};
use tcverify_tensor::{Vectors, Wide};

/// An instruction set that this machine has: values come only from [`Platform::available`] and
/// [`Platform::detect`], which ask the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Platform(Set);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX-512 with population counts, for chains that round down.
    #[cfg(target_arch = "x86_64")]
    Avx512Vpopcntdq,
    /// Plain Rust with such chains, for tests.
    #[cfg(any(test, feature = "emulated-neon"))]
    PortableDown,
    /// Tests on other machines emulate its instructions.
    #[cfg(any(target_arch = "aarch64", test, feature = "emulated-neon"))]
    Neon,
}

/// Work with the vectors of an instruction set.
pub(super) trait Vectorized {
    type Output;

    /// Mark it `#[inline(always)]`: otherwise the intrinsics in it are calls.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    unsafe fn run<V: Vector>(self) -> Self::Output;
}

/// Work that uses additions that round down.
pub(super) trait WithFmaDown {
    type Output;

    /// Mark it `#[inline(always)]`: otherwise the intrinsics in it are calls.
    ///
    /// # Safety
    /// The machine must have the features that `V` needs.
    unsafe fn run<V: FmaDown>(self) -> Self::Output;
}

impl Platform {
    /// The environment variable that names one, for tests and for doubts.
    pub const VARIABLE: &'static str = "TCVERIFY_SIMD";

    /// Every platform that this machine has, the fastest last.
    pub fn available() -> Vec<Platform> {
        #[allow(unused_mut)]
        let mut platforms = vec![Platform(Set::Portable)];
        // Its lanes were thought through for little endian only.
        #[cfg(target_arch = "aarch64")]
        if cfg!(target_endian = "little") {
            platforms.push(Platform(Set::Neon));
        }
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            if avx2 {
                platforms.push(Platform(Set::Avx2));
            }
            let avx512 =
                avx2 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            if avx512 {
                platforms.push(Platform(Set::Avx512));
            }
            if avx512 && is_x86_feature_detected!("avx512vpopcntdq") {
                platforms.push(Platform(Set::Avx512Vpopcntdq));
            }
        }
        platforms
    }

    /// Every available platform and, elsewhere, NEON through an emulation of its instructions, for tests.
    #[cfg(any(test, feature = "emulated-neon"))]
    pub fn with_emulated() -> Vec<Platform> {
        #[allow(unused_mut)]
        let mut platforms = Platform::available();
        #[cfg(all(not(target_arch = "aarch64"), target_endian = "little"))]
        platforms.insert(1, Platform(Set::Neon));
        platforms
    }

    /// Plain Rust with chains that round down, for tests.
    #[cfg(any(test, feature = "emulated-neon"))]
    pub fn portable_down() -> Platform {
        Platform(Set::PortableDown)
    }

    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vpopcntdq => "avx512vpopcntdq",
            #[cfg(any(test, feature = "emulated-neon"))]
            Set::PortableDown => "portable-down",
            #[cfg(any(target_arch = "aarch64", test, feature = "emulated-neon"))]
            Set::Neon => "neon",
        }
    }

    /// 32-bit lanes of a register.
    pub(super) fn lanes(self) -> usize {
        struct Lanes;
        impl Vectorized for Lanes {
            type Output = usize;

            #[inline(always)]
            unsafe fn run<V: Vector>(self) -> usize {
                V::LANES
            }
        }
        self.vectorized(Lanes)
    }

    /// The vectors that compilers may use on this platform.
    pub(super) fn compiled(self) -> Vectors {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 | Set::Avx512 | Set::Avx512Vpopcntdq => Vectors::widest(),
            _ => Vectors::BASIC,
        }
    }

    /// Runs plain Rust, compiled for this platform.
    pub(super) fn wide<W: Wide>(self, work: W) -> W::Output {
        self.compiled().run(work)
    }

    /// The platform, for as long as the program runs.
    pub(super) fn forever(self) -> &'static Platform {
        match self.0 {
            Set::Portable => &Platform(Set::Portable),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => &Platform(Set::Avx2),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => &Platform(Set::Avx512),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vpopcntdq => &Platform(Set::Avx512Vpopcntdq),
            #[cfg(any(test, feature = "emulated-neon"))]
            Set::PortableDown => &Platform(Set::PortableDown),
            #[cfg(any(target_arch = "aarch64", test, feature = "emulated-neon"))]
            Set::Neon => &Platform(Set::Neon),
        }
    }

    /// Runs work with this platform's vectors.
    pub(super) fn vectorized<W: Vectorized>(self, work: W) -> W::Output {
        match self.0 {
            Set::Portable => portable(work),
            #[cfg(any(test, feature = "emulated-neon"))]
            Set::PortableDown => portable(work),
            // SAFETY: `available` detected the features before it made a value of this variant.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { avx2(work) },
            // SAFETY: likewise.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 | Set::Avx512Vpopcntdq => unsafe { avx512(work) },
            // SAFETY: every aarch64 target with a standard library has NEON; the emulation is plain
            // Rust.
            #[cfg(any(target_arch = "aarch64", test, feature = "emulated-neon"))]
            Set::Neon => unsafe { work.run::<super::vector::neon::Neon>() },
        }
    }

    /// Runs work with additions that round down and population counts, if this platform has them.
    pub(super) fn fma_down<W: WithFmaDown>(self, work: W) -> Option<W::Output> {
        match self.0 {
            // SAFETY: `available` detected the features before it made a value of this variant.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Vpopcntdq => Some(unsafe { avx512_vpopcntdq(work) }),
            // SAFETY: plain Rust.
            #[cfg(any(test, feature = "emulated-neon"))]
            Set::PortableDown => Some(unsafe { work.run::<Portable>() }),
            _ => None,
        }
    }
}

/// Once, and not in every caller.
#[inline(never)]
fn portable<W: Vectorized>(work: W) -> W::Output {
    // SAFETY: plain Rust.
    unsafe { work.run::<Portable>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2<W: Vectorized>(work: W) -> W::Output {
    // SAFETY: this function's own features are those that `Avx2` needs.
    unsafe { work.run::<super::vector::avx2::Avx2>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw")]
unsafe fn avx512<W: Vectorized>(work: W) -> W::Output {
    // SAFETY: this function's own features are those that `Avx512` needs.
    unsafe { work.run::<super::vector::avx512::Avx512>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512vpopcntdq")]
unsafe fn avx512_vpopcntdq<W: WithFmaDown>(work: W) -> W::Output {
    // SAFETY: this function's own features are those that `Avx512` needs, and population counts.
    unsafe { work.run::<super::vector::avx512::Avx512>() }
}
