//! Schedules against loops that know nothing of them: what every preset computes, that presets can be told
//! apart, what happens at the ends of splits, and that both engines agree.

mod ends;
mod impossible;
mod operands;
mod own;
mod presets;
mod product;
mod promotions;
mod recipes;
mod separations;
mod straight;
mod straight_arm;
mod straight_cublas;
mod traversals;
mod wrong;
mod wrong_cublas;
mod wrong_vllm;
