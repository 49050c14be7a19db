//! Logs of commitments: notes, trees and cosignatures of others, and what a log says of a commitment.

mod published;
mod twice;
mod vectors;

use base64ct::{Base64, Encoding};
use tcverify::sign::{PublicKey, Signer};
use tcverify::tlog::{Key, KeyKind, Note, cosigned_text};

use crate::support::{Folder, Run, ran};

const ORIGIN: &str = "example.com/log";
const WITNESS: &str = "witness.example";
const PRODUCT: &str = "--arch a100 --dtype fp16 a.npy b.npy";

/// Keys, operands, a D and two wrong ones.
fn folder() -> Folder {
    let folder = crate::attest::folder();
    let mut d = folder.read("d.npy");
    *d.last_mut().unwrap() ^= 2;
    folder.write("worse.npy", d);
    folder
}

/// Commits to a D, into the log.
fn commit(folder: &Folder, d: &str, name: &str) -> Run {
    folder.tcverify(&format!(
        "commit {PRODUCT} {d} -o {name}.json --checkpoint {ORIGIN} --log log.txt --log-key 0.pem --proof {name}.tlog-proof"
    ))
}

/// The key of a name, as an option takes it.
fn key(folder: &Folder, name: &str, kind: KeyKind, file: &str) -> String {
    let public = PublicKey::read(&folder.path(file)).unwrap();
    Key::new(name, kind, public).unwrap().to_string()
}

fn log_key(folder: &Folder) -> String {
    key(folder, ORIGIN, KeyKind::Ed25519, "0.pub.pem")
}

fn witness_key(folder: &Folder) -> String {
    key(folder, WITNESS, KeyKind::Cosignature, "1.pub.pem")
}

/// What a witness answers: a line.
fn cosignature(folder: &Folder, note: &Note, name: &str, private: &str, time: u64) -> String {
    let signer = Signer::read(&folder.path(private)).unwrap();
    let key = Key::new(name, KeyKind::Cosignature, signer.public()).unwrap();
    let signature = signer.sign_bytes(cosigned_text(&note.text, time).as_bytes());
    let bytes = [&key.id()[..], &time.to_be_bytes(), &signature].concat();
    format!("\u{2014} {name} {}\n", Base64::encode_string(&bytes))
}

/// Has the checkpoint of the whole log cosigned, and proves a commitment by it.
fn cosigned(folder: &Folder, name: &str, time: u64) {
    folder.passes("log checkpoint log.txt --log-key 0.pem -o checkpoint");
    let text = folder.text("checkpoint");
    let line = cosignature(folder, &Note::parse(&text).unwrap(), WITNESS, "1.pem", time);
    folder.write("checkpoint", text + &line);
    prove(folder, name).expect(0);
}

fn prove(folder: &Folder, name: &str) -> Run {
    ran! {folder, "log prove log.txt {name}.json --checkpoint checkpoint -o {name}.tlog-proof"}
}

fn verify(folder: &Folder, name: &str, rest: &str) -> Run {
    let (log, witness) = (log_key(folder), witness_key(folder));
    ran! {folder, "log verify {name}.json {name}.tlog-proof --log-key {log} --witness {witness} --quorum 1 {rest}"}
}

/// Seconds since 1970 of 2026-11-23T08:00:00Z.
const EIGHT: u64 = 1_795_420_800;
