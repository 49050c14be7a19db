//! `tcverify identify`: captured results find their makers, made-up ones find none.

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod captured;
mod files;
mod schedules;
mod separations;
