//! The questions, one file each.

mod alignment;
mod anything;
mod carries;
mod distances;
mod excursions;
mod fasi;
pub mod integers;
mod mixed;
mod order;
mod overflow;
mod pairs;
mod products;
mod rounding;
mod scales;
mod small_addends;
mod specials;
mod subnormals;
mod zero_exponent;
mod zeros;

use super::suite::Bench;
pub use order::DEEP;

/// Every case, in the order in which they are written.
pub fn all(bench: &mut Bench) {
    for family in [
        order::write,
        small_addends::write,
        alignment::write,
        rounding::write,
        products::write,
        pairs::write,
        subnormals::write,
        zero_exponent::write,
        zeros::write,
        overflow::write,
        specials::write,
        fasi::write,
        mixed::write,
        distances::write,
        excursions::write,
        carries::write,
        anything::write,
        scales::all,
    ] {
        family(bench);
    }
}
