//! Operands from files to a problem: shared by every command that replays.

use anyhow::{Context, Result, bail};

use super::args::{OperandArgs, Tf32Input};
use crate::emu::{Arithmetic, Problem};
use crate::io::npy::NpyFile;
use crate::io::{file_sha256, payload_sha256};
use crate::num::Format;
use crate::report::{Input, LowBits, Product};
use crate::tensor::{Planes, Tensor};

/// A file and the tensor read from it.
pub struct Operand {
    pub file: NpyFile,
    pub tensor: Tensor,
    low_bits: Option<LowBits>,
}

impl Operand {
    pub fn read(file: NpyFile, format: Format) -> Result<Operand> {
        let tensor = file.tensor(format)?;
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
            path: self.file.path().display().to_string(),
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

    fn treat_tf32(mut self, how: Tf32Input) -> Result<Operand> {
        let format = self.tensor.format();
        if format.ignored_bits() == 0 {
            return Ok(self);
        }
        let elements = self.tensor.count_ignored_bits();
        if how == Tf32Input::Exact
            && let Some(first) = self.tensor.first_ignored_bits()
        {
            bail!(
                "{}: {elements} of {} elements have bits that {} lacks, the first at {:?} \
                 (0x{:08x}); --tf32-input exact refuses them",
                self.file.path().display(),
                self.tensor.len(),
                format.name().to_uppercase(),
                first.index,
                first.raw
            );
        }
        self.low_bits = Some(LowBits {
            elements,
            treatment: how.name(),
        });
        if how == Tf32Input::Nearest {
            self.tensor = self.tensor.rounding_tf32();
        }
        Ok(self)
    }
}

/// A, B and perhaps C.
pub struct Operands<'a> {
    args: &'a OperandArgs,
    pub a: Operand,
    pub b: Operand,
    pub c: Option<Operand>,
}

impl<'a> Operands<'a> {
    /// Opens and checks the files: formats first, then shapes, so that a message names the first
    /// thing a person would mend.
    pub fn read(args: &'a OperandArgs, arithmetic: &Arithmetic) -> Result<Operands<'a>> {
        let a = NpyFile::open(&args.a)?;
        let b = NpyFile::open(&args.b)?;
        let c = args.c.as_deref().map(NpyFile::open).transpose()?;
        let operands = Operands {
            args,
            a: Operand::read(a, arithmetic.a)?.treat_tf32(args.tf32_input)?,
            b: Operand::read(b, arithmetic.b)?.treat_tf32(args.tf32_input)?,
            c: c.map(|c| Operand::read(c, arithmetic.accumulator))
                .transpose()?,
        };
        operands.problem()?;
        Ok(operands)
    }

    pub fn problem(&self) -> Result<Problem<'_>> {
        Problem::new(
            self.a.planes(self.args.transpose_a),
            self.b.planes(self.args.transpose_b),
            self.c.as_ref().map(|c| c.planes(false)),
        )
        .with_context(|| {
            let turned = |turned: bool| if turned { " (transposed)" } else { "" };
            let mut names = format!(
                "A = {}{}, B = {}{}",
                self.args.a.display(),
                turned(self.args.transpose_a),
                self.args.b.display(),
                turned(self.args.transpose_b)
            );
            if let Some(c) = &self.args.c {
                names += &format!(", C = {}", c.display());
            }
            names
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
        [&self.a, &self.b].into_iter().chain(&self.c)
    }
}
