//! Explanations: what they show is what the engine computes, and what they suppose is right.

#[path = "../common/random.rs"]
#[allow(dead_code)]
mod random;
#[path = "../support/mod.rs"]
mod support;

mod asked;
mod big;
mod by_hand;
mod every_rule;
mod scheduled;
mod search;
mod text;
mod usage;
