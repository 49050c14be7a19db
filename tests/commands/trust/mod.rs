//! What an adversary controls: names, contents, manifests, parts, keys, command lines, and the machine's memory and time.

mod agreed;
mod attacks;
mod documents;
mod limits;
mod memory;
mod names;
mod pipes;
mod refused;
mod reports;
mod shown;
mod silenced;
mod trusted;
