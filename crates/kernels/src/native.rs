//! Dot products of this machine's own processor: units to be judged like any others, by nothing but their answers.

use tcverify_num::Format;

/// An instruction that adds a few products to every lane of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// AVX512_BF16: two products of BF16 a lane.
    Vdpbf16ps,
    /// AVX512_VNNI: four products of a UINT8 and an INT8 a lane.
    Vpdpbusd,
    /// The same, saturating.
    Vpdpbusds,
}

/// Lanes of C, of 32 bits each, and as many operands as fit beside them.
pub type Lanes = [u32; 16];

impl Native {
    pub const ALL: [Native; 3] = [Native::Vdpbf16ps, Native::Vpdpbusd, Native::Vpdpbusds];

    pub fn name(self) -> &'static str {
        match self {
            Native::Vdpbf16ps => "vdpbf16ps",
            Native::Vpdpbusd => "vpdpbusd",
            Native::Vpdpbusds => "vpdpbusds",
        }
    }

    /// Formats of A, B, and of C and D.
    pub fn formats(self) -> [Format; 3] {
        match self {
            Native::Vdpbf16ps => [Format::Bf16, Format::Bf16, Format::Fp32],
            Native::Vpdpbusd | Native::Vpdpbusds => [Format::Uint8, Format::Int8, Format::Int32],
        }
    }

    /// What it adds to lanes of C: in a lane of `a` and `b` the operands of one of them, the first in its low bits. None
    /// where this processor does not have it.
    pub fn run(self, c: &Lanes, a: &Lanes, b: &Lanes) -> Option<Lanes> {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            let there = match self {
                Native::Vdpbf16ps => is_x86_feature_detected!("avx512bf16"),
                Native::Vpdpbusd | Native::Vpdpbusds => is_x86_feature_detected!("avx512vnni"),
            };
            // SAFETY: the processor has the instructions.
            return there.then(|| unsafe {
                match self {
                    Native::Vdpbf16ps => x86::dpbf16(c, a, b),
                    Native::Vpdpbusd => x86::dpbusd(c, a, b),
                    Native::Vpdpbusds => x86::dpbusds(c, a, b),
                }
            });
        }
        let _ = (c, a, b);
        None
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::mem::transmute;

    use super::Lanes;

    fn vector(lanes: &Lanes) -> __m512i {
        // SAFETY: both are 64 bytes, of which every pattern is one.
        unsafe { transmute::<Lanes, __m512i>(*lanes) }
    }

    fn lanes(vector: __m512i) -> Lanes {
        // SAFETY: as above.
        unsafe { transmute::<__m512i, Lanes>(vector) }
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    pub fn dpbf16(c: &Lanes, a: &Lanes, b: &Lanes) -> Lanes {
        let pairs = |lanes| {
            // SAFETY: as above.
            unsafe { transmute::<__m512i, __m512bh>(vector(lanes)) }
        };
        let d = _mm512_dpbf16_ps(_mm512_castsi512_ps(vector(c)), pairs(a), pairs(b));
        lanes(_mm512_castps_si512(d))
    }

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub fn dpbusd(c: &Lanes, a: &Lanes, b: &Lanes) -> Lanes {
        lanes(_mm512_dpbusd_epi32(vector(c), vector(a), vector(b)))
    }

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub fn dpbusds(c: &Lanes, a: &Lanes, b: &Lanes) -> Lanes {
        lanes(_mm512_dpbusds_epi32(vector(c), vector(a), vector(b)))
    }
}
