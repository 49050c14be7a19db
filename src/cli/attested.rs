//! `--attest`: a signed verdict for other tools.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use sha2::{Digest, Sha256};

use super::values::word;
use super::{documents, show};
use crate::attest::{Claims, Envelope, Kind, PAYLOAD_TYPE};
use crate::commit::Hash;
use crate::io::{Output, Outputs};
use crate::sign::Signer;
use crate::tlog::{posix_of, rfc3339};

/// What to sign, and with which key.
#[derive(Args)]
#[command(next_help_heading = "Attestation")]
pub struct AttestArgs {
    /// Sign the verdict: an in-toto statement about the judged files in a DSSE envelope, for cosign and similar tools
    /// (docs/attestations.md)
    #[arg(long, value_name = "PATH", requires = "attest_key")]
    attest: Option<PathBuf>,

    /// Private Ed25519 key that signs it, as 'openssl genpkey -algorithm ed25519' writes it
    #[arg(long, value_name = "PRIVATE.pem", requires = "attest")]
    attest_key: Option<PathBuf>,

    /// Kind of statement: test-result states whether it passed; svr lists what was verified, with a
    /// time
    #[arg(long, value_name = "KIND", requires = "attest", value_parser = word::<Kind>())]
    attest_as: Option<Kind>,

    /// Time that an svr must state, such as 2026-11-23T08:00:00Z; tcverify reads no clock
    #[arg(long, value_name = "TIME", requires = "attest", value_parser = time)]
    attest_time: Option<u64>,
}

/// A time as RFC 3339 writes it, in UTC.
pub fn time(text: &str) -> Result<u64, String> {
    posix_of(text).ok_or_else(|| "write it in UTC, like 2026-11-23T08:00:00Z".to_owned())
}

/// Where an attestation goes, and who signs it.
pub struct Attesting {
    output: Output,
    signer: Signer,
    kind: Kind,
    time: Option<String>,
}

impl AttestArgs {
    /// Reads the key before outputs are opened.
    ///
    /// # Errors
    /// If it is none, or options do not fit each other.
    pub fn read(&self, outputs: &mut Outputs) -> Result<Option<Signer>> {
        let kind = self.attest_as.unwrap_or(Kind::TestResult);
        match (kind, self.attest_time) {
            (Kind::Svr, None) if self.attest.is_some() => {
                return Err(anyhow!("--attest-as svr needs a time: --attest-time"));
            }
            (Kind::TestResult, Some(_)) => {
                return Err(anyhow!(
                    "--attest-time applies only to --attest-as svr: a test-result has no time"
                ));
            }
            _ => {}
        }
        let Some(path) = &self.attest_key else {
            return Ok(None);
        };
        outputs.protect("the key", path);
        Ok(Some(documents::signer(path)?))
    }

    /// Opens the place.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn open(&self, outputs: &mut Outputs, signer: Option<Signer>) -> Result<Option<Attesting>> {
        let Some((path, signer)) = self.attest.as_deref().zip(signer) else {
            return Ok(None);
        };
        ensure!(
            path.as_os_str() != "-",
            "--attest needs a file: standard output carries the report"
        );
        Ok(Some(Attesting {
            output: outputs.open("the attestation", path)?,
            signer,
            kind: self.attest_as.unwrap_or(Kind::TestResult),
            time: self.attest_time.map(rfc3339),
        }))
    }
}

impl Attesting {
    /// Writes it; `json` writes the report, which it names by its SHA-256. Without claims there is no verdict, and
    /// nothing is signed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn publish(
        self,
        claims: Option<Claims>,
        json: impl Fn(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let Some(claims) = claims else {
            return Ok(());
        };
        let mut hash = Hashing(Sha256::new());
        json(&mut hash)?;
        let report = Hash(hash.0.finalize().into());
        let Some(statement) = claims.statement(self.kind, report, self.time.as_deref()) else {
            show::different(
                "no attestation was written: an svr lists what was verified, and nothing was verified",
            );
            return Ok(());
        };
        let text = statement.text();
        let envelope = Envelope::sign(PAYLOAD_TYPE, text.as_bytes(), &self.signer);
        let text = envelope.text();
        Ok(self.output.commit(|out| out.write_all(text.as_bytes()))?)
    }
}

/// The digest of what is written.
struct Hashing(Sha256);

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
