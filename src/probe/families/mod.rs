//! The questions, one file each.

mod alignment;
mod crumbs;
mod fasi;
mod low;
mod mixed;
mod order;
mod overflow;
mod pairs;
mod products;
mod rounding;
mod specials;
mod subnormals;
mod zeros;

use super::suite::Bench;

/// Every case, in the order in which they are written.
pub fn all(bench: &mut Bench) {
    for family in [
        order::write,
        crumbs::write,
        alignment::write,
        rounding::write,
        products::write,
        pairs::write,
        subnormals::write,
        low::write,
        zeros::write,
        overflow::write,
        specials::write,
        fasi::write,
        mixed::write,
    ] {
        family(bench);
    }
}
