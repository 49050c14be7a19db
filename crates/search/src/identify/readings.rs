//! A file as every format that it can be.

use std::collections::BTreeMap;

use super::request::Identify;
use crate::check::{CheckError, Source, Tf32Input, float_format, matmul_axes, takes_axes};
use crate::emu::schedule::Values;
use crate::emu::{Problem, Scale, ShapeError, shape_text};
use crate::engines;
use crate::io;
use crate::num::Format;
use crate::role::Role;
use crate::tensor::{Planes, Tensor};

/// An array in each of its possible formats; one at least.
pub struct Readings {
    pub role: Role,
    pub source: io::Source,
    tensors: BTreeMap<Format, Tensor>,
    /// Those of TF32 and XF32 with low bits, rounded to nearest, if the request does not say how they are read.
    nearest: BTreeMap<Format, Tensor>,
}

impl Readings {
    fn of(
        (role, source): (Role, &Source),
        wanted: Option<Format>,
        tf32: Tf32Input,
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    ) -> Result<Readings, CheckError> {
        let file = opened((role, source), wanted, memory)?;
        Readings::of_file((role, source), file, wanted, tf32)
    }

    fn of_file(
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

    fn first(&self) -> Format {
        *self.tensors.keys().next().expect("one at least")
    }

    /// Takes the elements under these axes, if a check would.
    fn take_axes(&mut self, shape: &[usize]) {
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

    fn planes(&self, format: Format, transpose: bool, nearest: bool) -> Planes<'_> {
        let rounded = self.nearest.get(&format).filter(|_| nearest);
        let tensor = rounded.unwrap_or(&self.tensors[&format]);
        tensor.planes().transposed_if(transpose)
    }
}

/// The array of a role: of a file, generated, or the caller's.
fn opened(
    (role, source): (Role, &Source),
    wanted: Option<Format>,
    memory: &mut dyn FnMut(&str) -> Option<io::Source>,
) -> Result<io::Source, CheckError> {
    let field = role.field();
    let fail = |reason: String| Err(CheckError::array(field, source, reason));
    let file = match (source, wanted) {
        // What is generated are numbers of a format, so it has no other.
        (Source::Generated(_), None) => {
            return fail(
                "a generated operand has no format of its own; give `dtype` (for A and B)".into(),
            );
        }
        (Source::Generated(spec), Some(format)) => {
            let name = spec.to_string();
            engines::resources()
                .files
                .generated(name.as_ref(), spec, format, role)
        }
        (Source::File(path), _) => io::Source::open(path),
        (Source::Memory, _) => match memory(field) {
            Some(array) => Ok(array),
            None => return fail("is in memory, but the caller passed no such array".into()),
        },
    };
    file.map_err(CheckError::file(field))
}

/// A bias in the one format that a check reads it in.
fn read_bias(
    source: &Source,
    stated: Option<Format>,
    memory: &mut dyn FnMut(&str) -> Option<io::Source>,
) -> Result<Readings, CheckError> {
    let bias = (Role::Bias, source);
    let generated = matches!(source, Source::Generated(_)).then_some(Format::Fp32);
    let stated = stated.or(generated);
    let file = opened(bias, stated, memory)?;
    let of_descr = || float_format(&file.header().descr, "bias_dtype");
    let format = stated.map_or_else(of_descr, Ok);
    let format = format.map_err(|reason| CheckError::array("bias", source, reason))?;
    Readings::of_file(bias, file, Some(format), Tf32Input::Truncate)
}

/// All files of a search; their shapes fit.
pub struct Captured {
    pub a: Readings,
    pub b: Readings,
    pub c: Option<Readings>,
    pub bias: Option<Readings>,
    pub scales: Option<[Readings; 2]>,
    pub d: Readings,
    transpose: [bool; 2],
}

impl Captured {
    pub fn read(
        request: &Identify,
        memory: &mut dyn FnMut(&str) -> Option<io::Source>,
    ) -> Result<Captured, CheckError> {
        let operands = &request.operands;
        let formats = request.formats;
        let bias = operands.get(Role::Bias);
        let bias = bias.map(|source| read_bias(source, operands.bias_dtype, memory));
        let mut read = |role, source, wanted| {
            Readings::of((role, source), wanted, operands.tf32_input, memory)
        };
        let scales = [Role::ScaleA, Role::ScaleB].map(|role| operands.get(role));
        let scales = match scales {
            [Some(a), Some(b)] => {
                let a = read(Role::ScaleA, a, None)?;
                Some([a, read(Role::ScaleB, b, None)?])
            }
            _ => None,
        };
        let sources = &operands.arrays;
        let c = operands.get(Role::C);
        let mut captured = Captured {
            a: read(Role::A, &sources[&Role::A], formats.a)?,
            b: read(Role::B, &sources[&Role::B], formats.b.or(formats.a))?,
            c: c.map(|c| read(Role::C, c, None)).transpose()?,
            bias: bias.transpose()?,
            scales,
            d: read(Role::D, &request.d, formats.d)?,
            transpose: [operands.transpose_a, operands.transpose_b],
        };
        captured.take_axes();
        // Shapes do not depend on formats.
        let problem = captured.problem(captured.any(), None);
        let problem = problem.map_err(|error| CheckError::Shapes {
            names: captured.names(),
            reason: error.0,
        })?;
        let want = problem.d_shape();
        let have = captured.d.tensor(captured.d.first()).shape();
        if want != have {
            let (have, want) = (shape_text(have), shape_text(&want));
            let reason = format!("D is {have} here, but A*B is {want}");
            return Err(CheckError::array("d", &request.d, reason));
        }
        if let (Some(bias), Some(source)) = (&captured.bias, operands.get(Role::Bias)) {
            let values = Values::default().with_bias(bias.only_tensor(), &problem);
            values.map_err(|error| CheckError::array("bias", source, error.0))?;
        }
        Ok(captured)
    }

    /// Gives all arrays the axes that they have in a check.
    fn take_axes(&mut self) {
        let [a, b] = [&self.a, &self.b].map(|array| array.tensor(array.first()).shape());
        if let Some([(_, a), (_, b), (_, c)]) = matmul_axes([a, b], self.transpose) {
            self.a.take_axes(&a);
            self.b.take_axes(&b);
            self.d.take_axes(&c);
            if let Some(array) = &mut self.c {
                array.take_axes(&c);
            }
        }
    }

    fn names(&self) -> String {
        let c = self.c.as_ref();
        let all = [("A", Some(&self.a)), ("B", Some(&self.b)), ("C", c)];
        let names = all.into_iter().filter_map(|(name, readings)| {
            let label = readings?.source.label().display();
            Some(format!("{name} = {label}"))
        });
        names.collect::<Vec<_>>().join(", ")
    }

    /// Formats in which A, B and C can be read.
    pub fn any(&self) -> [Format; 3] {
        let c = self.c.as_ref().map_or(Format::Fp32, Readings::first);
        [self.a.first(), self.b.first(), c]
    }

    /// Whether rounding operands of these formats to nearest changes one of them.
    pub fn rounds(&self, [a, b]: [Format; 2]) -> bool {
        self.a.nearest.contains_key(&a) || self.b.nearest.contains_key(&b)
    }

    /// The problem in these formats of A, B and C, with scales of a unit.
    pub fn problem(
        &self,
        formats: [Format; 3],
        scale: Option<Scale>,
    ) -> Result<Problem<'_>, ShapeError> {
        self.problem_of(formats, false, scale)
    }

    /// The problem in these formats; with `nearest` operands are rounded to the nearest TF32 first.
    pub fn problem_of(
        &self,
        [a, b, c]: [Format; 3],
        nearest: bool,
        scale: Option<Scale>,
    ) -> Result<Problem<'_>, ShapeError> {
        let [transpose_a, transpose_b] = self.transpose;
        let problem = Problem::with_any_k(
            self.a.planes(a, transpose_a, nearest),
            self.b.planes(b, transpose_b, nearest),
            self.c
                .as_ref()
                .map(|readings| readings.planes(c, false, false)),
        )?;
        match scale.and_then(|scale| Some((self.planes_of_scales(scale.format)?, scale.block))) {
            Some(([a, b], block)) => problem.with_scales(a, b, block),
            None => Ok(problem),
        }
    }

    fn planes_of_scales(&self, format: Format) -> Option<[Planes<'_>; 2]> {
        let [a, b] = self.scales.as_ref()?;
        let [transpose_a, transpose_b] = self.transpose;
        Some([
            a.planes(format, transpose_a, false),
            b.planes(format, transpose_b, false),
        ])
    }

    /// Whether a unit's scales can be these.
    pub fn has_scales(&self, scale: Option<Scale>) -> bool {
        match (&self.scales, scale) {
            (None, None) => true,
            (Some([a, b]), Some(scale)) => {
                let readable = a.has(scale.format) && b.has(scale.format);
                readable && self.problem(self.any(), Some(scale)).is_ok()
            }
            _ => false,
        }
    }

    /// Scales in f32, which are a kernel's.
    pub fn f32_scales(&self) -> Option<[Planes<'_>; 2]> {
        let scales = self.scales.as_ref()?;
        let readable = scales.iter().all(|scales| scales.has(Format::Fp32));
        readable.then(|| self.planes_of_scales(Format::Fp32))?
    }

    pub fn all(&self) -> impl Iterator<Item = &Readings> {
        let scales = self.scales.iter().flatten();
        let all = [&self.a, &self.b, &self.d].into_iter();
        all.chain(&self.c).chain(&self.bias).chain(scales)
    }
}
