//! A product of a suite, computed.

use super::results::Failure;
use super::tiles::Tiles;
use crate::check::Prepared;

/// A product and its right D.
pub struct Ready {
    pub prepared: Prepared,
    pub right: Vec<u8>,
    pub tiles: Tiles,
}

impl Ready {
    /// All of a wrong D; none if the results do not hold each tile that differs.
    pub fn returned(&self, failure: &Failure) -> Option<Vec<u8>> {
        if failure.tiles.len() as u64 != failure.tiles_different {
            return None;
        }
        let mut d = self.right.clone();
        for tile in &failure.tiles {
            self.tiles.put(&mut d, tile.index, &tile.bytes()?);
        }
        Some(d)
    }
}
