//! Questions about scales of blocks: what every code does, which products a scale belongs to, and the
//! alignment of terms that no unscaled operands set so far apart.

mod apart;
mod blocks;
mod codes;
mod huge;
mod random;
mod windows;

use crate::builder::SuiteBuilder;
use crate::emu::Scale;

type Family = (&'static str, &'static str, fn(&mut SuiteBuilder, Scale));

/// In the order in which they are written.
const FAMILIES: [Family; 6] = [
    ("codes", codes::TELLS, codes::write),
    ("blocks", blocks::TELLS, blocks::write),
    ("apart", apart::TELLS, apart::write),
    ("huge", huge::TELLS, huge::write),
    ("windows", windows::TELLS, windows::write),
    ("scaled", random::TELLS, random::write),
];

/// Adds every case of products with scales.
pub fn all(set: &mut SuiteBuilder, scale: Scale) {
    for (family, tells, write) in FAMILIES {
        (set.family, set.tells) = (family, tells);
        write(set, scale);
    }
}
