//! A product of a suite, computed.

use super::tiles::Tiles;
use crate::check::Prepared;

/// A product and its right D.
pub struct Ready {
    pub prepared: Prepared,
    pub right: Vec<u8>,
    pub tiles: Tiles,
}
