//! What the results of many GPUs say, as a document.

use serde::{Deserialize, Serialize};

use super::challenge::Trusted;
use super::results::{Device, Readings};
use super::suite::Route;
use crate::attest::{CLEAN, Claims, Descriptor, TestVerdict};
use crate::io::tree::Hash;
use crate::words::words;

/// Value of the `schema` field.
pub const FLEET: &str = "tcverify.screen-fleet/1";

words! {
    /// What is to be thought of a GPU.
    pub enum Condition {
        /// Every D that was compared is right
        Clean = "clean",
        /// Every D that was compared is right, but not all of the suite was run
        Incomplete = "incomplete",
        /// D is what another kernel or schedule computes, the whole of it: no fault
        AnotherKernel = "another_kernel",
        /// The same wrong D on most GPUs: a wrong model or a wrong kernel, no fault
        WrongModel = "wrong_model",
        /// The same wrong D on all SMs, or each time and all over it: an unknown kernel, a driver, what all SMs share
        Alike = "alike",
        /// One bit of one unit, always
        Stuck = "stuck",
        /// One bit of one unit, now and then
        Intermittent = "intermittent",
        /// Whole tiles of one SM are zero, or another's: what controls it, not a unit
        Control = "control",
        /// Bits or places that change
        Marginal = "marginal",
        /// Wrong, and nothing is known of where
        Unplaced = "unplaced",
    }
}

impl Condition {
    /// Whether the GPU should leave the fleet.
    pub fn faulty(self) -> bool {
        use Condition::{Control, Intermittent, Marginal, Stuck, Unplaced};
        matches!(self, Stuck | Intermittent | Control | Marginal | Unplaced)
    }

    /// Whether nobody has to look at it.
    pub fn right(self) -> bool {
        self == Condition::Clean
    }
}

/// What results say of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    pub schema: String,
    /// SHA-256 of the suite's content, its architecture and level.
    pub suite: Hash,
    pub arch: String,
    pub level: String,
    pub products: usize,
    /// The only products that a GPU had to run, if the operator said so; otherwise all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<Route>,
    /// In the order of hosts.
    pub gpus: Vec<Gpu>,
}

/// What results say of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Where the results were.
    pub results: String,
    pub device: Device,
    pub condition: Condition,
    /// One sentence.
    pub said: String,
    /// Products that it ran, and how many it had to run.
    #[serde(default)]
    pub answered: [usize; 2],
    /// D that were compared, and those that were wrong.
    pub compared: u64,
    pub wrong_results: u64,
    pub products_wrong: Vec<String>,
    /// Where the elements are that are wrong, of the tiles that results hold.
    pub wrong: Wrong,
    pub readings: Option<Readings>,
    pub seconds: f64,
    /// Cases that `check` and `explain` judge.
    pub cases: Vec<String>,
    /// What was not run, and why.
    pub left_out: Vec<(String, String)>,
    /// Whose word the results are.
    pub trusted: Trusted,
}

/// Elements that are wrong, counted by place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    /// Elements in the tiles that results hold.
    pub elements: u64,
    /// SMs that ran placed products, and those with a wrong D: number and how many.
    pub sms_seen: usize,
    pub sms: Vec<(u32, u64)>,
    pub lanes: Vec<(usize, u64)>,
    /// Bits of D that differ: number from the least significant on, ones that should be 0, zeros that should
    /// be 1.
    pub bits: Vec<(u32, u64, u64)>,
    /// Least and largest temperature at which a D was wrong.
    pub temperature_c: Option<[u32; 2]>,
    /// The first: product, row and column, right and given code.
    pub first: Option<FirstWrong>,
    /// Broken bits that give these elements, and no other, in words of `--inject`.
    pub fits: Vec<String>,
}

/// The first wrong element of a product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FirstWrong {
    pub product: String,
    pub tile: usize,
    pub row: usize,
    pub column: usize,
    /// Hexadecimal.
    pub right: String,
    pub given: String,
}

impl Fleet {
    /// How many are in a condition.
    pub fn count(&self, condition: Condition) -> usize {
        self.gpus
            .iter()
            .filter(|gpu| gpu.condition == condition)
            .count()
    }

    pub fn faulty(&self) -> impl Iterator<Item = &Gpu> {
        self.gpus.iter().filter(|gpu| gpu.condition.faulty())
    }

    /// The claims about files of results, by name and SHA-256.
    pub fn claims(&self, results: Vec<(String, Hash)>) -> Claims {
        let result = |gpu: &Gpu| match gpu.condition {
            Condition::Clean if self.route.is_none() => TestVerdict::Passed,
            // Every D that was compared is right, but not all were.
            Condition::Clean | Condition::Incomplete => TestVerdict::Warned,
            _ => TestVerdict::Failed,
        };
        let named = |gpu: &Gpu| format!("{}/{}", gpu.device.host, gpu.device.index);
        let clean = self.route.is_none() && self.gpus.iter().all(|gpu| gpu.condition.right());
        let files = results.into_iter();
        let tests = self.gpus.iter();
        Claims {
            subjects: files
                .map(|(name, sha256)| Descriptor::new(name, sha256))
                .collect(),
            configuration: vec![Descriptor::new("suite", self.suite)],
            tests: tests.map(|gpu| (named(gpu), result(gpu))).collect(),
            properties: clean.then(|| CLEAN.to_owned()).into_iter().collect(),
            policies: Vec::new(),
        }
    }

    /// Indented JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }
}
