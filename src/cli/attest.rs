//! `tcverify attest`: verifies attestations, and exports them for other tools.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;

use super::values::{sha256, word};
use super::{refuted, show};
use crate::attest::{AttestError, Attestation, Envelope, Kind, Predicate, TestVerdict, bundle};
use crate::forms::in_brackets;
use crate::io::tree::Hash;
use crate::io::{MAX_LOG, MappedFile, Outputs, escaped_path, printable, read_text};
use crate::sign::PublicKey;
use crate::words::{Word, words};

commands! {
    /// Verify a signed verdict, or export it for other tools
    ///
    /// The option --attest of check, batch, shard merge, audit verify and screen judge writes attestations.
    /// docs/attestations.md describes their content, and their use with cosign and gh.
    #[command(after_long_help = "\
Examples:
  Sign a verdict; anyone with the public key and D can verify it without A, B or a model:
    openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout -out key.pub.pem
    tcverify check --arch h100 --dtype bf16 a.npy b.npy d.npy --attest d.att.json --attest-key key.pem
    tcverify attest verify --key key.pub.pem d.att.json d.npy

  Export a bundle for cosign:
    tcverify attest export d.att.json --bundle d.sigstore.json

Exit codes: verify: 0 it is attested, 1 it is not, 2 anything else; export: 0 done, 2 anything else.")]
    pub enum Attest {
        Verify(Verify),
        Export(Export),
    }
}

words! {
    /// Which attested results are enough.
    pub enum Enough {
        /// All of D, every bit
        Passed = "passed",
        /// Also a part of D, tolerated NaNs or zeros, or a model from outside the catalogue
        Warned = "warned",
    }
}

/// Check that a trusted key signed that these files passed
///
/// The checks run in this order: signatures, payload type, predicate type, file digests, what the verdict rests on,
/// result.
#[derive(Args)]
pub struct Verify {
    /// Attestation written by '--attest'
    #[arg(value_name = "ATTESTATION")]
    attestation: PathBuf,

    /// Files that it must attest: D; for 'audit verify' the commitment; for 'screen judge' the
    /// results
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Public Ed25519 key that you trust, as 'openssl pkey -pubout' writes it. Repeatable; every signature must be by
    /// one of these keys
    #[arg(long, value_name = "PUBLIC.pem", required = true)]
    key: Vec<PathBuf>,

    /// How many of the keys must have signed
    #[arg(long, value_name = "N", default_value_t = 1)]
    threshold: usize,

    /// Accept only this kind
    #[arg(long = "type", value_name = "KIND", value_parser = word::<Kind>())]
    kind: Option<Kind>,

    /// Also accept a verdict that passed with a warning
    #[arg(long, value_name = "RESULT", default_value = "passed", value_parser = word::<Enough>())]
    accept: Enough,

    /// Report that it must name, as '--json' wrote it
    #[arg(long, value_name = "REPORT.json")]
    report: Option<PathBuf>,

    /// SHA-256 of the model or rule that must have judged: 'rule.model.sha256' of a report, or 'rule.sha256' for
    /// an operation
    #[arg(long, value_name = "SHA256", value_parser = sha256)]
    model_sha256: Option<Hash>,

    /// Print nothing; the exit code tells
    #[arg(long, short)]
    quiet: bool,
}

/// Write an attestation in the forms that other tools read; signatures are not checked
#[derive(Args)]
pub struct Export {
    /// Attestation written by '--attest'
    #[arg(value_name = "ATTESTATION")]
    attestation: PathBuf,

    /// Write a Sigstore bundle, for 'cosign verify-blob-attestation --bundle'
    #[arg(long, value_name = "PATH")]
    bundle: Option<PathBuf>,

    /// Write the signed statement
    #[arg(long, value_name = "PATH")]
    statement: Option<PathBuf>,

    /// Write its predicate, for actions/attest
    #[arg(long, value_name = "PATH")]
    predicate: Option<PathBuf>,
}

fn read(path: &Path) -> Result<String> {
    Ok(read_text(path, "attestation", MAX_LOG)?)
}

/// The SHA-256 of a file.
fn digest(path: &Path) -> Result<Hash> {
    let file = MappedFile::open(path).with_context(|| escaped_path(path))?;
    let sha256 = Hash::parse(file.sha256()).expect("a SHA-256");
    file.confirm_unchanged()?;
    Ok(sha256)
}

impl Verify {
    pub fn run(self) -> Result<()> {
        let keys = self.key.iter().map(|path| PublicKey::read(path));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let most = keys.len();
        ensure!(
            (1..=most).contains(&self.threshold),
            "--threshold must be 1 to {most}, the number of keys"
        );
        let text = read(&self.attestation)?;
        let name = escaped_path(&self.attestation);
        match self.judged(&text, &keys) {
            Ok(lines) => show::unless(self.quiet, |out| {
                lines.iter().try_for_each(|line| writeln!(out, "{line}"))
            }),
            Err(error) => match error.downcast::<AttestError>() {
                Ok(nothing @ AttestError::Nothing(_)) => refuted(format!("{name}: {nothing}")),
                Ok(other) => Err(anyhow!("{name}: {other}")),
                Err(other) => Err(other),
            },
        }
    }

    /// The text for a verified attestation.
    fn judged(&self, text: &str, keys: &[PublicKey]) -> Result<Vec<String>> {
        let attestation = Attestation::open(text, keys, self.threshold)?;
        if let Some(kind) = self.kind {
            attestation.is_a(kind)?;
        }
        let mut about = Vec::new();
        for path in &self.files {
            let name = escaped_path(path);
            let subject = match attestation.about(digest(path)?) {
                Err(AttestError::Nothing(reason)) => {
                    return Err(AttestError::Nothing(format!("{name}: {reason}")).into());
                }
                subject => {
                    let subject = subject?;
                    printable(&in_brackets(&subject.name, subject.terms()))
                }
            };
            about.push(format!("  file       {name} (signed as {subject})"));
        }
        if let Some(path) = &self.report {
            attestation.rests_on_report(digest(path)?)?;
            about.push(format!("  report     {}", escaped_path(path)));
        }
        if let Some(sha256) = self.model_sha256 {
            attestation.is_by_model(sha256)?;
            about.push(format!("  model      {sha256}"));
        }
        let outcome = attestation.outcome();
        let names = outcome.names.iter().take(3);
        let names: Vec<_> = names.map(|name| printable(name)).collect();
        let more = match outcome.names.len() {
            0..=3 => String::new(),
            n => format!(" and {} more", n - 3),
        };
        let names = names.join(", ") + &more;
        let (word, least) = match self.accept {
            Enough::Passed => ("PASSED", TestVerdict::Passed),
            Enough::Warned => ("PASSED or WARNED", TestVerdict::Warned),
        };
        let result = format!("{:?}", outcome.result).to_uppercase();
        if outcome.result > least {
            let reason =
                format!("the signature is valid, but the result is {result}, not {word}: {names}");
            return Err(AttestError::Nothing(reason).into());
        }
        let mut lines = vec![format!("ATTESTED  {result}: {names}\n")];
        let kind = attestation.predicate.kind().word();
        lines.push(format!("  kind       {kind}"));
        let key_of = |key: &PublicKey| {
            let at = keys
                .iter()
                .position(|other| other == key)
                .unwrap_or_default();
            format!("  signed by  {key} ({})", escaped_path(&self.key[at]))
        };
        lines.extend(attestation.keys.iter().map(key_of));
        lines.extend(about);
        Ok(lines)
    }
}

impl Export {
    pub fn run(self) -> Result<()> {
        let mut outputs = Outputs::new();
        outputs.protect("the attestation", &self.attestation);
        let paths = [&self.bundle, &self.statement, &self.predicate];
        ensure!(
            paths.iter().any(|path| path.is_some()),
            "choose what to write: --bundle, --statement or --predicate"
        );
        let to_bundle = outputs.open_if("the bundle", self.bundle.as_ref())?;
        let to_statement = outputs.open_if("the statement", self.statement.as_ref())?;
        let to_predicate = outputs.open_if("the predicate", self.predicate.as_ref())?;
        let name = || escaped_path(&self.attestation);
        let text = read(&self.attestation)?;
        let envelope = Envelope::parse(&text).with_context(name)?;
        let payload = envelope.payload().with_context(name)?;
        let statement = Predicate::parse(&payload).with_context(name)?;
        if let Some(output) = to_bundle {
            let text = bundle(&envelope).with_context(name)?;
            output.commit(|out| out.write_all(text.as_bytes()))?;
        }
        if let Some(output) = to_statement {
            output.commit(|out| out.write_all(&payload))?;
        }
        if let Some(output) = to_predicate {
            let text = statement.predicate_text();
            output.commit(|out| writeln!(out, "{text}"))?;
        }
        Ok(())
    }
}
