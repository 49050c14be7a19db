//! Of a report that was put together: who vouches for which part of it.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use tcverify_io::{from_hex, hex};

/// The parts of a merged report, counted from 0, by what is known of them. Each is in one of the lists at least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Merged {
    /// How many parts there are.
    pub parts: u64,
    /// Those that `merge` ran again.
    pub run_again: Vec<u64>,
    /// Those that a key of the plan signed: each `key` with its `parts`.
    pub signed: Vec<SignedParts>,
    /// Those that nobody vouches for.
    pub trusted: Vec<u64>,
}

/// What one key signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignedParts {
    pub key: VouchingKey,
    pub parts: Vec<u64>,
}

/// A public Ed25519 key by its 32 bytes, written as hexadecimal digits. Whoever put the report together has verified
/// its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VouchingKey(pub [u8; 32]);

impl VouchingKey {
    /// From 64 lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<VouchingKey> {
        from_hex(text).map(VouchingKey)
    }
}

impl std::fmt::Display for VouchingKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl Serialize for VouchingKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VouchingKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<VouchingKey, D::Error> {
        let text = String::deserialize(deserializer)?;
        VouchingKey::parse(&text).ok_or_else(|| {
            D::Error::custom("a public Ed25519 key of 64 lower-case hexadecimal digits is expected")
        })
    }
}

impl Merged {
    /// Of parts in order, each with the key that signed it.
    pub fn of(signers: &[Option<VouchingKey>], run_again: &[usize]) -> Merged {
        let mut signed: Vec<SignedParts> = Vec::new();
        let mut trusted = Vec::new();
        for (part, signer) in signers.iter().enumerate() {
            let number = part as u64;
            match signer {
                Some(key) => match signed.iter_mut().find(|of| of.key == *key) {
                    Some(of) => of.parts.push(number),
                    None => signed.push(SignedParts {
                        key: *key,
                        parts: vec![number],
                    }),
                },
                None if !run_again.contains(&part) => trusted.push(number),
                None => {}
            }
        }
        Merged {
            parts: signers.len() as u64,
            run_again: run_again.iter().map(|&part| part as u64).collect(),
            signed,
            trusted,
        }
    }

    /// Whether it has every part where it belongs.
    pub fn is_sound(&self) -> bool {
        let signed = self.signed.iter().flat_map(|of| &of.parts);
        let vouched: BTreeSet<_> = self.run_again.iter().chain(signed).collect();
        let trusted: BTreeSet<_> = self.trusted.iter().collect();
        let known = vouched.union(&trusted).all(|&&part| part < self.parts);
        let apart = vouched.is_disjoint(&trusted);
        known && apart && (vouched.len() + trusted.len()) as u64 == self.parts
    }
}

#[cfg(feature = "schemars")]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::VouchingKey;

    tcverify_num::as_json! {
        VouchingKey, "Ed25519PublicKey": { "type": "string", "pattern": "^[0-9a-f]{64}$" };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";

    #[test]
    fn every_part_is_vouched_for_or_believed() {
        let key = VouchingKey::parse(KEY);
        let merged = Merged::of(&[None, key, None, key, None], &[0, 1]);
        assert!(merged.is_sound());
        assert_eq!(merged.trusted, [2, 4]);
        assert_eq!(merged.signed[0].parts, [1, 3]);
        for wrong in [
            Merged {
                trusted: vec![2],
                ..merged.clone()
            },
            Merged {
                trusted: vec![0, 2, 4],
                ..merged.clone()
            },
            Merged {
                parts: 4,
                ..merged.clone()
            },
            Merged {
                parts: 6,
                ..merged.clone()
            },
        ] {
            assert!(!wrong.is_sound(), "{wrong:?}");
        }
        assert!(Merged::of(&[key; 3], &[]).trusted.is_empty());
    }
}
