//! The vocabulary of a variant: everything that decides a bit of an operation. Kinds of arithmetic, no names of
//! libraries.

use serde::{Deserialize, Serialize};

use super::float32::{Divide, Exponential};
use crate::num::{F32, Format};

pub use crate::common::role::Layout;

macro_rules! rule {
    ($($(#[$doc:meta])* $name:ident($kind:ty) = $word:literal,)*) => {
        /// An operation and how it is computed.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[serde(tag = "operation")]
        pub enum Rule {
            $($(#[$doc])* #[serde(rename = $word)] $name($kind),)*
        }

        impl Rule {
            /// The operation's name.
            pub fn operation(&self) -> &'static str {
                match self { $(Rule::$name(_) => $word),* }
            }
        }
    };
}

rule! {
    /// `rcp.approx`.
    RcpApprox(Plain) = "rcp_approx",
    /// `rsqrt.approx`.
    RsqrtApprox(Plain) = "rsqrt_approx",
    /// `ex2.approx`.
    Ex2Approx(Plain) = "ex2_approx",
    /// libdevice's `expf`.
    Expf(Plain) = "expf",
    /// libdevice's `exp2f`.
    Exp2f(Plain) = "exp2f",
    /// libdevice's `tanhf`.
    Tanhf(Plain) = "tanhf",
    /// A quotient, element by element.
    Div(Division) = "div",
    /// The correctly rounded square root.
    Sqrt(Plain) = "sqrt",
    /// A sum, element by element, rounded once to the type.
    Add(Plain) = "add",
    /// A number for every column, added and rounded once.
    Bias(Plain) = "bias",
    /// A sum over ranks, the first axis.
    AllReduceSum(Plain) = "all_reduce_sum",
    Silu(Silu) = "silu",
    SiluAndMul(SiluAndMul) = "silu_and_mul",
    /// The form with tanh.
    Gelu(Plain) = "gelu",
    RmsNorm(RmsNorm) = "rms_norm",
    LayerNorm(LayerNorm) = "layer_norm",
    Softmax(Softmax) = "softmax",
    Rope(Rope) = "rope",
    QuantizeFp8(Quantize) = "quantize_fp8",
    QuantizeBfp(BlockFloat) = "quantize_bfp",
    Attention(Attention) = "attention",
    /// Quantised weights times few quantised rows.
    MulMatVecQ(MulMatVecQ) = "mul_mat_vec_q",
}

impl Rule {
    /// The arrays that it needs, in the order in which people name them.
    pub fn arrays(&self) -> &'static [&'static str] {
        match self {
            Rule::Div(_) | Rule::Add(_) => &["x", "other"],
            Rule::Bias(_) => &["x", "bias"],
            Rule::RmsNorm(rule) if rule.residual => &["x", "residual", "weight"],
            Rule::RmsNorm(_) => &["x", "weight"],
            Rule::Rope(_) => &["x", "cos", "sin"],
            Rule::Attention(_) => &["q", "k", "v"],
            Rule::MulMatVecQ(rule) => match rule.weights {
                BlockWeights::Q8_0 => &["x", "scale", "weight", "weight_scale"],
                BlockWeights::Q4_0 => &["x", "scale", "other", "weight", "weight_scale"],
            },
            _ => &["x"],
        }
    }

    /// The format of an array of codes, which its file need not name.
    pub fn codes(&self, array: &str) -> Option<Format> {
        match (self, array) {
            (Rule::MulMatVecQ(_), "x") => Some(Format::Int8),
            (Rule::MulMatVecQ(rule), "weight") => Some(rule.weights.codes()),
            _ => None,
        }
    }

    /// Whether a row of the result is made of the same row of arrays that have as many, and of all of the others.
    pub fn has_rows_apart(&self) -> bool {
        match self {
            // How many there are decides the order.
            Rule::Attention(_) | Rule::MulMatVecQ(_) => false,
            Rule::QuantizeFp8(rule) => match rule.scale {
                QuantizeScale::Given => true,
                // Whether all of them can be had is looked at in all rows.
                QuantizeScale::Inverse => false,
                _ => rule.granularity != Granularity::Tensor,
            },
            _ => true,
        }
    }
}

macro_rules! vocabulary {
    ($($(#[doc = $doc:literal])* $kind:ident $name:ident { $($body:tt)* })*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
            #[serde(deny_unknown_fields, rename_all = "snake_case")]
            pub $kind $name { $($body)* }
        )*
    };
}

vocabulary! {
    /// An operation with no choice but this one.
    struct Plain {
        /// Subnormal operands and results are zeros.
        pub ftz: bool,
    }

    /// How sums are divided.
    struct Division {
        pub ftz: bool,
        pub divide: Divide,
    }

    /// x / (1 + e^-x).
    struct Silu {
        pub ftz: bool,
        pub exponential: Exponential,
        /// 1 is added to the two factors of the exponential in one fused operation.
        pub fused_one: bool,
        pub form: Sigmoid,
        pub divide: Divide,
    }

    /// How x and the sigmoid come together.
    enum Sigmoid {
        /// x / (1 + e^-x).
        Quotient,
        /// x * (1 / (1 + e^-x)).
        Product,
    }

    /// silu(gate) * up.
    struct SiluAndMul {
        pub silu: Silu,
        /// silu is rounded to the type before the product.
        pub rounded_between: bool,
    }

    /// x / sqrt(mean(x^2) + eps) * weight.
    struct RmsNorm {
        pub ftz: bool,
        /// A residual is added first, rounded to the type, and is a second result.
        pub residual: bool,
        pub sum: Sum,
        pub square: Square,
        pub mean: Mean,
        /// eps is added in one fused operation with the mean's factor.
        pub fused_eps: bool,
        pub output: NormOutput,
    }

    /// How squares are added to a thread's sum.
    enum Square {
        /// Rounded, then added.
        Rounded,
        /// One fused operation.
        Fused,
        /// Neighbours in pairs: one square is rounded, the other fused to it; the pairs' sums are added to each other.
        Pairs,
    }

    /// What the sum is divided by H with.
    enum Mean {
        /// The product with RN(1/H).
        Factor,
        /// An IEEE division.
        Divide,
        /// `div.full`.
        DivideFull,
    }

    /// How a row is written.
    enum NormOutput {
        /// x * rs rounded to the type, times weight, rounded to the type.
        RoundedTwice,
        /// RN(RN(x * rs) * weight), one rounding to the type.
        RoundedOnce,
    }

    /// Which thread adds what, and in which order threads come together.
    struct Sum {
        pub threads: Threads,
        pub lanes: Lanes,
        pub warps: Warps,
    }

    /// Elements of a row by thread.
    enum Threads {
        /// PyTorch's reduction: a power of two of threads by a quarter of the row's length and the number of rows, groups of
        /// four, four accumulators each; rows of `shortest` elements or more. Where each of a row's threads would have
        /// `shared` elements for every row that the block has, or `most`, the whole block adds that row; if each of those
        /// has `most`, blocks share the row, which is not modelled.
        Reduce { threads: usize, width: usize, shortest: usize, shared: usize, most: usize },
        /// So many threads; vectors of so many elements in turn. Rows are whole vectors.
        Fixed { threads: usize, vector: usize },
        /// One element each, as many threads as elements, up to `most` of them; with `few`, up to that many if there are
        /// fewer than `below` rows.
        Single { most: usize, few: Option<Few> },
        /// Vectors of so many bytes, or of what divides a row; as many threads as vectors, up to `most`.
        Vectors { bytes: usize, most: usize, few: Option<Few> },
        /// Vectors of so many elements of 2 bytes, rows being whole ones; as many threads as elements, up to `most`.
        Wide { vector: usize, most: usize, few: Option<Few> },
        /// As `vectors`, in whole warps.
        WholeWarps { bytes: usize, most: usize },
    }

    /// Another limit of threads where there are few rows.
    struct Few {
        pub below: usize,
        pub most: usize,
    }

    /// In which order lanes of a warp are added.
    enum Lanes {
        /// Shuffle down by 16, 8, 4, 2, 1.
        Down,
        /// Shuffle down by 1, 2, 4, 8, 16.
        Up,
        /// The same, only inside what is there.
        UpInside,
        /// Exchanged by 16, 8, 4, 2, 1.
        Exchange,
    }

    /// In which order warps are added.
    enum Warps {
        /// Halves through shared memory, before lanes.
        HalvedFirst,
        /// One thread adds the second, the third, ...
        Serial,
        /// The first warp adds them as lanes.
        AsLanes,
        /// The upper half to the lower, until one is left.
        Halves,
    }

    /// (x - mean) / sqrt(variance + eps) * weight + bias, by Welford's method.
    struct LayerNorm {
        pub threads: usize,
        pub vector: usize,
        /// Which product of the merged mean is fused to the other.
        pub merged_mean: Fused,
    }

    /// Of a*b + c*d: which product is not rounded by itself.
    enum Fused {
        First,
        Second,
    }

    /// e^(x - max) / sum.
    struct Softmax {
        pub exponential: Exponential,
        pub divide: Divide,
        /// Rows up to so long: a warp each.
        pub longest_of_warp: usize,
        /// Longer rows of which a thread has up to so many elements are kept in registers, and taken in turn, element by
        /// element.
        pub registers: usize,
        /// Bytes of a vector, of rows that are longer still.
        pub vector_bytes: usize,
        pub most_threads: usize,
        /// Exponentials are added to a thread's sum by their two factors, of rows longer than a warp's.
        pub fused_sum: bool,
        /// Rows of fewer bytes are kept in shared memory and taken as vectors to their end; of others, the last
        /// elements, which do not fill a vector for every thread, are taken in turn.
        pub shared_bytes: usize,
    }

    /// x * cos + rotated(x) * sin.
    struct Rope {
        pub arithmetic: RopeArithmetic,
        /// Where heads are in the shape, if it is not said.
        pub layout: Layout,
        pub interleaved: bool,
    }

    /// Roundings of a rotation.
    enum RopeArithmetic {
        /// Both products and their sum are rounded to the type.
        RoundedThrice,
        /// In float, one product of each sum fused; rounded once. `sum` is of the second half.
        Fused { difference: Fused, sum: Fused },
    }

    /// To E4M3.
    struct Quantize {
        pub granularity: Granularity,
        pub scale: QuantizeScale,
        pub apply: Apply,
        /// NaN becomes a bound, as fminf and fmaxf do it; otherwise it stays one.
        pub clamp: bool,
    }

    /// To block floating point: BF16 to nearest, ties away from zero, then magnitudes under one exponent, ties up.
    struct BlockFloat {
        /// Neighbours in a row that share an exponent.
        pub shared: usize,
        /// At most seven; fewer are what cutting leaves of seven.
        pub magnitude_bits: u32,
    }

    /// What shares a scale.
    enum Granularity {
        Tensor,
        Token,
        Group,
    }

    /// Where a scale comes from.
    enum QuantizeScale {
        /// It is an input.
        Given,
        /// RN(amax / 448), at least RN(1 / (448 * 512)).
        AmaxWithFloor,
        /// RN(amax / 448).
        Amax,
        /// RN(amax / 448), amax at least 1e-10.
        AmaxFromEps,
        /// RN(448 / amax), which x is multiplied by; stored is its reciprocal.
        Inverse,
    }

    /// How x is scaled.
    enum Apply {
        /// x / scale.
        Divide,
        /// x * RN(1 / scale).
        ByReciprocal,
        /// x * scale, of an inverse scale.
        Multiply,
    }

    /// softmax(Q K^T scale) V, key blocks from the last to the first, the result being the live accumulator.
    struct Attention {
        pub ftz: bool,
        /// Of the arrays, if it is not said.
        pub layout: Layout,
        pub instruction: String,
        /// p = 2^(s*scale - max*scale) in one fused operation; otherwise s*scale is rounded.
        pub fused_exponent: bool,
        /// The sum of a row is scaled in one fused operation with its first addition.
        pub fused_sum: bool,
        pub reciprocal: Divide,
        /// What the sum's reciprocal is where that is zero or NaN.
        pub without_sum: WithoutSum,
        /// The factor of scores and log2(e) are multiplied in f32; otherwise in f64, and rounded.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub scale_in_f32: bool,
        /// A thread has a row by itself; otherwise four lanes share one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub thread: Option<RowThread>,
        /// By head dimension, ascending: the first that fits and whose conditions hold.
        pub tiles: Vec<TileRule>,
        /// Names of GPUs with less shared memory.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub small: Vec<String>,
        /// Names that GPUs of both kinds go by.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub either: Vec<String>,
    }

    /// x * weight, by blocks of 32 codes with a scale each.
    struct MulMatVecQ {
        pub ftz: bool,
        pub weights: BlockWeights,
        /// By rows of x, ascending.
        pub warps: Vec<WarpsByTokens>,
        pub lanes: Lanes,
    }

    /// What a block of weights is, and how threads add it.
    enum BlockWeights {
        /// Signed bytes. Four threads share a block, 8 consecutive codes each: fma(d_w * d_x, integer sum, sum).
        #[serde(rename = "q8_0")]
        Q8_0,
        /// 0 to 15, minus 8. Two threads share a block, 8 codes each and the 8 that are 16 later: fma(d_w, fma(integer sum,
        /// d_x, -4 s_x), sum), where s_x is the sum of x's block.
        #[serde(rename = "q4_0")]
        Q4_0,
    }

    /// Warps of a block of threads.
    struct WarpsByTokens {
        /// Up to so many rows of x.
        pub tokens: usize,
        pub warps: usize,
    }

    /// A number.
    enum WithoutSum {
        One,
        Zero,
    }

    /// Rows of Q and keys of a block.
    struct TileRule {
        /// Up to this head dimension, which operands are filled up to.
        pub head_dim: usize,
        pub tile: [usize; 2],
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub causal: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub small: Option<bool>,
        /// Elements of a head of v, filled up to a multiple of 16.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub value_dim: Option<usize>,
        /// Whether heads of q share heads of k, and so are rows of one tile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub packed: Option<bool>,
        /// For more rows of q of one head of k than this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub more_rows_than: Option<usize>,
        /// The number of heads of q that share a head of k divides this.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub shared_by: Option<usize>,
        /// Which powers are the polynomial's; without it none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub polynomial: Option<Positions>,
    }

    /// A row of scores in one thread. Powers are the bare unit's, or the polynomial's.
    struct RowThread {
        /// A maximum that rises by so many powers of two or fewer stays as it was, and nothing is scaled; 0: it never stays.
        pub rescale_from: u8,
        pub sum: RowSum,
        /// Without it, all powers are the unit's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub polynomial: Option<Polynomial>,
        /// Blocks of keys from the first to the last.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub ascending: bool,
    }

    /// How a thread adds a row's powers.
    enum RowSum {
        /// One after the other.
        InOrder,
        /// Eight accumulators in pairs: the even ones come together, the odd ones, then both.
        Packed8,
    }

    /// 2^x by a polynomial of the fraction f, which lies in [0, 1).
    struct Polynomial {
        /// Of f, of its square, ...; the constant is 1.
        #[cfg_attr(feature = "schemars", schemars(with = "Vec<f64>"))]
        pub coefficients: Vec<F32>,
        /// Scores of a fragment of a block's row.
        pub fragment: usize,
        /// The last so many of every `frequency` of a fragment, by pairs of neighbours.
        pub of_frequency: usize,
        /// Whether the last fragment has polynomials, too.
        pub last_fragment: bool,
        /// Whether masked blocks have them, too: the last one, and those on the diagonal.
        pub under_masks: bool,
    }

    /// Which powers of a row are the polynomial's.
    struct Positions {
        pub frequency: usize,
        pub first_fragment: usize,
    }
}

impl BlockWeights {
    /// The format of its codes.
    pub fn codes(&self) -> Format {
        match self {
            BlockWeights::Q8_0 => Format::Int8,
            BlockWeights::Q4_0 => Format::Uint8,
        }
    }
}
