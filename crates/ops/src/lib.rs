//! Operations between the products of a layer: norms, softmax, activations, attention. A variant is data with sources,
//! and computes the same bits on every machine. It knows no files and no verdicts.
//!
//! * [`float32`]: operations on f32 codes, in integers and fast; the special function unit; libdevice.
//! * [`Rule`] (`rule`, `validate`): the vocabulary of a variant, everything that affects the result; [`Variant`]: a
//!   rule with its name and its sources, one JSON file each in `variants/`; [`refused`]: what cannot be replayed, and
//!   why.
//! * [`BoundOp`]: a rule on given arrays. `elementwise`, `norm` (with `sums`: how threads add), `softmax`, `rope`,
//!   `quantize`, `block_float`, `attention`, `mul_mat_vec`, `ranks`: the kinds.

mod arrays;
mod attention;
mod block_float;
mod bound_op;
mod elementwise;
mod mul_mat_vec;
mod norm;
mod quantize;
mod ranks;
mod rope;
mod row_kernel;
mod rule;
mod softmax;
mod sums;
mod validate;
mod variant;

use tcverify_common as common;
use tcverify_emu as emu;
pub use tcverify_float32 as float32;
use tcverify_num as num;
use tcverify_tensor as tensor;

pub use bound_op::BoundOp;
pub use row_kernel::{ExecContext, Inputs, OpError, Parameters};
pub use rule::*;
pub use variant::{Refused, SCHEMA, Variant, find, of, operations, refused, variants};
