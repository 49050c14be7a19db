//! Number formats as data, and the integer operations on them: unpack, round, order, print.
//!
//! Nothing here uses floating-point arithmetic to decide a bit. A number travels as its *code* (the
//! raw bit pattern, right-aligned in a `u64`) and is taken apart by [`Format::unpack`] into a sign, an
//! integer significand and an exponent that are **not** normalised: a tensor core sees a subnormal
//! as a significand below one at the format's smallest exponent, and so do we.

mod convert;
mod dyadic;
mod exact;
mod f32code;
mod factor;
mod fma;
mod format;
mod formats;
mod number;
mod order;
pub mod random;
mod round;
#[cfg(feature = "schemars")]
mod schemas;
mod unpack;
mod value;

pub use convert::{Inexact, convert_exact, result_code, round_code, tf32_code};
pub use dyadic::Dyadic;
pub use exact::ExactSum;
pub use f32code::F32;
pub use factor::Factor;
pub use fma::{FmaTerm, FmaTerms, LEADING, fma, fma_special};
pub use format::{Format, Kind, Specials};
pub use formats::{Formats, Scale};
pub use number::{Number, decimal};
pub use order::{Fields, position, ulp_distance};
pub use round::{Overflow, Rounding, Target, shift_right};
pub use unpack::{Class, SpecialTerms, Unpacked};
pub use value::{Value, quiet_nan};
