//! A check as flat fields: the form that manifests, plans and reports have, and command lines, whose
//! options are called as the fields are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::source::Source;
use super::span::Span;
use super::words::{EngineChoice, Strictness, Tf32Input};
use crate::emu::schedule::{
    OrderChoice, PartialsChoice, PromoteChoice, ResidueChoice, SplitChoice,
};
use crate::kernel::{Accumulation, Partition, Scheme};
use crate::num::{F32, Format};
use crate::ops::Layout;
use crate::role::Role;
use crate::words::Word;

/// A field's value as one word of a command line.
pub(super) enum Argument {
    /// An option without a value.
    Flag,
    Value(OsString),
}

/// What a field may hold.
pub(super) trait Field: Sized {
    fn argument(&self) -> Option<Argument>;

    /// A path that is not absolute starts in this folder.
    fn in_folder(&mut self, _: &Path) {}

    /// The same field as an array's, if it is one.
    fn as_array(_: &mut Option<Self>) -> Option<&mut Option<Source>> {
        None
    }
}

impl Field for bool {
    fn argument(&self) -> Option<Argument> {
        self.then_some(Argument::Flag)
    }
}

impl Field for Source {
    fn argument(&self) -> Option<Argument> {
        Some(Argument::Value(not_an_option(self.text())))
    }

    fn in_folder(&mut self, folder: &Path) {
        Source::in_folder(self, folder);
    }

    fn as_array(field: &mut Option<Source>) -> Option<&mut Option<Source>> {
        Some(field)
    }
}

impl Field for PathBuf {
    fn argument(&self) -> Option<Argument> {
        Some(Argument::Value(not_an_option(self.clone().into())))
    }

    fn in_folder(&mut self, folder: &Path) {
        *self = folder.join(&*self);
    }
}

/// A path that begins with a dash is no option then; a dash alone is standard input.
fn not_an_option(path: OsString) -> OsString {
    match path.as_encoded_bytes() {
        [b'-', _, ..] => {
            let mut here = OsString::from("./");
            here.push(path);
            here
        }
        _ => path,
    }
}

macro_rules! shown {
    ($($kind:ty),*) => {
        $(impl Field for $kind {
            fn argument(&self) -> Option<Argument> {
                Some(Argument::Value(self.to_string().into()))
            }
        })*
    };
}

shown!(
    String,
    Format,
    usize,
    u32,
    u64,
    F32,
    Span,
    PromoteChoice,
    Scheme,
    Partition
);

impl Field for Layout {
    fn argument(&self) -> Option<Argument> {
        let word = serde_json::to_value(self).ok()?;
        Some(Argument::Value(word.as_str()?.into()))
    }
}

macro_rules! worded {
    ($($kind:ty),*) => {
        $(impl Field for $kind {
            fn argument(&self) -> Option<Argument> {
                Some(Argument::Value(self.word().into()))
            }
        })*
    };
}

worded!(
    Strictness,
    Tf32Input,
    EngineChoice,
    ResidueChoice,
    SplitChoice,
    PartialsChoice,
    OrderChoice,
    Accumulation
);

/// A struct of optional fields: documents have them under their names, command lines as options of those names.
macro_rules! fields {
    ($(#[$about:meta])* pub struct $all:ident, roles: $roles:expr;
     $($(#[doc = $doc:literal])+ $name:ident: $kind:ty,)*) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields, default)]
        pub struct $all {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $name: Option<$kind>,
            )*
        }

        impl $all {
            /// The names of all fields.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Those that say something, as words of a command line.
            pub(super) fn arguments(&self) -> Vec<(&'static str, $crate::check::fields::Argument)> {
                let mut all = Vec::new();
                $(
                    let argument = self.$name.as_ref().and_then($crate::check::fields::Field::argument);
                    all.extend(argument.map(|argument| (stringify!($name), argument)));
                )*
                all
            }

            /// Paths that are not absolute start in this folder.
            pub fn in_folder(&mut self, folder: &std::path::Path) {
                $(
                    if let Some(value) = &mut self.$name {
                        $crate::check::fields::Field::in_folder(value, folder);
                    }
                )*
            }

            /// The field of an array; none of a role that is not one of them.
            pub fn array(&mut self, role: $crate::role::Role) -> Option<&mut Option<$crate::check::Source>> {
                match role.field() {
                    $(stringify!($name) => $crate::check::fields::Field::as_array(&mut self.$name),)*
                    _ => None,
                }
            }

            /// Every array that is named.
            pub fn arrays(&self) -> $crate::role::ByRole<$crate::check::Source> {
                let mut all = self.clone();
                let named = $roles.iter().filter_map(|role| {
                    let source = all.array(*role)?.take()?;
                    Some((*role, source))
                });
                named.collect()
            }
        }
    };
}

pub(super) use fields;

fields! {
    /// Everything that a check may say. A field that is absent is as it is by default.
    pub struct Fields, roles: Role::PRODUCT;

    /// Architecture, compute capability or GPU of the catalogue.
    arch: String,
    /// An architecture file in place of the catalogue.
    model: PathBuf,
    /// Instruction; by default the architecture's own for the operands.
    instruction: String,
    /// Format of A and B.
    dtype: Format,
    /// Format of B, where it differs from A's.
    dtype_b: Format,
    /// Format that the instruction accumulates in and returns.
    acc: Format,
    /// Format of C, where it is another than D's.
    c_dtype: Format,
    /// Format of the scales of A and B.
    scale_dtype: Format,
    /// Consecutive k that share a scale.
    scale_block: usize,
    /// How the kernel chains the instruction over K: a preset.
    schedule: String,
    /// A schedule file.
    schedule_file: PathBuf,
    /// What a library says of its kernel: a log line, a configuration, a name.
    kernel: String,
    /// A cuBLASLt log, one of whose lines is about this product.
    kernel_log: PathBuf,
    /// A kernel table that was recorded on a GPU.
    kernel_table: PathBuf,
    /// Bytes of workspace that the library was given, to choose among answers of a kernel table.
    workspace: u64,
    /// How slices of the kernel meet, where its words leave that open.
    reduction: Scheme,
    /// How CUTLASS cuts K, where the words leave that open.
    partition: Partition,
    /// CUSTOM_OPTION of the kernel's configuration, where the words leave that open.
    custom: u32,
    /// FP8 accumulation, where the kernel's words leave that open.
    accumulation: Accumulation,
    /// Multiprocessors of the GPU, where the kernel's words leave that open.
    multiprocessors: u32,
    /// Turns by which a workgroup's loop over K is rotated (AMD).
    rotation: usize,
    /// Slices reach the end of K: a library without the defect of the lost tail.
    whole_tail: bool,
    /// k of a tile of the main loop.
    tile_k: usize,
    /// Which tile is the partial one.
    residue: ResidueChoice,
    /// Products of an instruction, where those are fewer than the unit adds in one step.
    instruction_k: usize,
    /// How slices come together, where the schedule has none.
    split: SplitChoice,
    /// Slices that K is divided into.
    split_k: usize,
    /// What slices are multiples of, where those are not whole tiles.
    grain: usize,
    /// What a workspace keeps partial sums in.
    partials: PartialsChoice,
    /// In which order partial sums are added.
    sum_order: OrderChoice,
    /// Workers that share the tiles of a stream-K kernel.
    workers: usize,
    /// k between two promotions to an accumulator in f32, or "never".
    promote: PromoteChoice,
    /// The sum is multiplied with this in f32.
    alpha: F32,
    /// C is multiplied with this and added to the finished sum.
    beta: F32,
    /// FP8 results are multiplied with this in f32 before they are rounded.
    scale_result: F32,
    /// One number for every column of D.
    bias: Source,
    /// Format of the bias, where its file cannot say it.
    bias_dtype: Format,
    /// Zero points of A's rows, int32: one for every row of D.
    azp: Source,
    /// What zero points add to the integer sums of a column of D, int32: one for every column.
    azp_adj: Source,
    /// Format of D, where its file cannot say it.
    d_dtype: Format,
    /// SHA-256 of D's canonical payload, instead of D.
    d_digest: String,
    /// Whether NaN bits must agree.
    nan: Strictness,
    /// Whether signs of zeros must agree.
    zero: Strictness,
    /// A commitment that operands, model and D must be those of.
    against: PathBuf,
    /// So many random elements instead of all.
    sample: u64,
    /// Seed of the draw; whoever knew it when D was made could spare the sample.
    seed: u64,
    /// A commitment, which operands, model and D must be those of: it and the beacon make the seed.
    seed_from: PathBuf,
    /// A public value that nobody could know when the commitment was published.
    beacon: String,
    /// Only these rows of D.
    rows: Span,
    /// Only these columns of D.
    cols: Span,
    /// Only this rectangle: ROWS,COLUMNS.
    region: String,
    /// How many mismatches to list.
    max_mismatches: usize,
    /// Name the reproduced D by the root of its Merkle tree.
    tree: bool,
    /// Rows of D in a block of the tree.
    block_rows: u64,
    /// Do not look for what would give a D that differs.
    no_causes: bool,
    /// Do not look for other arithmetics that give a D that does not differ.
    no_discrimination: bool,
    /// Who computes.
    engine: EngineChoice,
    /// C.
    c: Source,
    /// Scales of A.
    scale_a: Source,
    /// Scales of B.
    scale_b: Source,
    /// A is stored KxM.
    transpose_a: bool,
    /// B is stored NxK.
    transpose_b: bool,
    /// What to do with FP32 bits that TF32 and XF32 lack.
    tf32_input: Tf32Input,
    /// A.
    a: Source,
    /// B.
    b: Source,
    /// The captured D.
    d: Source,
}

impl Fields {
    /// Those that are formats.
    const FORMATS: [&str; 7] = [
        "dtype",
        "dtype_b",
        "acc",
        "c_dtype",
        "scale_dtype",
        "bias_dtype",
        "d_dtype",
    ];

    /// Gives a field of an object that somebody wrote the one name that documents have for a format, of which people
    /// know several, as the command line takes them.
    pub fn canonical(field: &str, value: &mut serde_json::Value) {
        if let Some(format) = value.as_str().and_then(Format::from_name)
            && Fields::FORMATS.contains(&field)
        {
            *value = format.name().into();
        }
    }
}
