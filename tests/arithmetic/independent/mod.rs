//! The engine against a second, slow model of the same description, and against itself: a result
//! depends on the numbers multiplied, not on how the work is cut up or how the numbers lie in memory.

mod bands;
mod constants;
mod extremes;
mod layouts;
mod mutants;
mod operands;
mod products;
mod rules;
mod tiles;
