//! What the fuzz targets do with bytes. `tests/corpus.rs` of the tool takes this file as a module, and replays
//! every committed input without a fuzzer.
//!
//! Each body panics where something is wrong: input that brings the program down, a message that
//! would upset a terminal, two ways to one answer that disagree.

mod documents;
mod engines;
mod files;
mod input;
mod others;
mod signed;

pub use documents::{architecture, commitment, generate, manifest, opening, proof, schedule};
pub use engines::engines;
pub use files::{npy, npz, safetensors};
pub use others::{kernel_text, part, plan, policy, probes, report, state};
pub use signed::{attestation, tlog};

/// What is done with an input.
pub type Body = fn(&[u8]);

/// Every target by the name of its folder in `fuzz/corpus`.
pub const TARGETS: [(&str, Body); 20] = [
    ("npy", npy),
    ("npz", npz),
    ("safetensors", safetensors),
    ("architecture", architecture),
    ("schedule", schedule),
    ("manifest", manifest),
    ("commitment", commitment),
    ("proof", proof),
    ("opening", opening),
    ("generate", generate),
    ("engines", engines),
    ("plan", plan),
    ("part", part),
    ("state", state),
    ("policy", policy),
    ("report", report),
    ("probes", probes),
    ("kernel_text", kernel_text),
    ("attestation", attestation),
    ("tlog", tlog),
];

/// Fails unless a refusal can be shown: something is said, in one line, and not at great length.
fn sentence(message: &str) {
    assert!(!message.is_empty(), "refused without a word");
    let plain = message.chars().all(|c| !c.is_control());
    assert!(plain, "control characters in {message:?}");
    assert!(message.len() < 4000, "{} bytes of message", message.len());
}
