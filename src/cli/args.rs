//! Arguments that several commands share.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::model_file;
use super::schedule::Chosen;
use crate::emu::{Catalogue, Choice, Engine, Platform, Wanted, WantedScale};
use crate::num::Format;

/// Which arithmetic.
#[derive(Args, Clone)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// Architecture, compute capability or GPU: hopper, sm_90, h100, cdna3, mi300x ...
    #[arg(long, value_name = "NAME", required_unless_present = "model")]
    pub arch: Option<String>,

    /// Architecture file, such as 'tcverify infer' writes or you do, in place of the catalogue
    #[arg(long, value_name = "FILE.json", conflicts_with = "arch")]
    pub model: Option<PathBuf>,

    /// Format of A and B
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    pub dtype: Format,

    /// Format of B, where it differs from A's
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = operand_format())]
    pub dtype_b: Option<Format>,

    /// Instruction: mma, wgmma, tcgen05, mfma ...; by default the architecture's own for the operands
    #[arg(long, value_name = "NAME")]
    pub instruction: Option<String>,

    /// Format the instruction accumulates in and returns: f32 (default), f16, f64 for FP64, s32 for
    /// integers
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = accumulator_format())]
    pub acc: Option<Format>,

    /// Format of C, where it is another than D's (gpgpu-sim; a kernel's epilogue) and the file cannot
    /// say it
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_float())]
    pub c_dtype: Option<Format>,

    /// Format of the scales of --scale-a and --scale-b: ue8m0 or ue4m3
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = scale_format())]
    pub scale_dtype: Option<Format>,

    /// How many consecutive k share a scale, where a unit has several: 16 or 32
    #[arg(long, value_name = "K")]
    pub scale_block: Option<usize>,
}

impl ModelArgs {
    /// The rule, for operands with or without scales. A schedule may take scales and C for itself.
    pub fn choose(&self, scaled: bool, schedule: &Chosen) -> Result<Choice<'static>> {
        let scaled = scaled && !schedule.takes_scales();
        let architecture = match (&self.model, &self.arch) {
            (Some(path), _) => model_file::read(path)?,
            (None, Some(name)) => Catalogue::builtin().find(name)?,
            (None, None) => unreachable!("clap asks for one"),
        };
        if !scaled {
            let given = [
                ("--scale-dtype", self.scale_dtype.is_some()),
                ("--scale-block", self.scale_block.is_some()),
            ];
            if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
                bail!(
                    "{option} says of which kind scales are, but there are none; pass --scale-a and --scale-b"
                );
            }
        }
        let wanted = Wanted {
            instruction: self.instruction.as_deref(),
            operands: [self.dtype, self.dtype_b.unwrap_or(self.dtype)],
            accumulator: self.acc,
            addend: self.c_dtype.filter(|_| !schedule.addend_is_late()),
            scale: scaled.then_some(WantedScale {
                format: self.scale_dtype,
                block: self.scale_block,
            }),
        };
        Ok(architecture.choose(&wanted)?)
    }
}

/// Which files.
#[derive(Args, Clone)]
pub struct OperandArgs {
    /// A, MxK (or KxM with --transpose-a): x.npy, x.npz#name or x.safetensors#name; leading axes are
    /// a batch
    #[arg(value_name = "A.npy")]
    pub a: PathBuf,

    /// B, KxN (or NxK with --transpose-b), likewise
    #[arg(value_name = "B.npy")]
    pub b: PathBuf,

    /// C, of D's shape and the accumulator's format (or --c-dtype); without it C is +0
    #[arg(long, value_name = "C.npy", help_heading = "Operands")]
    pub c: Option<PathBuf>,

    /// Scales of A, Mx(K/block): one for every block of k of every row
    #[arg(
        long,
        value_name = "SA.npy",
        requires = "scale_b",
        help_heading = "Operands"
    )]
    pub scale_a: Option<PathBuf>,

    /// Scales of B, (K/block)xN; stored as B is, so Nx(K/block) with --transpose-b
    #[arg(
        long,
        value_name = "SB.npy",
        requires = "scale_a",
        help_heading = "Operands"
    )]
    pub scale_b: Option<PathBuf>,

    /// A is stored KxM
    #[arg(long, help_heading = "Operands")]
    pub transpose_a: bool,

    /// B is stored NxK, as weights often are
    #[arg(long, help_heading = "Operands")]
    pub transpose_b: bool,

    /// What to do with FP32 bits that TF32 and XF32 lack
    #[arg(
        long,
        value_name = "HOW",
        help_heading = "Operands",
        default_value = "truncate"
    )]
    pub tf32_input: Tf32Input,

    /// Who computes: "fast" (vector kernels, the exact engine where they do not apply) or "exact".
    /// Both give the same bits
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "fast",
        help_heading = "Operands"
    )]
    pub engine: EngineName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    Fast,
    Exact,
}

impl OperandArgs {
    pub fn scaled(&self) -> bool {
        self.scale_a.is_some()
    }

    pub fn engine(&self) -> Result<Engine> {
        Ok(match self.engine {
            EngineName::Exact => Engine::Exact,
            EngineName::Fast => Engine::Fast(Platform::detect().map_err(anyhow::Error::msg)?),
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tf32Input {
    /// Ignore the low 13 bits, as the hardware does, and say how many elements had any
    Truncate,
    /// Refuse operands that have any
    Exact,
    /// Round to nearest, ties away, first (what __float_to_tf32 and cvt.rna.tf32.f32 do)
    Nearest,
}

impl Tf32Input {
    pub fn name(self) -> &'static str {
        match self {
            Tf32Input::Truncate => "truncate",
            Tf32Input::Exact => "exact",
            Tf32Input::Nearest => "nearest",
        }
    }
}

const OPERANDS: [Format; 17] = [
    Format::Fp16,
    Format::Bf16,
    Format::Tf32,
    Format::Xf32,
    Format::E4m3,
    Format::E5m2,
    Format::E4m3fnuz,
    Format::E5m2fnuz,
    Format::E3m2,
    Format::E2m3,
    Format::E2m1,
    Format::Fp32,
    Format::Fp64,
    Format::Int8,
    Format::Uint8,
    Format::Int4,
    Format::Uint4,
];

/// A format given by name; synonyms are understood, the canonical names are listed.
fn format_of(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let names = formats
        .iter()
        .map(|f| PossibleValue::new(f.name()).aliases(f.aliases().iter().copied()));
    PossibleValuesParser::new(names).map(|name| Format::from_name(&name).expect("listed above"))
}

pub fn operand_format() -> impl TypedValueParser<Value = Format> {
    format_of(&OPERANDS)
}

pub fn accumulator_format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new([
        PossibleValue::new("f32").aliases(["fp32", "float32"]),
        PossibleValue::new("f16").aliases(["fp16", "float16", "half"]),
        PossibleValue::new("f64").aliases(["fp64", "float64"]),
        PossibleValue::new("s32").aliases(["i32", "int32"]),
    ])
    .map(|name| Format::from_name(&name).expect("listed above"))
}

fn scale_format() -> impl TypedValueParser<Value = Format> {
    format_of(&[Format::Ue8m0, Format::Ue4m3])
}

pub fn any_format() -> impl TypedValueParser<Value = Format> {
    format_of(&Format::ALL)
}

pub fn result_format() -> impl TypedValueParser<Value = Format> {
    format_of(&[
        Format::Fp32,
        Format::Fp16,
        Format::Bf16,
        Format::E4m3,
        Format::E5m2,
        Format::Fp64,
        Format::Int32,
    ])
}

/// A format of numbers that an epilogue reads.
pub fn any_float() -> impl TypedValueParser<Value = Format> {
    format_of(&[
        Format::Fp32,
        Format::Fp16,
        Format::Bf16,
        Format::E4m3,
        Format::E5m2,
    ])
}

/// The format that a rounded result may have: of an instruction's, or of a kernel's epilogue.
///
/// # Errors
/// If the accumulator is not rounded to it by any conversion.
pub fn check_conversion(accumulator: Format, result: Format, schedule: &Chosen) -> Result<()> {
    let (rounded, possible): (&[Format], _) = match (accumulator, schedule.is_plain()) {
        (Format::Fp32, true) => (
            &[Format::Fp16, Format::Bf16],
            "fp32, or fp16 and bf16 by one rounding (fp8 needs a schedule with an epilogue)",
        ),
        (Format::Fp32, false) => (
            &[Format::Fp16, Format::Bf16, Format::E4m3, Format::E5m2],
            "fp32, fp16, bf16, e4m3 and e5m2",
        ),
        (Format::Int32, false) => (
            &[
                Format::Fp32,
                Format::Fp16,
                Format::Bf16,
                Format::E4m3,
                Format::E5m2,
            ],
            "int32, fp32, fp16, bf16, e4m3 and e5m2",
        ),
        (other, _) => (&[], other.name()),
    };
    (result == accumulator || rounded.contains(&result))
        .then_some(())
        .with_context(|| {
            format!("with {accumulator} accumulation D can be {possible}; it is {result} here")
        })
}
