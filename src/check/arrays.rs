//! The arrays of a request together, as a problem.

use std::ops::Index;

use super::axes::{matmul_axes, takes_axes};
use super::choices::Tf32Input;
use super::error::CheckError;
use super::product::{Check, Operands};
use super::reader::{Array, Reader, RowRange, open, read_float};
use super::schedule::Scheduling;
use super::source::Source;
use super::weights::{Quantised, Weights};
use crate::emu::schedule::{Multiply, Values};
use crate::emu::{Arithmetic, Metadata, Pattern, Problem, ShapeError, SparseLayout, shape_text};
use crate::io;
use crate::io::npy::Descr;
use crate::num::Format;
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;
use crate::words::Word;

/// All arrays of a request.
#[derive(Debug)]
pub struct Arrays {
    by_role: ByRole<Array>,
    transpose: [bool; 2],
    /// Of weights of few bits: B as it is multiplied, KxN.
    dequantised: Option<Tensor>,
    /// Of a compressed A: the row of B that each of its elements belongs to.
    selected: Option<Vec<u32>>,
    /// The k that share one of the instruction's scales; none if scales are the kernel's.
    block: Option<usize>,
    /// Whether the schedule defines D without products.
    any_k: bool,
}

impl Arrays {
    /// Opens and checks the arrays: formats first, then shapes, so that a message names the first
    /// thing a person would mend. Of A and C only some rows are examined, if any are given.
    pub(super) fn read(
        check: &Check,
        (arithmetic, sparse): (&Arithmetic, Option<Pattern>),
        schedule: &Scheduling,
        rows: &RowRange,
        from: &mut Reader,
    ) -> Result<Arrays, CheckError> {
        let operands = &check.operands;
        let transpose = schedule.stored(operands);
        let whole = rows.is_none() && transpose == [false, operands.transpose_b];
        if sparse.is_some() && !(whole && schedule.spec().split_terms.is_none()) {
            let reason = "a compressed A cannot be transposed, split into terms, or computed in parts of a plan";
            return Err(CheckError::request("sparse_a", reason));
        }
        operands.validate(check.model.c_dtype, arithmetic, schedule)?;
        let scale = if schedule.takes_scales() {
            Some(Format::Fp32)
        } else {
            arithmetic.scale.map(|scale| scale.format)
        };
        let sources = &operands.arrays;
        let [of_a, of_b] = [arithmetic.a, arithmetic.b].map(|unit| schedule.read_as(unit));
        let of_b = operands.weights.map_or(of_b, |_| Format::Uint8);
        let a = open(Role::A, &sources[&Role::A], of_a, from)?;
        let b = open(Role::B, &sources[&Role::B], of_b, from)?;
        let mut by_role = ByRole::new();
        for (&role, source) in sources {
            let plain = |format, rows: &RowRange, from: &mut Reader| {
                let opened = open(role, source, format, from)?;
                Array::read(role, opened, format, rows)
            };
            let addend = arithmetic.addend();
            let array = match role {
                Role::C if schedule.wide_result().is_some() => plain(Format::Fp64, rows, from)?,
                Role::C if schedule.c_in_epilogue() => {
                    let stated = ("c_dtype", check.model.c_dtype);
                    read_float((role, source), stated, addend, rows, from)?
                }
                Role::C => plain(addend, rows, from)?,
                Role::Bias => {
                    let stated = ("bias_dtype", operands.bias_dtype);
                    read_float((role, source), stated, Format::Fp32, &None, from)?
                }
                Role::Azp | Role::AzpAdj => plain(Format::Int32, &None, from)?,
                Role::SparseA => read_metadata(source, from)?,
                Role::ZeroB => plain(Format::Uint8, &None, from)?,
                Role::ScaleB if operands.weights.is_some() => plain(of_a, &None, from)?,
                Role::ScaleA | Role::ScaleB => match scale {
                    Some(format) => plain(format, &None, from)?,
                    None => continue,
                },
                _ => continue,
            };
            by_role.insert(role, array);
        }
        // Stored transposed, rows do not lie together.
        let a_rows = if transpose[0] { &None } else { rows };
        let parts = schedule.spec().split_terms.is_some();
        for (role, opened, format, its_rows) in
            [(Role::A, a, of_a, a_rows), (Role::B, b, of_b, &None)]
        {
            let array = Array::read(role, opened, format, its_rows)?;
            let array = array.treat_tf32(role, operands.tf32_input, parts, rows)?;
            by_role.insert(role, array);
        }
        let [a, b] = [Role::A, Role::B].map(|role| by_role[&role].tensor.shape());
        if let (Some(axes), None) = (matmul_axes([a, b], transpose), sparse) {
            for (role, axes) in axes {
                if let Some(array) = by_role.get_mut(&role) {
                    array.take_axes(&axes);
                }
            }
        }
        let selected = match sparse {
            None => None,
            Some(pattern) => Some(selected(&by_role, pattern, operands.sparse_layout)?),
        };
        let dequantised = operands.weights.map(|weights| {
            let scaled = !schedule.takes_scales();
            dequantised(&by_role, weights, scaled, transpose[1])
        });
        let arrays = Arrays {
            dequantised: dequantised.transpose()?,
            selected,
            by_role,
            transpose,
            any_k: schedule.spec().without_products.is_some(),
            block: arithmetic
                .scale
                .filter(|_| !schedule.takes_scales())
                .map(|scale| scale.block),
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
        let a = self[Role::A].planes(transpose_a);
        let b = match &self.dequantised {
            Some(weights) => weights.planes(),
            None => self[Role::B].planes(transpose_b),
        };
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
        if let Some(scaling) = &schedule.spec().scales {
            let of_a = self.get(Role::ScaleA).map(|a| a.planes(transpose_a));
            let of_b = self.get(Role::ScaleB).map(|b| b.planes(transpose_b));
            values = values.and_then(|values| match (of_a, of_b) {
                (Some(a), Some(b)) => values.with_scales(scaling.per, [a, b], problem),
                // Weights alone are scaled.
                (None, Some(b)) => values.with_scales_of_b(scaling.per, b, problem),
                (_, None) => Ok(values),
            });
        }
        values.map_err(|error| self.shapes(error))
    }

    /// An error about shapes, with the files it is about.
    pub fn shapes(&self, error: ShapeError) -> CheckError {
        let [transpose_a, transpose_b] = self.transpose;
        let operands = self.iter().filter(|(role, _)| *role != Role::D);
        let names = operands.map(|(role, array)| {
            let name = role.called().trim_start_matches("the ");
            let label = io::escaped_path(array.source.label());
            let transposed = match role {
                Role::A | Role::ScaleA => transpose_a,
                Role::B | Role::ScaleB => transpose_b,
                _ => false,
            };
            let note = if transposed { " (transposed)" } else { "" };
            if array.source.label() == std::path::Path::new(io::IN_MEMORY) {
                format!("`{}`{note}", role.field())
            } else {
                format!("{name} = {label}{note}")
            }
        });
        CheckError::Shapes {
            names: names.collect::<Vec<_>>().join(", "),
            reason: error.0
                + &self.blocked_scales().unwrap_or_default()
                + self.mistaken().unwrap_or_default(),
        }
    }

    /// What fits, if operands are exchanged or C is a bias.
    fn mistaken(&self) -> Option<&'static str> {
        let is_matrix = |role| self[role].tensor.shape().len() >= 2;
        if !is_matrix(Role::A) || !is_matrix(Role::B) {
            return None;
        }
        let [a, b] = [(Role::A, 0), (Role::B, 1)].map(|(role, side)| {
            let planes = self[role].planes(self.transpose[side]);
            [planes.rows(), planes.columns()]
        });
        if a[1] != b[0] {
            let fits = b[1] == a[0] && a[0] != b[0] && a[1] != b[1];
            return fits.then_some("; A and B seem to be exchanged: name A first");
        }
        let c = self.get(Role::C)?.tensor.shape();
        (c == [b[1]]).then_some("; one number per column of D is a bias: `bias` instead of `c`")
    }

    /// What to do with scales in blocks of 128 lines and 4 of k, if there are just as many as such blocks hold.
    fn blocked_scales(&self) -> Option<String> {
        let (scales, block) = (self.scales()?, self.block?);
        let of_operand = |side: usize| {
            let planes = self[[Role::A, Role::B][side]].planes(self.transpose[side]);
            let [lines, k] = match side {
                0 => [planes.rows(), planes.columns()],
                _ => [planes.columns(), planes.rows()],
            };
            let blocks = k.div_ceil(block);
            let [rows, columns] = [lines.next_multiple_of(128), blocks.next_multiple_of(4)];
            let tensor = &scales[side].tensor;
            (tensor.shape().len() == 1 && tensor.len() == rows * columns).then(|| {
                let name = ["A", "B"][side];
                format!(
                    "; the scales of {name} seem to lie in 128x4 blocks, as torch._scaled_mm takes them: give \
                     x.reshape({}, {}, 32, 4, 4).transpose(0, 3, 2, 1, 4).reshape({rows}, {columns})[:{lines}, \
                     :{blocks}]{}",
                    rows / 128,
                    columns / 4,
                    if side == 1 { ".T" } else { "" }
                )
            })
        };
        (0..2).find_map(of_operand)
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

/// The metadata of a compressed A: words of any width, for which there is no format.
fn read_metadata(source: &Source, from: &mut Reader) -> Result<Array, CheckError> {
    let role = Role::SparseA;
    let opened = match from.memory.arrays.remove(&role) {
        Some(array) if *source == Source::Memory => array,
        _ => open(role, source, Format::Int32, from)?,
    };
    let own = opened.header().descr.own_format();
    if let Some(own) = own.filter(|own| !own.is_integer()) {
        let label = io::escaped_path(opened.label());
        let reason = format!("it is in {own}; metadata are words of integers");
        return Err(CheckError::array(role.field(), label, reason));
    }
    let stored = opened.as_stored();
    Array::read(role, opened, stored, &None)
}

/// Refuses weights of which several share a word.
pub(super) fn confirm_unpacked(check: &Check, from: &mut Reader) -> Result<(), CheckError> {
    let operands = &check.operands;
    let Some(weights) = operands.weights else {
        return Ok(());
    };
    let [a, b] = [Role::A, Role::B].map(|role| &operands.arrays[&role]);
    let shape = from.shape(Role::B, b, Format::Uint8)?;
    if from.opened[&Role::B].header().descr.width() == 1 {
        return Ok(());
    }
    let mut of_a = from.shape(Role::A, a, check.model.dtype)?;
    if operands.transpose_a {
        of_a.reverse();
    }
    let k = of_a.last().copied().unwrap_or_default();
    let scales = operands.get(Role::ScaleB);
    let scales = scales.map(|scales| from.shape(Role::ScaleB, scales, check.model.dtype));
    let scales = scales.transpose()?.unwrap_or_default();
    let reason = weights.unpacking(&shape, operands.transpose_b, k, &scales);
    Err(CheckError::array("b", b, reason))
}

/// The operand that codes of weights become.
fn dequantised(
    arrays: &ByRole<Array>,
    weights: Weights,
    scaled: bool,
    transpose: bool,
) -> Result<Tensor, CheckError> {
    let a = &arrays[&Role::A];
    if a.tensor.shape().len() != 2 {
        let reason = format!(
            "it is {}; kernels of weights multiply all rows at once: give A and D two axes",
            shape_text(a.tensor.shape())
        );
        let label = io::escaped_path(a.source.label());
        return Err(CheckError::array("a", label, reason));
    }
    let planes = |role| arrays.get(&role).map(|array| array.planes(transpose));
    let all = Quantised {
        codes: planes(Role::B).expect("every product has B"),
        scales: planes(Role::ScaleB).ok_or_else(|| CheckError::needs("weights", "scale_b"))?,
        zeros: planes(Role::ZeroB),
    };
    all.dequantised(weights, scaled)
        .map_err(|(role, reason)| match arrays.get(&role) {
            Some(array) => {
                let label = io::escaped_path(array.source.label());
                CheckError::array(role.field(), label, reason)
            }
            None => CheckError::request(role.field(), reason),
        })
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
    /// Refuses fields about operands that are not there.
    ///
    /// # Errors
    /// The field, and what it is about.
    pub fn validate(
        &self,
        c_dtype: Option<Format>,
        arithmetic: &Arithmetic,
        schedule: &Scheduling,
    ) -> Result<(), CheckError> {
        let scaling = schedule.spec().scales.as_ref();
        let of_b_alone = scaling.is_some_and(|scaling| scaling.multiply == Multiply::BAlone);
        let formats = [arithmetic.a, arithmetic.b];
        let dequantised = [[Format::Fp16; 2], [Format::Bf16; 2]].contains(&formats);
        if self.weights.is_some() && (!dequantised || self.has(Role::SparseA)) {
            let [a, b] = formats;
            let reason = format!(
                "`weights` become operands in A's format, fp16 or bf16, of a dense A; here A and B are {a} and {b}{}",
                if self.has(Role::SparseA) {
                    ", and A is compressed"
                } else {
                    ""
                }
            );
            return Err(CheckError::request("weights", reason));
        }
        if of_b_alone && self.weights.is_none() {
            return Err(CheckError::needs("schedule", "weights"));
        }
        if let (Some(scaling), Some(_), false) = (scaling, self.weights, of_b_alone) {
            let reason = format!(
                "`weights`: schedule {} multiplies sums by scales of A and B (`scales.multiply` {:?}); those of weights \
                 are of B alone",
                schedule.schedule.name, scaling.multiply
            );
            return Err(CheckError::request("weights", reason));
        }
        for [one, other] in [[Role::ScaleA, Role::ScaleB], [Role::ScaleB, Role::ScaleA]] {
            if self.has(one) && !self.has(other) && self.weights.is_none() {
                return Err(CheckError::needs(one.field(), other.field()));
            }
        }
        let how = self.tf32_input;
        if how != Tf32Input::Truncate {
            let given = format!("`tf32_input` {}", how.word());
            let [a, b] = [arithmetic.a, arithmetic.b];
            if [a, b].map(Format::ignored_bits) == [0, 0] {
                let reason = format!(
                    "{given} applies only to TF32 and XF32 operands; these are {a} and {b}"
                );
                return Err(CheckError::request("tf32_input", reason));
            }
            if schedule.spec().split_terms.is_some() {
                let reason = format!(
                    "{given}: schedule {} splits FP32 operands into parts that keep all bits, so no operand is \
                     rounded or rejected",
                    schedule.schedule.name
                );
                return Err(CheckError::request("tf32_input", reason));
            }
        }
        if let (Some(format), None, true) = (c_dtype, self.get(Role::C), schedule.c_in_epilogue()) {
            let reason =
                format!("`c_dtype` {format} is the format of C, but C is missing; give `c`");
            return Err(CheckError::request("c_dtype", reason));
        }
        Ok(())
    }
}

/// D from its file, in the format that it has or that is given; only some of its rows are examined.
pub fn read_d(
    source: &Source,
    stated: Option<Format>,
    problem: &Problem,
    accumulator: Format,
    schedule: &Scheduling,
    rows: &RowRange,
    from: &mut Reader,
) -> Result<Array, CheckError> {
    let fail = |reason: String| CheckError::array("d", source, reason);
    let stated = stated.or(schedule.wide_result());
    let known = match stated.or(from.memory.format(Role::D)) {
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
        // A kernel text's format of D is for a file that does not state one.
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
    if !takes_axes(have, &want) {
        let mut turned = want.clone();
        turned.reverse();
        let hint = if turned.len() == 2 && turned == *have {
            "; D seems to be stored transposed: save its transpose, d.T.copy()"
        } else {
            ""
        };
        let (have, want) = (shape_text(have), shape_text(&want));
        return Err(fail(format!("D is {have}, but A*B is {want}{hint}")));
    }
    let mut array = Array::read(Role::D, file, format, rows)?;
    array.take_axes(&want);
    Ok(array)
}

/// The format of a D as far as its file determines it: floats name theirs, `V2` is bfloat16, and codes
/// as wide as the accumulator are its.
fn d_format(descr: &Descr, accumulator: Format) -> Result<Format, String> {
    match descr.own_format() {
        // FP32 holding values of an FP16 accumulator is taken if every element is one.
        Some(Format::Fp32 | Format::Fp64) => Ok(accumulator),
        Some(own) => Ok(own),
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
