//! The arithmetic once more, from its description and unlike the crate's: values are fractions of
//! big integers, exponents are logarithms of values, and rounding is a search among the codes.

mod dots;
mod fraction;
mod model;
mod round;
mod value;

pub use dots::Rounds;
pub use fraction::Fraction;
pub use model::{Exponents, Reference};
pub use round::{nearest_code, quotient};
pub use value::value;
