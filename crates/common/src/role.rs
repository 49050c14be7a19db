//! The role of an array in its product or operation.
//!
//! A role is declared once: its field in documents, requests and Python, its symbol in tables, what messages call it
//! and what generated numbers are drawn by. Whatever belongs to arrays (sources, tensors, digests) is kept
//! [`ByRole`], never by position.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words;

words! {
    /// Axes of an array of attention heads, before the head's elements.
    pub enum Layout {
        /// Batch, heads, tokens.
        Bhsd = "bhsd",
        /// Batch, tokens, heads.
        Bshd = "bshd",
    }
}

/// What belongs to arrays, in the order in which roles are declared.
pub type ByRole<T> = BTreeMap<Role, T>;

macro_rules! roles {
    ($($(#[doc = $doc:literal])+ $role:ident = $field:literal, $symbol:literal, $called:literal;)*) => {
        /// What an array is to a product or an operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Role {
            $($(#[doc = $doc])+ $role,)*
        }

        impl Role {
            /// All roles. The result comes last: D of a product, Y of an operation.
            pub const ALL: &[Role] = &[$(Role::$role),*];

            /// The name of the array in documents, in requests and in Python.
            pub const fn field(self) -> &'static str {
                match self {
                    $(Role::$role => $field,)*
                }
            }

            /// A short name, for tables.
            pub const fn symbol(self) -> &'static str {
                match self {
                    $(Role::$role => $symbol,)*
                }
            }

            /// What messages call it.
            pub const fn called(self) -> &'static str {
                match self {
                    $(Role::$role => $called,)*
                }
            }
        }
    };
}

roles! {
    /// The left operand of a product.
    A = "a", "A", "A";
    /// The right operand of a product.
    B = "b", "B", "B";
    /// What is added to a product.
    C = "c", "C", "C";
    /// Which k the elements of a compressed A have.
    SparseA = "sparse_a", "MA", "the metadata of A";
    /// Scales of A.
    ScaleA = "scale_a", "SA", "the scales of A";
    /// Scales of B.
    ScaleB = "scale_b", "SB", "the scales of B";
    /// Zero points of weights.
    ZeroB = "zero_b", "ZB", "the zero points of B";
    /// The operand of an operation.
    X = "x", "x", "the array x";
    /// The second operand of an operation.
    Other = "other", "other", "the array other";
    /// What an operation adds first.
    Residual = "residual", "residual", "the array residual";
    /// One factor for every column.
    Weight = "weight", "weight", "the array weight";
    /// One number for every column.
    Bias = "bias", "bias", "the bias";
    /// What silu is multiplied by.
    Up = "up", "up", "the array up";
    /// Cosines, by token.
    Cos = "cos", "cos", "the array cos";
    /// Sines, by token.
    Sin = "sin", "sin", "the array sin";
    /// A given scale of a quantisation.
    Scale = "scale", "scale", "the array scale";
    /// Scales of blocks of weights.
    WeightScale = "weight_scale", "weight_scale", "the array weight_scale";
    /// Queries.
    Q = "q", "q", "the array q";
    /// Keys.
    K = "k", "k", "the array k";
    /// Values.
    V = "v", "v", "the array v";
    /// Zero points of A's rows.
    Azp = "azp", "azp", "zero points";
    /// What zero points add to the sums of D's columns.
    AzpAdj = "azp_adj", "azp_adj", "zero points of columns";
    /// The result of an operation.
    Y = "y", "y", "the array y";
    /// The result of a product.
    D = "d", "D", "D";
}

impl Role {
    /// Whether it is a result: D of a product, Y of an operation.
    pub const fn is_result(self) -> bool {
        matches!(self, Role::D | Role::Y)
    }

    /// The arrays of a product.
    pub const PRODUCT: &[Role] = &[
        Role::A,
        Role::B,
        Role::C,
        Role::SparseA,
        Role::ScaleA,
        Role::ScaleB,
        Role::ZeroB,
        Role::Bias,
        Role::Azp,
        Role::AzpAdj,
        Role::D,
    ];

    /// The arrays of operations.
    pub const OPERATION: &[Role] = &[
        Role::X,
        Role::Other,
        Role::Residual,
        Role::Weight,
        Role::Bias,
        Role::Up,
        Role::Cos,
        Role::Sin,
        Role::Scale,
        Role::WeightScale,
        Role::Q,
        Role::K,
        Role::V,
        Role::Y,
    ];

    /// The role of a field.
    pub fn of_field(field: &str) -> Option<Role> {
        Role::ALL.iter().copied().find(|role| role.field() == field)
    }

    /// Those that have numbers of their own where a seed determines them; all others have those of C.
    pub const GENERATED: &[Role] = &[Role::A, Role::B, Role::C, Role::ScaleA, Role::ScaleB];

    /// Which numbers of a seed are its own.
    pub const fn stream(self) -> u64 {
        match self {
            Role::A => 0,
            Role::B => 1,
            Role::ScaleA => 3,
            Role::ScaleB => 4,
            _ => 2,
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.field())
    }
}

impl<'de> Deserialize<'de> for Role {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Role, D::Error> {
        let name = String::deserialize(from)?;
        Role::of_field(&name)
            .ok_or_else(|| D::Error::custom(format!("{name:?} is the name of no array")))
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Role {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Role".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = Role::ALL.iter().map(|role| role.field()).collect();
        schemars::json_schema!({ "type": "string", "enum": names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every name is one role's, every role is of a product or of an operation, and lists are in the order of the
    /// declaration.
    #[test]
    fn names_are_unique_and_lists_complete() {
        for names in [Role::field, Role::symbol, Role::called] as [fn(Role) -> &'static str; 3] {
            let all: std::collections::BTreeSet<_> = Role::ALL.iter().map(|r| names(*r)).collect();
            assert_eq!(all.len(), Role::ALL.len());
        }
        for list in [Role::PRODUCT, Role::OPERATION] {
            assert!(list.is_sorted());
        }
        for role in Role::ALL {
            assert!(Role::PRODUCT.contains(role) || Role::OPERATION.contains(role));
            assert_eq!(Role::of_field(role.field()), Some(*role));
        }
    }

    /// Generated numbers of published seeds must not change.
    #[test]
    fn streams_stay_as_they_are() {
        let streams = Role::GENERATED.iter().map(|role| role.stream());
        assert!(streams.eq(0..5));
        assert_eq!(Role::Bias.stream(), Role::C.stream());
    }

    #[test]
    fn documents_have_arrays_by_their_fields() {
        let all = ByRole::from([(Role::D, 4), (Role::A, 1), (Role::Azp, 3)]);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, r#"{"a":1,"azp":3,"d":4}"#);
        assert_eq!(serde_json::from_str::<ByRole<u8>>(&text).unwrap(), all);
        let error = serde_json::from_str::<ByRole<u8>>(r#"{"e":1}"#).unwrap_err();
        assert!(error.to_string().contains("\"e\""), "{error}");
    }
}
