//! Loops of plain Rust, compiled a second time for vectors that not every machine has.

/// Work with such loops: its `run` is always inlined, which a closure's is not.
pub trait Wide {
    type Output;
    fn run(self) -> Self::Output;
}

/// The vectors that loops run with. Bits do not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vectors {
    #[cfg(target_arch = "x86_64")]
    avx2: bool,
}

impl Vectors {
    /// Those of every machine of this architecture.
    pub const BASIC: Vectors = Vectors {
        #[cfg(target_arch = "x86_64")]
        avx2: false,
    };

    /// 256 bits where this machine has AVX2. For 512 bits, compilers make slower code of loops over codes and bytes.
    pub fn widest() -> Vectors {
        Vectors {
            #[cfg(target_arch = "x86_64")]
            avx2: is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c"),
        }
    }

    /// Runs work, compiled for these vectors.
    pub fn run<W: Wide>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        if self.avx2 {
            // SAFETY: only `widest` sets it, where it has detected the features.
            return unsafe { with_avx2(work) };
        }
        work.run()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn with_avx2<W: Wide>(work: W) -> W::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fma<'a>(&'a [f32]);

    impl Wide for Fma<'_> {
        type Output = Vec<u32>;

        #[inline(always)]
        fn run(self) -> Vec<u32> {
            let each = self.0.iter().zip(&self.0[1..]);
            each.map(|(&x, &y)| x.mul_add(y, -x * y).to_bits())
                .collect()
        }
    }

    /// No multiplication and addition of two roundings becomes one, or the other way round.
    #[test]
    fn bits_do_not_depend_on_vectors() {
        let numbers: Vec<f32> = (1..100).map(|i| 1.0 / i as f32).collect();
        let basic = Vectors::BASIC.run(Fma(&numbers));
        assert_eq!(Vectors::widest().run(Fma(&numbers)), basic);
        assert!(basic.iter().filter(|&&bits| bits != 0).count() > 50);
    }
}
