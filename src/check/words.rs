//! Enumerations whose values are words: one table for texts, files and command lines.

/// A value that is one of a few words.
pub trait Word: Copy + Eq + Sized + Send + Sync + 'static {
    /// Every value with its word and what it means.
    const ALL: &'static [(Self, &'static str, &'static str)];

    fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(value, _, _)| *value == self);
        found.expect("every value is listed").1
    }

    fn of_word(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == word);
        found.map(|(value, _, _)| *value)
    }
}

/// An enumeration with a word and a meaning for every value; in documents it is its word.
macro_rules! words {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[doc = $doc:literal])+ $value:ident = $word:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $value,)*
        }

        impl $crate::check::Word for $name {
            const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$(($name::$value, $word, concat!($($doc),+)),)*];
        }
    };
}

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
    /// Who computes. Both give the same bits; the exact engine is the specification.
    pub enum EngineChoice {
        /// Vector kernels, the exact engine where they do not apply
        Fast = "fast",
        /// The exact engine alone
        Exact = "exact",
    }
}

words! {
    /// Which tile of K is the partial one.
    pub enum ResidueChoice {
        /// The first; zeros follow its values
        First = "first",
        /// The first; zeros precede its values
        FirstAligned = "first-aligned",
        /// The last; zeros follow its values
        Last = "last",
    }
}

words! {
    /// How slices of K come together.
    pub enum SplitChoice {
        /// Every slice is added to D as it is stored
        Serial = "serial",
        /// Partial sums are kept and added up at the end
        Workspace = "workspace",
    }
}

words! {
    /// What a workspace keeps partial sums in.
    pub enum PartialsChoice {
        /// FP32
        F32 = "f32",
        /// D's format, rounded to nearest even
        Result = "result",
    }
}
