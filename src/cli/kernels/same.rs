//! `tcverify kernels same`: whether two texts are one order.

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::open::OpenArgs;
use super::{Ending, in_options, json_line, parse_shape, show};
use crate::emu::Catalogue;
use crate::emu::schedule::WithoutC;
use crate::kernel::{self, KernelError, Plan, Shape};

/// Tell whether two texts describe the same bits of a product: exit code 0 if they do, 1 if nothing here shows it
#[derive(Args)]
pub struct Same {
    /// As for 'kernels explain'
    #[arg(value_name = "TEXT")]
    one: String,

    #[arg(value_name = "OTHER")]
    other: String,

    /// Rows of D, columns of D and k, row-major; a log line says it by itself
    #[arg(long, value_name = "MxNxK", value_parser = parse_shape)]
    shape: Option<Shape>,

    #[command(flatten)]
    open: OpenArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Same {
    pub fn run(self) -> Result<Ending> {
        let options = self.open.options()?;
        let readings = [kernel::read(&self.one)?, kernel::read(&self.other)?];
        let said = readings.iter().find_map(|reading| reading.product);
        let Some(shape) = self.shape.or(said) else {
            bail!("no text says which product it is about; give --shape MxNxK");
        };
        let [one, other] = readings.map(|reading| reading.plan(&shape, &options));
        let plans = [one.map_err(in_options)?, other.map_err(in_options)?];
        let differing = differing(&plans, self.open.gpu())?;
        let same = differing.is_empty();
        show::print(|out| match self.json {
            true => json_line(out, &json!({ "same_bits": same, "differing": differing })),
            false if same => writeln!(
                out,
                "same bits of a product of {shape}, with alpha 1 and without C"
            ),
            false => writeln!(out, "not shown to be the same: {}", differing.join("; ")),
        })?;
        Ok(match same {
            true => Ending::Done,
            false => Ending::Different,
        })
    }
}

/// In what two plans differ, as far as models tell it.
fn differing(plans: &[Plan; 2], gpu: Option<&str>) -> Result<Vec<String>> {
    let mut all = Vec::new();
    let [one, other] = plans;
    let format = |plan: &Plan| {
        let of = plan.settings.result.as_ref();
        of.map_or("any".into(), |said| said.value.to_string())
    };
    let operands = |plan: &Plan| plan.settings.operands.as_ref().map(|said| said.value);
    if operands(one) != operands(other) {
        all.push("the operands' formats".to_owned());
    }
    if format(one) != format(other) {
        all.push(format!("D's format ({}, {})", format(one), format(other)));
    }
    let finished = |plan: &Plan| {
        let mut spec = plan.spec()?;
        // A tensor core's sum that starts from +0 is never -0, so adding +0 to it changes nothing.
        let of_a_matrix = |name| ["mma", "wgmma", "tcgen05"].contains(&name);
        if plan.model().instruction.is_some_and(of_a_matrix) {
            spec.epilogue.without_c = WithoutC::default();
        }
        Ok::<_, KernelError>((spec.epilogue, spec.addend, spec.scales))
    };
    match (finished(one), finished(other)) {
        (Ok(one), Ok(other)) if one == other => {}
        (Ok(_), Ok(_)) => all.push("what is done to the finished sum".into()),
        (Err(error), _) | (_, Err(error)) => all.push(error.to_string()),
    }
    let said = |plan: &Plan| {
        let said = plan.settings.epilogue.as_ref();
        said.map_or("NONE".to_owned(), |said| {
            said.value.replace("DEFAULT", "NONE")
        })
    };
    if said(one) != said(other) {
        all.push(format!("the epilogue ({}, {})", said(one), said(other)));
    }
    let names = [one, other].map(|plan| plan.model().instruction.unwrap_or("any"));
    if names[0] != names[1] {
        let model = |plan: &Plan, name: &str| {
            let architecture = Catalogue::builtin().find(gpu?).ok()?;
            let choice = architecture
                .select(Some(name), operands(plan)?, None)
                .ok()?;
            Some(choice.arithmetic.sha256())
        };
        let [a, b] = [model(one, names[0]), model(other, names[1])];
        if a.is_none() || a != b {
            let hint = if gpu.is_none() {
                "; --arch tells whether they compute alike there"
            } else {
                ""
            };
            all.push(format!(
                "the instruction ({}, {}{hint})",
                names[0], names[1]
            ));
        }
    }
    if !one.is_one_sum_with(other)? {
        all.push("the order of the sums, or what they are rounded to on the way".into());
    }
    Ok(all)
}
