//! `tcverify generate`: writes operands that a seed determines.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::show;
use super::values::{any_format, named};
use crate::generate::Spec;
use crate::io::Generated as _;
use crate::io::npy::write_npy;
use crate::io::{Output, payload_sha256};
use crate::memory::Memory;
use crate::num::Format;
use crate::role::Role;

/// Write an operand that a seed determines
///
/// Whoever knows seed, class and shape can make the same operand, so that a big product needs no files:
/// commands that read a product take generate:SEED:CLASS:SHAPE in place of its operands.
/// docs/generator.md specifies the generator, and what torch draws on a GPU (torch-cuda-randn and others).
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify generate --dtype bf16 --role a generate:7:normal:4096x4096 -o a.npy
  tcverify check --arch h100 --dtype bf16 --d-digest 9f86d081... \\
      generate:7:normal:4096x4096 generate:7:normal:4096x4096

  What torch drew on an H100 (132 SMs): manual_seed(420), randn(31, 14336) to BF16:
    tcverify generate --dtype bf16 --role a generate:torch-cuda-randn:420:0:132:31x14336 -o x.npy

Classes: normal (eight binades below 2), wide (all exponents), subnormal, special (zeros, infinities
and NaNs among the rest), cancel (products that cancel in pairs), toggle (one bit of the fraction at
a time), carry (fractions of ones), align (every distance of exponents), alternate (bits in turn), stagger (as cancel, from k = 1 on).")]
pub struct Generate {
    /// generate:SEED:CLASS:SHAPE, such as generate:7:normal:4096x4096
    #[arg(value_name = "SPEC", value_parser = Spec::read)]
    spec: Spec,

    /// Format of the numbers
    #[arg(long, value_name = "FORMAT", ignore_case = true, value_parser = any_format())]
    dtype: Format,

    /// Role of the operand; each role has different numbers
    #[arg(long, value_name = "WHICH", value_parser = named(&Role::GENERATED, |role| role.field().replace('_', "-")))]
    role: Role,

    /// Where to write it; "-" is standard output
    #[arg(long, short, value_name = "X.npy")]
    output: PathBuf,

    /// Do not print the digest
    #[arg(long, short)]
    quiet: bool,
}

impl Generate {
    pub fn run(self) -> Result<()> {
        super::args::is_npy(&self.output)?;
        self.spec.takes(self.dtype).map_err(anyhow::Error::msg)?;
        let output = Output::prepare(&self.output)?;
        let tensor = self
            .spec
            .tensor(self.dtype, self.role, &Memory::default())?;
        output.commit(|out| write_npy(&tensor, out))?;
        show::written(&self.output, payload_sha256(&tensor), self.quiet)
    }
}
