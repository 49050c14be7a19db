//! Faults of what controls an SM: whole tiles of D come out zero, or are another's.

use std::fmt;
use std::str::FromStr;

use super::suite::Placement;
use super::tiles::Tiles;
use crate::random::mix;
use crate::words::{Word, words};

words! {
    /// What stands in place of a tile.
    pub enum Instead {
        /// Zeros
        Zero = "zero",
        /// The next tile of the same D
        Other = "other",
        /// What the SM computed before, for another product
        Stale = "stale",
    }
}

/// Tiles that one SM returns wrong, whole: `tiles:zero,share=50,sm=3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongTiles {
    pub instead: Instead,
    /// Of a hundred tiles of the SM, drawn anew in every run.
    pub share: u64,
    pub sm: u32,
}

impl fmt::Display for WrongTiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (instead, share, sm) = (self.instead.word(), self.share, self.sm);
        write!(f, "tiles:{instead},share={share},sm={sm}")
    }
}

impl FromStr for WrongTiles {
    type Err = String;

    fn from_str(text: &str) -> Result<WrongTiles, String> {
        let mut parts = text.strip_prefix("tiles:").unwrap_or(text).split(',');
        let instead = parts.next().and_then(Instead::of_word);
        let mut tiles = WrongTiles {
            instead: instead.ok_or_else(|| format!("{text:?}: expected zero, other or stale"))?,
            share: 50,
            sm: 0,
        };
        for part in parts {
            let number = |value: &str, most: u64| {
                let number = value.parse().ok().filter(|number| *number <= most);
                number.ok_or_else(|| format!("{part:?}: expected a number up to {most}"))
            };
            match part.split_once('=') {
                Some(("share", value)) => tiles.share = number(value, 100)?,
                Some(("sm", value)) => tiles.sm = number(value, 1023)? as u32,
                _ => return Err(format!("{part:?}: expected share=PERCENT or sm=N")),
            }
        }
        Ok(tiles)
    }
}

impl WrongTiles {
    /// D as the SM returns it. `before`: the D that it returned last.
    pub fn spoil(
        &self,
        (tiles, placement, sms): (&Tiles, Placement, u32),
        right: &[u8],
        before: Option<&[u8]>,
        seed: u64,
    ) -> Vec<u8> {
        let mut d = right.to_vec();
        for tile in 0..tiles.count() {
            let elsewhere = placement == Placement::Spread && tile as u32 % sms != self.sm;
            if elsewhere || mix(seed.wrapping_add(tile as u64)) % 100 >= self.share {
                continue;
            }
            let length = tiles.bytes(tile);
            let instead = match self.instead {
                Instead::Zero => vec![0; length],
                Instead::Other => tiles.payload(right, (tile + 1) % tiles.count()),
                // Before the first product of a shape there were zeros.
                Instead::Stale => match before.filter(|before| before.len() == right.len()) {
                    Some(before) => tiles.payload(before, tile),
                    None => vec![0; length],
                },
            };
            if instead.len() == length {
                tiles.put(&mut d, tile, &instead);
            }
        }
        d
    }
}

/// Counts of wrong tiles that are entirely zero, another tile's or another product's, and of all that were kept.
#[derive(Default)]
pub struct Whole {
    counts: [u64; 3],
    kept: u64,
}

impl Whole {
    /// Sees a wrong tile. `elsewhere`: whether these bytes are the right ones of another tile of its D, or of another
    /// product.
    pub fn see(&mut self, given: &[u8], elsewhere: impl Fn() -> Option<Instead>) {
        self.kept += 1;
        let instead = if given.iter().all(|byte| *byte == 0) {
            Some(Instead::Zero)
        } else {
            elsewhere()
        };
        if let Some(instead) = instead {
            self.counts[instead as usize] += 1;
        }
    }

    /// The sentence, where nine tenths are of these kinds: what was there before can be zeros as well.
    pub fn describe(&self) -> Option<String> {
        let all: u64 = self.counts.iter().sum();
        if all < 2 || 10 * all < 9 * self.kept {
            return None;
        }
        let kinds = Instead::ALL.iter().map(|(instead, _, _)| {
            let what = match instead {
                Instead::Zero => "zeros",
                Instead::Other => "another tile of the same D",
                Instead::Stale => "correct for another product",
            };
            (self.counts[*instead as usize], what)
        });
        let mut kinds: Vec<_> = kinds.filter(|(count, _)| *count > 0).collect();
        kinds.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let what = match &kinds[..] {
            [(_, what)] => (*what).to_owned(),
            several => {
                let several: Vec<_> = several
                    .iter()
                    .map(|(n, what)| format!("{n} {what}"))
                    .collect();
                several.join(", ")
            }
        };
        Some(format!(
            "{all} of {} wrong tiles are entirely {what}",
            self.kept
        ))
    }
}
