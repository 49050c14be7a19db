//! Probes, and what is inferred from answers to them. Answers are those of models, replayed by the
//! exact engine: the question here is whether a machine of known arithmetic is recognised.

mod catalogue;
mod corrupted;
mod features;
pub mod machine;
mod made_up;
mod suites;
mod vocabulary;
