//! The same envelopes, to libraries that share no code with the tool: securesystemslib and in-toto-attestation.

use std::process::Command;

use super::{NAMES, attested, folder};
use crate::support::{Folder, Run, rows, say, words};

/// Verifies the envelope by a key, and that its payload is a statement as in-toto has it.
const SCRIPT: &str = r#"
import json, sys
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

path, key = sys.argv[1:]
with open(path, "rb") as file:
    envelope = Envelope.from_dict(json.load(file))
public = SSlibKey(key, "ed25519", "ed25519", {"public": key})
verified = envelope.verify([public], 1)
assert list(verified) == [key], verified
message = json_format.Parse(envelope.payload, statement_pb2.Statement())
statement = Statement.copy_from_pb(message)
statement.validate()
print(message.predicate_type, message.subject[0].name, message.subject[0].digest["sha256"])
"#;

fn python(folder: &Folder, script: &str, arguments: &[&str]) -> Run {
    let mut command = folder.shell("python3");
    command.args(["-c", script]).args(arguments);
    folder.run(command.env("PYTHONDONTWRITEBYTECODE", "1"))
}

#[test]
fn another_library_verifies_what_is_signed() {
    let found = Command::new("python3")
        .args(words! {"-c | import securesystemslib, in_toto_attestation, cryptography"})
        .output();
    if !found.is_ok_and(|found| found.status.success()) {
        say(format_args!(
            "not checked: securesystemslib and in-toto-attestation are not here: attestations of others' libraries"
        ));
        return;
    }
    let folder = folder();
    for [rest, kind] in rows! {"
        d.npy | test-result/v0.1
        d.npy --attest-as svr --attest-time 2026-11-23T08:00:00Z | svr/v0.2
    "}
    {
        attested(&folder, rest).expect(0);
        let run = python(&folder, SCRIPT, &["att.json", NAMES[0]]).expect(0);
        let digest = crate::support::sha256(folder.read("d.npy"));
        let said = format!("https://in-toto.io/attestation/{kind} d.npy {digest}\n");
        assert_eq!(run.stdout, said);
        python(&folder, SCRIPT, &["att.json", NAMES[1]]).expect(1);
        let text = folder.text("att.json");
        let other = text.replacen("payload\":\"eyJ", "payload\":\"eyK", 1);
        assert_ne!(other, text);
        folder.write("other.json", other);
        python(&folder, SCRIPT, &["other.json", NAMES[0]])
            .expect(1)
            .mentions(&["VerificationError"]);
    }
}
