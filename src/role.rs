//! The role of an array in its product or operation.
//!
//! A role is declared once: its field in documents, requests and Python, its symbol in tables, what messages call it
//! and what generated numbers are drawn by. Whatever belongs to arrays (sources, tensors, digests) is kept
//! [`ByRole`], never by position.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    /// The arrays of a product.
    pub const PRODUCT: &[Role] = &[
        Role::A,
        Role::B,
        Role::C,
        Role::SparseA,
        Role::ScaleA,
        Role::ScaleB,
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

/// How a document says that there is no such array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// There always is one.
    Never,
    /// The field is null.
    Null,
    /// There is no such field.
    LeftOut,
}

/// The arrays of a product in a document: what each field is where there is none.
pub(crate) const fn absence(role: Role) -> Absence {
    match role {
        Role::A | Role::B => Absence::Never,
        Role::C | Role::D => Absence::Null,
        _ => Absence::LeftOut,
    }
}

/// An object of a document with one field for every array of a product, and what belongs to it.
macro_rules! fields_by_role {
    ($(#[$about:meta])* pub struct $name:ident: $kind:ty, roles: $roles:expr;) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub $crate::role::ByRole<$kind>);

        impl std::ops::Deref for $name {
            type Target = $crate::role::ByRole<$kind>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl std::ops::DerefMut for $name {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.0
            }
        }

        impl std::ops::Index<$crate::role::Role> for $name {
            type Output = $kind;

            fn index(&self, role: $crate::role::Role) -> &$kind {
                &self.0[&role]
            }
        }

        impl FromIterator<($crate::role::Role, $kind)> for $name {
            fn from_iter<I: IntoIterator<Item = ($crate::role::Role, $kind)>>(all: I) -> $name {
                $name(all.into_iter().collect())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                $crate::role::write(&self.0, $roles, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                $crate::role::read($roles, from).map($name)
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::role::schema::<$kind>($roles, generator)
            }
        }
    };
}

pub(crate) use fields_by_role;

/// Writes the fields of an object, one an array.
pub(crate) fn write<T: Serialize, S: Serializer>(
    all: &ByRole<T>,
    roles: &[Role],
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut fields = to.serialize_map(None)?;
    for role in roles {
        match (all.get(role), absence(*role)) {
            (None, Absence::LeftOut | Absence::Never) => {}
            (value, _) => fields.serialize_entry(role.field(), &value)?,
        }
    }
    fields.end()
}

/// Reads what [`write`] writes: null where that writes null, and nowhere else.
pub(crate) fn read<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    roles: &'static [Role],
    from: D,
) -> Result<ByRole<T>, D::Error> {
    struct Fields<T> {
        roles: &'static [Role],
        of: PhantomData<T>,
    }

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
        type Value = ByRole<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of arrays")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ByRole<T>, M::Error> {
            let mut all = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                let role = self.roles.iter().find(|role| role.field() == name);
                let role = *role.ok_or_else(|| {
                    let known: Vec<_> = self.roles.iter().map(|role| role.field()).collect();
                    let known = known.join("`, `");
                    M::Error::custom(format!("unknown field `{name}`, expected one of `{known}`"))
                })?;
                let value = match absence(role) {
                    Absence::Null => map.next_value::<Option<T>>()?,
                    Absence::Never | Absence::LeftOut => Some(map.next_value()?),
                };
                if all.insert(role, value).is_some() {
                    return Err(M::Error::duplicate_field(role.field()));
                }
            }
            let needed = |role: &&Role| absence(**role) != Absence::LeftOut;
            let mut needed = self.roles.iter().filter(needed);
            if let Some(missing) = needed.find(|role| !all.contains_key(role)) {
                return Err(M::Error::missing_field(missing.field()));
            }
            let there = all.into_iter();
            Ok(there
                .filter_map(|(role, value)| Some((role, value?)))
                .collect())
        }
    }

    from.deserialize_map(Fields {
        roles,
        of: PhantomData,
    })
}

/// The schema of what [`write`] writes.
#[cfg(feature = "schemars")]
pub(crate) fn schema<T: schemars::JsonSchema>(
    roles: &[Role],
    generator: &mut schemars::SchemaGenerator,
) -> schemars::Schema {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for role in roles {
        let of = match absence(*role) {
            Absence::Never => generator.subschema_for::<T>(),
            Absence::Null | Absence::LeftOut => generator.subschema_for::<Option<T>>(),
        };
        properties.insert(role.field().to_owned(), of.to_value());
        if absence(*role) != Absence::LeftOut {
            required.push(role.field());
        }
    }
    schemars::json_schema!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "required": required,
    })
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

    fields_by_role! {
        /// A number for every array.
        pub struct Numbers: u8, roles: Role::PRODUCT;
    }

    #[test]
    fn documents_have_a_field_for_every_array() {
        let all = [(Role::D, 4), (Role::A, 1), (Role::B, 2), (Role::Azp, 3)];
        let all = Numbers::from_iter(all);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(text, r#"{"a":1,"b":2,"c":null,"azp":3,"d":4}"#);
        assert_eq!(serde_json::from_str::<Numbers>(&text).unwrap(), all);
        for (text, wrong) in [
            (r#"{"a":1,"c":null,"d":null}"#, "missing field `b`"),
            (r#"{"a":1,"b":2,"d":4}"#, "missing field `c`"),
            (r#"{"a":1,"b":null,"c":3,"d":4}"#, "null"),
            (r#"{"a":1,"b":2,"c":3,"d":4,"azp":null}"#, "null"),
            (r#"{"a":1,"b":2,"a":3}"#, "duplicate field `a`"),
            (r#"{"a":1,"b":2,"x":3}"#, "unknown field `x`"),
        ] {
            let read = serde_json::from_str::<Numbers>(text);
            let error = read.unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
