//! Reads what a GPU library says of its kernels, and derives the order of the sums.
//!
//! A text ([`read`]) becomes a [`KernelReading`]: every word with its meaning. A reading and a shape become
//! a [`Plan`]: slices, chains, residues, merge. A reading states which settings were stated, given, found
//! or assumed, and a [`Family`] states the evidence for its order.
//!
//! * `text`: one file for each source of text.
//! * `family`: one file for each family of kernels.
//! * `plan`: the order itself.
//! * `cublaslt`: cublasLt's numbers and their names.
//! * `ttnn`: Tenstorrent's configurations, which state a model's settings, no order.

mod compare;
mod cublaslt;
mod describe;
mod error;
mod facts;
mod family;
mod gemm_desc;
mod multiprocessors;
mod options;
mod plan;
mod planning;
mod reading;
mod request;
mod schedule;
mod search;
mod settings;
mod sourced;
mod table;
mod text;
mod ttnn;

#[cfg(test)]
mod tests;

pub use crate::check::{Accumulation, Partition, Scheme, Weights};
use tcverify_check as check;
use tcverify_common::{role, words};
use tcverify_emu as emu;
use tcverify_forms as forms;
use tcverify_io as io;
use tcverify_num as num;
#[cfg(test)]
use tcverify_num::random;
use tcverify_report as report;
#[cfg(test)]
use tcverify_tensor as tensor;

pub use compare::differing;
pub use cublaslt::{Stages, tile_of_id};
pub use error::KernelError;
pub use facts::{Fact, SOURCES, citation};
pub use family::unnamed;
pub use family::{Coverage, FAMILIES, Family, dropped_remainder};
pub use options::{Open, Options};
pub use plan::{
    Arithmetic, Cut, DroppedRemainder, Join, Merge, MergeOrder, Plan, Residue, Restart, Sharing,
    Slice, Span, Start, Sum, Tile, Traversal,
};
pub use reading::{KernelReading, Status, TextKind, Token};
pub use request::{Product, field_error, kernel_words};
pub use request::{check_of, complete, complete_by_text, options_of, texts};
pub use schedule::Model;
pub use settings::{
    Algorithm, Capability, Compute, Dealt, Generation, KCut, Kept, Settings, Shape, Tensile,
    Transposed,
};
pub use sourced::{How, IfKnown, Sourced};
pub use table::{Configuration, KernelTable, TABLE_SCHEMA, TableEntry, TableLibrary, TableQuery};
pub use text::{MAX_TEXT, launches, read};
