//! Many checks as one, and one check as many: `batch` and `shard`.

mod forms;
mod manifests;
mod merging;
mod policy;
mod products;
mod resuming;
