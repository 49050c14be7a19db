//! Many checks as one, and one check as many: `batch` and `shard`.

#[path = "../support/mod.rs"]
mod support;

mod captured;
mod forms;
mod manifests;
mod merging;
mod products;
mod resuming;
