//! Explanations: what they show is what the engine computes, and what they suppose is right.

mod asked;
mod big;
mod by_hand;
mod every_rule;
mod picture;
mod scheduled;
mod search;
mod text;
mod usage;
