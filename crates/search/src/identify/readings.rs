//! A file as every format that it can be.

use std::collections::BTreeMap;

use crate::check::{CheckError, Source, Tf32Input, takes_axes};
use crate::engines;
use crate::io;
use crate::num::Format;
use crate::role::Role;
use crate::tensor::{Planes, Tensor};

/// An array in each of its possible formats; one at least.
pub struct Readings {
    pub role: Role,
    pub source: io::Source,
    pub(super) tensors: BTreeMap<Format, Tensor>,
    /// Those of TF32 and XF32 with low bits, rounded to nearest, if the request does not say how they are read.
    pub(super) nearest: BTreeMap<Format, Tensor>,
}

impl Readings {
    pub(super) fn of(
        (role, source): (Role, &Source),
        wanted: Option<Format>,
        tf32: Tf32Input,
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    ) -> Result<Readings, CheckError> {
        let file = opened((role, source), wanted, memory)?;
        Readings::of_file((role, source), file, wanted, tf32)
    }

    pub(super) fn of_file(
        (role, source): (Role, &Source),
        file: io::Source,
        wanted: Option<Format>,
        tf32: Tf32Input,
    ) -> Result<Readings, CheckError> {
        let field = role.field();
        let fail = |reason: String| Err(CheckError::array(field, source, reason));
        let wanted = |format| wanted.is_none_or(|wanted| wanted == format);
        let mut tensors = BTreeMap::new();
        let mut reason = None;
        // A type of its own says what it holds; only wide floats may be narrow numbers widened.
        let own = file.header().descr.own_format();
        let own = own.filter(|own| !matches!(own, Format::Fp32 | Format::Fp64));
        let possible = |&format: &Format| wanted(format) && own.is_none_or(|own| own == format);
        for format in Format::ALL.into_iter().filter(possible) {
            match file.tensor(format) {
                Ok(tensor) if tf32 == Tf32Input::Exact && tensor.count_ignored_bits() > 0 => {}
                Ok(tensor) if tf32 == Tf32Input::Nearest => {
                    tensors.insert(format, tensor.rounding_tf32());
                }
                Ok(tensor) => {
                    tensors.insert(format, tensor);
                }
                Err(error) => reason = Some(error),
            }
        }
        let low_bits = |(format, tensor): (&Format, &Tensor)| {
            let both = tf32 == Tf32Input::Truncate && tensor.count_ignored_bits() > 0;
            let nearest = tensor.with_tf32_rounding(true).filter(|_| both);
            Some((*format, nearest?))
        };
        let nearest = tensors.iter().filter_map(low_bits).collect();
        match reason {
            _ if !tensors.is_empty() => Ok(Readings {
                role,
                source: file,
                tensors,
                nearest,
            }),
            Some(error) => Err(CheckError::file(field)(error)),
            None => {
                let own = own.map_or(String::new(), |own| format!("; it holds {own}"));
                fail(format!("has none of the requested formats{own}"))
            }
        }
    }

    pub fn has(&self, format: Format) -> bool {
        self.tensors.contains_key(&format)
    }

    pub fn tensor(&self, format: Format) -> &Tensor {
        &self.tensors[&format]
    }

    /// In the first of its formats, of which it has one alone.
    pub fn only_tensor(&self) -> &Tensor {
        self.tensor(self.first())
    }

    /// The format, if it can be no other.
    pub fn only(&self) -> Option<Format> {
        (self.tensors.len() == 1).then(|| self.first())
    }

    pub fn first(&self) -> Format {
        *self.tensors.keys().next().expect("one at least")
    }

    /// Takes the elements under these axes, if a check would.
    pub(super) fn take_axes(&mut self, shape: &[usize]) {
        for tensor in self.tensors.values_mut().chain(self.nearest.values_mut()) {
            if takes_axes(tensor.shape(), shape)
                && let Some(taken) = tensor.with_axes(shape)
            {
                *tensor = taken;
            }
        }
    }

    /// How many axes a check gives it.
    pub fn axes(&self) -> usize {
        self.tensors[&self.first()].shape().len()
    }

    /// As it is multiplied: transposed if it is stored so, rounded to nearest if a unit takes it so.
    pub fn planes(&self, format: Format, transpose: bool, nearest: bool) -> Planes<'_> {
        let rounded = self.nearest.get(&format).filter(|_| nearest);
        let tensor = rounded.unwrap_or(&self.tensors[&format]);
        tensor.planes().transposed_if(transpose)
    }
}

/// The array of a role: of a file, generated, or the caller's.
pub(super) fn opened(
    (role, source): (Role, &Source),
    wanted: Option<Format>,
    memory: &mut dyn FnMut(&str) -> Option<io::Source>,
) -> Result<io::Source, CheckError> {
    let field = role.field();
    let fail = |reason: String| Err(CheckError::array(field, source, reason));
    let file = match (source, wanted) {
        // What is generated are numbers of a format, so it has no other.
        (Source::Generated(_), None) => {
            let how = match role {
                Role::A | Role::B => "give `dtype`",
                _ => "write it to a file by 'tcverify generate'",
            };
            return fail(format!(
                "a generated operand has no format of its own; {how}"
            ));
        }
        (Source::Generated(text), Some(format)) => {
            engines::resources().files.generated(text, format, role)
        }
        (Source::File(path), _) => io::Source::open(path),
        (Source::Memory, _) => match memory(field) {
            Some(array) => Ok(array),
            None => return fail("is in memory, but the caller passed no such array".into()),
        },
    };
    file.map_err(CheckError::file(field))
}
