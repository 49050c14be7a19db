//! Opened lines that belong to a commitment, and the elements that are replayed from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::model::ProductModel;
use super::pieces::{Cut, line_of};
use super::{AuditError, AuditModel, Challenge, Head, OwnCopies, Piece, nothing, pieces};
use crate::check::{Quantised, Weights, takes_axes};
use crate::commit::{Along, Commitment, CommittedRule, CommittedSchedule};
use crate::operation::BoundOperation;

use crate::emu::schedule::{BoundSchedule, Values};
use crate::emu::{Element, Problem, Replay, ShapeError};
use crate::io::tree::{Hash, leaf};
use crate::num::Format;
use crate::role::{ByRole, Role};
use crate::sample::Region;
use crate::tensor::{Encoding, Stored, Tensor, parallel, shape_text};

/// Lines that were proven to belong to a commitment.
#[derive(Debug)]
pub struct Proven<'a> {
    commitment: &'a Commitment,
    elements: Vec<Element>,
    pieces: Vec<(Piece, Lines<'a>)>,
    /// Arrays of the auditor's.
    pub own: Vec<Role>,
}

/// Where the payloads of lines are.
#[derive(Debug)]
enum Lines<'a> {
    Opened(BTreeMap<u64, &'a [u8]>),
    Own(Tensor),
}

/// An array under the axes that it has in the commitment, if a check takes it so.
fn with_axes(own: &Tensor, committed: &[usize]) -> Tensor {
    let taken = takes_axes(own.shape(), committed).then(|| own.with_axes(committed));
    taken.flatten().unwrap_or_else(|| own.clone())
}

impl<'a> Proven<'a> {
    /// Checks every line of an opening, and the auditor's own arrays, against the committed roots.
    pub fn new(
        commitment: &'a Commitment,
        challenge: &Challenge,
        bytes: &'a [u8],
        own: &OwnCopies,
    ) -> Result<Proven<'a>, AuditError> {
        let (head, body) = Head::parse(bytes, challenge)?;
        let elements: Vec<_> = challenge.drawn().collect();
        let all = pieces(commitment, &elements)?;
        let is_opened = |piece: &Piece| head.arrays.iter().any(|name| name == piece.role.field());
        let opened: Vec<_> = all.iter().filter(|piece| is_opened(piece)).collect();
        let names = opened.iter().map(|piece| piece.role.field());
        if names.ne(&head.arrays) {
            return nothing("it must hold each array of the commitment once, in the same order");
        }
        let bytes = opened.iter().map(|piece| piece.bytes());
        let expected = bytes.fold(0, u64::saturating_add);
        if expected != body.len() as u64 {
            let what = if expected > body.len() as u64 {
                "is cut off"
            } else {
                "has bytes after its end"
            };
            return nothing(format!(
                "it {what}: after its head there are {} bytes, not {expected}",
                body.len()
            ));
        }
        let mut rest = body;
        let mut proven = Vec::new();
        for piece in all {
            let name = piece.role.field();
            if is_opened(&piece) {
                let (here, after) = rest.split_at(piece.bytes() as usize);
                rest = after;
                let lines = piece.prove(here)?;
                proven.push((piece, Lines::Opened(lines)));
            } else {
                if piece.role.is_result() {
                    return nothing(format!("it omits {name}"));
                }
                let taken = own.get(&piece.role).map(|tensor| match &piece.cut {
                    Cut::Lines(lines, _) => with_axes(tensor, &lines.shape),
                    _ => tensor.clone(),
                });
                let Some(tensor) = taken else {
                    let option = match &commitment.rule {
                        CommittedRule::Product { .. } => name.replace('_', "-"),
                        CommittedRule::Operation { .. } => format!("own {name}=FILE"),
                    };
                    return nothing(format!(
                        "it omits {name}, and you gave no copy of it (--{option})"
                    ));
                };
                proven.push((piece, Lines::Own(tensor)));
            }
        }
        for (role, tensor) in own {
            let name = role.field();
            let piece = proven.iter().find(|(piece, _)| piece.role == *role);
            let Some(Cut::Lines(lines, root)) = piece.map(|(piece, _)| &piece.cut) else {
                return nothing(format!(
                    "the commitment has no {name}, but you gave a copy of it"
                ));
            };
            let tensor = with_axes(tensor, &lines.shape);
            if (tensor.format(), tensor.shape()) != (lines.format, &lines.shape) {
                return nothing(format!(
                    "your {name} is {} {:?}, but the commitment has {} {:?}",
                    tensor.format(),
                    tensor.shape(),
                    lines.format,
                    lines.shape
                ));
            }
            if lines.root(name, lines.tree(&tensor).root()) != *root {
                return nothing(format!("your {name} is not the committed array"));
            }
        }
        Ok(Proven {
            commitment,
            elements,
            pieces: proven,
            own: own.keys().copied().collect(),
        })
    }

    /// The drawn elements, each with the computed and the committed code.
    ///
    /// # Errors
    /// If the model cannot compute them, or a code is not one of its format.
    pub fn replay(&self, by: &AuditModel) -> Result<Vec<(Element, [u64; 2])>, AuditError> {
        match by {
            AuditModel::Product(by) => self.replay_product(by),
            AuditModel::Operation(by) => self.replay_operation(by),
        }
    }

    /// Computes an operation's opened rows. Arrays repeat an opened line in place of those that were not opened, as rows
    /// do not depend on each other.
    fn replay_operation(
        &self,
        by: &BoundOperation,
    ) -> Result<Vec<(Element, [u64; 2])>, AuditError> {
        let (inputs, result) = (&self.commitment.inputs, &self.commitment.result);
        let rows = Region::of(&result.shape).rows.len();
        let of_row = |elements: &[Element]| {
            let mut arrays = ByRole::new();
            for (&role, input) in inputs {
                let bytes = Arc::new(self.line(role, &elements[0])?.into_owned());
                let stored = Stored {
                    width: input.format.bytes(),
                    big_endian: false,
                    encoding: Encoding::Code,
                };
                let mut strides = vec![0; input.shape.len()];
                if input.lines == Along::Whole {
                    let mut step = 1;
                    for (stride, axis) in strides.iter_mut().zip(&input.shape).rev() {
                        *stride = step;
                        step *= axis;
                    }
                } else if let Some(last) = strides.last_mut() {
                    *last = 1;
                }
                let array =
                    Tensor::strided(input.format, input.shape.clone(), strides, stored, bytes);
                let array = array.or_else(|bad| {
                    nothing(format!(
                        "a line of {} has the code 0x{:02x}, which is not a code of {}",
                        role.field(),
                        bad.raw,
                        input.format
                    ))
                })?;
                arrays.insert(role, array);
            }
            let arrays = arrays.iter().map(|(role, array)| (role.field(), array));
            let arrays = arrays.collect();
            let job = by.job(&arrays);
            let job = job.or_else(|error| nothing(format!("{}: {}", error.field, error.reason)))?;
            if (job.format, &job.shape) != (result.format, &result.shape) {
                return nothing(format!(
                    "the commitment has a result of {} {:?}, but the operation gives {} {:?}",
                    result.format, result.shape, job.format, job.shape
                ));
            }
            let codes = job.row(elements[0].batch * rows + elements[0].row);
            let both = elements.iter().map(|at| {
                let given = self.code(Role::Y, result.format, codes.len(), at)?;
                Ok((*at, [codes[at.column].into(), given]))
            });
            both.collect::<Result<Vec<_>, AuditError>>()
        };
        let same_row =
            |one: &Element, next: &Element| (one.batch, one.row) == (next.batch, next.row);
        let by_row: Vec<&[Element]> = self.elements.chunk_by(same_row).collect();
        let found: Result<Vec<_>, _> = by_row.into_par_iter().map(of_row).collect();
        Ok(found?.concat())
    }

    fn replay_product(&self, by: &ProductModel) -> Result<Vec<(Element, [u64; 2])>, AuditError> {
        let product = &by.product;
        let (inputs, result) = (&self.commitment.inputs, &self.commitment.result);
        // Without elements: only their batch and their presence matter.
        let hollow = |format| {
            let shape = [&product.batch[..], &[0, 0]].concat();
            Tensor::from_payload(format, shape, Vec::new())
        };
        // Weights are multiplied in A's format.
        let of_b = by.weights.map_or(Role::B, |_| Role::A);
        let [a, b] = [Role::A, of_b].map(|role| hollow(inputs[&role].format));
        let of_weights = match by.weights {
            Some(_) => [self.whole(Role::ScaleB)?, self.whole(Role::ZeroB)?],
            None => [None, None],
        };
        let c = inputs.get(&Role::C).map(|c| hollow(c.format));
        let full = Problem {
            a: a.planes(),
            b: b.planes(),
            c: c.as_ref().map(Tensor::planes),
            scales: None,
            selected: None,
            m: product.m,
            n: product.n,
            k: product.k,
        };
        let scheduling = &by.scheduling;
        let values = self.values(by, &full)?;
        let format = result.format;
        let arithmetic = by.arithmetic();
        let scheduled = scheduling.validate(&values, arithmetic, &full, format)?;
        let spec = scheduling.spec();
        let found = scheduled.then(|| CommittedSchedule::of(spec, &values));
        if found != by.schedule {
            return nothing(
                "the commitment has a different schedule, or different factors, from those you gave",
            );
        }
        let kernel = scheduled.then(|| BoundSchedule::new(spec, &values, &full));
        let scale = if scheduling.takes_scales() {
            None
        } else {
            arithmetic.scale
        };
        let of =
            |role: Role, format, at: &Element, shape: [usize; 2]| -> Result<Tensor, AuditError> {
                let (name, payload) = (role.field(), self.line(role, at)?);
                let tensor = Tensor::from_payload(format, shape.to_vec(), payload.into_owned());
                match tensor.validate() {
                    Ok(()) => Ok(tensor),
                    Err(bad) => nothing(format!(
                        "a line of {name} has the code 0x{:02x}, which {format} does not have",
                        bad.raw
                    )),
                }
            };
        let k = product.k;
        let compute = |at: &Element| -> Result<(Element, [u64; 2]), AuditError> {
            let a = of(Role::A, inputs[&Role::A].format, at, [1, k])?;
            let mut b = of(Role::B, inputs[&Role::B].format, at, [k, 1])?;
            if let Some(weights) = by.weights {
                b = column(weights, &b, &of_weights, (by, at))?;
            }
            let c = match inputs.get(&Role::C) {
                Some(input) => {
                    let (format, n) = (input.format, product.n);
                    let code = self.code(Role::C, format, n, at)?;
                    let c = Tensor::from_codes(format, vec![1, 1], &[code]);
                    if c.validate().is_err() {
                        return nothing(format!("an element of c is not a code of {format}"));
                    }
                    Some(c)
                }
                None => None,
            };
            let scales = match (scale, inputs.get(&Role::ScaleA)) {
                (Some(scale), Some(_)) => {
                    let blocks = k.div_ceil(scale.block);
                    Some((
                        of(Role::ScaleA, scale.format, at, [1, blocks])?,
                        of(Role::ScaleB, scale.format, at, [blocks, 1])?,
                        scale.block,
                    ))
                }
                _ => None,
            };
            let new = if spec.without_products.is_some() {
                Problem::with_any_k
            } else {
                Problem::new
            };
            let problem = new(a.planes(), b.planes(), c.as_ref().map(Tensor::planes));
            let mut problem = problem.map_err(misshapen)?;
            if let Some((a, b, block)) = &scales {
                let scaled = problem.with_scales(a.planes(), b.planes(), *block);
                problem = scaled.map_err(misshapen)?;
            }
            if scheduling.wide_result().is_some() {
                // Numbers that the schedule refuses.
                scheduling.validate(&values, arithmetic, &problem, format)?;
            }
            let replay = Replay {
                problem,
                arithmetic,
                convert_to: (format != arithmetic.accumulator).then_some(format),
                engine: by.engine,
                kernel: None,
            };
            let reproduced = replay.alone(*at, kernel);
            let given = self.code(Role::D, format, product.n, at)?;
            if given > format.max_code() {
                return nothing(format!("an element of d is not a code of {format}"));
            }
            Ok((*at, [reproduced, given]))
        };
        let computed = parallel::map(self.elements.len(), |i| compute(&self.elements[i]));
        computed.into_iter().collect()
    }

    /// Factors, bias, zero points, and the scales of a kernel.
    fn values(&self, by: &ProductModel, full: &Problem) -> Result<Values, AuditError> {
        let mut values = by.scheduling.factors();
        if let Some(bias) = self.whole(Role::Bias)? {
            values = values.with_bias(&bias, full).map_err(misshapen)?;
        }
        if let Some(column) = self.whole(Role::AzpAdj)? {
            let row = self.whole(Role::Azp)?;
            let with = values.with_zero_point(row.as_ref(), &column, full);
            values = with.map_err(misshapen)?;
        }
        if let Some(scaling) = &by.scheduling.spec().scales
            && let Some(b) = self.whole(Role::ScaleB)?
        {
            let b = b.planes().transposed_if(by.product.transpose_b);
            let scaled = match self.whole(Role::ScaleA)? {
                Some(a) => {
                    let a = a.planes().transposed_if(by.product.transpose_a);
                    values.with_scales(scaling.per, [a, b], full)
                }
                None => values.with_scales_of_b(scaling.per, b, full),
            };
            values = scaled.map_err(misshapen)?;
        }
        Ok(values)
    }

    /// An array that is one line, if it is there.
    fn whole(&self, role: Role) -> Result<Option<Tensor>, AuditError> {
        let Some(input) = self.commitment.inputs.get(&role) else {
            return Ok(None);
        };
        if input.lines != Along::Whole {
            return Ok(None);
        }
        // Of any element: there is one line.
        let payload = self.line(role, &self.elements[0])?.into_owned();
        let tensor = Tensor::from_payload(input.format, input.shape.clone(), payload);
        match tensor.validate() {
            Ok(()) => Ok(Some(tensor)),
            Err(_) => nothing(format!(
                "{} has a code that {} does not have",
                role.field(),
                input.format
            )),
        }
    }

    /// The line of an array that an element is made of.
    fn line(&self, role: Role, at: &Element) -> Result<std::borrow::Cow<'_, [u8]>, AuditError> {
        let missing = || AuditError::ProvesNothing(format!("it lacks a line of {}", role.field()));
        let found = self.pieces.iter().find(|(piece, _)| piece.role == role);
        let (piece, lines) = found.ok_or_else(missing)?;
        let number = line_of(role, &piece.cut, &self.commitment.result.shape, at);
        match lines {
            Lines::Opened(lines) => {
                let line = lines.get(&number).copied();
                line.map(Into::into).ok_or_else(missing)
            }
            Lines::Own(tensor) => Ok(piece.cut.payload(tensor, number).into()),
        }
    }

    /// The code of an element of C or of the result.
    fn code(
        &self,
        role: Role,
        format: Format,
        columns: usize,
        at: &Element,
    ) -> Result<u64, AuditError> {
        let line = self.line(role, at)?;
        let result = &self.commitment.result;
        let row = if role.is_result() {
            let rows = Region::of(&result.shape).rows.len();
            (at.batch * rows + at.row) as u64 % result.block_rows
        } else {
            0
        };
        let width = format.bytes();
        let start = (row as usize * columns + at.column) * width;
        let mut code = [0; 8];
        let bytes = line.get(start..start + width);
        let short = || format!("a line of {} is too short", role.field());
        let bytes = bytes.ok_or_else(|| AuditError::ProvesNothing(short()))?;
        code[..width].copy_from_slice(bytes);
        Ok(u64::from_le_bytes(code))
    }
}

/// A column of weights as it is multiplied, from its codes and all scales and zero points.
fn column(
    weights: Weights,
    codes: &Tensor,
    [scales, zeros]: &[Option<Tensor>; 2],
    (by, at): (&ProductModel, &Element),
) -> Result<Tensor, AuditError> {
    let of_column = |array: &Tensor| -> Result<Tensor, AuditError> {
        let planes = array.planes().transposed_if(by.product.transpose_b);
        if array.shape().len() != 2 || planes.columns() != by.product.n {
            let shape = shape_text(array.shape());
            return nothing(format!("scales or zero points of weights are {shape}"));
        }
        let column = planes.part(0..planes.rows(), at.column..at.column + 1);
        let rows: Vec<_> = (0..planes.rows()).collect();
        Ok(column.gather(&rows))
    };
    let Some(scales) = scales else {
        return nothing("it lacks the scales of weights");
    };
    let scales = of_column(scales)?;
    let zeros = zeros.as_ref().map(of_column).transpose()?;
    let all = Quantised {
        codes: codes.planes(),
        scales: scales.planes(),
        zeros: zeros.as_ref().map(Tensor::planes),
    };
    let found = all.dequantised(weights, !by.scheduling.takes_scales());
    found.or_else(|(role, reason)| nothing(format!("{}: {reason}", role.field())))
}

fn misshapen(error: ShapeError) -> AuditError {
    AuditError::ProvesNothing(error.0)
}

impl Piece {
    /// The lines of an opening, if each leads to the committed root.
    fn prove<'a>(&self, bytes: &'a [u8]) -> Result<BTreeMap<u64, &'a [u8]>, AuditError> {
        let mut rest = bytes;
        let mut take = |count: usize| {
            let (here, after) = rest.split_at(count);
            rest = after;
            here
        };
        let parts = self.lines.iter().map(|&line| {
            let (payload, path) = self.size(line);
            (line, take(payload as usize), take(32 * path))
        });
        let parts: Vec<_> = parts.collect();
        let proven = |&(line, payload, path): &(u64, &[u8], &[u8])| {
            let hash = |bytes: &[u8]| Hash(bytes.try_into().expect("32 bytes"));
            let path: Vec<_> = path.chunks_exact(32).map(hash).collect();
            self.leads_to_root(leaf([payload]), line, &path)
        };
        let wrong = parts.par_iter().find_first(|part| !proven(part));
        match wrong {
            Some((line, ..)) => {
                let what = match &self.cut {
                    Cut::Lines(lines, _) => match lines.along {
                        Along::Rows => format!("row {line}"),
                        Along::Columns => format!("column {line}"),
                        Along::Whole => "what it holds".to_owned(),
                    },
                    Cut::Blocks(..) => format!("block {line}"),
                };
                nothing(format!(
                    "{what} of {} does not lead to the committed root",
                    self.role.field()
                ))
            }
            None => Ok(parts
                .into_iter()
                .map(|(line, payload, _)| (line, payload))
                .collect()),
        }
    }
}
