//! Words of a request.

use crate::words::words;

words! {
    /// Whether bits must agree where the field forgives.
    pub enum Strictness {
        /// Exactly these bits
        Exact = "exact",
        /// Any NaN for a NaN; either zero for a zero
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
    /// The engine that computes. Both give the same bits; the exact engine is the specification.
    pub enum EngineChoice {
        /// Vector kernels, the exact engine where they do not apply
        Fast = "fast",
        /// The exact engine alone
        Exact = "exact",
    }
}
