//! Families of kernels: the order of their sums, the evidence for it, and the plan that follows.
//!
//! A new family is one file here and one line of [`FAMILIES`].

pub(super) mod ada_fp8;
pub(super) mod cutlass;
mod dot;
mod exllama;
pub(super) mod gemm_desc;
mod gemm_sn;
mod gemv;
pub(super) mod hopper_xmma;
mod magma;
pub(super) mod marlin;
pub(super) mod nvjet;
mod outer;
pub(super) mod simt;
pub(super) mod tensile;
pub(super) mod unknown;

use serde::{Serialize, Serializer};

pub use nvjet::dropped_remainder;

use super::{Capability, Cut, Fact, Kept, KernelError, Merge, MergeOrder, Open, Options, Plan};
use super::{Scheme, Settings, Shape};
use crate::IfKnown as _;
use crate::emu::Evidence;
use crate::num::Format;

/// Kernels that order their sums by one rule.
#[derive(Debug)]
pub struct Family {
    pub id: &'static str,
    pub title: &'static str,
    /// How profilers name them.
    pub kernels: &'static str,
    /// Values of `CUBLASLT_ALGO_CONFIG_ID`.
    pub algos: &'static [u32],
    pub facts: &'static [Fact],
    pub coverage: &'static [Coverage],
    pub(super) library: Library,
    /// Beginnings of kernel names that tell nothing but the family.
    pub(super) names: &'static [&'static str],
    /// No kernel of it has been seen split.
    pub(super) never_split: bool,
    /// Whether warps may share the tiles of K, and a partition of K may be given.
    pub(super) has_warps_of_k: bool,
    /// Whether the custom option affects D.
    pub(super) custom_decides: bool,
    /// The one GPU that its kernels are of.
    pub(super) gpu: Option<Capability>,
    /// The oldest GPU that runs them, where a text need not state it.
    pub(super) oldest: Option<Capability>,
    /// What its kernels issue on tensor cores.
    pub(super) issues: Issues,
    /// Whether its epilogue was compared, too: that of others is concluded from it.
    pub(super) epilogue_compared: bool,
    /// Kernels that a search tries on 16-bit operands without being named: nothing but a search tells the options
    /// of kernels of CUDA cores, and of weights.
    pub(super) tried_unnamed: &'static [&'static str],
    /// Whether B is held as codes of weights.
    pub(super) of_weights: bool,
    /// Custom options that a search tries.
    pub(super) tried_customs: std::ops::Range<u32>,
    /// The fewest slices that a search tries.
    pub(super) fewest_slices: fn(&Settings) -> usize,
    /// What a plan needs and the settings do not state.
    pub(super) needs: fn(&Settings) -> Vec<Open>,
    pub(super) plan: fn(&Request) -> Result<Plan, KernelError>,
}

/// Whose kernels they are; the epilogue is the library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Cublas,
    /// Descriptions of any library's kernels.
    Described,
    /// On AMD's GPUs.
    HipblasLt,
}

/// Which instruction of an architecture computes the chains.
#[derive(Clone, Copy, Debug)]
pub(super) enum Issues {
    /// The architecture's own for the operands.
    ByOperands,
    /// The architecture's first.
    First,
    Named(&'static str),
}

/// Names of the kernels that are tried on 16-bit operands without being named: those of weights, or the others.
pub fn unnamed(of_weights: bool) -> impl Iterator<Item = &'static str> {
    let families = FAMILIES.into_iter();
    let families = families.filter(move |family| family.of_weights == of_weights);
    families.flat_map(|family| family.tried_unnamed.iter().copied())
}

/// How the order of a family is known on some GPUs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Coverage {
    pub gpus: &'static str,
    /// None: it is not known.
    pub evidence: Option<Evidence>,
    pub what: &'static str,
    pub source: &'static str,
}

/// Every family of kernels.
pub static FAMILIES: [&Family; 15] = [
    &nvjet::FAMILY,
    &cutlass::FAMILY,
    &ada_fp8::FAMILY,
    &hopper_xmma::FAMILY,
    &simt::FAMILY,
    &gemm_sn::FAMILY,
    &magma::FAMILY,
    &marlin::FAMILY,
    &exllama::FAMILY,
    &gemv::FAMILY,
    &dot::FAMILY,
    &outer::FAMILY,
    &tensile::FAMILY,
    &gemm_desc::FAMILY,
    &unknown::FAMILY,
];

impl Family {
    /// What families of cuBLAS mostly share; each has its own names, facts and plan.
    const CUBLAS: Family = Family {
        id: "",
        title: "",
        kernels: "",
        algos: &[],
        facts: &[],
        coverage: &[],
        library: Library::Cublas,
        names: &[],
        never_split: false,
        has_warps_of_k: false,
        custom_decides: true,
        gpu: None,
        oldest: None,
        issues: Issues::First,
        epilogue_compared: false,
        tried_unnamed: &[],
        of_weights: false,
        tried_customs: 0..2,
        fewest_slices: |_| 1,
        needs: |_| Vec::new(),
        plan: unknown::plan,
    };

    pub fn find(id: &str) -> Option<&'static Family> {
        FAMILIES.into_iter().find(|family| family.id == id)
    }

    /// Of a `CUBLASLT_ALGO_CONFIG_ID`; `unknown` if no family has it.
    pub fn of_algo(algo: u32) -> &'static Family {
        let known = FAMILIES
            .into_iter()
            .find(|family| family.algos.contains(&algo));
        known.unwrap_or(&unknown::FAMILY)
    }

    /// The family whose kernels' names begin like this word.
    pub(super) fn of_name(word: &str) -> Option<&'static Family> {
        let begins = |family: &&Family| family.names.iter().any(|name| word.starts_with(name));
        FAMILIES.into_iter().find(begins)
    }

    /// Whether the epilogue is that of cublasLt.
    pub(super) fn is_cublas(&self) -> bool {
        self.library == Library::Cublas
    }

    pub fn is_unknown(&self) -> bool {
        self.id == unknown::FAMILY.id
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Family) -> bool {
        self.id == other.id
    }
}

impl Serialize for Family {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

/// A product, and everything that is known about its kernel.
pub(super) struct Request<'a> {
    pub settings: Settings,
    pub shape: Shape,
    pub options: &'a Options,
}

/// The GPUs on which nvjet's kernels and those of CUDA cores were compared, and which a search tries.
pub(super) const COMPARED: [Capability; 3] = [
    Capability::new(9, 0),
    Capability::new(10, 0),
    Capability::new(10, 3),
];

/// Most sums that a plan lists.
pub(super) const MAX_SUMS: usize = 1 << 18;

impl Request<'_> {
    pub fn k(&self) -> usize {
        self.shape.k
    }

    /// The requested number of slices; at most one for each k.
    pub fn splits(&self) -> Result<usize, KernelError> {
        let splits = self.settings.split_k.value().unwrap_or(1);
        if splits > self.k() {
            return Err(KernelError::TooManySplits {
                splits,
                k: self.k(),
            });
        }
        self.few(splits)
    }

    /// Refuses plans of too many sums.
    pub fn few(&self, sums: usize) -> Result<usize, KernelError> {
        if sums <= MAX_SUMS {
            Ok(sums)
        } else {
            Err(KernelError::TooLarge {
                shape: self.shape,
                sums,
                most: MAX_SUMS,
            })
        }
    }

    /// The GPU, or the candidates for it; empty if neither text nor request tells.
    pub fn gpus(&self) -> Vec<Capability> {
        match self.settings.capability.value() {
            Some(gpu) => vec![gpu],
            None => self.options.one_of.clone(),
        }
    }

    /// Refuses GPUs older than the kernel; later ones run it, unless the text or the family names one GPU.
    pub fn confirm_age(&self, family: &Family) -> Result<(), KernelError> {
        let setting = self.settings.oldest.as_ref();
        let own = family.oldest.map(|oldest| (oldest, family.id));
        let Some((oldest, from)) = setting
            .map(|setting| (setting.value, &*setting.from))
            .or(own)
        else {
            return Ok(());
        };
        let gpus = self.gpus();
        if gpus.is_empty() || gpus.iter().any(|gpu| *gpu >= oldest) {
            return Ok(());
        }
        Err(KernelError::WrongGpu {
            text: format!("a kernel of {oldest} and later ({from})"),
            requested: Capability::any_of(&gpus),
        })
    }

    /// That another GPU sums as those where the kernels were compared is an assumption.
    pub fn assume_as_compared(&self, plan: &mut Plan, kernels: &str) {
        let gpus = self.gpus();
        if !gpus.is_empty() && !gpus.iter().any(|gpu| COMPARED.contains(gpu)) {
            plan.assumed.push(format!(
                "{} adds in the same order as sm_90, sm_100 and sm_103, where {kernels} kernels were compared",
                Capability::any_of(&gpus)
            ));
        }
    }

    /// Refuses slices that are not kept in f32, where no others have been seen.
    pub fn confirm_compute_type(&self, kernels: &str) -> Result<(), KernelError> {
        match self.settings.scheme.value() {
            Some(scheme) if self.settings.splits() && scheme != Scheme::ComputeType => {
                Err(KernelError::unknown(
                    format!("{kernels} with the reduction scheme {scheme}"),
                    "every configuration seen has COMPUTE_TYPE",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Bytes of an element of A.
    pub fn operand_bytes(&self) -> usize {
        self.settings.operand().map_or(2, Format::bytes)
    }

    pub fn custom(&self) -> u32 {
        self.settings.custom.value().unwrap_or(0)
    }

    /// Where partial sums of CUTLASS-like kernels meet.
    pub fn merge(&self, slices: usize) -> Merge {
        let scheme = self.settings.scheme.value();
        if slices <= 1 {
            return Merge::ALONE;
        }
        Merge {
            order: MergeOrder::Ascending,
            kept: match scheme {
                None | Some(Scheme::None | Scheme::Inplace) => Kept::Running,
                Some(Scheme::ComputeType) => Kept::F32,
                Some(Scheme::OutputType) => Kept::Result,
            },
        }
    }

    /// A plan without slices yet.
    pub fn plan(&self, family: &'static Family) -> Plan {
        Plan {
            family: family.id,
            shape: self.shape,
            settings: self.settings.clone(),
            grain: None,
            chunk: None,
            cut: Cut::Whole,
            sharing: Vec::new(),
            tile: None,
            slices: Vec::new(),
            merge: Merge::ALONE,
            lost: None,
            facts: family.facts.to_vec(),
            assumed: Vec::new(),
            order: None,
        }
    }

    pub fn wrong(&self, family: &'static Family, why: &'static str) -> KernelError {
        KernelError::WrongFamily {
            family: family.id,
            shape: self.shape,
            why,
        }
    }
}

impl Settings {
    pub(super) fn operand(&self) -> Option<Format> {
        self.operands.value().map(|[a, _]| a)
    }

    pub(super) fn is_fp8(&self) -> bool {
        matches!(self.operand(), Some(Format::E4m3 | Format::E5m2))
    }

    pub(super) fn splits(&self) -> bool {
        self.split_k.value().is_some_and(|slices| slices > 1)
    }
}

/// What the plan of every tensor-core kernel needs.
pub(super) fn common_needs(settings: &Settings) -> Vec<Open> {
    let mut open = Vec::new();
    if settings.operands.is_none() {
        let why = "the grain and the instruction depend on it";
        open.push(Open::new("the operands' format", "dtype", why));
    }
    if settings.split_k.is_none() {
        open.push(Open::slices(
            "the kernel's name does not contain it (see SPLITK_NUM in the configuration, numSplitsK in a log line)",
        ));
    }
    open
}

/// What a plan needs whose slices are added by a reduction scheme.
pub(super) fn scheme_needs(settings: &Settings) -> Option<Open> {
    let why = "slices are added in D (INPLACE), or in a workspace in f32 (COMPUTE_TYPE) or in D's format \
        (OUTPUT_TYPE)";
    (settings.splits() && settings.scheme.is_none())
        .then(|| Open::new("the reduction scheme", "reduction", why))
}

/// Slices [j*chunk, (j+1)*chunk), the last one cut at `end`.
pub(super) fn chunks(
    chunk: usize,
    end: usize,
    most: usize,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    let count = end.div_ceil(chunk).min(most);
    (0..count).map(move |j| j * chunk..((j + 1) * chunk).min(end))
}
