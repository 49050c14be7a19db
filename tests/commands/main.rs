//! What the program says and does, and the files that it reads and writes.
//!
//! Tests of this program run side by side in one process, and most commands with them
//! (`support/run.rs`): a limit, a signal or a variable of the environment is given to a child, never to the process.

#[path = "../support/mod.rs"]
mod support;

mod arm;
mod attest;
mod audit;
mod batch;
mod bench;
mod capture;
mod causes;
mod cli;
mod commit;
mod compare;
mod containers;
mod determinism;
mod diagnose;
mod docs;
mod explain;
mod exports;
#[cfg(unix)]
mod faults;
mod hostile;
mod html;
mod identify;
mod kernels;
mod log;
mod npy;
mod operations;
mod pinned;
mod probes;
mod schedules;
mod schemas;
mod screen;
mod sparse;
mod tenstorrent;
mod trust;
