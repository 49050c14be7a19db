//! One array of a request, read: a file, what is generated, or what lies in memory.

use std::ops::Range;

use super::axes::takes_axes;
use super::choices::Tf32Input;
use super::error::CheckError;
use super::source::Source;
use crate::io::npy::Descr;
use crate::io::{self, payload_sha256};
use crate::num::Format;
use crate::report::{Input, LowBits};
use crate::role::{ByRole, Role};
use crate::tensor::{Planes, Tensor, parallel};
use crate::words::Word;

/// The rows of A, C and D that are examined, counted on from matrix to matrix; all without.
pub type RowRange = Option<Range<usize>>;

/// An array and the tensor made of it.
#[derive(Debug)]
pub struct Array {
    pub source: io::Source,
    pub tensor: Tensor,
    pub low_bits: Option<LowBits>,
}

impl Array {
    pub fn read(
        role: Role,
        source: io::Source,
        format: Format,
        rows: &RowRange,
    ) -> Result<Array, CheckError> {
        // A vector may become a column.
        let rows = rows.clone().filter(|_| source.header().shape.len() > 1);
        let tensor = source.rows(format, rows);
        let hint = match (role, source.header().descr.own_format(), format) {
            (Role::D, Some(Format::Fp32), Format::Fp16 | Format::Bf16) => {
                "the file holds FP32: is the accumulator (`acc`) or the format of D (`d_dtype`) another?"
            }
            (Role::A | Role::B, Some(Format::Fp64), Format::Tf32 | Format::Xf32 | Format::Fp32) => {
                "a GPU's operands of this format are float32: save the array that it was given"
            }
            _ => "",
        };
        let failed = |error: io::FileError| match hint {
            "" => CheckError::file(role.field())(error),
            hint => CheckError::request(role.field(), format!("{error}; {hint}")),
        };
        Ok(Array {
            tensor: tensor.map_err(failed)?,
            source,
            low_bits: None,
        })
    }

    /// The report's entry for this array; hashes it.
    pub fn describe(&self) -> Input {
        let header = self.source.header();
        let (file_sha256, payload_sha256) = parallel::join(
            || self.source.file().sha256().to_owned(),
            || payload_sha256(&self.tensor),
        );
        Input {
            path: self.source.label().display().to_string(),
            descr: header.descr.text().to_owned(),
            fortran_order: header.fortran_order,
            format: self.tensor.format(),
            shape: header.shape.clone(),
            file_sha256,
            payload_sha256,
            tf32_low_bits: self.low_bits.clone(),
            nonfinite: None,
        }
    }

    /// Takes the elements under these axes, if [`takes_axes`] says so.
    pub fn take_axes(&mut self, shape: &[usize]) {
        let taken = takes_axes(self.tensor.shape(), shape).then(|| self.tensor.with_axes(shape));
        if let Some(tensor) = taken.flatten() {
            self.tensor = tensor;
        }
    }

    pub fn planes(&self, transpose: bool) -> Planes<'_> {
        self.tensor.planes().transposed_if(transpose)
    }

    /// `parts`: the kernel multiplies high and low parts of the operands, which together have all bits.
    pub fn treat_tf32(
        mut self,
        role: Role,
        how: Tf32Input,
        parts: bool,
        rows: &RowRange,
    ) -> Result<Array, CheckError> {
        let format = self.tensor.format();
        if format.ignored_bits() == 0 {
            return Ok(self);
        }
        // Of some rows: counted and judged when the plan was made.
        if rows.is_none() {
            let elements = self.tensor.count_ignored_bits();
            if how == Tf32Input::Exact
                && let Some(first) = self.tensor.first_ignored_bits()
            {
                let reason = format!(
                    "{elements} of {} elements have bits that {} lacks, the first at {:?} (0x{:08x}); `tf32_input` \
                     exact rejects them",
                    self.tensor.len(),
                    format.name().to_uppercase(),
                    first.index,
                    first.raw
                );
                let label = io::escaped_path(self.source.label());
                return Err(CheckError::array(role.field(), label, reason));
            }
            self.low_bits = Some(LowBits {
                elements,
                treatment: if parts {
                    "parts".to_owned()
                } else {
                    how.word().to_owned()
                },
            });
        }
        if how == Tf32Input::Nearest {
            self.tensor = self.tensor.rounding_tf32();
        }
        Ok(self)
    }
}

/// Tensors of the caller's, for a request whose arrays are [`Source::Memory`].
#[derive(Debug, Default)]
pub struct Tensors {
    pub tensors: ByRole<Tensor>,
    /// Arrays whose format is the request's choice, as a file's would be ([`io::Source::of_array`]).
    pub arrays: ByRole<io::Source>,
}

impl Tensors {
    /// A product and its D.
    pub fn of(a: Tensor, b: Tensor, d: Tensor) -> Tensors {
        Tensors::from_iter([(Role::A, a), (Role::B, b), (Role::D, d)])
    }

    /// With another array, or another one in its place.
    #[must_use]
    pub fn with(mut self, role: Role, tensor: Tensor) -> Tensors {
        self.tensors.insert(role, tensor);
        self
    }

    /// The tensor of a role; of an array, its elements in that format.
    pub fn take(&mut self, role: Role, format: Format) -> Result<Option<Tensor>, io::FileError> {
        if let Some(tensor) = self.tensors.remove(&role) {
            return Ok(Some(tensor));
        }
        let array = self.arrays.remove(&role);
        array.map(|array| array.tensor(format)).transpose()
    }

    /// The format of a tensor.
    pub fn format(&self, role: Role) -> Option<Format> {
        self.tensors.get(&role).map(Tensor::format)
    }

    /// The type of an array, which may not determine its format.
    pub fn descr(&self, role: Role) -> Option<Descr> {
        let array = self.arrays.get(&role)?;
        Some(array.header().descr.clone())
    }
}

impl FromIterator<(Role, Tensor)> for Tensors {
    fn from_iter<I: IntoIterator<Item = (Role, Tensor)>>(all: I) -> Tensors {
        Tensors {
            tensors: all.into_iter().collect(),
            arrays: ByRole::new(),
        }
    }
}

/// Where arrays come from.
pub struct Reader<'a> {
    pub files: &'a io::Files,
    pub memory: Tensors,
    /// Arrays that were opened for their shape, until they are read.
    pub opened: ByRole<io::Source>,
}

impl<'a> Reader<'a> {
    pub fn new(files: &'a io::Files, memory: Tensors) -> Reader<'a> {
        Reader {
            files,
            memory,
            opened: ByRole::new(),
        }
    }

    /// The shape of an array that has not been read.
    pub fn shape(
        &mut self,
        role: Role,
        source: &Source,
        format: Format,
    ) -> Result<Vec<usize>, CheckError> {
        let opened = open(role, source, format, self)?;
        let shape = opened.header().shape.clone();
        self.opened.insert(role, opened);
        Ok(shape)
    }
}

/// Opens a file, makes the operand that is generated, or takes it from memory.
pub fn open(
    role: Role,
    source: &Source,
    format: Format,
    from: &mut Reader,
) -> Result<io::Source, CheckError> {
    if let Some(opened) = from.opened.remove(&role) {
        return Ok(opened);
    }
    let field = role.field();
    let opened = match source {
        Source::File(path) => from.files.source(path),
        Source::Generated(text) => from.files.generated(text, format, role),
        Source::Memory => {
            let tensor = from.memory.take(role, format);
            let tensor = tensor.map_err(CheckError::file(field))?.ok_or_else(|| {
                let reason =
                    format!("`{field}` is in memory, but the caller passed no such tensor");
                CheckError::request(field, reason)
            })?;
            if tensor.format() != format {
                let have = tensor.format();
                let reason = format!("`{field}` is {have}, but the request says {format}");
                return Err(CheckError::request(field, reason));
            }
            io::Source::of_tensor(io::IN_MEMORY.as_ref(), tensor)
        }
    };
    opened.map_err(CheckError::file(field))
}

/// Numbers that an epilogue or an operation reads as f32: of the format that the file names, or that is given.
pub fn read_float(
    (role, source): (Role, &Source),
    (stated_by, stated): (&'static str, Option<Format>),
    generated: Format,
    rows: &RowRange,
    from: &mut Reader,
) -> Result<Array, CheckError> {
    let of_descr = |descr: &Descr| {
        let format = float_format(descr, stated_by);
        format.map_err(|reason| CheckError::array(role.field(), source, reason))
    };
    let known = match stated.or(from.memory.format(role)) {
        Some(known) => Some(known),
        None => from
            .memory
            .descr(role)
            .map(|descr| of_descr(&descr))
            .transpose()?,
    };
    let file = open(role, source, known.unwrap_or(generated), from)?;
    let format = known.map_or_else(|| of_descr(&file.header().descr), Ok)?;
    Array::read(role, file, format, rows)
}

/// The format of numbers that are read as f32, where their file states it.
pub fn float_format(descr: &Descr, stated_by: &str) -> Result<Format, String> {
    match descr.own_format() {
        // FP64 holding values of FP32 is taken if every element is one.
        Some(Format::Fp32 | Format::Fp64) => Ok(Format::Fp32),
        Some(own) => Ok(own),
        None if descr.width() == 4 => Ok(Format::Fp32),
        None => Err(format!(
            "its descr {:?} does not state the format of its codes; give `{stated_by}`",
            descr.text()
        )),
    }
}
