//! What several test programs share: cases in files, wrong models, exact numbers, random bits.

// Each test program uses its own part of this.
#![allow(dead_code, unused_imports)]

pub mod case;
pub mod engines;
pub mod exact;
pub mod random;
pub mod vectors;
pub mod wrong;

use std::io::Write;

/// A line for whoever reads the log: past the capturing of passed tests.
pub fn say(line: std::fmt::Arguments) {
    writeln!(std::io::stderr(), "{line}").expect("standard error can be written");
}
