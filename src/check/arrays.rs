//! The arrays of a request, read and turned into a problem.

use std::ops::{Index, Range};

use super::error::CheckError;
use super::request::{Check, Operands};
use super::schedule::Scheduling;
use super::source::Source;
use super::tensors::Tensors;
use super::words::Tf32Input;
use crate::emu::schedule::Values;
use crate::emu::{Arithmetic, Metadata, Pattern, Problem, ShapeError, SparseLayout, shape_text};
use crate::io::npy::Descr;
use crate::io::{self, payload_sha256};
use crate::num::Format;
use crate::report::{Input, LowBits};
use crate::role::{ByRole, Role};
use crate::tensor::{Planes, Tensor, parallel};
use crate::words::Word;

/// The rows of A, C and D that are examined, counted on from matrix to matrix; all without.
pub type Rows = Option<Range<usize>>;

/// An array and the tensor made of it.
#[derive(Debug)]
pub struct Array {
    pub source: io::Source,
    pub tensor: Tensor,
    pub(crate) low_bits: Option<LowBits>,
}

/// All arrays of a request.
#[derive(Debug)]
pub struct Arrays {
    by_role: ByRole<Array>,
    transpose: [bool; 2],
    /// Of a compressed A: the row of B that each of its elements belongs to.
    selected: Option<Vec<u32>>,
    /// The k that share one of the instruction's scales; none if scales are the kernel's.
    block: Option<usize>,
    /// Whether the schedule says what D is without products.
    any_k: bool,
}

impl Array {
    pub(super) fn read(
        role: Role,
        source: io::Source,
        format: Format,
        rows: &Rows,
    ) -> Result<Array, CheckError> {
        let tensor = source.rows(format, rows.clone());
        Ok(Array {
            tensor: tensor.map_err(CheckError::file(role.field()))?,
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
        }
    }

    fn planes(&self, transpose: bool) -> Planes<'_> {
        let planes = self.tensor.planes();
        if transpose {
            planes.transposed()
        } else {
            planes
        }
    }

    /// `parts`: the kernel multiplies high and low parts of the operands, which together have all bits.
    fn treat_tf32(
        mut self,
        role: Role,
        how: Tf32Input,
        parts: bool,
        rows: &Rows,
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

/// Where arrays come from.
pub(super) struct Reader<'a> {
    pub files: &'a io::Files,
    pub memory: Tensors,
    /// Those that were asked for their shapes, until they are read.
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
fn open(
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
        Source::Generated(spec) => {
            let name = spec.to_string();
            from.files.generated(name.as_ref(), spec, format, role)
        }
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

/// Numbers that an epilogue or an operation reads as f32: of the format the file names, or that is said.
pub(super) fn read_float(
    (role, source): (Role, &Source),
    (said_by, said): (&'static str, Option<Format>),
    generated: Format,
    rows: &Rows,
    from: &mut Reader,
) -> Result<Array, CheckError> {
    let of_descr = |descr: &Descr| {
        let format = float_format(descr, said_by);
        format.map_err(|reason| CheckError::array(role.field(), source, reason))
    };
    let known = match said.or(from.memory.format(role)) {
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

impl Arrays {
    /// Opens and checks the arrays: formats first, then shapes, so that a message names the first
    /// thing a person would mend. Of A and C only some rows are examined, if any are given.
    pub(super) fn read(
        check: &Check,
        (arithmetic, sparse): (&Arithmetic, Option<Pattern>),
        schedule: &Scheduling,
        rows: &Rows,
        from: &mut Reader,
    ) -> Result<Arrays, CheckError> {
        let operands = &check.operands;
        let transpose = schedule.stored(operands);
        let whole = rows.is_none() && transpose == [false, operands.transpose_b];
        if sparse.is_some() && !(whole && schedule.spec().split_terms.is_none()) {
            let reason = "a compressed A cannot be transposed, split into parts of TF32, or computed in parts of a \
                plan";
            return Err(CheckError::request("sparse_a", reason));
        }
        operands.validate(check.model.c_dtype, arithmetic, schedule)?;
        let scale = if schedule.takes_scales() {
            Some(Format::Fp32)
        } else {
            arithmetic.scale.map(|scale| scale.format)
        };
        let sources = &operands.arrays;
        let a = open(Role::A, &sources[&Role::A], arithmetic.a, from)?;
        let b = open(Role::B, &sources[&Role::B], arithmetic.b, from)?;
        let mut by_role = ByRole::new();
        for (&role, source) in sources {
            let addend = arithmetic.addend();
            let (format, rows) = match role {
                Role::C if schedule.addend_is_late() => {
                    let said = ("c_dtype", check.model.c_dtype);
                    let read = read_float((role, source), said, addend, rows, from)?;
                    by_role.insert(role, read);
                    continue;
                }
                Role::Bias => {
                    let said = ("bias_dtype", operands.bias_dtype);
                    let read = read_float((role, source), said, Format::Fp32, &None, from)?;
                    by_role.insert(role, read);
                    continue;
                }
                Role::C => (addend, rows),
                Role::Azp | Role::AzpAdj => (Format::Int32, &None),
                Role::SparseA => {
                    // Words of any width, which no format says.
                    let opened = match from.memory.arrays.remove(&role) {
                        Some(array) if *source == Source::Memory => array,
                        _ => open(role, source, Format::Int32, from)?,
                    };
                    let stored = opened.as_stored();
                    let own = opened.header().descr.own_format();
                    if let Some(own) = own.filter(|own| !own.is_integer()) {
                        let label = io::escaped_path(opened.label());
                        let reason = format!("it is in {own}; metadata are words of integers");
                        return Err(CheckError::array("sparse_a", label, reason));
                    }
                    by_role.insert(role, Array::read(role, opened, stored, &None)?);
                    continue;
                }
                Role::ScaleA | Role::ScaleB => match scale {
                    Some(format) => (format, &None),
                    None => continue,
                },
                _ => continue,
            };
            let opened = open(role, source, format, from)?;
            by_role.insert(role, Array::read(role, opened, format, rows)?);
        }
        // Stored transposed, rows do not lie together.
        let a_rows = if transpose[0] { &None } else { rows };
        let parts = schedule.spec().split_terms.is_some();
        for (role, opened, format, its_rows) in [
            (Role::A, a, arithmetic.a, a_rows),
            (Role::B, b, arithmetic.b, &None),
        ] {
            let array = Array::read(role, opened, format, its_rows)?;
            let array = array.treat_tf32(role, operands.tf32_input, parts, rows)?;
            by_role.insert(role, array);
        }
        let selected = match sparse {
            None => None,
            Some(pattern) => Some(selected(&by_role, pattern, operands.sparse_layout)?),
        };
        let arrays = Arrays {
            selected,
            by_role,
            transpose,
            any_k: schedule.spec().without_products.is_some(),
            block: (!schedule.takes_scales())
                .then(|| arithmetic.scale.map(|scale| scale.block))
                .flatten(),
        };
        let k = arrays.problem().map_err(|error| arrays.shapes(error))?.k;
        if let Some(most) = arithmetic.longest_k()
            && k > most
        {
            let reason = format!(
                "K={k} needs chaining, because one instruction takes {most} k, but this instruction's D ({}) cannot \
                feed its C ({})",
                arithmetic.accumulator,
                arithmetic.addend()
            );
            return Err(CheckError::array("a", &sources[&Role::A], reason));
        }
        Ok(arrays)
    }

    /// All of them, D last.
    pub fn by_role(&self) -> &ByRole<Array> {
        &self.by_role
    }

    /// The problem they make.
    pub fn problem(&self) -> Result<Problem<'_>, ShapeError> {
        let [transpose_a, transpose_b] = self.transpose;
        let new = if self.any_k {
            Problem::with_any_k
        } else {
            Problem::new
        };
        let (a, b) = (
            self[Role::A].planes(transpose_a),
            self[Role::B].planes(transpose_b),
        );
        let c = self.get(Role::C).map(|c| c.planes(false));
        let problem = match &self.selected {
            None => new(a, b, c)?,
            Some(rows_of_b) => Problem::selecting(a, b, c, rows_of_b)?,
        };
        match (self.scales(), self.block) {
            (Some([a, b]), Some(block)) => {
                problem.with_scales(a.planes(transpose_a), b.planes(transpose_b), block)
            }
            _ => Ok(problem),
        }
    }

    /// The numbers that the schedule works with.
    pub fn values(&self, schedule: &Scheduling, problem: &Problem) -> Result<Values, CheckError> {
        let [transpose_a, transpose_b] = self.transpose;
        let mut values = Ok(schedule.factors());
        if let Some(bias) = self.get(Role::Bias) {
            values = values.and_then(|values| values.with_bias(&bias.tensor, problem));
        }
        if let Some(column) = self.get(Role::AzpAdj) {
            let row = self.get(Role::Azp).map(|row| &row.tensor);
            values = values.and_then(|values| values.with_zero_point(row, &column.tensor, problem));
        }
        if let (Some([a, b]), Some(scaling)) = (self.scales(), &schedule.spec().scales) {
            let scales = [a.planes(transpose_a), b.planes(transpose_b)];
            values = values.and_then(|values| values.with_scales(scaling.per, scales, problem));
        }
        values.map_err(|error| self.shapes(error))
    }

    /// An error about shapes, with the files it is about.
    pub fn shapes(&self, error: ShapeError) -> CheckError {
        let [turned_a, turned_b] = self.transpose;
        let operands = self.iter().filter(|(role, _)| *role != Role::D);
        let names = operands.map(|(role, array)| {
            let name = role.called().trim_start_matches("the ");
            let label = io::escaped_path(array.source.label());
            let turned = match role {
                Role::A | Role::ScaleA => turned_a,
                Role::B | Role::ScaleB => turned_b,
                _ => false,
            };
            let turned = if turned { " (transposed)" } else { "" };
            if array.source.label() == std::path::Path::new(io::IN_MEMORY) {
                format!("`{}`{turned}", role.field())
            } else {
                format!("{name} = {label}{turned}")
            }
        });
        CheckError::Shapes {
            names: names.collect::<Vec<_>>().join(", "),
            reason: error.0,
        }
    }

    pub fn get(&self, role: Role) -> Option<&Array> {
        self.by_role.get(&role)
    }

    /// All that there are, D last.
    pub fn iter(&self) -> impl Iterator<Item = (Role, &Array)> {
        self.by_role.iter().map(|(role, array)| (*role, array))
    }

    /// Whether A and B are stored transposed.
    pub fn transpose(&self) -> [bool; 2] {
        self.transpose
    }

    /// Of A and of B: the instruction's, or the kernel's.
    fn scales(&self) -> Option<[&Array; 2]> {
        Some([self.get(Role::ScaleA)?, self.get(Role::ScaleB)?])
    }

    pub(super) fn insert(&mut self, role: Role, array: Array) {
        self.by_role.insert(role, array);
    }
}

/// The rows of B that a compressed A selects.
fn selected(
    arrays: &ByRole<Array>,
    pattern: Pattern,
    layout: SparseLayout,
) -> Result<Vec<u32>, CheckError> {
    let (a, metadata) = (&arrays[&Role::A], &arrays[&Role::SparseA]);
    let fail = |reason: String| {
        let label = io::escaped_path(metadata.source.label());
        CheckError::array("sparse_a", label, reason)
    };
    let shape = a.tensor.shape();
    let [batch @ .., m, k] = shape else {
        return Err(fail("A is not a matrix".into()));
    };
    let of_words = metadata.tensor.shape();
    if of_words.len() != shape.len() || of_words[..shape.len() - 1] != shape[..shape.len() - 1] {
        return Err(fail(format!(
            "it is {}; for an A of {} it must have the same axes, with words along the last one",
            shape_text(of_words),
            shape_text(shape)
        )));
    }
    let mut bytes = Vec::with_capacity(metadata.tensor.len() * metadata.tensor.format().bytes());
    metadata
        .tensor
        .for_each_payload_chunk(|chunk| bytes.extend_from_slice(chunk));
    let metadata = Metadata {
        bytes: &bytes,
        width: metadata.tensor.format().bytes(),
        layout,
    };
    let matrices = batch.iter().product();
    metadata
        .rows_of_b([matrices, *m, *k], pattern)
        .map_err(fail)
}

impl Index<Role> for Arrays {
    type Output = Array;

    fn index(&self, role: Role) -> &Array {
        &self.by_role[&role]
    }
}

impl Operands {
    /// Refuses fields that say something about operands that are not there.
    fn validate(
        &self,
        c_dtype: Option<Format>,
        arithmetic: &Arithmetic,
        schedule: &Scheduling,
    ) -> Result<(), CheckError> {
        for [one, other] in [[Role::ScaleA, Role::ScaleB], [Role::ScaleB, Role::ScaleA]] {
            if self.has(one) && !self.has(other) {
                let (one, other) = (one.field(), other.field());
                let reason = format!("`{one}` needs `{other}`, which is missing");
                return Err(CheckError::request(one, reason));
            }
        }
        let how = self.tf32_input;
        if how != Tf32Input::Truncate {
            let said = format!("`tf32_input` {}", how.word());
            let [a, b] = [arithmetic.a, arithmetic.b];
            if [a, b].map(Format::ignored_bits) == [0, 0] {
                let reason =
                    format!("{said} applies only to TF32 and XF32 operands; these are {a} and {b}");
                return Err(CheckError::request("tf32_input", reason));
            }
            if schedule.spec().split_terms.is_some() {
                let reason = format!(
                    "{said}: schedule {} splits FP32 operands into parts that keep all bits, so no operand is \
                     rounded or rejected",
                    schedule.schedule.name
                );
                return Err(CheckError::request("tf32_input", reason));
            }
        }
        if let (Some(format), None, true) = (c_dtype, self.get(Role::C), schedule.addend_is_late())
        {
            let reason =
                format!("`c_dtype` {format} is the format of C, but C is missing; give `c`");
            return Err(CheckError::request("c_dtype", reason));
        }
        Ok(())
    }
}

/// D from its file, with the format it has or is said to have; of it only some rows are examined.
pub fn read_d(
    source: &Source,
    said: Option<Format>,
    problem: &Problem,
    accumulator: Format,
    schedule: &Scheduling,
    rows: &Rows,
    from: &mut Reader,
) -> Result<Array, CheckError> {
    let fail = |reason: String| CheckError::array("d", source, reason);
    let known = match said.or(from.memory.format(Role::D)) {
        Some(known) => Some(known),
        None => {
            let of_descr = |descr: Descr| d_format(&descr, accumulator).map_err(fail);
            from.memory.descr(Role::D).map(of_descr).transpose()?
        }
    };
    if let Source::Generated(_) = source {
        return Err(fail(
            "D must be captured from a GPU; it cannot be generated".into(),
        ));
    }
    let file = open(Role::D, source, known.unwrap_or(accumulator), from)?;
    let format = match known {
        Some(format) => format,
        // What a kernel's words say of D is for a file that does not say it.
        None => match (file.header().descr.own_format(), schedule.result()) {
            (None | Some(Format::Fp32 | Format::Fp64), Some(result)) => result,
            _ => d_format(&file.header().descr, accumulator).map_err(fail)?,
        },
    };
    if let Some(result) = schedule.result().filter(|&result| result != format) {
        return Err(fail(format!(
            "its elements are {format}, but the kernel text says that D is {result}"
        )));
    }
    schedule
        .check_conversion(accumulator, format)
        .map_err(fail)?;
    let (want, have) = (problem.d_shape(), &file.header().shape);
    if want != *have {
        let (have, want) = (shape_text(have), shape_text(&want));
        return Err(fail(format!("D is {have}, but A*B is {want}")));
    }
    Array::read(Role::D, file, format, rows)
}

/// The format of numbers that are read as f32, where their file says it.
fn float_format(descr: &Descr, said_by: &str) -> Result<Format, String> {
    match descr.own_format() {
        // FP64 holding values of FP32 is taken if every element is one.
        Some(Format::Fp32 | Format::Fp64) => Ok(Format::Fp32),
        Some(own) => Ok(own),
        None if descr.width() == 4 => Ok(Format::Fp32),
        None => Err(format!(
            "its descr {:?} does not state the format of its codes; give `{said_by}`",
            descr.text()
        )),
    }
}

/// The format of a D whose file says what it can: floats name theirs, `V2` is bfloat16, and codes
/// as wide as the accumulator are its.
fn d_format(descr: &Descr, accumulator: Format) -> Result<Format, String> {
    match descr.own_format() {
        // FP32 holding values of an FP16 accumulator is taken if every element is one.
        Some(Format::Fp32 | Format::Fp64) => Ok(accumulator),
        Some(own) => Ok(own),
        None if accumulator.is_integer() && descr.width() == accumulator.bytes() => Ok(accumulator),
        None if descr.width() == accumulator.bytes() => Ok(accumulator),
        None if descr.width() == 2 && accumulator == Format::Fp32 => Err(format!(
            "its descr {:?} does not distinguish fp16 from bf16; give `d_dtype`",
            descr.text()
        )),
        None => Err(format!(
            "its elements are {} bytes wide (descr {:?}); results are {accumulator}",
            descr.width(),
            descr.text()
        )),
    }
}

#[cfg(test)]
mod tests;
