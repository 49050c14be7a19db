//! `tcverify engines`: who can compute on this machine.

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::show;
use crate::emu::{Arithmetic, Catalogue, Rule};
use crate::gpu::{self, DeviceInfo, Gpu};
use crate::io::printable;
use crate::kernels::Platform;

/// List who can compute on this machine: the exact engine, vector kernels, GPUs
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify engines
  tcverify check --engine gpu ...        # the first GPU of the list
  tcverify check --engine gpu:1 ...      # the second one
  tcverify check --engine auto ...       # a GPU if it pays")]
pub struct Engines {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    /// Sets of vector instructions, the fastest last; `--engine fast` takes that one.
    kernels: Vec<&'static str>,
    /// Null if this program was built without GPUs.
    gpus: Option<Vec<FoundGpu>>,
    /// The engine that `auto` takes for large products.
    auto: String,
    /// Rules of the catalogue, by operand formats, that have a shader, and all of them.
    rules_with_shader: usize,
    rules: usize,
}

#[derive(Serialize)]
struct FoundGpu {
    engine: String,
    adapter: String,
    backend: String,
    driver: String,
}

impl Engines {
    pub fn run(self) -> Result<()> {
        let found = Found::here();
        show::either(self.json, &found, |out| {
            writeln!(out, "exact    the specification, in integers")?;
            writeln!(out, "fast     vector kernels: {}", found.kernels.join(", "))?;
            match &found.gpus {
                None => writeln!(out, "gpu      {}", Gpu::MISSING)?,
                Some(gpus) if gpus.is_empty() => writeln!(out, "gpu      {}", Gpu::NONE)?,
                Some(gpus) => {
                    for gpu in gpus {
                        let [adapter, backend, driver] =
                            [&gpu.adapter, &gpu.backend, &gpu.driver].map(|text| printable(text));
                        writeln!(out, "{:<8} {adapter} ({backend}, {driver})", gpu.engine)?;
                    }
                }
            }
            writeln!(out, "auto     {}, for large products", found.auto)?;
            writeln!(
                out,
                "\nA GPU has shaders for {} of {} rules of the catalogue; the CPU computes the others (docs/gpu.md).",
                found.rules_with_shader, found.rules
            )
        })
    }
}

impl Found {
    fn here() -> Found {
        let rules = Catalogue::builtin().rules().map(|(_, _, rule)| rule);
        let with_shader = |rule: &Rule| -> Vec<bool> {
            let operands = rule.operands.iter();
            let arithmetic = operands.map(|&operands| Arithmetic::of(rule, operands));
            arithmetic.map(|one| gpu::shader(&one).is_some()).collect()
        };
        let with_shader: Vec<bool> = rules.flat_map(with_shader).collect();
        let platforms = Platform::available();
        let gpus = Gpu::list();
        let preferred = gpus.as_deref().and_then(gpu::preferred);
        Found {
            auto: preferred.map_or_else(|| "fast".to_owned(), |number| format!("gpu:{number}")),
            kernels: platforms.iter().map(|platform| platform.name()).collect(),
            gpus: gpus.map(|gpus| gpus.into_iter().enumerate().map(FoundGpu::of).collect()),
            rules_with_shader: with_shader.iter().filter(|has| **has).count(),
            rules: with_shader.len(),
        }
    }
}

impl FoundGpu {
    fn of((number, info): (usize, DeviceInfo)) -> FoundGpu {
        FoundGpu {
            engine: format!("gpu:{number}"),
            adapter: info.name,
            backend: info.backend,
            driver: info.driver,
        }
    }
}
