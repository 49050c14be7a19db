//! `tcverify log`: logs of commitments that witnesses cosign, and the options that commands share about them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;

use super::args::signer;
use super::show::{self, is_stdout};
use super::values::time;
use super::{Ending, Refuted};
use crate::io::tree::leaf;
use crate::io::{MAX_DOCUMENT, Output, Outputs, escaped_path, read_bytes, read_text};
use crate::sign::Signer;
use crate::tlog::{
    Checkpoint, Committed, Key, KeyKind, Log as Leaves, Note, OpenLog, Published, TlogError,
    TlogProof, Witnesses, repeated, rfc3339,
};

commands! {
    /// Work with logs of commitments: prove, verify, ask witnesses, find duplicates
    ///
    /// 'commit --checkpoint' adds a commitment to a log. Checkpoints and proofs follow C2SP, so that any witness can
    /// cosign them. docs/attestations.md explains what that proves.
    #[command(after_long_help = "\
Examples:
  Commit, and get the checkpoint cosigned:
    tcverify commit --arch h100 --dtype bf16 a.npy b.npy d.npy -o c.json \\
        --checkpoint example.com/log --log log.txt --log-key key.pem --proof c.tlog-proof
    tcverify log checkpoint log.txt --log-key key.pem -o checkpoint
    tcverify log ask log.txt checkpoint --old 0 | curl --data-binary @- https://witness.example/add-checkpoint >> checkpoint
    tcverify log prove log.txt c.json --checkpoint checkpoint -o c.tlog-proof

  Anyone with the keys of the log and the witnesses:
    tcverify log verify c.json c.tlog-proof --log-key example.com/log+... --witness witness.example+... --quorum 1

  Anyone with all commitments of a log:
    tcverify log twice log.txt *.json --checkpoint checkpoint --log-key example.com/log+...

Exit codes: verify: 0 proven, 1 not proven; twice: 0 no product appears twice, 1 one does, 2 unknown; all: 2 anything else.")]
    pub enum Log {
        Checkpoint(MakeCheckpoint),
        Ask(Ask),
        Prove(Prove),
        Verify(Verify),
        Twice(Twice),
    }
}

/// Sign a checkpoint of the whole log
#[derive(Args)]
pub struct MakeCheckpoint {
    /// The log's file
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// The log's private key
    #[arg(long, value_name = "PRIVATE.pem")]
    log_key: PathBuf,

    /// Where to write the checkpoint; "-" is standard output
    #[arg(long, short, value_name = "CHECKPOINT", default_value = "-")]
    output: PathBuf,
}

/// Write the request to a witness: the body of its add-checkpoint, with the proof that nothing was removed
#[derive(Args)]
pub struct Ask {
    /// The log's file
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// Checkpoint written by 'tcverify log checkpoint'
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: PathBuf,

    /// Leaves of the last checkpoint that the witness cosigned; 0 for none
    #[arg(long, value_name = "N")]
    old: u64,

    /// Where to write it; "-" is standard output
    #[arg(long, short, value_name = "REQUEST", default_value = "-")]
    output: PathBuf,
}

/// Prove that a cosigned checkpoint contains a commitment
#[derive(Args)]
pub struct Prove {
    /// The log's file
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// Commitment written by 'tcverify commit'
    #[arg(value_name = "C.json")]
    commitment: PathBuf,

    /// The checkpoint, with the witnesses' lines added
    #[arg(long, value_name = "CHECKPOINT")]
    checkpoint: PathBuf,

    /// Where to write the proof; "-" is standard output
    #[arg(long, short, value_name = "C.tlog-proof", default_value = "-")]
    output: PathBuf,
}

/// Check that a commitment is in a log, and that witnesses cosigned it in time
#[derive(Args)]
pub struct Verify {
    /// Commitment written by 'tcverify commit'
    #[arg(value_name = "C.json")]
    commitment: PathBuf,

    /// Its proof
    #[arg(value_name = "C.tlog-proof")]
    proof: PathBuf,

    #[command(flatten)]
    witnesses: WitnessArgs,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

/// Find several commitments to one product: same model, schedule and operands, but another D
///
/// A prover with several commitments could later choose the one that passes. The command needs all commitments of the
/// log.
#[derive(Args)]
pub struct Twice {
    /// The log's file
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// Every commitment of the log
    #[arg(value_name = "C.json", required = true)]
    commitments: Vec<PathBuf>,

    /// A checkpoint that the log must contain
    #[arg(long, value_name = "CHECKPOINT")]
    checkpoint: PathBuf,

    /// The log's key: NAME+hhhhhhhh+BASE64
    #[arg(long, value_name = "KEY")]
    log_key: Key,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

/// Adds the file's name, which errors of reading have already.
fn named(error: TlogError, path: &Path) -> anyhow::Error {
    match error {
        TlogError::File(error) => error.into(),
        other => anyhow!("{}: {other}", escaped_path(path)),
    }
}

fn note(path: &Path) -> Result<Note> {
    let text = read_text(path, "checkpoint", MAX_DOCUMENT)?;
    Note::parse(&text).with_context(|| escaped_path(path))
}

/// Writes a text to its output.
fn write(text: &str, output: &Path, role: &str, outputs: &mut Outputs) -> Result<()> {
    let output = outputs.open(role, output)?;
    Ok(output.commit(|out| out.write_all(text.as_bytes()))?)
}

impl MakeCheckpoint {
    pub fn run(self) -> Result<()> {
        let mut outputs = Outputs::new();
        outputs.protect("the log", &self.log);
        let signer = signer(&self.log_key, &mut outputs)?;
        let log = Leaves::read(&self.log)?;
        let checkpoint = log.checkpoint();
        let checkpoint = checkpoint
            .with_context(|| format!("{}: has no leaves yet", escaped_path(&self.log)))?;
        let signed = checkpoint.sign(&signer);
        let signed = signed.map_err(|error| named(error, &self.log))?;
        write(
            &signed.bytes(),
            &self.output,
            "the checkpoint",
            &mut outputs,
        )
    }
}

impl Ask {
    pub fn run(self) -> Result<()> {
        let log = Leaves::read(&self.log)?;
        let request = log.ask(self.old, &note(&self.checkpoint)?);
        let request = request.map_err(|error| named(error, &self.checkpoint))?;
        let mut outputs = Outputs::new();
        outputs
            .protect("the log", &self.log)
            .protect("the checkpoint", &self.checkpoint);
        write(&request, &self.output, "the request", &mut outputs)
    }
}

impl Prove {
    pub fn run(self) -> Result<()> {
        let log = Leaves::read(&self.log)?;
        let proof = log.prove(&bytes(&self.commitment)?, note(&self.checkpoint)?);
        let proof = proof.map_err(|error| named(error, &self.commitment))?;
        let mut outputs = Outputs::new();
        outputs
            .protect("the log", &self.log)
            .protect("the commitment", &self.commitment)
            .protect("the checkpoint", &self.checkpoint);
        write(&proof.text(), &self.output, "the proof", &mut outputs)
    }
}

impl Verify {
    pub fn run(self) -> Result<()> {
        let commitment = bytes(&self.commitment)?;
        let published = self.witnesses.published(&commitment, &self.proof);
        let published = published.map_err(|error| unproven(error, &self.proof))?;
        show::unless(self.quiet, |out| {
            writeln!(out, "PUBLISHED  {}", escaped_path(&self.commitment))?;
            let lines = published.lines();
            lines.iter().try_for_each(|line| writeln!(out, "  {line}"))
        })
    }
}

/// A proof that proves nothing is an answer; anything else is an error.
pub fn unproven(error: anyhow::Error, path: &Path) -> anyhow::Error {
    match error.downcast_ref::<TlogError>() {
        Some(TlogError::ProvesNothing(_)) => {
            Refuted(format!("{}: {error:#}", escaped_path(path))).into()
        }
        _ => error,
    }
}

impl Twice {
    pub fn run(self) -> Result<Ending> {
        let log = Leaves::read(&self.log)?;
        let checkpoint = Checkpoint::of_log(&note(&self.checkpoint)?, &self.log_key);
        let confirmed = checkpoint.and_then(|checkpoint| log.confirm(&checkpoint));
        confirmed.map_err(|error| named(error, &self.checkpoint))?;
        let mut all = Vec::new();
        for path in &self.commitments {
            let file = bytes(path)?;
            let committed = Committed::parse(&file).map_err(|error| named(error, path))?;
            if log.place(&file).is_none() {
                bail!("{}: is not a leaf of the log", escaped_path(path));
            }
            all.push(committed);
        }
        let several = repeated(&all);
        for places in &several {
            let path = |&place: &usize| escaped_path(&self.commitments[place]);
            let paths: Vec<_> = places.iter().map(path).collect();
            show::different(&format!(
                "there is more than one commitment to a product: {}",
                paths.join(", ")
            ));
        }
        if !several.is_empty() {
            return Ok(Ending::Different);
        }
        let unseen = log.leaves.iter();
        let unseen = unseen
            .filter(|leaf| all.iter().all(|one| one.leaf != **leaf))
            .count();
        if unseen > 0 {
            bail!(
                "{unseen} of {} leaves of the log belong to files that were not given, so nothing is known about \
                them",
                log.leaves.len()
            );
        }
        show::unless(self.quiet, |out| {
            let (n, origin) = (log.leaves.len(), &log.origin);
            writeln!(
                out,
                "ONCE  every product of the {n} commitments in {origin}"
            )
        })?;
        Ok(Ending::Done)
    }
}

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

/// An open log, and the proof's output.
pub struct Logging {
    log: OpenLog,
    signer: Signer,
    output: Output,
}

impl LoggingArgs {
    /// Reads the key before outputs are opened.
    pub fn read(&self, outputs: &mut Outputs) -> Result<Option<Signer>> {
        let key = self.log_key.as_deref();
        key.map(|path| signer(path, outputs)).transpose()
    }

    /// Opens the log and the proof's output, after all other outputs. A missing log is started.
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
        let signer = signer.context("--checkpoint needs --log-key")?;
        ensure!(
            !is_stdout(proof),
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
    /// Adds a commitment, writes the proof, and prints the log's key in the form that `--log-key` accepts.
    pub fn add(mut self, commitment: &[u8], quiet: bool) -> Result<()> {
        let proof = self.log.add(commitment, &self.signer)?;
        let text = proof.text();
        self.output.commit(|out| out.write_all(text.as_bytes()))?;
        let origin = &self.log.log.origin;
        let key = Key::new(origin, KeyKind::Ed25519, self.signer.public());
        let key = key.map_err(anyhow::Error::msg)?;
        show::unless(quiet, |out| {
            writeln!(out, "leaf {} of the log {key}", proof.index)
        })
    }
}

/// Who is trusted on the time of a commitment.
#[derive(Args)]
#[command(next_help_heading = "Time of the commitment")]
pub struct WitnessArgs {
    /// The log's key: NAME+hhhhhhhh+BASE64, as 'commit --checkpoint' prints it
    #[arg(long, value_name = "KEY")]
    log_key: Option<Key>,

    /// Key of a witness, in the same form. Repeatable
    #[arg(long, value_name = "KEY")]
    witness: Vec<Key>,

    /// Number of witnesses that must have cosigned
    #[arg(long, value_name = "N")]
    quorum: Option<usize>,

    /// When the beacon's value became known, such as 2026-11-23T08:00:00Z; witnesses must have cosigned before
    #[arg(long, value_name = "TIME", value_parser = time)]
    before: Option<u64>,
}

impl WitnessArgs {
    /// What a proof shows about a file, whose bytes were read once: the digest of these is proven.
    pub fn published(&self, commitment: &[u8], proof: &Path) -> Result<Published> {
        let log = self.log_key.as_ref();
        let log = log.context("a checkpoint needs the key of its log: --log-key")?;
        let quorum = self
            .quorum
            .context("give the number of witnesses that must have cosigned: --quorum")?;
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

    /// Whether any of these options is given.
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
