//! Commitments that go into a log, and what witnesses say about them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;

use super::{documents, show};
use crate::commit::leaf;
use crate::io::{MAX_DOCUMENT, Output, Outputs, escaped_path, read_bytes, read_text};
use crate::sign::Signer;
use crate::tlog::{Key, KeyKind, OpenLog, Published, TlogProof, Witnesses, rfc3339};

/// A log that a commitment is added to.
#[derive(Args)]
#[command(next_help_heading = "Log")]
pub struct LoggingArgs {
    /// Add the commitment to the log of this name, such as example.com/log, and sign a checkpoint for witnesses to
    /// cosign (docs/attestations.md)
    #[arg(long, value_name = "ORIGIN", requires_all = ["log", "log_key", "proof"])]
    checkpoint: Option<String>,

    /// File of the log; a new file starts a log
    #[arg(long, value_name = "LOG", requires = "checkpoint")]
    log: Option<PathBuf>,

    /// Private Ed25519 key that signs it, as 'openssl genpkey -algorithm ed25519' writes it
    #[arg(long, value_name = "PRIVATE.pem", requires = "checkpoint")]
    log_key: Option<PathBuf>,

    /// Where to write the checkpoint with the proof that it contains the commitment
    #[arg(long, value_name = "C.tlog-proof", requires = "checkpoint")]
    proof: Option<PathBuf>,
}

/// A log that is open, and where the proof goes.
pub struct Logging {
    log: OpenLog,
    signer: Signer,
    output: Output,
}

impl LoggingArgs {
    /// Reads the key before outputs are opened.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(&self, outputs: &mut Outputs) -> Result<Option<Signer>> {
        let Some(path) = &self.log_key else {
            return Ok(None);
        };
        outputs.protect("the key", path);
        Ok(Some(documents::signer(path)?))
    }

    /// Opens the log and the proof's output, after all other outputs. A missing log is started.
    ///
    /// # Errors
    /// If one cannot be written, or is something else.
    pub fn open(&self, outputs: &mut Outputs, signer: Option<Signer>) -> Result<Option<Logging>> {
        let LoggingArgs {
            checkpoint: Some(origin),
            log: Some(log),
            proof: Some(proof),
            ..
        } = self
        else {
            return Ok(None);
        };
        let signer = signer.ok_or_else(|| anyhow!("--checkpoint needs --log-key"))?;
        ensure!(
            proof.as_os_str() != "-",
            "--proof needs a file: standard output carries the commitment"
        );
        outputs.claim("the log", log)?;
        let output = outputs.open("the proof", proof)?;
        let log = OpenLog::open(log, origin, &signer)
            .map_err(|error| anyhow!("--checkpoint: {error:#}"))?;
        Ok(Some(Logging {
            log,
            signer,
            output,
        }))
    }
}

impl Logging {
    /// Adds a commitment, and writes the proof; what is printed is the log's key as others take it.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn add(mut self, commitment: &[u8], quiet: bool) -> Result<()> {
        let proof = self.log.add(commitment, &self.signer)?;
        let text = proof.text();
        self.output.commit(|out| out.write_all(text.as_bytes()))?;
        let origin = &self.log.log.origin;
        let key = Key::new(origin, KeyKind::Ed25519, self.signer.public());
        let key = key.map_err(anyhow::Error::msg)?;
        match quiet {
            true => Ok(()),
            false => show::print(|out| writeln!(out, "leaf {} of the log {key}", proof.index)),
        }
    }
}

/// Who is trusted on the time of a commitment.
#[derive(Args)]
#[command(next_help_heading = "Time of the commitment")]
pub struct WitnessArgs {
    /// The log's key: NAME+hhhhhhhh+BASE64, as 'commit --checkpoint' prints it
    #[arg(long, value_name = "KEY")]
    pub log_key: Option<Key>,

    /// Key of a witness, in the same form. Repeatable
    #[arg(long, value_name = "KEY")]
    pub witness: Vec<Key>,

    /// Number of witnesses that must have cosigned
    #[arg(long, value_name = "N")]
    pub quorum: Option<usize>,

    /// When the beacon's value became known, such as 2026-11-23T08:00:00Z; witnesses must have cosigned before
    #[arg(long, value_name = "TIME", value_parser = super::attested::time)]
    pub before: Option<u64>,
}

impl WitnessArgs {
    /// What a proof says of a file. The file is read once: what it hashes to is what is proven.
    ///
    /// # Errors
    /// If options are missing, or why it proves nothing.
    pub fn published(&self, commitment: &[u8], proof: &Path) -> Result<Published> {
        let log = self.log_key.as_ref();
        let log = log.ok_or_else(|| anyhow!("a checkpoint needs the key of its log: --log-key"))?;
        let quorum = self.quorum;
        let quorum = quorum.ok_or_else(|| {
            anyhow!("give the number of witnesses that must have cosigned: --quorum")
        })?;
        let witnesses = Witnesses::new(self.witness.clone(), quorum);
        let witnesses = witnesses.map_err(|reason| anyhow!("--witness, --quorum: {reason}"))?;
        let text = read_text(proof, "proof", MAX_DOCUMENT)?;
        let proof = TlogProof::parse(&text).with_context(|| escaped_path(proof))?;
        let published = witnesses.confirm(leaf([commitment]), &proof, log)?;
        Ok(match self.before {
            Some(time) => published.confirm_before(&rfc3339(time))?,
            None => published,
        })
    }

    /// Whether anything is said.
    pub fn is_given(&self) -> bool {
        let WitnessArgs {
            log_key,
            witness,
            quorum,
            before,
        } = self;
        log_key.is_some() || !witness.is_empty() || quorum.is_some() || before.is_some()
    }
}

/// The bytes of a commitment's file.
pub fn bytes(path: &Path) -> Result<Vec<u8>> {
    Ok(read_bytes(path, "commitment", MAX_DOCUMENT)?)
}
