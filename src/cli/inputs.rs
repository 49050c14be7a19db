//! Operands from files to a problem: shared by every command that replays.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::args::{OperandArgs, Tf32Input, check_conversion};
use super::schedule::{Chosen, ScheduleArgs};
use crate::emu::schedule::Values;
use crate::emu::{Arithmetic, Problem, ShapeError, shape_text};
use crate::generate::{Role, Spec};
use crate::io::npy::Descr;
use crate::io::{Source, file_sha256, payload_sha256};
use crate::num::Format;
use crate::report::{Input, LowBits, Product};
use crate::tensor::{Planes, Tensor};

/// A file and the tensor read from it.
pub struct Operand {
    pub file: Source,
    pub tensor: Tensor,
    low_bits: Option<LowBits>,
}

impl Operand {
    pub fn read(file: Source, format: Format) -> Result<Operand> {
        Operand::rows(file, format, &None)
    }

    /// Only some rows, if any are given.
    fn rows(file: Source, format: Format, rows: &Rows) -> Result<Operand> {
        let tensor = file.rows(format, rows.clone())?;
        Ok(Operand {
            file,
            tensor,
            low_bits: None,
        })
    }

    /// The report's entry for this file; hashes it.
    pub fn describe(&self) -> Input {
        let header = self.file.header();
        let (file_sha256, payload_sha256) = rayon::join(
            || file_sha256(self.file.file()),
            || payload_sha256(&self.tensor),
        );
        Input {
            path: self.file.label().display().to_string(),
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

    pub fn confirm_unchanged(&self) -> Result<()> {
        self.file.file().confirm_unchanged()
    }

    /// `parts`: the kernel multiplies big and small parts of the operands, which together have all bits.
    fn treat_tf32(mut self, how: Tf32Input, parts: bool, rows: &Rows) -> Result<Operand> {
        let format = self.tensor.format();
        if format.ignored_bits() == 0 {
            return Ok(self);
        }
        if rows.is_some() {
            // Counted and judged when the plan was made.
            if how == Tf32Input::Nearest {
                self.tensor = self.tensor.rounding_tf32();
            }
            return Ok(self);
        }
        let elements = self.tensor.count_ignored_bits();
        if how == Tf32Input::Exact
            && let Some(first) = self.tensor.first_ignored_bits()
        {
            bail!(
                "{}: {elements} of {} elements have bits that {} lacks, the first at {:?} \
                 (0x{:08x}); --tf32-input exact refuses them",
                self.file.label().display(),
                self.tensor.len(),
                format.name().to_uppercase(),
                first.index,
                first.raw
            );
        }
        self.low_bits = Some(LowBits {
            elements,
            treatment: match parts {
                true => "parts".to_owned(),
                false => how.name().to_owned(),
            },
        });
        if how == Tf32Input::Nearest {
            self.tensor = self.tensor.rounding_tf32();
        }
        Ok(self)
    }
}

/// The rows of A, C and D that are looked at, counted on from matrix to matrix; all without.
pub type Rows = Option<Range<usize>>;

/// Opens a file, or makes the operand that `generate:...` stands for.
pub fn open(path: &Path, format: Format, role: Role) -> Result<Source> {
    let spec = path.to_str().and_then(Spec::parse).transpose();
    match spec.map_err(anyhow::Error::msg)? {
        None => Source::open(path),
        Some(spec) => Source::made(path, &spec.tensor(format, role)),
    }
}

/// A, B and perhaps C, scales and a bias.
pub struct Operands<'a> {
    args: &'a OperandArgs,
    schedule: &'a Chosen,
    pub a: Operand,
    pub b: Operand,
    pub c: Option<Operand>,
    /// Of A and of B: the instruction's, or the kernel's.
    pub scales: Option<[Operand; 2]>,
    pub bias: Option<Operand>,
    /// The k that share one of the instruction's scales.
    block: usize,
}

impl<'a> Operands<'a> {
    /// Opens and checks the files: formats first, then shapes, so that a message names the first
    /// thing a person would mend.
    pub fn read(
        args: &'a OperandArgs,
        arithmetic: &Arithmetic,
        more: &ScheduleArgs,
        c_dtype: Option<Format>,
        schedule: &'a Chosen,
    ) -> Result<Operands<'a>> {
        Operands::read_rows(args, arithmetic, more, c_dtype, schedule, &None)
    }

    /// The same; of A and C only some rows are looked at, and may be used.
    pub fn read_rows(
        args: &'a OperandArgs,
        arithmetic: &Arithmetic,
        more: &ScheduleArgs,
        c_dtype: Option<Format>,
        schedule: &'a Chosen,
        rows: &Rows,
    ) -> Result<Operands<'a>> {
        let ignored = [arithmetic.a, arithmetic.b].map(Format::ignored_bits);
        if args.tf32_input != Tf32Input::Truncate && ignored == [0, 0] {
            bail!(
                "--tf32-input {} is for TF32 and XF32 operands; these are {} and {}",
                args.tf32_input.name(),
                arithmetic.a,
                arithmetic.b
            );
        }
        let parts = schedule.spec().split_terms.is_some();
        if args.tf32_input != Tf32Input::Truncate && parts {
            bail!(
                "--tf32-input {}: schedule {} multiplies parts of FP32 operands that together have all \
                 their bits, so there are none to round or refuse",
                args.tf32_input.name(),
                schedule.schedule.name
            );
        }
        if let (Some(format), None, true) = (c_dtype, &args.c, schedule.addend_is_late()) {
            bail!("--c-dtype {format} says what C is, but there is none; pass --c");
        }
        let a = open(&args.a, arithmetic.a, Role::A)?;
        let b = open(&args.b, arithmetic.b, Role::B)?;
        let c = match &args.c {
            Some(path) if schedule.addend_is_late() => Some(read_float(
                path,
                c_dtype,
                "--c-dtype",
                arithmetic.addend(),
                rows,
            )?),
            Some(path) => {
                let format = arithmetic.addend();
                Some(Operand::rows(open(path, format, Role::C)?, format, rows)?)
            }
            None => None,
        };
        let bias = more.bias.as_deref();
        let bias =
            bias.map(|path| read_float(path, more.bias_dtype, "--bias-dtype", Format::Fp32, &None));
        let bias = bias.transpose()?;
        let scale = match schedule.takes_scales() {
            true => Some(Format::Fp32),
            false => arithmetic.scale.map(|scale| scale.format),
        };
        let scales = match (scale, args.scale_a.as_deref().zip(args.scale_b.as_deref())) {
            (Some(format), Some((a, b))) => {
                let read = |path, role| Operand::read(open(path, format, role)?, format);
                Some([read(a, Role::ScaleA)?, read(b, Role::ScaleB)?])
            }
            _ => None,
        };
        // Stored transposed, rows do not lie together.
        let a_rows = if args.transpose_a { &None } else { rows };
        let operands = Operands {
            args,
            schedule,
            scales,
            bias,
            c,
            block: arithmetic.scale.map_or(1, |scale| scale.block),
            a: Operand::rows(a, arithmetic.a, a_rows)?.treat_tf32(args.tf32_input, parts, rows)?,
            b: Operand::read(b, arithmetic.b)?.treat_tf32(args.tf32_input, parts, rows)?,
        };
        let k = operands.problem()?.k;
        if let Some(most) = arithmetic.longest_k()
            && k > most
        {
            bail!(
                "{}: K is {k}, but one instruction takes {most}, and its D, {}, is no C of the next, \
                 which is {}",
                args.a.display(),
                arithmetic.accumulator,
                arithmetic.addend()
            );
        }
        Ok(operands)
    }

    pub fn problem(&self) -> Result<Problem<'_>> {
        let args = self.args;
        // A schedule says what D is without products, or that it cannot be.
        let new = match self.schedule.spec().without_products {
            None => Problem::new,
            Some(_) => Problem::with_any_k,
        };
        let problem = new(
            self.a.planes(args.transpose_a),
            self.b.planes(args.transpose_b),
            self.c.as_ref().map(|c| c.planes(false)),
        );
        let problem = problem.and_then(|problem| match &self.scales {
            Some([a, b]) if !self.schedule.takes_scales() => problem.with_scales(
                a.planes(args.transpose_a),
                b.planes(args.transpose_b),
                self.block,
            ),
            _ => Ok(problem),
        });
        self.naming_files(problem)
    }

    /// The numbers that the schedule works with.
    pub fn values(&self, problem: &Problem) -> Result<Values> {
        let args = self.args;
        let mut values = Ok(self.schedule.factors());
        if let Some(bias) = &self.bias {
            values = values.and_then(|values| values.with_bias(&bias.tensor, problem));
        }
        if let (Some([a, b]), Some(scaling)) = (&self.scales, &self.schedule.spec().scales) {
            let scales = [a.planes(args.transpose_a), b.planes(args.transpose_b)];
            values = values.and_then(|values| values.with_scales(scaling.per, scales, problem));
        }
        self.naming_files(values)
    }

    /// An error about shapes, with the files it is about.
    fn naming_files<T>(&self, result: Result<T, ShapeError>) -> Result<T> {
        let args = self.args;
        let bias = self.bias.as_ref().map(|bias| bias.file.path().to_owned());
        result.with_context(|| {
            let turned = |turned: bool| if turned { " (transposed)" } else { "" };
            let names = [
                ("A", Some(&args.a), args.transpose_a),
                ("B", Some(&args.b), args.transpose_b),
                ("C", args.c.as_ref(), false),
                ("scales of A", args.scale_a.as_ref(), args.transpose_a),
                ("scales of B", args.scale_b.as_ref(), args.transpose_b),
                ("bias", bias.as_ref(), false),
            ];
            let names = names.iter().filter_map(|(name, path, transposed)| {
                let path = path.as_ref()?.display();
                Some(format!("{name} = {path}{}", turned(*transposed)))
            });
            names.collect::<Vec<_>>().join(", ")
        })
    }

    pub fn product(&self) -> Result<Product> {
        let problem = self.problem()?;
        Ok(Product {
            batch: problem.a.batch_shape().to_vec(),
            m: problem.m,
            n: problem.n,
            k: problem.k,
            transpose_a: self.args.transpose_a,
            transpose_b: self.args.transpose_b,
        })
    }

    pub fn all(&self) -> impl Iterator<Item = &Operand> {
        let scales = self.scales.iter().flatten();
        let all = [&self.a, &self.b].into_iter().chain(&self.c).chain(scales);
        all.chain(&self.bias)
    }
}

/// D from its file, with the format it has or is said to have.
pub fn read_d(
    path: &Path,
    format: Option<Format>,
    problem: &Problem,
    accumulator: Format,
    schedule: &Chosen,
) -> Result<Operand> {
    read_d_rows(path, format, problem, accumulator, schedule, &None)
}

/// The same; only some rows are looked at, and may be used.
pub fn read_d_rows(
    path: &Path,
    format: Option<Format>,
    problem: &Problem,
    accumulator: Format,
    schedule: &Chosen,
    rows: &Rows,
) -> Result<Operand> {
    let file = Source::open(path)?;
    let format = match format {
        Some(format) => format,
        None => d_format(&file.header().descr, accumulator)
            .with_context(|| path.display().to_string())?,
    };
    check_conversion(accumulator, format, schedule).with_context(|| path.display().to_string())?;
    let (want, have) = (problem.d_shape(), &file.header().shape);
    ensure!(
        want == *have,
        "{}: D is {} here, but A*B is {}",
        path.display(),
        shape_text(have),
        shape_text(&want)
    );
    Operand::rows(file, format, rows)
}

/// Numbers that an epilogue reads as f32: of the format the file names, or that is said.
fn read_float(
    path: &Path,
    said: Option<Format>,
    option: &str,
    generated: Format,
    rows: &Rows,
) -> Result<Operand> {
    let known = |file: &Source| -> Result<Format> {
        let descr = &file.header().descr;
        Ok(match (said, descr.own_format()) {
            (Some(said), _) => said,
            // FP64 holding values of FP32 is taken if every element is one.
            (None, Some(Format::Fp32 | Format::Fp64)) => Format::Fp32,
            (None, Some(own)) => own,
            (None, None) if descr.width() == 4 => Format::Fp32,
            (None, None) => bail!(
                "{}: its descr {:?} does not say what its codes are; pass {option}",
                path.display(),
                descr.text()
            ),
        })
    };
    let file = open(path, said.unwrap_or(generated), Role::C)?;
    let format = known(&file)?;
    Operand::rows(file, format, rows)
}

/// The format of a D whose file says what it can: floats name theirs, `V2` is bfloat16, and codes
/// as wide as the accumulator are its.
fn d_format(descr: &Descr, accumulator: Format) -> Result<Format> {
    match descr.own_format() {
        // FP32 holding values of an FP16 accumulator is taken if every element is one.
        Some(Format::Fp32 | Format::Fp64) => Ok(accumulator),
        Some(own) => Ok(own),
        None if accumulator.is_integer() && descr.width() == accumulator.bytes() => Ok(accumulator),
        None if descr.width() == accumulator.bytes() => Ok(accumulator),
        None if descr.width() == 2 && accumulator == Format::Fp32 => bail!(
            "its descr {:?} does not say whether it holds fp16 or bf16; pass --d-dtype",
            descr.text()
        ),
        None => bail!(
            "its elements are {} bytes wide (descr {:?}); results are {accumulator}",
            descr.width(),
            descr.text()
        ),
    }
}
