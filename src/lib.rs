//! Did this GPU really compute this matrix product?
//!
//! `tcverify` replays `D = A*B + C` through a bit-exact model of a tensor core and compares every
//! bit with a captured result. This crate is the tool's inside, in one direction:
//!
//! ```text
//! cli (words -> options) -> io (files -> tensors) -> emu (replay) -> report (differences -> text, JSON) -> exit code
//! ```
//!
//! * [`check`]: a check as a value, what it needs read and chosen, and the verdict.
//! * [`num`]: number formats as data; unpacking, rounding, ordering and printing codes.
//! * [`tensor`]: arrays of raw codes, mapped or owned.
//! * [`io`]: arrays in files (`.npy`, `.npz`, `.safetensors`), outputs, digests.
//! * [`memory`]: a bounded account of what operands take.
//! * [`emu`]: models as data, the catalogue of architectures, and the exact engine that runs them.
//! * [`engines`]: who computes for this library: [`kernels`], [`gpu`].
//! * [`ops`]: what stands between products: norms, softmax, activations, attention.
//! * [`compose`]: what stands around a verdict: commitments, causes, explanations.
//! * [`operation`]: a norm, softmax or attention as what is judged.
//! * [`commit`]: a product fixed by digests, D by a Merkle tree.
//! * [`audit`]: elements of a committed D, replayed from the rows and columns that a prover opens.
//! * [`generate`]: operands that a seed determines.
//! * [`candidates`]: what could have computed a D, by formats and K alone.
//! * [`identify`]: which models of the catalogue, under which schedules, give a D.
//! * [`inspect`]: what an array holds, counted.
//! * [`probe`]: directed cases, and the model that explains a machine's answers to them.
//! * [`report`]: what differs, classified; the view of a report, and its text.
//! * [`forms`]: a report as a page, Markdown, JUnit XML, annotations.
//! * `schemas` (feature `schemars`): JSON Schemas of all documents.
//! * [`sample`]: random subsets of D, and what they prove.
//! * [`sign`]: whose word a document is.
//! * [`attest`]: verdicts that other people's tools can read.
//! * [`tlog`]: logs of commitments that witnesses cosign.
//! * [`explain`]: one element in full, step by step.
//! * [`diagnose`]: what a D that differs may come from.
//! * [`cli`]: the commands; nothing there computes.
//!
//! # A check
//!
//! ```
//! use tcverify::check::{Check, Prepared, Tensors};
//! use tcverify::engines::resources;
//! use tcverify::num::Format;
//! use tcverify::report::Verdict;
//! use tcverify::tensor::Tensor;
//!
//! // 1 + 2^-24 on an H100, the 2^-24 as 2^-12 * 2^-12: the result has no bit for it.
//! let a = Tensor::from_codes(Format::Fp16, vec![1, 2], &[0x3c00, 0x0c00]);
//! let b = Tensor::from_codes(Format::Fp16, vec![2, 1], &[0x3c00, 0x0c00]);
//! let d = Tensor::from_codes(Format::Fp32, vec![1, 1], &[0x3f80_0000]);
//! let check = Check::in_memory("h100", Format::Fp16);
//! let report = Prepared::from_tensors(&check, &resources(), Tensors::of(a, b, d))?.run(&())?;
//! assert_eq!(report.verdict, Verdict::Identical);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # One product, by hand
//!
//! ```
//! use tcverify::emu::{Catalogue, Engine, Problem, Replay};
//! use tcverify::num::Format;
//! use tcverify::tensor::Tensor;
//!
//! // 1 + 2^-24 on an A100, the 2^-24 as 2^-12 * 2^-12: RZ to 24 bits drops it.
//! let a = Tensor::from_codes(Format::Fp16, vec![1, 2], &[0x3c00, 0x0c00]);
//! let b = Tensor::from_codes(Format::Fp16, vec![2, 1], &[0x3c00, 0x0c00]);
//! let choice = Catalogue::builtin()
//!     .find("a100")?
//!     .select(None, [Format::Fp16; 2], None)?;
//! let problem = Problem::new(a.planes(), b.planes(), None)?;
//! let replay = Replay { problem, arithmetic: &choice.arithmetic, convert_to: None, engine: Engine::Exact, kernel: None };
//! let d = replay.collect(&|_| {});
//! assert_eq!(d.planes().plane(0).code(0, 0), 0x3f80_0000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "schemars")]
pub mod schemas;

pub use tcverify_audit::{self as audit};
pub use tcverify_causes::{candidates, diagnose, explain, inspect};
pub use tcverify_check::{self as check};
pub use tcverify_common::{deadline, role, words};
pub use tcverify_compose::{self as compose};
pub use tcverify_emu::{self as emu};
pub use tcverify_engines::{self as engines};
pub use tcverify_forms::{self as forms};
pub use tcverify_generate::{self as generate};
pub use tcverify_gpu::{self as gpu};
pub use tcverify_io::{self as io, memory};
pub use tcverify_kernels::{self as kernels};
pub use tcverify_libraries::{self as libraries};
pub use tcverify_many::{batch, shard};
pub use tcverify_num::{self as num, random};
pub use tcverify_operation::{self as operation};
pub use tcverify_ops::{self as ops};
pub use tcverify_policy::{self as policy};
pub use tcverify_probe::{self as probe};
pub use tcverify_provenance::{attest, commit, tlog};
pub use tcverify_report::{self as report, sample};
pub use tcverify_screen::{self as screen};
pub use tcverify_sealed::{envelope, sign};
pub use tcverify_search::{compare, identify};
pub use tcverify_tensor::{self as tensor, interop};
