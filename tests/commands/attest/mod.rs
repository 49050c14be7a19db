//! Attestations: what is signed, what other programs say of it, and what is refused.

mod hostile;
mod independent;
mod signed;
mod vectors;

use serde_json::Value;
use tcverify::attest::decoded;

use crate::support::{Folder, Members, Run, ran, table};

/// Private and public keys: those of RFC 8032, section 7.1, tests 1 and 2, as OpenSSL writes them, and another.
const KEYS: [[&str; 2]; 3] = table! {
    ["MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g",
        "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="],
    ["MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7",
        "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="],
    ["MC4CAQAwBQYDK2VwBCIEICdDtUhh3VGYjwA7ws3tW8LIwZ9FXmnXatU+HYLqcPKV",
        "MCowBQYDK2VwAyEAq8FFUX1Evlp1XnnQ5QW4JfgZwLucnKcxFY6JPvADQ3g="],
};
pub const NAMES: [&str; 2] = [
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
];

const PRODUCT: &str = "--arch a100 --dtype fp16 a.npy b.npy";

/// `0.pem`, `0.pub.pem` and those of the second key.
pub fn keys(folder: &Folder) {
    keys_as(folder, ["0", "1"], 0);
}

/// Two keys from this one on, by these names.
pub fn keys_as(folder: &Folder, names: [&str; 2], first: usize) {
    for (name, [private, public]) in names.iter().zip(&KEYS[first..]) {
        let pem = |kind: &str, base64: &str| {
            format!("-----BEGIN {kind} KEY-----\n{base64}\n-----END {kind} KEY-----\n")
        };
        let private = folder.write(&format!("{name}.pem"), pem("PRIVATE", private));
        #[cfg(unix)]
        {
            // A key that others may read is warned of.
            use std::os::unix::fs::PermissionsExt;
            let own = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(private, own).expect("an own file");
        }
        folder.write(&format!("{name}.pub.pem"), pem("PUBLIC", public));
    }
}

/// Keys, operands, a right D and a wrong one.
pub fn folder() -> Folder {
    let folder = Folder::new();
    keys(&folder);
    folder.generate("a fp16 1:normal:16x64 | b fp16 2:normal:64x24");
    folder.replay(PRODUCT, "d.npy");
    folder.flip("d.npy", "bad.npy", 1, 1);
    folder
}

/// `check` of a D, signed by the first key.
fn attested(folder: &Folder, rest: &str) -> Run {
    ran! {folder, "check {PRODUCT} {rest} --quiet --attest att.json --attest-key 0.pem"}
}

const VERIFY: &str = "attest verify --key 0.pub.pem att.json";

fn verify(folder: &Folder, rest: &str) -> Run {
    ran! {folder, "{VERIFY} {rest}"}
}

/// What was signed.
fn statement(folder: &Folder) -> Value {
    let envelope: Value = folder.document("att.json");
    let payload = decoded(envelope.string("payload")).unwrap();
    serde_json::from_slice(&payload).unwrap()
}
