//! What a D that differs may be: one list for whole matrices and for single elements.

use serde::Serialize;

use crate::candidates::Name;
use crate::emu::Arithmetic;
use crate::emu::schedule::Overrides;
use crate::num::Format;

/// A way in which elements of D can come about. Each is tested by computing it: what it gives has to be
/// D, bit for bit, on every element it is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Hypothesis {
    // What was stored is not what was computed.
    /// Every element is +0.
    Unwritten,
    /// Every element has the same bits.
    Constant,
    /// One bit (`at`, 0 is the lowest) is flipped, the same in all. Not claimed for a single element of few bits if
    /// another order of additions could explain it.
    BitFlipped,
    /// Only bits of NaNs differ.
    NanPayload,
    /// Only signs of zeros differ.
    ZeroSign,
    /// D is FP32 that holds BF16 or FP16 numbers, as `.float()` makes them.
    RoundedNarrower,
    /// D's codes are BF16 and were read as FP16, or the reverse.
    ResultFormat,
    /// D was rounded from the accumulator's format by RZ, RNA or RD instead of RNE.
    Rounding,

    // Another product.
    /// D is the transpose of what the model computes.
    DTransposed,
    /// A was transposed.
    ATransposed,
    /// B was transposed.
    BTransposed,
    /// A and B were transposed.
    AAndBTransposed,
    /// B was multiplied by A.
    Exchanged,
    /// C was left out.
    COmitted,
    /// C was added again, to the finished chain or before the products.
    CTwice,
    /// C was added with another sign, or elements of C at other places.
    COtherwise,
    /// C was added, RNE, to the finished product instead of before it.
    CAddedLast,
    /// ReLU of every element.
    Relu,
    /// ReLU6 of every element.
    Relu6,
    /// GELU of every element, by the error function.
    Gelu,
    /// GELU of every element, by the hyperbolic tangent.
    GeluTanh,
    /// SiLU of every element.
    Silu,
    /// Another function of every element, as the text says.
    Activation,
    /// A number for every column, or for every row, was added.
    Bias,
    /// The sum was multiplied by a number.
    Alpha,
    /// The sum and C were multiplied by numbers.
    AlphaBeta,
    /// Every row was multiplied by a number of its own.
    RowScales,
    /// Every column was multiplied by a number of its own.
    ColumnScales,
    /// Rows and columns were multiplied by numbers of their own.
    RowAndColumnScales,
    /// The sums of so many k (`at`) were scaled before they were added.
    BlockScales,
    /// Several of these, and C left out.
    Epilogue,
    /// A, B or both, and perhaps D, hold codes of the sibling format: E4M3 and E5M2 (FNUZ too), E3M2 and E2M3, FP16 and
    /// BF16, INT8 and UINT8.
    Formats,
    /// Something that the request names was left out: the bias, alpha, beta, the activation, the scale of the result.
    SettingIgnored,
    /// Something that the request names was used otherwise, as the text says.
    SettingOtherwise,
    /// Operands were multiplied in fewer or more bits than the request says: FP32 as TF32, BF16 or FP16.
    Precision,
    /// The memory of an operand or of D was read in another layout.
    OperandLayout,
    /// The k of one operand, or small blocks of it, were multiplied in another order.
    PermutedK,
    /// Subnormal operands were taken as zeros.
    Subnormals,
    /// Zero points were subtracted from integer operands.
    ZeroPoints,
    /// Scales of operands or of the result were left out, inverted, cut, or those of another place.
    Scales,
    /// Sums were converted to D's format by another policy: NaN or infinity instead of saturation, rounded twice.
    Conversion,
    /// Results beyond a number are that number.
    Clipped,
    /// A bias was added after the product had been rounded.
    BiasAfterRounding,
    /// FP32 operands were rounded to TF32 in the other way (`--tf32-input`).
    Tf32Input,

    // Another way over K.
    /// Another rule of the catalogue for these formats: architecture, instruction or accumulator.
    OtherModel,
    /// The same arithmetic under another schedule that `identify` searches, or under none.
    OtherSchedule,
    /// Another rule under another schedule.
    OtherModelAndSchedule,
    /// Slices of K, or k of one remainder, were summed apart and added in D's format or in FP32.
    SlicesRounded,
    /// The last products of K are missing (`at`: how many were added), from one chain or from slices. The latter is a
    /// known defect of cuBLAS.
    DroppedRemainder,
    /// A chain of IEEE multiply-adds, k ascending, RNE, gives the element.
    IeeeChain,
    /// The exact value, rounded once (RNE), is the element.
    ExactValue,

    // A fault in some elements.
    /// The products from one k (`at`) on are missing.
    StoppedEarly,
    /// A step (`at`, from 1) is missing.
    StepMissing,
    /// A range of k (`at`: first, and one past the last) is missing.
    SliceMissing,
    /// A product (`at`: its k) is missing.
    ProductMissing,
    /// A product (`at`: its k) has the other sign.
    ProductFlipped,
    /// One sum (`at`: its first k, one past the last, the phase) came out as a unit's known fault computes it.
    KnownFault,
    /// One element of A or B had another value when D was computed (`at`: row, column).
    InputChanged,
    /// Every element is so many units in the last place larger in magnitude (`at`: how many) or smaller.
    OffByUlps,
    /// One bit of A, B or C was different when D was computed (`at`: row, column, bit). It gives every tested element
    /// of that row (A), that column (B), or that element (C), wrong or right.
    InputFlipped,
    /// Rows hold what belongs to another row, so far away or the same for all (`at`).
    RowMoved,
    /// Columns hold what belongs to another column, so far away or the same for all (`at`).
    ColumnMoved,
    /// Rows are exchanged, reversed or permuted.
    RowsPermuted,
    /// Columns are exchanged, reversed or permuted.
    ColumnsPermuted,
    /// A rectangle holds what belongs to another place (`at`: row and column), of this matrix or another.
    TileMoved,
    /// Elements within small tiles of D are exchanged, as if accumulators had changed places.
    PlacesExchanged,
    /// Tiles of K of one or of both operands are those of other k.
    StaleTile,
    /// Tiles start from the sums of other tiles.
    NotCleared,
    /// The accumulators of some rows were overwritten by those of others before the last step.
    AccumulatorOverwritten,
    /// Rows of a compressed A were multiplied by the metadata of others.
    OtherMetadata,
    /// Matrices of a batch hold what belongs to others.
    OtherMatrix,
    /// Matrices of a batch hold products with an operand of another matrix.
    OtherOperands,
}

impl Hypothesis {
    /// Its name in reports.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).expect("a name");
        name.as_str().expect("a name").to_owned()
    }
}

/// What no kernel does on purpose: a result that comes about so is wrong.
const FAULTS: [Hypothesis; 23] = [
    Hypothesis::Unwritten,
    Hypothesis::BitFlipped,
    Hypothesis::DroppedRemainder,
    Hypothesis::StoppedEarly,
    Hypothesis::StepMissing,
    Hypothesis::SliceMissing,
    Hypothesis::ProductMissing,
    Hypothesis::ProductFlipped,
    Hypothesis::KnownFault,
    Hypothesis::InputFlipped,
    Hypothesis::InputChanged,
    Hypothesis::RowMoved,
    Hypothesis::ColumnMoved,
    Hypothesis::RowsPermuted,
    Hypothesis::ColumnsPermuted,
    Hypothesis::TileMoved,
    Hypothesis::PlacesExchanged,
    Hypothesis::StaleTile,
    Hypothesis::NotCleared,
    Hypothesis::AccumulatorOverwritten,
    Hypothesis::OtherMetadata,
    Hypothesis::OtherMatrix,
    Hypothesis::OtherOperands,
];

/// Whether a cause's kind is the name of a fault.
pub fn is_fault(kind: &str) -> bool {
    FAULTS.iter().any(|fault| fault.name() == kind)
}

/// A hypothesis that gives exactly D.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Found {
    pub hypothesis: Hypothesis,
    /// What is so, for people, without a full stop.
    pub text: String,
    /// Where: numbers of products, steps (from 1), k or bits, as the hypothesis says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<usize>,
    /// How to ask for it on all of D.
    #[serde(skip)]
    pub ask: Ask,
}

impl Found {
    pub fn new(hypothesis: Hypothesis, text: impl Into<String>) -> Found {
        Found {
            hypothesis,
            text: text.into(),
            at: Vec::new(),
            ask: Ask::Nothing,
        }
    }

    pub fn at(self, at: impl Into<Vec<usize>>) -> Found {
        Found {
            at: at.into(),
            ..self
        }
    }

    pub fn asking(self, ask: Ask) -> Found {
        Found { ask, ..self }
    }
}

/// Something that a request names beside the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Bias,
    Alpha,
    Beta,
    Activation,
    ScaleResult,
}

/// How a check would have to be asked otherwise.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// There is no way to ask for it.
    Nothing,
    /// The other way round than asked: A, B.
    Transposed([bool; 2]),
    /// B transposed times A transposed.
    Reversed,
    /// B times A.
    Exchanged,
    WithoutC,
    /// Without something that it names.
    LeftOut(Setting),
    /// This preset instead of the schedule, and what takes the place of its constants.
    Schedule {
        preset: String,
        overrides: Box<Overrides>,
    },
    /// What the schedule has of these: alpha, beta, the function, how often sums are promoted.
    Epilogue(Box<Overrides>),
    Formats([Format; 2]),
    /// D is of this format.
    Result(Format),
    /// TF32 operands are rounded to nearest first, or not.
    Tf32Nearest(bool),
    /// Both.
    Both(Box<Ask>, Box<Ask>),
    AnyNan,
    AnyZero,
    Model {
        name: Name,
        arithmetic: Box<Arithmetic>,
        convert_to: Option<Format>,
    },
}

/// What gives most of D: in words, and as the codes of all its elements.
pub struct Mostly {
    pub kind: Hypothesis,
    pub what: String,
    /// Where D differs in the last bits alone, and no better number is known, they are D's own.
    pub codes: Vec<u64>,
    /// How many these are.
    pub nearly: u64,
}
