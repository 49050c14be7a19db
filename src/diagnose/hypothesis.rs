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
    /// `at`: the bit, 0 being the lowest.
    BitFlipped,
    /// NaNs where NaNs should be, but of other bits.
    NanPayload,
    /// Zeros of the other sign.
    ZeroSign,
    /// The result went through a narrower format.
    RoundedNarrower,
    /// D's 16-bit codes are of the other format.
    ResultFormat,
    /// D is rounded in another way.
    Rounding,

    // Another product.
    DTransposed,
    ATransposed,
    BTransposed,
    AAndBTransposed,
    Exchanged,
    COmitted,
    CTwice,
    CAddedLast,
    /// A function of every element.
    Relu,
    Relu6,
    /// By the error function.
    Gelu,
    /// By the hyperbolic tangent.
    GeluTanh,
    Silu,
    /// A number for every column is added.
    Bias,
    /// The sum is multiplied by a number.
    Alpha,
    /// So is C.
    AlphaBeta,
    /// Rows, columns or both are multiplied by numbers of their own.
    RowScales,
    ColumnScales,
    RowAndColumnScales,
    /// So are the sums of so many k (`at`), before they are added up.
    BlockScales,
    /// Several of these.
    Epilogue,
    /// Codes of A or B are of another format.
    Formats,
    /// FP32 operands are rounded to TF32 in another way.
    Tf32Input,

    // Another way over K.
    OtherModel,
    OtherSchedule,
    /// Both.
    OtherModelAndSchedule,
    /// `at`: how many products were added.
    LostTail,
    IeeeChain,
    ExactValue,

    // A fault in some elements.
    /// `at`: how many products were added.
    StoppedEarly,
    /// `at`: the step.
    StepMissing,
    /// `at`: first k, and one past the last.
    SliceMissing,
    /// `at`: its k.
    ProductMissing,
    /// `at`: its k.
    ProductFlipped,
    /// `at`: first k of a sum, one past the last, and the phase.
    KnownFault,
    /// `at`: row and column of the operand, and the bit.
    InputFlipped,
    /// `at`: the row it is from, where there is one.
    RowMoved,
    ColumnMoved,
    RowsPermuted,
    ColumnsPermuted,
    /// `at`: row and column where it belongs.
    TileMoved,
    /// Matrices of a batch: another one's D, or one of another one's operands.
    OtherMatrix,
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
const FAULTS: [Hypothesis; 17] = [
    Hypothesis::Unwritten,
    Hypothesis::BitFlipped,
    Hypothesis::LostTail,
    Hypothesis::StoppedEarly,
    Hypothesis::StepMissing,
    Hypothesis::SliceMissing,
    Hypothesis::ProductMissing,
    Hypothesis::ProductFlipped,
    Hypothesis::KnownFault,
    Hypothesis::InputFlipped,
    Hypothesis::RowMoved,
    Hypothesis::ColumnMoved,
    Hypothesis::RowsPermuted,
    Hypothesis::ColumnsPermuted,
    Hypothesis::TileMoved,
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
    /// This preset instead of the schedule, and what takes the place of its constants.
    Schedule {
        preset: String,
        overrides: Box<Overrides>,
    },
    /// What the epilogue has of these: alpha, beta, the function.
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
