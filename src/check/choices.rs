//! Enumerations of a request's values.

use crate::words::{Word as _, words};

words! {
    /// Whether bits must agree where the field forgives.
    pub enum Strictness {
        /// Exactly these bits
        Exact = "exact",
        /// Any NaN (--nan), either zero (--zero)
        Any = "any",
    }
}

words! {
    /// What is done about the FP32 bits that TF32 and XF32 lack.
    pub enum Tf32Input {
        /// Ignore the low 13 bits, as the hardware does, and say how many elements had any
        Truncate = "truncate",
        /// Refuse operands that have any
        Exact = "exact",
        /// Round to nearest, ties away, first (what __float_to_tf32 and cvt.rna.tf32.f32 do)
        Nearest = "nearest",
    }
}

words! {
    /// The engine that computes. All give the same bits; the exact engine is the specification. A GPU can be named
    /// by its number in the list of `tcverify engines`.
    pub enum EngineChoice {
        /// Vector kernels, the exact engine where they do not apply
        Fast = "fast",
        /// The exact engine alone
        Exact = "exact",
        /// A GPU with its own memory where there is one and the product is large enough for it, else as fast
        Auto = "auto",
        /// The first GPU, the CPU for what it has no shader for
        Gpu = "gpu",
        /// GPU 0
        Gpu0 = "gpu:0",
        /// GPU 1
        Gpu1 = "gpu:1",
        /// GPU 2
        Gpu2 = "gpu:2",
        /// GPU 3
        Gpu3 = "gpu:3",
        /// GPU 4
        Gpu4 = "gpu:4",
        /// GPU 5
        Gpu5 = "gpu:5",
        /// GPU 6
        Gpu6 = "gpu:6",
        /// GPU 7
        Gpu7 = "gpu:7",
    }
}

impl EngineChoice {
    /// The message of searches and operations about GPUs.
    pub const ON_CPU: &'static str =
        "`engine` gpu computes products of `check` and `replay` alone; use fast or exact here";

    /// The number of a GPU that is named; none if this is no GPU.
    pub fn adapter(self) -> Option<Option<u8>> {
        let word = self.word().strip_prefix("gpu")?;
        Some(
            word.strip_prefix(':')
                .and_then(|number| number.parse().ok()),
        )
    }

    /// Whether a list of engines has it; `gpu` stands for every GPU, and `auto` needs `fast` and `gpu` if it is not there.
    pub fn is_among(self, engines: &[EngineChoice]) -> bool {
        let has = |engine| engines.contains(&engine);
        let gpu = has(EngineChoice::Gpu);
        has(self)
            || self.adapter().is_some() && gpu
            || self == EngineChoice::Auto && has(EngineChoice::Fast) && gpu
    }
}
