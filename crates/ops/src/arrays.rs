//! Arrays as rows of f32 codes.

use std::ops::Range;

use super::float32::Arith;
use super::row_kernel::{Inputs, OpError, Planned};
use crate::num::Format;
use crate::tensor::{Planes, Tensor, shape_text};

/// An array by rows, counted on over all leading axes.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    planes: Planes<'a>,
    pub format: Format,
    pub columns: usize,
    pub rows: usize,
}

impl<'a> Rows<'a> {
    pub fn of(tensor: &'a Tensor) -> Rows<'a> {
        let planes = tensor.planes();
        Rows {
            planes,
            format: tensor.format(),
            columns: planes.columns(),
            rows: planes.batches() * planes.rows(),
        }
    }

    pub fn shape(&self) -> &'a [usize] {
        self.planes.tensor().shape()
    }

    /// Codes of a part of a row, in the array's own format.
    pub fn codes(&self, row: usize, columns: Range<usize>, out: &mut [u32]) {
        let in_plane = self.planes.rows();
        let plane = self.planes.plane(row / in_plane);
        plane.read_row(row % in_plane, columns.start, out);
    }

    /// Codes of a part of a row, as f32.
    pub fn read<A: Arith>(&self, a: A, row: usize, columns: Range<usize>) -> Vec<u32> {
        let mut codes = vec![0; columns.len()];
        self.codes(row, columns, &mut codes);
        if self.format != Format::Fp32 {
            for code in &mut codes {
                *code = a.widen((*code).into(), self.format);
            }
        }
        codes
    }

    /// A whole row, as f32.
    pub fn row<A: Arith>(&self, a: A, row: usize) -> Vec<u32> {
        self.read(a, row, 0..self.columns)
    }
}

impl<K> Planned<K> {
    /// A result `y` of an array's format and shape.
    pub fn like(x: &Rows, about: String, kernel: K) -> Planned<K> {
        Planned {
            kernel,
            output: "y",
            format: x.format,
            shape: x.shape().to_vec(),
            about,
        }
    }
}

/// An array that the operation needs.
pub fn needed<'a>(inputs: &Inputs<'a>, name: &'static str) -> Result<Rows<'a>, OpError> {
    let found = optional(inputs, name)?;
    found.ok_or_else(|| OpError::new(name, format!("`{name}` is missing")))
}

/// An array that may be there, of floats that f32 holds.
pub fn optional<'a>(inputs: &Inputs<'a>, name: &'static str) -> Result<Option<Rows<'a>>, OpError> {
    let Some(tensor) = inputs.get(name) else {
        return Ok(None);
    };
    if !matches!(tensor.format(), Format::Fp32 | Format::Fp16 | Format::Bf16) {
        let format = tensor.format();
        let reason = format!("it is {format}; operations take fp32, fp16 and bf16");
        return Err(OpError::new(name, reason));
    }
    if tensor.shape().contains(&0) {
        Err(OpError::new(name, "it has no elements"))
    } else {
        Ok(Some(Rows::of(tensor)))
    }
}

/// Refuses arrays that the operation does not take.
pub fn only(inputs: &Inputs, names: &[&str]) -> Result<(), OpError> {
    match inputs.keys().find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(other) => {
            let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
            let reason = format!(
                "this operation and variant has no array `{other}`; it takes {}",
                names.join(", ")
            );
            Err(OpError::new(other, reason))
        }
    }
}

/// Refuses an array, unless something holds of it.
fn ensure(holds: bool, name: &'static str, reason: impl FnOnce() -> String) -> Result<(), OpError> {
    if holds {
        Ok(())
    } else {
        Err(OpError::new(name, reason()))
    }
}

/// Refuses an array of another shape.
pub fn same_shape(x: &Rows, name: &'static str, other: &Rows) -> Result<(), OpError> {
    ensure(x.shape() == other.shape(), name, || {
        let (have, want) = (shape_text(other.shape()), shape_text(x.shape()));
        format!("it is {have}; expected {want}")
    })
}

/// Refuses an array of another format.
pub fn same_format(x: &Rows, name: &'static str, other: &Rows) -> Result<(), OpError> {
    ensure(x.format == other.format, name, || {
        format!(
            "it is {}, but the first array is {}",
            other.format, x.format
        )
    })
}

/// Refuses a vector that is not one number for every column.
pub fn per_column(x: &Rows, name: &'static str, vector: &Rows) -> Result<(), OpError> {
    ensure(
        vector.columns == x.columns && vector.rows == 1,
        name,
        || {
            let (have, columns) = (shape_text(vector.shape()), x.columns);
            format!("it is {have}; expected one number per column ({columns} columns)")
        },
    )
}
