//! The library's arithmetic: formats, steps, engines, schedules and what is inferred from results,
//! against other people's numbers, second models and wrong ones.

#[path = "../support/mod.rs"]
mod support;

mod amd;
mod arm;
mod avx512;
mod cuda_digests;
mod engines;
mod formats;
mod hidden;
mod impossible;
mod independent;
mod kernels;
mod literature;
mod ops;
mod papers;
mod probes;
mod ragged;
mod schedules;
mod systems;
mod vortex;
