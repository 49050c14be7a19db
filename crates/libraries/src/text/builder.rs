//! What the readers of texts add to a [`KernelReading`], word by word.

use crate::cublaslt::is_digits;
use crate::emu::Evidence;
use crate::family::{Family, unknown};
use crate::io::printable;
use crate::{
    How, KernelError, KernelReading, Settings, Sourced, Status, TextKind, Token, Transposed,
};

impl KernelReading {
    pub(super) fn new(kind: TextKind) -> KernelReading {
        KernelReading {
            kind,
            family: Sourced::new(&unknown::FAMILY, How::Assumed, "the text names no family"),
            product: None,
            batch: None,
            alpha: None,
            beta: None,
            settings: Settings::default(),
            tokens: Vec::new(),
            notes: Vec::new(),
            facts: Vec::new(),
        }
    }

    pub(super) fn token(
        &mut self,
        key: &str,
        value: &str,
        status: Status,
        meaning: impl Into<String>,
    ) {
        self.tokens.push(Token {
            key: printable(key),
            value: printable(value),
            status,
            meaning: meaning.into(),
            known: None,
            source: None,
        });
    }

    /// A word that can affect D.
    pub(super) fn used(&mut self, key: &str, value: &str, meaning: impl Into<String>) {
        self.token(key, value, Status::Used, meaning);
    }

    /// A word that does not affect the result, and how that is known.
    pub(super) fn ignored(
        &mut self,
        key: &str,
        value: &str,
        why: impl Into<String>,
        known: Option<(Evidence, &'static str)>,
    ) {
        self.token(key, value, Status::Ignored, why);
        self.last_is_known(known);
    }

    /// How the meaning of the last word is known.
    pub(super) fn last_is_known(&mut self, known: Option<(Evidence, &'static str)>) {
        let last = self.tokens.last_mut().expect("just pushed");
        (last.known, last.source) = known.unzip();
    }

    pub(super) fn not_known(&mut self, key: &str, value: &str) {
        self.token(key, value, Status::Unknown, "not known: it may affect D");
    }

    /// Sets the family. Two words must not name different ones.
    pub(super) fn set_family(
        &mut self,
        family: &'static Family,
        how: How,
        from: &str,
    ) -> Result<(), KernelError> {
        let from = printable(from);
        let known = &self.family;
        if !known.value.is_unknown() && *known.value != *family {
            return Err(KernelError::Twice {
                key: "the family of kernels".into(),
                first: format!("{} ({})", known.value.id, known.from),
                second: format!("{} ({from})", family.id),
            });
        }
        self.family = Sourced::new(family, how, from);
        Ok(())
    }

    /// The tile of D that a block of threads computes, of so many rows and columns.
    pub(super) fn tile_of_d(
        &mut self,
        token: &str,
        size: [u32; 2],
        known: Option<(Evidence, &'static str)>,
    ) {
        self.settings.tile = Some(Sourced::stated(size, printable(token)));
        let [rows, columns] = size;
        let why = format!("tile of D, {rows} x {columns}: does not affect the result");
        self.ignored(token, "", why, known);
    }

    /// `tn`: which operands are transposed.
    pub(super) fn layouts(&mut self, token: &str) {
        self.settings.transposed = Transposed::parse(token).map(|t| Sourced::stated(t, token));
        self.used(token, "", "layouts of A and B, column-major");
    }

    pub(super) fn finished(mut self) -> Result<KernelReading, KernelError> {
        if let Some(stages) = &self.settings.stages
            && let Some(known) = crate::Stages::of_id(stages.value)
            && let Some(k) = known.k
        {
            let from = format!("stages {}", known.name());
            match &self.settings.tile_k {
                Some(setting) if setting.value != k => {
                    return Err(KernelError::Twice {
                        key: "K of a tile".into(),
                        first: from,
                        second: setting.from.clone(),
                    });
                }
                Some(_) => {}
                None => self.settings.tile_k = Some(Sourced::new(k, How::Derived, from)),
            }
        }
        self.facts = self.family.value.facts.to_vec();
        Ok(self)
    }
}

/// Sets a value that two words must not state differently.
pub fn once<T: PartialEq>(
    slot: &mut Option<Sourced<T>>,
    value: T,
    key: &str,
    text: &str,
) -> Result<(), KernelError> {
    let from = printable(&format!("{key}={text}"));
    if let Some(setting) = slot
        && setting.how == How::Stated
        && setting.value != value
    {
        return Err(KernelError::Twice {
            key: printable(key),
            first: setting.from.clone(),
            second: from,
        });
    }
    *slot = Some(Sourced::stated(value, from));
    Ok(())
}

/// A whole number up to a limit that no library's field exceeds.
pub fn number(key: &str, text: &str, most: u64) -> Result<u64, KernelError> {
    let value: Option<u64> = text.parse().ok().filter(|_| is_digits(text));
    value
        .filter(|value| *value <= most)
        .ok_or_else(|| KernelError::value(key, text, "a whole number of a size that makes sense"))
}
