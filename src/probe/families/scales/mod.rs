//! Questions about scales of blocks: what every code does, which products a scale belongs to, and the
//! alignment of terms that no unscaled operands set so far apart.

mod apart;
mod blocks;
mod codes;
mod huge;
mod random;
mod windows;

use crate::probe::suite::Bench;

/// Every case, in the order in which they are written.
pub fn all(bench: &mut Bench) {
    for family in [
        codes::write,
        blocks::write,
        apart::write,
        huge::write,
        windows::write,
        random::write,
    ] {
        family(bench);
    }
}
