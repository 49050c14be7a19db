//! Products of library kernels, captured: through the library, and as a user asks for them.

mod commands;
mod configurations;
mod search;
mod vectors;
mod words;
