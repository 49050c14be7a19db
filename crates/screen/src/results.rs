//! What a node found.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::ScreenError;
use super::suite::Suite;
use super::tiles::Tiles;
use crate::envelope;
use crate::io::Fault;
use crate::io::tree::Hash;
use crate::sign::{PublicKey, Signer};

/// Value of the `schema` field.
pub const RESULTS: &str = "tcverify.screen-results/1";

/// Kinds of wrong D that results keep, tiles of one, and bytes of a tile: what a broken GPU returns is
/// without end.
pub const MOST_FAILURES: usize = 128;
pub const MOST_TILES: usize = 4;
pub const MOST_TILE_BYTES: usize = 1 << 14;

/// One GPU, one run of a suite. Sealed by the SHA-256 of its content, so that one cut short is not taken for
/// whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// SHA-256 of the suite's content.
    pub suite: Hash,
    pub device: Device,
    /// Products that were run.
    pub runs: Vec<Ran>,
    /// Products that this device or program cannot compute, and why.
    pub left_out: Vec<(String, String)>,
    /// SMs that computed placed products.
    pub sms: Vec<u32>,
    pub failures: Vec<Failure>,
    /// Kinds of wrong D beyond those in the list.
    pub more_failures: u64,
    /// Wrong results in the first half of the runs, and in the second; the one in the middle is in the first.
    #[serde(default)]
    pub halves: Option<[u64; 2]>,
    pub readings: Option<Readings>,
    pub seconds: f64,
    /// Whether it stopped at a difference.
    pub stopped: bool,
    /// Of answers to a challenge, the text of the file of the commitment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<String>,
    /// Whose signature the document bears.
    #[serde(skip)]
    pub signer: Option<PublicKey>,
}

/// A product that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ran {
    pub product: String,
    /// D of it that were compared.
    pub compared: u64,
    /// How many SMs computed it whole; 0 of a product that is spread.
    pub sms: u32,
}

/// The GPU that computed, as its node describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Device {
    pub host: String,
    /// Which of the host's.
    pub index: u32,
    pub name: String,
    /// Compute capability, `sm_90`, or the catalogue's name.
    pub architecture: String,
    pub uuid: Option<String>,
    pub driver: Option<String>,
    /// SMs that it has; `None` if the program places nothing on them.
    pub multiprocessors: Option<u32>,
    /// The program that ran.
    pub program: String,
    /// Whether there was no GPU at all.
    pub simulated: bool,
}

/// Least and largest while the suite ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Readings {
    /// Degrees Celsius.
    pub temperature_c: [u32; 2],
    pub sm_clock_mhz: Option<[u32; 2]>,
}

/// A wrong D of a product, however often it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Failure {
    pub product: String,
    /// SHA-256 of D's payload.
    pub d_sha256: Hash,
    pub times: u64,
    /// SMs that computed it, of a product that is placed.
    pub sms: Vec<u32>,
    /// Least and largest temperature at which it came.
    pub temperature_c: Option<[u32; 2]>,
    /// How many tiles differ, and some of them.
    pub tiles_different: u64,
    pub tiles: Vec<WrongTile>,
    /// Folder beside the results that `check` and `explain` judge.
    pub case: Option<String>,
}

/// A tile that differs, in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WrongTile {
    /// Row by row.
    pub index: usize,
    /// Payload in hexadecimal; none if it is too long.
    pub payload: Option<String>,
}

impl WrongTile {
    /// A tile of a wrong D.
    pub fn of(tiles: &Tiles, d: &[u8], index: usize) -> WrongTile {
        let small = tiles.bytes(index) <= MOST_TILE_BYTES;
        WrongTile {
            index,
            payload: small.then(|| crate::io::hex(&tiles.payload(d, index))),
        }
    }

    /// The payload's bytes; `None` if there are none, or they are not bytes.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let text = self.payload.as_ref()?.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let pair = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(*pair.get(1)?)?) as u8);
        text.chunks(2).map(pair).collect()
    }
}

impl Failure {
    /// Adds one more of the same.
    pub fn again(&mut self, sm: Option<u32>, temperature: Option<u32>) {
        self.times += 1;
        if let Some(sm) = sm
            && let Err(at) = self.sms.binary_search(&sm)
        {
            self.sms.insert(at, sm);
        }
        self.temperature_c = match (self.temperature_c, temperature) {
            (Some([low, high]), Some(t)) => Some([low.min(t), high.max(t)]),
            (None, Some(t)) => Some([t, t]),
            (known, None) => known,
        };
    }
}

impl Results {
    /// As the file has it, signed if there is a key.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn signed(&self, signer: Option<&Signer>) -> Result<Vec<u8>, ScreenError> {
        let text = envelope::seal_signed(RESULTS, self, signer);
        Ok(text.map_err(|error| error.to_string())?)
    }

    /// Reads the results of a run of a suite, and the SHA-256 of the file.
    ///
    /// # Errors
    /// If they are none, were cut short, are of another suite, or say what cannot be.
    pub fn read(path: &Path, suite: &Suite, id: Hash) -> Result<(Results, Hash), ScreenError> {
        let fault = |reason: String| ScreenError::File(Fault::from(reason).of(path));
        let read = envelope::read_signed::<Results>(RESULTS, path).map_err(fault)?;
        let (mut results, signer, sha256) = read;
        results.signer = signer;
        if results.suite != id {
            let other = results.suite;
            return Err(fault(format!(
                "belongs to the suite {other}, not to this one ({id})"
            )));
        }
        results.validate(suite).map_err(fault)?;
        Ok((results, sha256))
    }

    /// How a product was run.
    pub fn ran(&self, product: &str) -> Option<&Ran> {
        self.runs.iter().find(|ran| ran.product == product)
    }

    /// D that were compared, of all products.
    pub fn compared(&self) -> u64 {
        let all = self.runs.iter().map(|ran| ran.compared);
        all.fold(0, u64::saturating_add)
    }

    /// Of these, how many were wrong.
    pub fn wrong(&self) -> u64 {
        let listed = self.failures.iter().map(|f| f.times);
        listed.fold(self.more_failures, u64::saturating_add)
    }
}
