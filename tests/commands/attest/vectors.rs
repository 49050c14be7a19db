//! Envelopes of others: DSSE's own test vectors (secure-systems-lab/dsse, testvectors/vectors.json).

use crate::support::table;
use tcverify::attest::{DsseSignature, Envelope, decoded, pae};
use tcverify::sign::PublicKey;

use super::NAMES;

const IN_TOTO: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEifQ==";
const BY_A: &str =
    "2WAfaHm5jluo0w+0rk8uVkluELJYWjSmU9x7EUzx+AyteDGJ4/nqyJXfmAUVFIAoQafWm7AxBZNw5M9ixNHiCA==";
const BY_B: &str =
    "c1+67/aT0yqEpwx8PsVY3MLHsj9D0CZ014/Fv/QlG59P+9CobUZ7xECJ/V3USG0Ob9CiE5LjReEZUzNF2l7eBw==";

/// How many of the two keys signed it.
fn signers(payload_type: &str, payload: &str, signatures: &[&str]) -> usize {
    let keys = NAMES.map(|name| PublicKey::parse(name).unwrap());
    let signatures = signatures.iter().map(|sig| DsseSignature {
        keyid: None,
        sig: (*sig).to_owned(),
    });
    let envelope = Envelope {
        payload: payload.to_owned(),
        payload_type: payload_type.to_owned(),
        signatures: signatures.collect(),
    };
    // As others write it, too.
    let read = Envelope::parse(&serde_json::to_string_pretty(&envelope).unwrap()).unwrap();
    assert_eq!(read, envelope);
    let (found, by) = envelope.opened(&keys).unwrap();
    assert_eq!(found, decoded(payload).unwrap());
    by.len()
}

#[test]
fn published_envelopes_are_of_their_signers() {
    let other = "application/vnd.example.other+json";
    let not_ascii = "application/vnd.exämple+json";
    for (payload_type, payload, signatures, expected) in table! {
        (IN_TOTO, STATEMENT, &[BY_A][..], 1),
        (other, STATEMENT, &[BY_A][..], 0),
        (IN_TOTO, "-_-_Pj8=",
            &["P-_KHICeR7tI6S_YyejJTRtrXhcQyQ2LYPaL8h90KjC9qN8HU_svOQ6TuDOT1HIrsGW886DbWNWcCmX5twLrAw=="], 1),
        (IN_TOTO, "", &["gSggCAaTLTYyRH6FIDBem6meyIynsYy8RTHVzwx9tnTb7Bg/1jMWnuVgI/gffqmbsC2VX5/jHfkkDqsj7CDbDg=="],
            1),
        (not_ascii, STATEMENT,
            &["xmSk/ug66ysT7ayhkCIjhAq42zgZXSsEWuzUaNL7w2eGAdF/NU6/fRXPtmfN+5DNSAs5/i2lUnHjbbjPsu0tAw=="], 1),
        (IN_TOTO, STATEMENT, &[BY_A, BY_B][..], 2),
        (IN_TOTO, STATEMENT, &[BY_A, BY_A][..], 1),
        (IN_TOTO, STATEMENT, &[BY_B, BY_B, BY_A][..], 2),
    } {
        let found = signers(payload_type, payload, signatures);
        assert_eq!(found, expected, "{payload_type} {payload}");
    }
}

#[test]
fn what_is_signed_is_what_dsse_says() {
    let text = |kind, payload: &[u8]| String::from_utf8(pae(kind, payload)).unwrap();
    assert_eq!(
        text("http://example.com/HelloWorld", b"hello world"),
        "DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    );
    assert_eq!(
        text(IN_TOTO, &decoded(STATEMENT).unwrap()),
        "DSSEv1 28 application/vnd.in-toto+json 43 {\"_type\":\"https://in-toto.io/Statement/v1\"}"
    );
    assert!(text(IN_TOTO, b"").ends_with(" 0 "));
    assert!(text("application/vnd.exämple+json", b"").starts_with("DSSEv1 29 "));
}

/// Another spelling of the same bytes would be another envelope with the same signature.
#[test]
fn base64_has_one_spelling_in_each_alphabet() {
    assert_eq!(decoded("-_-_Pj8="), decoded("+/+/Pj8="));
    assert_eq!(decoded("+/+/Pj8=").unwrap(), [0xfb, 0xff, 0xbf, 0x3e, 0x3f]);
    for other in [
        "+_+/Pj8=",
        "+/+/Pj8",
        "+/+/Pj9=",
        "+/+/Pj8=\n",
        "+/+/ Pj8=",
        "=",
        "Ä===",
    ] {
        assert_eq!(decoded(other), None, "{other:?}");
    }
}
