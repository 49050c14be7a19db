//! Many checks as one, and one check as many: `batch` and `shard`.

mod expected;
mod forms;
mod manifests;
mod merging;
pub mod pages;
mod patterns;
mod policy;
mod products;
mod resuming;
mod signing;
