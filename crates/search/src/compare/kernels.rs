//! What libraries say of the two kernels, compared before anything is computed.

use super::request::Compare;
use super::results::Pair;
use crate::check::{CheckError, Source};
use crate::compare::document::KernelsCompared;
use crate::generate::Spec;
use crate::io;
use crate::libraries::{self, KernelError, Options, Shape};
use crate::role::{ByRole, Role};

/// How two texts differ; none unless there are two.
pub fn compared(
    request: &Compare,
    pair: &Pair,
    held: &ByRole<io::Source>,
) -> Result<Option<KernelsCompared>, CheckError> {
    let [Some(left), Some(right)] = [0, 1].map(|side: usize| request.hints[side].kernel.as_ref())
    else {
        return Ok(None);
    };
    let Some(k) = k(request, held)? else {
        return Ok(None);
    };
    let planes = pair.read[0].tensor.planes();
    let shape = Shape {
        m: planes.rows(),
        n: planes.columns(),
        k,
    };
    let plan = |side: usize, text: &str| {
        let mut options = Options {
            result: request.formats[side],
            ..Options::default()
        };
        if let [Some(a), b] = request.operand_formats {
            options.operands = Some([a, b.unwrap_or(a)]);
        }
        if let [name] = &request.hints[side].architectures[..] {
            let known = options.on(name);
            known.map_err(CheckError::of("arch"))?;
        }
        let said = |error: KernelError| {
            CheckError::request(
                "kernel",
                format!("{}: {error}", super::results::FIELDS[side]),
            )
        };
        let reading = libraries::read(text).map_err(said)?;
        let plan = reading.plan(&shape, &options);
        Ok::<_, CheckError>((reading, plan))
    };
    let ((left, one), (right, other)) = (plan(0, left)?, plan(1, right)?);
    let found = match (one, other) {
        (Ok(one), Ok(other)) => libraries::differing(&[left, right], &[one, other], None),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    let (differing, undecided) = match found {
        Ok(differing) => (differing, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    Ok(Some(KernelsCompared {
        differing,
        undecided,
    }))
}

/// The K of the left product.
fn k(request: &Compare, held: &ByRole<io::Source>) -> Result<Option<usize>, CheckError> {
    let Some([operands, _]) = &request.operands else {
        return Ok(None);
    };
    let shape = match &operands.arrays[&Role::A] {
        Source::File(path) => {
            let file = io::Source::open(path).map_err(CheckError::file("a"))?;
            file.header().shape.clone()
        }
        Source::Generated(text) => Spec::read(text).map_err(CheckError::of("a"))?.shape,
        Source::Memory => match held.get(&Role::A) {
            Some(array) => array.header().shape.clone(),
            None => return Ok(None),
        },
    };
    let from_end = if operands.transpose_a { 2 } else { 1 };
    Ok(shape.len().checked_sub(from_end).map(|axis| shape[axis]))
}
