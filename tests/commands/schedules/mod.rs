//! Schedules as a person meets them: what is replayed is confirmed, and what cannot be is refused.

pub mod commands;
mod refusals;
mod zero_points;
