//! Everything an operation needs, read and chosen.

use super::Operation;
use super::bound::{BoundOperation, chosen};
use crate::check::CheckError;
use crate::check::Resources;
use crate::check::Source;
use crate::check::{Array, Reader, read_float};
use crate::num::Format;
use crate::ops::{BoundOp, Inputs, OpError, Variant};
use crate::role::{ByRole, Role};
use crate::tensor::Tensor;

/// Tensors of the caller's.
pub type OperationTensors = ByRole<Tensor>;

/// An operation that owns what it read: arrays, variant, the tensor core's rule.
#[derive(Debug)]
pub struct PreparedOperation {
    pub(super) bound: BoundOperation,
    /// With the result that was read.
    pub(super) arrays: ByRole<Array>,
    /// Which result it is, and what the rule makes of these shapes.
    pub(super) output: &'static str,
    pub(super) format: Format,
    pub(super) shape: Vec<usize>,
    pub(super) about: String,
}

/// What is wrong with arrays, by the names of their files.
fn of_array(error: OpError, arrays: &ByRole<Array>) -> CheckError {
    let field = error.field;
    match Role::of_field(field).and_then(|role| arrays.get(&role)) {
        Some(array) => {
            let name = crate::io::escaped_path(array.source.label());
            CheckError::array(field, name, error.reason)
        }
        None => CheckError::request(error.field, error.reason),
    }
}

impl Operation {
    /// Reads and chooses everything that it needs; nothing is computed.
    pub fn prepare(&self, resources: &Resources) -> Result<PreparedOperation, CheckError> {
        PreparedOperation::new(self, resources, OperationTensors::new())
    }
}

/// What the first array is in.
fn format_of(arrays: &ByRole<Array>) -> Format {
    arrays
        .first_key_value()
        .map_or(Format::Fp32, |(_, array)| array.tensor.format())
}

/// All arrays but the result, as a rule takes them.
fn operands(arrays: &ByRole<Array>) -> Inputs<'_> {
    let operands = arrays.iter().filter(|(role, _)| !role.is_result());
    operands
        .map(|(role, array)| (role.field(), &array.tensor))
        .collect()
}

impl PreparedOperation {
    /// An operation on tensors in memory, where its sources say so.
    ///
    /// # Errors
    /// As of [`Operation::prepare`]; or a tensor is missing.
    pub fn new(
        request: &Operation,
        resources: &Resources,
        memory: OperationTensors,
    ) -> Result<PreparedOperation, CheckError> {
        // Before a file is opened.
        let (variant, _) = request.variant()?;
        request.used(&variant.rule)?;
        request.parameters()?;
        request.selection()?;
        request.expected()?;
        let mut from = Reader::new(&resources.files, memory.into_iter().collect());
        let mut read = |role: Role, source: &Source, stated: Option<Format>| {
            read_float(
                (role, source),
                ("dtype", stated),
                Format::Fp32,
                &None,
                &mut from,
            )
        };
        let mut arrays = ByRole::new();
        let mut sources = request.arrays();
        let claimed = sources.remove(&Role::Y);
        for (role, source) in sources {
            // Angles and scales may have a format of their own, which their files then state.
            let own = matches!(
                role,
                Role::Cos | Role::Sin | Role::Scale | Role::WeightScale
            );
            let stated = match (own, request.dtype) {
                (false, stated) => variant.rule.codes(role.field()).or(stated),
                (true, _) => None,
            };
            let array = match read(role, &source, stated) {
                // Codes without a format of their own have that of the other arrays.
                Err(CheckError::Array { .. }) if own => read(role, &source, request.dtype),
                other => other,
            };
            arrays.insert(role, array?);
        }
        let bound = request.bind(format_of(&arrays), resources.engines)?;
        let (output, format, shape, about) = {
            let job = bound.job(&operands(&arrays));
            let job = job.map_err(|error| of_array(error, &arrays))?;
            (job.output, job.format, job.shape.clone(), job.about.clone())
        };
        let mut prepared = PreparedOperation {
            bound,
            arrays,
            output,
            format,
            shape: shape.clone(),
            about,
        };
        if let Some(source) = claimed {
            if let Source::Generated(_) = source {
                let reason = "y must be captured from a GPU; it cannot be generated";
                return Err(CheckError::array("y", &source, reason));
            }
            let y = read(Role::Y, &source, Some(format))?;
            if y.tensor.shape() != shape {
                let text = crate::emu::shape_text;
                let (have, want) = (text(y.tensor.shape()), text(&shape));
                let reason = format!("it is {have}, but the result is {want}");
                return Err(CheckError::array("y", &source, reason));
            }
            prepared.arrays.insert(Role::Y, y);
        }
        Ok(prepared)
    }

    /// The operation as it is to be computed.
    pub fn job(&self) -> BoundOp<'_> {
        let job = self.bound.job(&operands(&self.arrays));
        job.expect("checked when it was prepared")
    }

    /// The operation by another of its variants; none if it does not compute such arrays.
    pub fn by<T>(&self, variant: &Variant, use_it: impl FnOnce(&BoundOp) -> T) -> Option<T> {
        let arch = self.request().arch.as_deref();
        let chosen = chosen(&variant.rule, arch, format_of(&self.arrays)).ok()?;
        let inputs = operands(&self.arrays);
        let job = (&variant.rule, chosen.as_ref());
        let job = self.bound.job_by(job, &inputs, None);
        job.ok().map(|job| use_it(&job))
    }

    /// Attention in another tile of its rule; none if it does not take these arrays.
    pub fn in_tile<T>(&self, tile: [usize; 2], use_it: impl FnOnce(&BoundOp) -> T) -> Option<T> {
        let inputs = operands(&self.arrays);
        let own = (&self.bound.variant.rule, self.bound.chosen.as_ref());
        let job = self.bound.job_by(own, &inputs, Some(tile));
        job.ok().map(|job| use_it(&job))
    }

    /// What the rule makes of these shapes, in one line.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The request that was prepared.
    pub fn request(&self) -> &Operation {
        &self.bound.request
    }

    /// The rule that judges, with its name and sources.
    pub fn variant(&self) -> &Variant {
        &self.bound.variant
    }
}
