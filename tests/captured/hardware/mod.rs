//! Results captured on real hardware: the catalogue reproduces every bit of them, and models that are
//! wrong in one constant do not. What a wrong model still reproduces, the results do not prove.

mod architectures;
mod binary;
mod controls;
pub mod evidence;
mod fp16_results;
mod fp32_results;
mod fp8_emulated;
mod fp8_native;
mod reproduce;
