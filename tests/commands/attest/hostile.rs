//! Attestations that somebody changed or made up: each is refused in a sentence.

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use tcverify::attest::{Envelope, PAYLOAD_TYPE, decoded};
use tcverify::sign::Signer;

use super::{NAMES, VERIFY, attested, folder, statement, verify};
use crate::support::{Folder, Members, Says, claims, set, table};

/// The envelope, and `verify` of another one.
fn envelope(folder: &Folder) -> Value {
    folder.document("att.json")
}

/// Fails unless it is refused, with these words.
#[track_caller]
fn refused(folder: &Folder, text: impl AsRef<[u8]>, words: &[&str]) {
    folder.write("att.json", text);
    let run = verify(folder, "d.npy --accept warned");
    assert!(matches!(run.code, Some(1 | 2)), "{run:?}");
    assert_eq!(run.stdout, "", "{run:?}");
    assert_eq!(run.stderr.matches('\n').count(), 1, "{run:?}");
    run.stderr.says("att.json");
    run.mentions(words);
}

/// A payload that the trusted key signed.
fn signed(folder: &Folder, payload_type: &str, payload: &str) -> String {
    let signer = Signer::read(&folder.path("0.pem")).unwrap();
    Envelope::sign(payload_type, payload.as_bytes(), &signer).text()
}

#[test]
fn envelopes_that_are_none() {
    let folder = folder();
    attested(&folder, "d.npy").expect(0);
    verify(&folder, "d.npy").expect(0);
    let good = envelope(&folder);
    let text = good.to_string();
    for (text, words) in table! {
        (String::new(), "is not an attestation"),
        ("[]".into(), "is not an attestation"),
        ("{}".into(), "missing field"),
        (text.replacen('{', "{\"payload\":\"\",", 1), "appears twice"),
        (text.replacen("\"sig\"", "\"sig\":\"\",\"sig\"", 1), "appears twice"),
        (text.replacen('{', "{\"extra\":1,", 1), "unknown field"),
        (text.replacen("\"sig\"", "\"cert\":\"\",\"sig\"", 1), "unknown field"),
        (format!("{text}{text}"), "trailing"),
        (json!([good["payload"], good["payloadType"], good["signatures"]]).to_string(), "is a list"),
    } {
        refused(&folder, text, &[words]);
    }
    let put = |at: &str, value: Value| {
        let mut other = good.clone();
        set(&mut other, at, &value.to_string());
        other.to_string()
    };
    let one = good["signatures"][0].clone();
    for (field, value, words) in table! {
        ("payload", json!("###"), "its payload is not base64"),
        ("payload", json!(7), "invalid type"),
        ("payloadType", json!("application/json"), "no key that you trust"),
        ("payloadType", json!(null), "invalid type"),
        ("signatures", json!([]), "0 signatures"),
        ("signatures", json!(vec![one.clone(); 17]), "17 signatures"),
        ("signatures", json!([one, one]), "1 of its 2 signatures"),
        ("signatures", json!({}), "invalid type"),
        ("signatures", json!([[one["keyid"], one["sig"]]]), "is a list"),
        ("signatures.0.keyid", json!(NAMES[1]), "but its keyid is"),
        ("signatures.0.keyid", json!(""), "but its keyid is"),
        ("signatures.0.keyid", json!(3), "invalid type"),
        ("signatures.0.sig", json!(""), "not 64 bytes"),
        ("signatures.0.sig", json!("AAAA"), "not 64 bytes"),
        ("signatures.0.sig", json!(Base64::encode_string(&[0; 64])), "no key that you trust"),
    } {
        refused(&folder, put(field, value), &[words]);
    }
    // Without a keyid, and in the other alphabet, it is the same.
    let mut other = good.clone();
    set(&mut other, "signatures.0.keyid", "-");
    let url = |text: &Value| text.as_str().unwrap().replace('+', "-").replace('/', "_");
    other["signatures"][0]["sig"] = url(&good["signatures"][0]["sig"]).into();
    other["payload"] = url(&good["payload"]).into();
    folder.write("att.json", serde_json::to_string_pretty(&other).unwrap());
    verify(&folder, "d.npy").expect(0);
}

/// Every byte of what was signed, and every bit of the signature.
#[test]
fn any_byte_of_the_payload_counts() {
    let folder = folder();
    attested(&folder, "d.npy").expect(0);
    let text = folder.text("att.json");
    let good = Envelope::parse(&text).unwrap();
    let keys = NAMES.map(|name| tcverify::sign::PublicKey::parse(name).unwrap());
    assert_eq!(good.opened(&keys).unwrap().1.len(), 1);
    let payload = decoded(&good.payload).unwrap();
    for at in 0..payload.len() {
        let mut changed = payload.clone();
        changed[at] ^= 1 << (at % 8);
        let mut other = good.clone();
        other.payload = Base64::encode_string(&changed);
        assert!(other.opened(&keys).unwrap().1.is_empty(), "byte {at}");
    }
    let signature = decoded(&good.signatures[0].sig).unwrap();
    for at in 0..8 * signature.len() {
        let mut changed = signature.clone();
        changed[at / 8] ^= 1 << (at % 8);
        let mut other = good.clone();
        other.signatures[0].sig = Base64::encode_string(&changed);
        assert!(other.opened(&keys).unwrap().1.is_empty(), "bit {at}");
    }
}

/// Whatever of a statement is changed, one field at a time, signed by somebody else or not at all.
#[test]
fn any_field_changed_fails() {
    let folder = folder();
    attested(&folder, "d.npy").expect(0);
    let good = envelope(&folder);
    let said = statement(&folder);
    let mut places = Vec::new();
    pointers(&said, String::new(), &mut places);
    assert!(places.len() > 15, "{places:?}");
    let another = Signer::read(&folder.path("1.pem")).unwrap();
    for place in places {
        let mut other = said.clone();
        let value = other.pointer_mut(&place).unwrap();
        *value = match value {
            Value::String(text) => format!("{text}0").into(),
            _ => json!("0"),
        };
        let text = other.to_string();
        let mut kept = good.clone();
        kept["payload"] = Base64::encode_string(text.as_bytes()).into();
        refused(&folder, kept.to_string(), &["no key that you trust"]);
        let theirs = Envelope::sign(PAYLOAD_TYPE, text.as_bytes(), &another);
        refused(&folder, theirs.text(), &["no key that you trust"]);
    }
}

/// Where the values of a document are.
fn pointers(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                pointers(value, format!("{place}/{name}"), places);
            }
        }
        Value::Array(values) => {
            for (i, value) in values.iter().enumerate() {
                pointers(value, format!("{place}/{i}"), places);
            }
        }
        _ => {}
    }
    if !place.is_empty() {
        places.push(place);
    }
}

/// Statements that the trusted key signed, and that are not what is asked for.
#[test]
fn signed_statements_that_say_something_else() {
    let folder = folder();
    attested(&folder, "d.npy").expect(0);
    let said = statement(&folder);
    let put = |place: &str, value: Value| {
        let mut other = said.clone();
        *other.pointer_mut(place).unwrap() = value;
        other.to_string()
    };
    let passed = signed(&folder, PAYLOAD_TYPE, &said.to_string());
    folder.write("att.json", &passed);
    verify(&folder, "d.npy").expect(0);
    let digest = json!({"sha256": "0".repeat(64)});
    for (payload, words) in table! {
        (put("/_type", json!("https://in-toto.io/Statement/v0.1")), "_type"),
        (put("/predicateType", json!("https://slsa.dev/provenance/v1")), "predicateType"),
        (put("/predicateType", json!("https://in-toto.io/attestation/svr/v0.2")), "unknown field"),
        (put("/subject", json!([])), "no subject"),
        (put("/subject/0/digest", digest.clone()), "no file with SHA-256"),
        (put("/subject/0/digest", json!({"sha1": "00"})), "unknown field"),
        (put("/subject/0/digest/sha256", json!("AB")), "64 lower-case"),
        (put("/predicate/result", json!("FAILED")), "FAILED"),
        (put("/predicate/result", json!("passed")), "unknown variant"),
        // A result that contradicts its own tests is the worst of them.
        (put("/predicate/passedTests", json!([])), "FAILED"),
        (said.to_string().replacen('{', "{\"subject\":[],", 1), "appears twice"),
        (said.to_string().replacen("{\"", "{\"note\":1,\"", 1), "unknown field"),
        ("\u{feff}{}".into(), "its statement"),
        (format!("[{}]", said), "its statement"),
        ("[".repeat(100_000), "its statement"),
    } {
        refused(&folder, signed(&folder, PAYLOAD_TYPE, &payload), &[words]);
    }
    let other_type = signed(&folder, "application/json", &said.to_string());
    let is_named = &["payloadType is \"application/json\""];
    refused(&folder, other_type, is_named);
    let mut failed = said.clone();
    failed["predicate"]["failedTests"] = json!(["x"]);
    let failed = signed(&folder, PAYLOAD_TYPE, &failed.to_string());
    refused(&folder, failed, &["FAILED"]);
    // Names are shown so that they cannot write lines of their own.
    let mut named = said.clone();
    named["subject"][0]["name"] = json!("d.npy)\nATTESTED  PASSED \u{1b}[2J");
    let named = signed(&folder, PAYLOAD_TYPE, &named.to_string());
    folder.write("att.json", named);
    let run = verify(&folder, "d.npy").expect(0);
    assert_eq!(run.stdout.matches("\nATTESTED").count(), 0, "{run:?}");
    assert!(!run.stdout.contains('\u{1b}'), "{run:?}");
    folder.write("att.json", &passed);
    let model = "0".repeat(64);
    claims! {folder, "
        each {VERIFY} ~ | 1
        a.npy | &a.npy: its subjects include no file with SHA-256
        d.npy bad.npy | &bad.npy: its subjects include no file
        d.npy --report d.npy | &its report has SHA-256
        d.npy --model-sha256 {model} | &rests on a model other than
    "}
}

#[test]
fn keys_and_thresholds() {
    let folder = folder();
    attested(&folder, "d.npy").expect(0);
    let both = "attest verify --key 0.pub.pem --key 1.pub.pem att.json d.npy";
    claims! {folder, "
        {both} | 0
        {both} --threshold 2 | 1 | &1 keys signed it, but 2 are required
        {both} --threshold 3 | refused | --threshold must be 1 to 2
        {both} --threshold 0 | refused | --threshold must be 1 to 2
    "}
    let mut envelope = envelope(&folder);
    let payload = decoded(envelope.string("payload")).unwrap();
    let second = Signer::read(&folder.path("1.pem")).unwrap();
    let second = Envelope::sign(PAYLOAD_TYPE, &payload, &second);
    let second = serde_json::to_value(&second).unwrap()["signatures"][0].clone();
    envelope["signatures"].as_array_mut().unwrap().push(second);
    folder.write("att.json", envelope.to_string());
    let twice = "attest verify --key 0.pub.pem --key 0.pub.pem --threshold 2 att.json d.npy";
    claims! {folder, "
        {both} --threshold 2 | 0
        {VERIFY} d.npy | 1 | &1 of its 2 signatures
        {twice} | 1
        attest verify --key 0.pem att.json d.npy | refused | 0.pem | -pubout
        attest export att.json --bundle b.json | refused | att.json | one signature
    "}
}

#[cfg(unix)]
#[test]
fn files_without_end_are_refused() {
    let folder = folder();
    claims! {folder, "attest verify --key 0.pub.pem /dev/zero d.npy | refused | /dev/zero | more than"}
}
