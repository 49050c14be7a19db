//! Codes against other people's number formats: native floats, `half`, `float8` and LLVM's
//! `APFloat` (`rustc_apfloat`); every code of every format of up to 19 bits.

mod codes;
mod convert;
mod fma;
mod ieee;
mod order;
mod round;
mod unpack;
