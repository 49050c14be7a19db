//! Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature.

use std::fmt;
use std::str::FromStr;

use base64ct::{Base64, Encoding};

use super::TlogError;
use crate::io::printable;
use crate::io::tree::Hash;
use crate::sign::{PublicKey, Signer};

/// Signatures that are read, at most.
const MOST_SIGNATURES: usize = 64;

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// The text.
    Ed25519,
    /// The text and a time: a witness's.
    Cosignature,
}

impl KeyKind {
    fn byte(self) -> u8 {
        match self {
            KeyKind::Ed25519 => 1,
            KeyKind::Cosignature => 4,
        }
    }
}

/// A public key with its name: `NAME+hhhhhhhh+BASE64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub name: String,
    pub kind: KeyKind,
    pub public: PublicKey,
}

impl Key {
    /// A key of a name.
    ///
    /// # Errors
    /// If it cannot be the name of a key.
    pub fn new(name: &str, kind: KeyKind, public: PublicKey) -> Result<Key, String> {
        let name = name.to_owned();
        if is_name(&name) {
            Ok(Key { name, kind, public })
        } else {
            Err("a key's name must have 1 to 255 characters, without spaces or +".into())
        }
    }

    /// The first four bytes of a SHA-256 by which signature lines say whose they are.
    pub fn id(&self) -> [u8; 4] {
        let [kind, name] = [&[b'\n', self.kind.byte()][..], self.name.as_bytes()];
        let Hash(hash) = Hash::of([name, kind, self.public.bytes()]);
        [hash[0], hash[1], hash[2], hash[3]]
    }
}

/// Whether a text is a valid name of a key, and of a log.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '+';
    (1..=255).contains(&name.len()) && name.chars().all(plain)
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&[self.kind.byte()][..], self.public.bytes()].concat();
        let id = u32::from_be_bytes(self.id());
        write!(
            f,
            "{}+{id:08x}+{}",
            self.name,
            Base64::encode_string(&bytes)
        )
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Key, String> {
        let form = "a key must be NAME+hhhhhhhh+BASE64, as C2SP's signed-note defines it";
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(bytes)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(form.into());
        };
        let bytes = Base64::decode_vec(bytes).map_err(|_| form)?;
        let kind = match bytes.first() {
            Some(1) => KeyKind::Ed25519,
            Some(4) => KeyKind::Cosignature,
            _ => return Err("its type is neither 1 (Ed25519) nor 4 (a witness's Ed25519)".into()),
        };
        let public = bytes[1..].try_into().ok();
        let public = public.and_then(PublicKey::from_bytes);
        let public = public.ok_or("it does not contain a public Ed25519 key")?;
        let key = Key::new(name, kind, public)?;
        if format!("{:08x}", u32::from_be_bytes(key.id())) == id {
            Ok(key)
        } else {
            Err("its eight digits do not match its name and key".into())
        }
    }
}

/// A number in its only spelling.
pub(super) fn number(text: &str) -> Option<u64> {
    let parsed: u64 = text.parse().ok()?;
    (parsed.to_string() == text).then_some(parsed)
}

/// A hash in base64.
pub(super) fn hash(text: &str) -> Option<Hash> {
    let bytes = Base64::decode_vec(text).ok()?;
    bytes.try_into().ok().map(Hash)
}

/// A text, and who signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// With its last line's end.
    pub text: String,
    pub signatures: Vec<NoteSignature>,
}

/// A line of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    pub name: String,
    pub key_id: [u8; 4],
    pub bytes: Vec<u8>,
}

impl NoteSignature {
    fn line(&self) -> String {
        let bytes = [&self.key_id[..], &self.bytes].concat();
        format!("\u{2014} {} {}\n", self.name, Base64::encode_string(&bytes))
    }

    fn of_line(line: &str) -> Option<NoteSignature> {
        let (name, bytes) = line.strip_prefix("\u{2014} ")?.split_once(' ')?;
        let bytes = Base64::decode_vec(bytes).ok()?;
        let (key_id, bytes) = bytes.split_first_chunk::<4>()?;
        is_name(name).then(|| NoteSignature {
            name: name.to_owned(),
            key_id: *key_id,
            bytes: bytes.to_vec(),
        })
    }

    /// Whether it says that it is this key's.
    pub fn names(&self, key: &Key) -> bool {
        self.name == key.name && self.key_id == key.id()
    }
}

impl Note {
    /// A text signed by a key of this name.
    ///
    /// # Errors
    /// If it cannot be the name of a key.
    pub fn sign(text: String, name: &str, signer: &Signer) -> Result<Note, String> {
        let key = Key::new(name, KeyKind::Ed25519, signer.public())?;
        let signature = NoteSignature {
            name: name.to_owned(),
            key_id: key.id(),
            bytes: signer.sign_bytes(text.as_bytes()).to_vec(),
        };
        Ok(Note {
            text,
            signatures: vec![signature],
        })
    }

    /// Reads a note.
    ///
    /// # Errors
    /// What is wrong, to be read after the file's name.
    pub fn parse(bytes: &str) -> Result<Note, TlogError> {
        let not = |reason: &str| TlogError::document(format!("is not a signed note: {reason}"));
        if bytes.chars().any(|c| c.is_control() && c != '\n') {
            return Err(not("it has control characters"));
        }
        let split = bytes.rfind("\n\n");
        let split = split.ok_or_else(|| not("it has no empty line before its signatures"))?;
        let (text, lines) = (&bytes[..=split], &bytes[split + 2..]);
        let ended = lines.strip_suffix('\n');
        let lines =
            ended.ok_or_else(|| not("its last line is incomplete, or it has no signature"))?;
        let lines: Vec<_> = lines.split('\n').collect();
        if lines.len() > MOST_SIGNATURES {
            let most = format!("it has more than {MOST_SIGNATURES} signatures");
            return Err(not(&most));
        }
        let mut signatures = Vec::new();
        for line in lines {
            let signature = NoteSignature::of_line(line).ok_or_else(|| {
                let reason = format!("{:?} is not a signature line", printable(line));
                not(&reason)
            })?;
            signatures.push(signature);
        }
        Ok(Note {
            text: text.to_owned(),
            signatures,
        })
    }

    pub fn bytes(&self) -> String {
        let lines = self.signatures.iter().map(NoteSignature::line);
        format!("{}\n{}", self.text, lines.collect::<String>())
    }

    /// Makes sure that this key signed the text. Lines of keys that are not known are passed over; one that says that it
    /// is this key's and is not is refused.
    pub fn confirm(&self, key: &Key) -> Result<(), TlogError> {
        let mut own = self.signatures.iter().filter(|line| line.names(key));
        let Some(first) = own.next() else {
            return Err(TlogError::nothing(format!("{} did not sign it", key.name)));
        };
        let good = |line: &NoteSignature| {
            let signature = line.bytes.as_slice().try_into();
            signature.is_ok_and(|signature| key.public.made(signature, self.text.as_bytes()))
        };
        if good(first) && own.all(good) {
            Ok(())
        } else {
            Err(TlogError::nothing(format!(
                "its signature in the name of {} is not by that key over this text",
                key.name
            )))
        }
    }
}
