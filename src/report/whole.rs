//! Whole numbers of more than 64 bits out of a tagged object, of which serde buffers those of 64 alone.

use serde::{Deserialize, Deserializer, de::Error};

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Unsigned(u64),
    Signed(i64),
}

impl From<Number> for i128 {
    fn from(number: Number) -> i128 {
        match number {
            Number::Unsigned(number) => number.into(),
            Number::Signed(number) => number.into(),
        }
    }
}

pub fn option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i128>, D::Error> {
    Ok(Option::<Number>::deserialize(from)?.map(i128::from))
}

pub fn signed<'de, D: Deserializer<'de>>(from: D) -> Result<i128, D::Error> {
    Number::deserialize(from).map(i128::from)
}

pub fn unsigned<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
    let number = signed(from)?;
    u128::try_from(number).map_err(|_| D::Error::custom("a number of at least 0 is expected"))
}
