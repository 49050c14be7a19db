//! Schedules against loops that know nothing of them: what every preset computes, that presets can be told
//! apart, what happens at the ends of splits, that both engines agree, and how the program speaks of it.

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod commands;
mod ends;
mod kernel_commands;
mod kernel_vectors;
mod operands;
mod own;
mod presets;
mod product;
mod promotions;
mod recipes;
mod refusals;
mod separations;
mod straight;
mod straight_cublas;
mod traversals;
mod wrong;
mod wrong_cublas;
