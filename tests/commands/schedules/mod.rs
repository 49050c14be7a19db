//! Schedules as a person meets them: what is replayed is confirmed, and what cannot be is refused.

pub mod commands;
mod empty;
mod emulated;
pub mod marlin;
mod refusals;
mod zero_points;
