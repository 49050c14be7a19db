//! Whose word results are, and challenges: products that are drawn after a node committed to its GPU.
//!
//! A node hands in the SHA-256 of a [`Commitment`]. Then its operator draws products with seeds that nobody knew, as a suite
//! that does not say what is right. The node answers with the digest of every D, signed by the key that committed.

use serde::{Deserialize, Serialize};

use super::ScreenError;
use super::make::finished;
use super::results::Results;
use super::suite::{Challenge, Route, Suite};
use crate::check::Source;
use crate::generate::Spec;
use crate::io::printable;
use crate::io::tree::{Hash, leaf};
use crate::random::SplitMix64;
use crate::role::Role;
use crate::sample::PublicDraw;
use crate::sign::PublicKey;
use crate::words::words;

/// Value of the `schema` field.
pub const COMMITMENT: &str = "tcverify.screen-commitment/1";

/// The most products of instructions in a challenge: results list so many kinds of D, and those of libraries besides.
pub const MOST_DRAWN: usize = 100;

/// In a challenge, in place of the digest of a right D.
const UNKNOWN: Hash = Hash([0; 32]);

/// What a node says of itself before it knows what to compute. The SHA-256 of the file commits to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    pub schema: String,
    pub host: String,
    /// Which of the host's GPUs.
    pub index: u32,
    pub uuid: Option<String>,
    /// The key that will sign the results.
    pub key: PublicKey,
    /// By the node's clock.
    pub time: String,
}

words! {
    /// Whose word results are.
    pub enum Whose {
        /// Not signed: the node's own word
        OwnWord = "own_word",
        /// Signed
        Signed = "signed",
        /// Signed, and of products that were drawn after the node committed to this GPU
        Challenged = "challenged",
    }
}

/// What is trusted of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trusted {
    pub whose: Whose,
    pub key: Option<PublicKey>,
    /// When the node committed, by its own clock.
    pub committed: Option<String>,
}

/// Draws a challenge of `products` products of instructions, and all those of libraries, for nodes that committed.
///
/// # Errors
/// If there is nothing to draw, no commitment, or the beacon's value is invalid.
pub fn challenge(
    suite: &Suite,
    mut commitments: Vec<Hash>,
    (beacon, drawn): (&str, Option<String>),
    products: usize,
) -> Result<Suite, ScreenError> {
    commitments.sort_by_key(|hash| hash.0);
    commitments.dedup();
    if commitments.is_empty() || suite.challenge.is_some() {
        let reason = "a challenge is drawn from a suite of 'tcverify screen make', for a commitment at the least";
        return Err(reason.to_owned().into());
    }
    let all: String = commitments.iter().map(|hash| format!("{hash}\n")).collect();
    let draw = PublicDraw::new(&Hash::of([all.as_bytes()]).to_string(), beacon)?;
    let mut random = SplitMix64(draw.seed);
    // Whoever has the suite knows operands in files.
    let generated = suite.products.iter().filter(|product| {
        let mut sources = product.check.arrays().into_values();
        sources.all(|source| matches!(source, Source::Generated(_)))
    });
    let (mut issued, mut chosen): (Vec<_>, Vec<_>) = generated
        .cloned()
        .partition(|product| product.route == Route::Instruction);
    while chosen.len() > MOST_DRAWN / 4 {
        chosen.pop();
    }
    for _ in 0..products.min(MOST_DRAWN) {
        if !issued.is_empty() {
            chosen.push(issued.swap_remove((random.word() % issued.len() as u64) as usize));
        }
    }
    if chosen.is_empty() {
        let reason = "no product of the suite has operands of a seed: challenge a suite of 'tcverify screen make'";
        return Err(reason.to_owned().into());
    }
    for product in &mut chosen {
        let seed = random.word();
        for role in Role::PRODUCT {
            if let Some(Some(Source::Generated(text))) = product.check.array(*role) {
                let mut spec = Spec::read(text)?;
                spec.reseed(seed);
                *text = spec.to_string();
            }
        }
        product.sha256 = UNKNOWN;
        product.leaves.fill(UNKNOWN);
    }
    let mut families = suite.families.clone();
    families.retain(|name, _| chosen.iter().any(|product| product.family == *name));
    Ok(Suite {
        families,
        products: chosen,
        challenge: Some(Challenge {
            commitments,
            beacon: beacon.to_owned(),
            drawn,
        }),
        ..suite.clone()
    })
}

impl Suite {
    /// Whether no digest of a right D is in it, as in a challenge.
    pub(super) fn hides_answers(&self) -> bool {
        let mut products = self.products.iter();
        products.all(|product| {
            product.sha256 == UNKNOWN && product.leaves.iter().all(|leaf| *leaf == UNKNOWN)
        })
    }

    /// A challenge with the digests of the right D.
    ///
    /// # Errors
    /// If a product cannot be computed.
    pub(super) fn opened(&self) -> Result<Suite, ScreenError> {
        let products = self.products.iter().map(|product| {
            let prepared = self.prepare(product)?;
            finished(product.clone(), &prepared, &())
        });
        Ok(Suite {
            products: products.collect::<Result<_, _>>()?,
            ..self.clone()
        })
    }
}

impl Results {
    /// The answers to a challenge, as results of the suite that says what is right.
    ///
    /// # Errors
    /// If not every D is answered; the text follows the file's name.
    pub(super) fn answered(mut self, opened: &Suite) -> Result<Results, String> {
        let (answers, compared) = (self.wrong(), self.compared());
        if answers != compared {
            return Err(format!(
                "answers {answers} of {compared} results; a challenge wants the digest of every D"
            ));
        }
        self.failures.retain_mut(|answer| {
            let mut products = opened.products.iter();
            let product = products.find(|product| product.name == answer.product);
            let product = product.expect("results are validated");
            // The node cannot know which tiles are wrong.
            answer.tiles.retain(|tile| {
                let right = |bytes: Vec<u8>| leaf([&bytes[..]]) == product.leaves[tile.index];
                !tile.bytes().is_some_and(right)
            });
            answer.tiles_different = (answer.tiles.len() as u64).max(1);
            answer.d_sha256 != product.sha256
        });
        self.halves = None;
        self.stopped &= !self.failures.is_empty();
        Ok(self)
    }

    /// Whose word they are. With `keys`, one of these must have signed them.
    ///
    /// # Errors
    /// Why they are not trusted; the text follows the file's name.
    pub(super) fn trusted(&self, suite: &Suite, keys: &[PublicKey]) -> Result<Trusted, String> {
        let trusted = |whose, committed| Trusted {
            whose,
            key: self.signer,
            committed,
        };
        let Some(key) = self.signer else {
            return match (suite.challenge.is_some(), keys.is_empty()) {
                (true, _) => {
                    Err("is not signed; a challenge is answered by the key that committed".into())
                }
                (_, false) => Err("is not signed, and by --trust it has to be".into()),
                _ => Ok(trusted(Whose::OwnWord, None)),
            };
        };
        if !keys.is_empty() && !keys.contains(&key) {
            return Err(format!("is signed by {key}, which --trust does not name"));
        }
        let Some(challenge) = &suite.challenge else {
            return Ok(trusted(Whose::Signed, None));
        };
        let text = self.commitment.as_deref();
        let text = text.ok_or(
            "has no commitment; a challenge is answered with the one that it was drawn for",
        )?;
        let digest = Hash::of([text.as_bytes()]);
        if !challenge.commitments.contains(&digest) {
            return Err(format!(
                "its commitment, {digest}, is not one that the challenge was drawn for"
            ));
        }
        let commitment: Commitment = crate::envelope::strictly(text)
            .map_err(|reason| format!("its commitment is no {COMMITMENT}: {reason}"))?;
        if commitment.schema != COMMITMENT {
            return Err(format!("its commitment is no {COMMITMENT}"));
        }
        if commitment.key != key {
            let committed = commitment.key;
            return Err(format!(
                "is signed by {key}; the key that committed is {committed}"
            ));
        }
        let device = &self.device;
        if (&commitment.host, commitment.index, &commitment.uuid)
            != (&device.host, device.index, &device.uuid)
        {
            let [committed, host] = [&commitment.host, &device.host].map(|host| printable(host));
            return Err(format!(
                "is of GPU {} of {host}{}; the commitment is to GPU {} of {committed}{}",
                device.index,
                uuid(device.uuid.as_deref()),
                commitment.index,
                uuid(commitment.uuid.as_deref())
            ));
        }
        Ok(trusted(Whose::Challenged, Some(commitment.time)))
    }
}

fn uuid(uuid: Option<&str>) -> String {
    uuid.map_or(String::new(), |uuid| format!(" ({})", printable(uuid)))
}
