//! All files of a search, whose shapes fit.

use std::collections::BTreeMap;

use super::readings::{Readings, opened};
use super::request::Identify;
use super::weights::{OPERANDS, WeightArrays};
use crate::check::{CheckError, Source, Tf32Input, float_format, matmul_axes};
use crate::emu::schedule::Values;
use crate::emu::{Problem, Scale, ShapeError, shape_text};
use crate::io;
use crate::num::Format;
use crate::role::Role;
use crate::tensor::Planes;

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

/// B as weights become it, in the formats that A and the scales have; A keeps those alone.
fn dequantised(
    request: &Identify,
    a: &mut Readings,
    memory: &mut dyn FnMut(&str) -> Option<io::Source>,
) -> Result<(Readings, WeightArrays), CheckError> {
    let operands = &request.operands;
    let kind = operands.weights.expect("the caller has seen them");
    let [transpose_a, transpose_b] = [operands.transpose_a, operands.transpose_b];
    let source = operands.get(Role::ScaleB);
    let source = source.ok_or_else(|| CheckError::needs("weights", "scale_b"))?;
    let scales = Readings::of((Role::ScaleB, source), None, operands.tf32_input, memory)?;
    let shape = &a.source.header().shape;
    let k = if transpose_a {
        shape.first()
    } else {
        shape.last()
    };
    let k = k.copied().unwrap_or_default();
    let mut codes = |role| {
        let source = operands.get(role)?;
        let uint8 = Some(Format::Uint8);
        let file = opened((role, source), uint8, memory);
        let read = file.and_then(|file| {
            let header = file.header();
            if header.descr.width() == 1 {
                return Readings::of_file((role, source), file, uint8, operands.tf32_input);
            }
            let reason =
                kind.unpacking(&header.shape, transpose_b, k, &scales.source.header().shape);
            Err(CheckError::array(role.field(), source, reason))
        });
        Some(read)
    };
    let of_b = codes(Role::B).expect("every product has B")?;
    let zeros = codes(Role::ZeroB).transpose()?;
    let mut weights = WeightArrays::new(kind, [of_b, scales], zeros, transpose_b);
    let wanted = OPERANDS.into_iter().filter(|&format| a.has(format));
    let tensors = weights.dequantise(wanted)?;
    a.tensors.retain(|format, _| tensors.contains_key(format));
    let b = Readings {
        role: Role::B,
        source: weights.codes.source.clone(),
        tensors,
        nearest: BTreeMap::new(),
    };
    Ok((b, weights))
}

/// All files of a search; their shapes fit.
pub struct Captured {
    pub a: Readings,
    pub b: Readings,
    pub c: Option<Readings>,
    pub bias: Option<Readings>,
    pub scales: Option<[Readings; 2]>,
    /// What B is made of, if it is held as weights.
    pub weights: Option<WeightArrays>,
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
        let mut a = read(Role::A, &sources[&Role::A], formats.a)?;
        let (b, weights) = match operands.weights {
            None => (
                read(Role::B, &sources[&Role::B], formats.b.or(formats.a))?,
                None,
            ),
            Some(_) => {
                let (b, weights) = dequantised(request, &mut a, memory)?;
                (b, Some(weights))
            }
        };
        let mut read = |role, source, wanted| {
            Readings::of((role, source), wanted, operands.tf32_input, memory)
        };
        let mut captured = Captured {
            a,
            b,
            c: c.map(|c| read(Role::C, c, None)).transpose()?,
            bias: bias.transpose()?,
            scales,
            d: read(Role::D, &request.d, formats.d)?,
            // Weights are put together as they are multiplied.
            transpose: [
                operands.transpose_a,
                operands.transpose_b && weights.is_none(),
            ],
            weights,
        };
        captured.take_axes();
        if captured.weights.is_some() && captured.a.axes() != 2 {
            let reason = "kernels of weights multiply all rows at once: give A and D two axes";
            return Err(CheckError::array("a", &sources[&Role::A], reason));
        }
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

    /// The problem with weights that nothing scaled, for kernels that scale afterwards.
    pub fn unscaled_problem(&self, [a, b, c]: [Format; 3]) -> Option<Problem<'_>> {
        let weights = self.weights.as_ref()?.unscaled(b);
        let a = self.a.planes(a, self.transpose[0], false);
        let c = (self.c.as_ref()).map(|readings| readings.planes(c, false, false));
        Problem::with_any_k(a, weights.planes(), c).ok()
    }

    pub fn all(&self) -> impl Iterator<Item = &Readings> {
        let scales = self.scales.iter().flatten();
        let weights = self.weights.iter().flat_map(WeightArrays::all);
        let all = [&self.a, &self.b, &self.d].into_iter();
        all.chain(&self.c)
            .chain(&self.bias)
            .chain(scales)
            .chain(weights)
    }
}
