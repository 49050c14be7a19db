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

use super::builder::SuiteBuilder;
pub use order::DEEP;

/// The name of a family, what its answers tell apart, and what writes its cases.
type Family = (&'static str, &'static str, fn(&mut SuiteBuilder));

/// In the order in which they are written.
const FAMILIES: [Family; 17] = [
    ("order", order::TELLS, order::write),
    ("small_addends", small_addends::TELLS, small_addends::write),
    ("alignment", alignment::TELLS, alignment::write),
    ("rounding", rounding::TELLS, rounding::write),
    ("products", products::TELLS, products::write),
    ("pairs", pairs::TELLS, pairs::write),
    ("subnormals", subnormals::TELLS, subnormals::write),
    ("zero_exponent", zero_exponent::TELLS, zero_exponent::write),
    ("zeros", zeros::TELLS, zeros::write),
    ("overflow", overflow::TELLS, overflow::write),
    ("specials", specials::TELLS, specials::write),
    ("fasi", fasi::TELLS, fasi::write),
    ("mixed", mixed::TELLS, mixed::write),
    ("distances", distances::TELLS, distances::write),
    ("excursions", excursions::TELLS, excursions::write),
    ("carries", carries::TELLS, carries::write),
    ("anything", anything::TELLS, anything::write),
];

/// Adds every case of floating-point products.
pub fn all(set: &mut SuiteBuilder) {
    for (family, tells, write) in FAMILIES {
        (set.family, set.tells) = (family, tells);
        write(set);
    }
    if let Some(scale) = set.scale {
        scales::all(set, scale);
    }
}
