//! `tcverify screen commit` and `challenge`: results that a node cannot have made before.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::args::signer;
use super::show;
use super::values::{sha256, time};
use crate::io::tree::Hash;
use crate::io::{Outputs, escaped_path, read_text};
use crate::screen::{COMMITMENT, Commitment, Suite, challenge};
use crate::sign::{PublicKey, Signer};
use crate::tlog::{posix_of, rfc3339};

/// Larger than any commitment.
const MOST_BYTES: u64 = 1 << 16;

/// Commit to a GPU before products are drawn for it
///
/// The node keeps the file and hands its SHA-256, which is printed, to the operator. (Nodes without tcverify:
/// tcverify_screen.py commit.)
#[derive(Args)]
pub struct Commit {
    /// Name of the host in the results
    #[arg(long, value_name = "NAME", default_value = "simulated")]
    host: String,

    /// Number of the GPU in the results
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: u32,

    /// UUID or serial number of the GPU in the results; a simulated one has none
    #[arg(long, value_name = "UUID")]
    uuid: Option<String>,

    /// Who will sign the results: a private Ed25519 key, as 'openssl genpkey -algorithm ed25519' writes it
    #[arg(long, value_name = "PRIVATE.pem")]
    key: PathBuf,

    /// Time of the commitment; by default this machine's clock
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<u64>,

    /// Where to write it
    #[arg(long, short, value_name = "COMMITMENT.json")]
    output: PathBuf,
}

impl Commit {
    pub fn run(self) -> Result<()> {
        let mut outputs = Outputs::new();
        let signer = signer(&self.key, &mut outputs)?;
        let output = outputs.open("the commitment", &self.output)?;
        let commitment = Commitment {
            schema: COMMITMENT.into(),
            host: self.host,
            index: self.gpu,
            uuid: self.uuid,
            key: signer.public(),
            time: rfc3339(self.time.unwrap_or_else(now)),
        };
        let text = serde_json::to_string(&commitment)? + "\n";
        output.commit(|out| out.write_all(text.as_bytes()))?;
        show::written(&self.output, Hash::of([text.as_bytes()]), false)
    }
}

fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Draw products for nodes that committed: a suite without the correct results
///
/// Seeds follow from the commitments and the beacon's value. Take a value that nobody knew when the nodes committed, from a
/// public beacon or 'openssl rand -hex 16'. Nodes run the suite as any other, and sign their results. 'judge --suite
/// CHALLENGE.json' computes the correct results.
#[derive(Args)]
pub struct Challenge {
    /// Suite of 'tcverify screen make'
    #[arg(value_name = "SUITE.json")]
    suite: PathBuf,

    /// SHA-256 of a node's commitment; once for every GPU
    #[arg(long, value_name = "SHA256", required = true, value_parser = sha256)]
    commitment: Vec<Hash>,

    /// A value that no node knew: 1 to 256 visible characters of ASCII
    #[arg(long, value_name = "VALUE")]
    beacon: String,

    /// Time of the draw, for 'judge --within'; no clock is read
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<u64>,

    /// Number of products of instructions to draw; the suite's products of libraries are all included
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=100))]
    products: u32,

    /// Where to write it
    #[arg(long, short, value_name = "CHALLENGE.json")]
    output: PathBuf,

    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

impl Challenge {
    pub fn run(self) -> Result<()> {
        let (suite, _) = Suite::read(&self.suite)?;
        let mut outputs = Outputs::new();
        outputs.protect("the suite", &self.suite);
        let output = outputs.open("the challenge", &self.output)?;
        let drawn = (self.beacon.as_str(), self.time.map(rfc3339));
        let challenge = challenge(&suite, self.commitment, drawn, self.products as usize)?;
        let text = challenge.text()?;
        output.commit(|out| out.write_all(&text))?;
        show::unless(self.quiet || show::is_stdout(&self.output), |out| {
            let drawn = challenge.challenge.as_ref();
            writeln!(
                out,
                "{} challenge: {} products, {} commitments  {}",
                challenge.arch,
                challenge.products.len(),
                drawn.map_or(0, |drawn| drawn.commitments.len()),
                escaped_path(&self.output)
            )
        })
    }
}

/// Who signs results.
#[derive(Args)]
pub struct Answering {
    /// Sign the results: a private Ed25519 key, as 'openssl genpkey -algorithm ed25519' writes it
    #[arg(long, value_name = "PRIVATE.pem")]
    key: Option<PathBuf>,

    /// The commitment that a challenge was drawn for
    #[arg(long, value_name = "COMMITMENT.json", requires = "key")]
    commitment: Option<PathBuf>,
}

impl Answering {
    pub fn read(&self, outputs: &mut Outputs) -> Result<(Option<String>, Option<Signer>)> {
        let mut text = |path: &PathBuf| {
            outputs.protect("the commitment", path);
            read_text(path, "commitment", MOST_BYTES)
        };
        let commitment = self.commitment.as_ref().map(&mut text).transpose()?;
        let key = self.key.as_deref();
        let key = key.map(|path| signer(path, outputs)).transpose()?;
        Ok((commitment, key))
    }
}

/// Whose results to trust.
#[derive(Args)]
#[command(next_help_heading = "Whom to believe")]
pub struct Trust {
    /// Judge only results that are signed by one of these public keys (openssl pkey -pubout); others are refused
    #[arg(long, value_name = "PUBLIC.pem")]
    trust: Vec<PathBuf>,

    /// Time at which the answers to a challenge were received; no clock is read
    #[arg(long, value_name = "TIME", value_parser = time, requires = "within")]
    received: Option<u64>,

    /// Refuse answers received more than this many seconds after the draw
    #[arg(long, value_name = "SECONDS", requires = "received")]
    within: Option<u64>,
}

impl Trust {
    /// The keys, if answers are not too late.
    ///
    /// # Errors
    /// If a file is not a key, or the answers are too late.
    pub fn read(&self, outputs: &mut Outputs, suite: &Suite) -> Result<Vec<PublicKey>> {
        let mut keys = Vec::new();
        for path in &self.trust {
            outputs.protect("a key", path);
            keys.push(PublicKey::read(path)?);
        }
        let Some((received, within)) = self.received.zip(self.within) else {
            return Ok(keys);
        };
        let challenge = suite
            .challenge
            .as_ref()
            .context("--within is of a challenge")?;
        let drawn = challenge
            .drawn
            .as_deref()
            .context("--within: the challenge has no time: challenge --time")?;
        let at = posix_of(drawn).context("the challenge has no time that can be read")?;
        let Some(took) = received.checked_sub(at) else {
            bail!("--received is before {drawn}, when the challenge was drawn");
        };
        ensure!(
            took <= within,
            "the answers came {took} s after the challenge was drawn ({drawn}), and --within is {within}: they are too old"
        );
        Ok(keys)
    }
}
