//! Dot products of this machine's own processor: units to be judged like any others, by nothing but their answers.

use tcverify_num::Format;

/// An instruction that adds a few products to every lane of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// AVX512_BF16: two products of BF16 a lane.
    Vdpbf16ps,
    /// AVX512_VNNI: four products of a UINT8 and an INT8 a lane.
    Vpdpbusd,
    /// AVX512_VNNI: four products a lane, saturating.
    Vpdpbusds,
    /// AVX512_FP16: one product of FP16 a lane.
    Vfmaddph,
    /// AMX_BF16: up to 32 products of BF16.
    Tdpbf16ps,
    /// AMX_INT8: up to 64 products of 8 bits, both signed.
    Tdpbssd,
    /// AMX_INT8, A alone signed.
    Tdpbsud,
    /// AMX_INT8, B alone signed.
    Tdpbusd,
    /// AMX_INT8, neither signed.
    Tdpbuud,
}

/// Lanes of C, of 32 bits each, or as many words of operands.
pub type Lanes = [u32; 16];

impl Native {
    pub const ALL: [Native; 9] = [
        Native::Vdpbf16ps,
        Native::Vpdpbusd,
        Native::Vpdpbusds,
        Native::Vfmaddph,
        Native::Tdpbf16ps,
        Native::Tdpbssd,
        Native::Tdpbsud,
        Native::Tdpbusd,
        Native::Tdpbuud,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Native::Vdpbf16ps => "vdpbf16ps",
            Native::Vpdpbusd => "vpdpbusd",
            Native::Vpdpbusds => "vpdpbusds",
            Native::Vfmaddph => "vfmaddph",
            Native::Tdpbf16ps => "tdpbf16ps",
            Native::Tdpbssd => "tdpbssd",
            Native::Tdpbsud => "tdpbsud",
            Native::Tdpbusd => "tdpbusd",
            Native::Tdpbuud => "tdpbuud",
        }
    }

    /// Formats of A, B, and of C and D.
    pub fn formats(self) -> [Format; 3] {
        match self {
            Native::Vdpbf16ps | Native::Tdpbf16ps => [Format::Bf16, Format::Bf16, Format::Fp32],
            Native::Vfmaddph => [Format::Fp16; 3],
            Native::Tdpbssd => [Format::Int8, Format::Int8, Format::Int32],
            Native::Tdpbsud => [Format::Int8, Format::Uint8, Format::Int32],
            Native::Tdpbuud => [Format::Uint8, Format::Uint8, Format::Int32],
            Native::Vpdpbusd | Native::Vpdpbusds | Native::Tdpbusd => {
                [Format::Uint8, Format::Int8, Format::Int32]
            }
        }
    }

    /// Whether it multiplies tiles.
    pub fn has_tiles(self) -> bool {
        !matches!(
            self,
            Native::Vdpbf16ps | Native::Vpdpbusd | Native::Vpdpbusds | Native::Vfmaddph
        )
    }

    /// The most words of 32 bits that it takes of each operand for a lane of C.
    pub fn words(self) -> usize {
        if self.has_tiles() { 16 } else { 1 }
    }

    /// The operands in a word, from its low bits up.
    pub fn operands_in_a_word(self) -> usize {
        match self {
            Native::Vfmaddph => 1,
            other => 4 / other.formats()[0].bytes(),
        }
    }

    /// What it adds to lanes of C: the words of `a` and `b` are those of all lanes, one after another; of tiles fewer than
    /// the most are a narrow tile. None where this processor does not have it.
    ///
    /// # Panics
    /// If there are no words, too many, or not as many of both.
    pub fn run(self, c: &Lanes, a: &[Lanes], b: &[Lanes]) -> Option<Lanes> {
        assert!((1..=self.words()).contains(&a.len()) && a.len() == b.len());
        #[cfg(target_arch = "x86_64")]
        if self.has_tiles() {
            return tiles::run(self, c, a, b);
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            let there = match self {
                Native::Vdpbf16ps => is_x86_feature_detected!("avx512bf16"),
                Native::Vfmaddph => is_x86_feature_detected!("avx512fp16"),
                _ => is_x86_feature_detected!("avx512vnni"),
            };
            let (a, b) = (&a[0], &b[0]);
            // SAFETY: the processor has the instructions.
            return there.then(|| unsafe {
                match self {
                    Native::Vdpbf16ps => x86::dpbf16(c, a, b),
                    Native::Vfmaddph => x86::fmadd(c, a, b),
                    Native::Vpdpbusds => x86::dpbusds(c, a, b),
                    _ => x86::dpbusd(c, a, b),
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

    /// The upper halves of lanes are numbers like the lower ones.
    #[target_feature(enable = "avx512f,avx512fp16")]
    pub fn fmadd(c: &Lanes, a: &Lanes, b: &Lanes) -> Lanes {
        let [a, b, c] = [a, b, c].map(|lanes| _mm512_castsi512_ph(vector(lanes)));
        lanes(_mm512_castph_si512(_mm512_fmadd_ph(a, b, c)))
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

/// Tiles of AMX, by assembly: Rust has no stable functions for them.
#[cfg(target_arch = "x86_64")]
mod tiles {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    use std::sync::OnceLock;

    use super::{Lanes, Native};

    /// Bits of leaf 7 of CPUID, in EDX.
    const BF16: u32 = 1 << 22;
    const TILE: u32 = 1 << 24;
    const INT8: u32 = 1 << 25;

    fn there(bit: u32) -> bool {
        let known = __cpuid(0).eax >= 7;
        known && __cpuid_count(7, 0).edx & (TILE | bit) == TILE | bit && allowed()
    }

    /// Whether the system lets this process use tiles: Linux wants to be asked, and keeps their state only then.
    fn allowed() -> bool {
        static ALLOWED: OnceLock<bool> = OnceLock::new();
        *ALLOWED.get_or_init(|| {
            if cfg!(not(target_os = "linux")) {
                return false;
            }
            /// `arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)`.
            const ARCH_PRCTL: i64 = 158;
            let result: i64;
            // SAFETY: the call reads and writes no memory of ours; the kernel clobbers rcx and r11.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") ARCH_PRCTL => result,
                    in("rdi") 0x1023,
                    in("rsi") 18,
                    lateout("rcx") _,
                    lateout("r11") _,
                    options(nostack, nomem)
                );
            }
            result == 0
        })
    }

    /// What the processor reads as the shape of its tiles.
    #[repr(C, align(64))]
    struct Shapes([u8; 64]);

    #[repr(C, align(64))]
    struct Tile([Lanes; 16]);

    /// Lane i is element [i, i] of D: row i of A times column i of B.
    pub fn run(native: Native, c: &Lanes, a: &[Lanes], b: &[Lanes]) -> Option<Lanes> {
        let bit = match native {
            Native::Tdpbf16ps => BF16,
            _ => INT8,
        };
        if !there(bit) {
            return None;
        }
        let words = a.len();
        let mut shapes = Shapes([0; 64]);
        shapes.0[0] = 1;
        // C, A and B: bytes of a row, and rows.
        for (tile, (bytes, rows)) in [(64, 16), (4 * words, 16), (64, words)]
            .into_iter()
            .enumerate()
        {
            shapes.0[16 + 2 * tile] = bytes as u8;
            shapes.0[48 + tile] = rows as u8;
        }
        let (mut of_c, mut of_a, mut of_b) = (
            Tile([[0; 16]; 16]),
            Tile([[0; 16]; 16]),
            Tile([[0; 16]; 16]),
        );
        for lane in 0..16 {
            of_c.0[lane][lane] = c[lane];
            for word in 0..words {
                of_a.0[lane][word] = a[word][lane];
                of_b.0[word] = b[word];
            }
        }
        macro_rules! multiply {
            ($instruction:literal) => {
                // SAFETY: the processor has the instructions, the system allows them, and all tiles lie within 16 rows of
                // 64 bytes.
                unsafe {
                    asm!(
                        "ldtilecfg [{shapes}]",
                        "tileloadd tmm0, [{c} + {row}]",
                        "tileloadd tmm1, [{a} + {row}]",
                        "tileloadd tmm2, [{b} + {row}]",
                        concat!($instruction, " tmm0, tmm1, tmm2"),
                        "tilestored [{c} + {row}], tmm0",
                        "tilerelease",
                        shapes = in(reg) &raw const shapes,
                        c = in(reg) &raw mut of_c,
                        a = in(reg) &raw const of_a,
                        b = in(reg) &raw const of_b,
                        row = in(reg) 64u64,
                        options(nostack)
                    )
                }
            };
        }
        match native {
            Native::Tdpbf16ps => multiply!("tdpbf16ps"),
            Native::Tdpbssd => multiply!("tdpbssd"),
            Native::Tdpbsud => multiply!("tdpbsud"),
            Native::Tdpbusd => multiply!("tdpbusd"),
            _ => multiply!("tdpbuud"),
        }
        Some(std::array::from_fn(|lane| of_c.0[lane][lane]))
    }
}
