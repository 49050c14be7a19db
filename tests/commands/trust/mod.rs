//! What an adversary controls: names, contents, manifests, parts, and the machine's memory.

mod memory;
mod refused;
mod reports;
mod shown;
