//! Quantisation to E4M3: scales from the largest magnitude, then each element.

use std::ops::Range;

use super::arrays::{Rows, needed, only};
use super::float32::{Arith, Exactly, ONE, code, is_nan, max, min, negated};
use super::row_kernel::{Inputs, OpError, Parameters, Planned, RowKernel};
use super::rule::{Apply, Granularity, Quantize, QuantizeScale};
use crate::num::Format;

/// 448, the largest number of E4M3.
const LARGEST: u32 = 0x43e0_0000;
/// 1e-10.
const EPS: u32 = 0x2edb_e6ff;

pub struct Kernel<'a> {
    rule: &'a Quantize,
    x: Rows<'a>,
    /// Of all elements, where those share it.
    scale: Option<u32>,
    /// Elements that share a scale.
    group: usize,
    /// Scales are the result.
    scales: bool,
    /// Columns of the result.
    width: usize,
}

pub fn plan<'a>(
    rule: &'a Quantize,
    inputs: &Inputs<'a>,
    parameters: &Parameters,
) -> Result<Planned<Kernel<'a>>, OpError> {
    let given = rule.scale == QuantizeScale::Given;
    only(inputs, if given { &["x", "scale"] } else { &["x"] })?;
    let x = needed(inputs, "x")?;
    let group = match rule.granularity {
        Granularity::Tensor => x.rows * x.columns,
        Granularity::Token => x.columns,
        Granularity::Group => {
            let group = parameters.group.unwrap_or(128);
            if group == 0 || !x.columns.is_multiple_of(group) {
                let reason = format!(
                    "`group` {group} does not divide rows of {} elements",
                    x.columns
                );
                return Err(OpError::new("group", reason));
            }
            group
        }
    };
    let scales = parameters.output.as_deref() == Some("scale");
    let width = match (scales, &rule.granularity) {
        (false, _) => x.columns,
        (true, Granularity::Group) => x.columns / group,
        (true, _) => 1,
    };
    let mut shape = x.shape().to_vec();
    if scales && rule.granularity == Granularity::Tensor {
        shape = vec![1];
    } else if let Some(last) = shape.last_mut() {
        *last = width;
    }
    if scales && given {
        let reason = "`output` \"scale\": it is an input of this variant";
        return Err(OpError::new("output", reason));
    }
    let mut kernel = Kernel {
        rule,
        x,
        scale: None,
        group,
        scales,
        width,
    };
    if rule.granularity == Granularity::Tensor {
        let scale = if given {
            let scale = needed(inputs, "scale")?;
            if scale.rows * scale.columns != 1 || scale.format != Format::Fp32 {
                return Err(OpError::new("scale", "it is one number in fp32"));
            }
            scale.row(Exactly, 0)[0]
        } else {
            kernel.scale_of(Exactly, kernel.largest())
        };
        kernel.scale = Some(scale);
    }
    if rule.scale == QuantizeScale::Inverse {
        kernel.defined()?;
    }
    Ok(Planned {
        output: if scales { "scale" } else { "y" },
        format: if scales { Format::Fp32 } else { Format::E4m3 },
        shape,
        about: match rule.granularity {
            Granularity::Tensor => "one scale".to_owned(),
            Granularity::Token => "one scale per row".to_owned(),
            Granularity::Group => {
                format!(
                    "one scale per {group} elements of a row, whose largest magnitude counts as at least 1e-10"
                )
            }
        },
        kernel,
    })
}

impl Kernel<'_> {
    /// The largest magnitude of all.
    fn largest(&self) -> u32 {
        use rayon::prelude::*;
        let rows = (0..self.x.rows).into_par_iter();
        let of_row = |row| amax(&self.x.row(super::float32::Natively::new(), row));
        rows.map(of_row).reduce(|| 0, max)
    }

    /// An inverse scale of nothing but zeros, or of an infinity, is a matter of its own that is not published.
    fn defined(&self) -> Result<(), OpError> {
        let scale = self.scale.unwrap_or(ONE);
        let value = f32::from_bits(scale);
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(OpError::new(
                "x",
                "its largest magnitude is zero or infinite; the scale that the kernel then uses is not modelled",
            ))
        }
    }

    fn scale_of<A: Arith>(&self, a: A, amax: u32) -> u32 {
        match self.rule.scale {
            QuantizeScale::Given => unreachable!("it is an input"),
            QuantizeScale::AmaxWithFloor => {
                let floor = a.div(ONE, a.mul(LARGEST, code(512.0)));
                max(a.div(amax, LARGEST), floor)
            }
            QuantizeScale::Amax => a.div(amax, LARGEST),
            QuantizeScale::AmaxFromEps => a.div(max(amax, EPS), LARGEST),
            QuantizeScale::Inverse => a.div(LARGEST, amax),
        }
    }

    /// As it is stored.
    fn stored<A: Arith>(&self, a: A, scale: u32) -> u32 {
        match self.rule.scale {
            QuantizeScale::Inverse => a.div(ONE, scale),
            _ => scale,
        }
    }
}

/// The largest magnitude; NaN is passed over.
fn amax(x: &[u32]) -> u32 {
    x.iter().fold(0, |most, &x| max(most, x & 0x7fff_ffff))
}

impl RowKernel for Kernel<'_> {
    fn compute<A: Arith>(&self, a: A, rows: Range<usize>, out: &mut [u32]) {
        let columns = self.x.columns;
        if let (true, Some(scale)) = (self.scales, self.scale) {
            out.fill(self.stored(a, scale));
            return;
        }
        for (row, out) in rows.zip(out.chunks_mut(self.width)) {
            let x = self.x.row(a, row);
            for (i, group) in x.chunks(self.group.min(columns)).enumerate() {
                let scale = self.scale.unwrap_or_else(|| {
                    a.stage(format_args!("the scale, from the largest magnitude"));
                    self.scale_of(a, amax(group))
                });
                if self.scales {
                    out[i] = self.stored(a, scale);
                    continue;
                }
                a.stage(format_args!("scaled, clamped, rounded"));
                let reciprocal = match self.rule.apply {
                    Apply::ByReciprocal => a.div(ONE, scale),
                    _ => ONE,
                };
                let first = i * self.group.min(columns);
                for (j, (out, &x)) in out[first..].iter_mut().zip(group).enumerate() {
                    a.column(first + j);
                    let scaled = match self.rule.apply {
                        Apply::Divide => a.div(x, scale),
                        Apply::ByReciprocal => a.mul(x, reciprocal),
                        Apply::Multiply => a.mul(x, scale),
                    };
                    let clamped = if self.rule.clamp {
                        max(negated(LARGEST), min(scaled, LARGEST))
                    } else {
                        scaled
                    };
                    debug_assert!(!(self.rule.clamp && is_nan(clamped)));
                    *out = a.round(clamped, Format::E4m3) as u32;
                }
            }
        }
    }
}
