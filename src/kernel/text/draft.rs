//! A reading under construction.

use crate::emu::Evidence;
use crate::io::printable;
use crate::kernel::family::{Family, unknown};
use crate::kernel::{
    How, KernelError, KernelReading, Said, Settings, Shape, Status, TextKind, Token, Transposed,
};
use crate::num::F32;

/// What has been read so far.
pub struct Draft {
    pub kind: TextKind,
    pub family: Option<Said<&'static Family>>,
    pub product: Option<Shape>,
    pub batch: Option<usize>,
    pub alpha: Option<F32>,
    pub beta: Option<F32>,
    pub settings: Settings,
    pub tokens: Vec<Token>,
    pub notes: Vec<String>,
}

impl Draft {
    pub fn new(kind: TextKind) -> Draft {
        Draft {
            kind,
            family: None,
            product: None,
            batch: None,
            alpha: None,
            beta: None,
            settings: Settings::default(),
            tokens: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub fn token(&mut self, key: &str, value: &str, status: Status, meaning: impl Into<String>) {
        self.tokens.push(Token {
            key: printable(key),
            value: printable(value),
            status,
            meaning: meaning.into(),
            known: None,
            source: None,
        });
    }

    /// A word that can decide a bit.
    pub fn used(&mut self, key: &str, value: &str, meaning: impl Into<String>) {
        self.token(key, value, Status::Used, meaning);
    }

    /// A word that does not affect the result, and how that is known.
    pub fn ignored(
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
    pub fn last_is_known(&mut self, known: Option<(Evidence, &'static str)>) {
        let last = self.tokens.last_mut().expect("just pushed");
        (last.known, last.source) = known.unzip();
    }

    pub fn unknown(&mut self, key: &str, value: &str) {
        self.token(key, value, Status::Unknown, "not known: it may affect D");
    }

    /// Says the family; two words must not name two.
    pub fn family(
        &mut self,
        family: &'static Family,
        how: How,
        from: &str,
    ) -> Result<(), KernelError> {
        let from = printable(from);
        if let Some(said) = &self.family
            && !said.value.is_unknown()
            && *said.value != *family
        {
            return Err(KernelError::Twice {
                key: "the family of kernels".into(),
                first: format!("{} ({})", said.value.id, said.from),
                second: format!("{} ({from})", family.id),
            });
        }
        self.family = Some(Said::new(family, how, from));
        Ok(())
    }

    /// The tile of D that a block of threads computes, of so many rows and columns.
    pub fn tile_of_d(
        &mut self,
        token: &str,
        size: [u32; 2],
        known: Option<(Evidence, &'static str)>,
    ) {
        self.settings.tile = Some(Said::stated(size, printable(token)));
        let [rows, columns] = size;
        let why = format!("tile of D, {rows} x {columns}: does not affect the result");
        self.ignored(token, "", why, known);
    }

    /// `tn`: which operands are transposed.
    pub fn layouts(&mut self, token: &str) {
        self.settings.transposed = Transposed::parse(token).map(|t| Said::stated(t, token));
        self.used(token, "", "layouts of A and B, column-major");
    }

    pub fn finished(mut self) -> Result<KernelReading, KernelError> {
        if let Some(stages) = &self.settings.stages
            && let Some(known) = crate::kernel::Stages::of_id(stages.value)
            && let Some(k) = known.k
        {
            let from = format!("stages {}", known.name());
            match &self.settings.tile_k {
                Some(said) if said.value != k => {
                    return Err(KernelError::Twice {
                        key: "K of a tile".into(),
                        first: from,
                        second: said.from.clone(),
                    });
                }
                Some(_) => {}
                None => self.settings.tile_k = Some(Said::new(k, How::Derived, from)),
            }
        }
        let family = self.family.unwrap_or_else(|| {
            Said::new(&unknown::FAMILY, How::Assumed, "the text names no family")
        });
        Ok(KernelReading {
            kind: self.kind,
            facts: family.value.facts.to_vec(),
            family,
            product: self.product,
            batch: self.batch,
            alpha: self.alpha,
            beta: self.beta,
            settings: self.settings,
            tokens: self.tokens,
            notes: self.notes,
        })
    }
}

/// Sets what must not be said twice.
pub fn once<T: PartialEq>(
    slot: &mut Option<Said<T>>,
    value: T,
    key: &str,
    text: &str,
) -> Result<(), KernelError> {
    let from = printable(&format!("{key}={text}"));
    if let Some(said) = slot
        && said.how == How::Stated
        && said.value != value
    {
        return Err(KernelError::Twice {
            key: printable(key),
            first: said.from.clone(),
            second: from,
        });
    }
    *slot = Some(Said::stated(value, from));
    Ok(())
}

/// A whole number up to a limit that no library's field exceeds.
pub fn number(key: &str, text: &str, most: u64) -> Result<u64, KernelError> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let value: Option<u64> = plain.then(|| text.parse().ok()).flatten();
    value
        .filter(|value| *value <= most)
        .ok_or_else(|| KernelError::value(key, text, "a whole number of a size that makes sense"))
}
