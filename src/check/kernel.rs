//! What a library states of its kernel, where a request gives such a text in place of a schedule. Nobody here reads
//! one: whoever runs the check hands over who does ([`Resources`](super::Resources)).

use super::axes::matmul_axes;
use super::error::CheckError;
use super::product::{Check, KernelRequest, KernelSource};
use super::reader::Reader;
use super::ttnn::TtnnConfiguration;
use crate::emu::schedule::Schedule;
use crate::io::{MAX_DOCUMENT, MAX_LOG, read_text, sha256};
use crate::num::{F32, Format};
use crate::report::KernelDescription;
use crate::role::Role;
use crate::tensor::shape_text;

/// Reads what libraries state of their kernels.
pub trait KernelTexts: std::fmt::Debug + Sync {
    /// The order of the sums that a request's text determines for matrices of these shapes.
    ///
    /// # Errors
    /// If the text cannot be read, is about another product, contradicts the request, or leaves the order open.
    fn plan(
        &self,
        request: &KernelRequest,
        check: &Check,
        shapes: &StoredShapes,
    ) -> Result<(Schedule, PlannedKernel), CheckError>;

    /// What ttnn's configurations state.
    ///
    /// # Errors
    /// If the text cannot be read, lacks a setting that decides bits, or has one that nobody knows.
    fn ttnn(&self, text: &str) -> Result<TtnnConfiguration, String>;
}

/// Nobody reads any.
impl KernelTexts for () {
    fn plan(
        &self,
        request: &KernelRequest,
        _: &Check,
        _: &StoredShapes,
    ) -> Result<(Schedule, PlannedKernel), CheckError> {
        let field = request.source.field();
        let reason = format!("`{field}`: this program reads no texts of kernels");
        Err(CheckError::request(field, reason))
    }

    fn ttnn(&self, _: &str) -> Result<TtnnConfiguration, String> {
        Err("this program reads no texts of kernels".into())
    }
}

/// What a text determines beside the order.
#[derive(Clone, Debug)]
pub struct PlannedKernel {
    /// For a report.
    pub description: KernelDescription,
    /// Of the text as it was read: [`KernelSource::sha256`].
    pub sha256: String,
    /// Whether A and B are stored transposed.
    pub stored: [bool; 2],
    /// D's format, if the text states it.
    pub result: Option<Format>,
    /// The engine that computes the chains, if the text states it.
    pub instruction: Option<&'static str>,
    /// What the text states is done to the finished sum.
    pub epilogue: Option<String>,
    /// Alpha and beta, by the text or the request.
    pub factors: [Option<F32>; 2],
}

/// The shapes of A and B as the files have them, of two dimensions at least.
#[derive(Clone, Debug)]
pub struct StoredShapes {
    pub a: Vec<usize>,
    pub b: Vec<usize>,
    /// Whether the request has A and B stored transposed.
    pub transposed: [bool; 2],
    /// Groups of k of weights of few bits that share a scale.
    pub groups: Option<usize>,
}

impl StoredShapes {
    pub(super) fn of(check: &Check, from: &mut Reader) -> Result<StoredShapes, CheckError> {
        let operands = &check.operands;
        let model = &check.model;
        let format_b = match operands.weights {
            Some(_) => Format::Uint8,
            None => model.dtype_b.unwrap_or(model.dtype),
        };
        let groups = groups(check, from)?;
        let mut shape = |role: Role, format| matrix(check, role, format, from);
        let (a, b) = (shape(Role::A, model.dtype)?, shape(Role::B, format_b)?);
        let transposed = [operands.transpose_a, operands.transpose_b];
        let axes = matmul_axes([&a, &b], transposed).filter(|_| !operands.has(Role::SparseA));
        let (a, b) = match axes {
            Some([(_, a), (_, b), _]) => (a, b),
            None => (a, b),
        };
        Ok(StoredShapes {
            groups,
            a,
            b,
            transposed,
        })
    }
}

/// The shape of an array that is no single number.
fn matrix(
    check: &Check,
    role: Role,
    format: Format,
    from: &mut Reader,
) -> Result<Vec<usize>, CheckError> {
    let source = &check.operands.arrays[&role];
    let shape = from.shape(role, source, format)?;
    match shape.len() {
        0 => Err(CheckError::array(
            role.field(),
            source,
            format!("it is {}; a matrix has two dimensions", shape_text(&shape)),
        )),
        _ => Ok(shape),
    }
}

/// Groups of k of weights that share a scale.
fn groups(check: &Check, from: &mut Reader) -> Result<Option<usize>, CheckError> {
    let operands = &check.operands;
    let (Some(_), Some(source)) = (operands.weights, operands.get(Role::ScaleB)) else {
        return Ok(None);
    };
    let shape = from.shape(Role::ScaleB, source, check.model.dtype)?;
    Ok(match shape[..] {
        [_, groups] if operands.transpose_b => Some(groups),
        [groups, _] => Some(groups),
        _ => None,
    })
}

impl KernelSource {
    /// SHA-256 of the text or the file.
    pub fn sha256(&self) -> Result<String, CheckError> {
        Ok(sha256(self.content()?))
    }

    /// The text, or all of the file.
    pub fn content(&self) -> Result<String, CheckError> {
        let file = CheckError::file(self.field());
        match self {
            KernelSource::Text(text) => Ok(text.clone()),
            KernelSource::Log(path) => read_text(path, "log", MAX_LOG).map_err(file),
            KernelSource::Table { file: path, .. } => {
                read_text(path, "kernel table", MAX_DOCUMENT).map_err(file)
            }
        }
    }
}
