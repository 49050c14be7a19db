//! Results captured elsewhere, on GPUs and from other emulators: `TCVERIFY_VECTORS` names the folder
//! that holds them. Without it these tests say so and prove nothing.

#[path = "../support/mod.rs"]
mod support;

mod amx;
mod arm;
mod attention;
mod b200;
mod batch;
mod emulated;
mod hardware;
mod identify;
mod kernels;
mod peers;
mod rdna;
mod tenstorrent;
