//! `tcverify kernels same`: whether two texts mean the same order.

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::open::OpenArgs;
use super::{Ending, in_options, json_line, parse_shape, show};
use crate::kernel::{self, Shape};

/// Tell whether two texts give the same bits of a product: exit code 0 if they do, 1 if that is not shown
#[derive(Args)]
pub struct Same {
    /// As for 'kernels explain'
    #[arg(value_name = "TEXT")]
    one: String,

    #[arg(value_name = "OTHER")]
    other: String,

    /// Rows of D, columns of D and K, row-major; a log line states it
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
            bail!("neither text states the product's shape; give --shape MxNxK");
        };
        let [one, other] = readings.map(|reading| reading.plan(&shape, &options));
        let plans = [one.map_err(in_options)?, other.map_err(in_options)?];
        let differing = kernel::differing(&plans, self.open.gpu())?;
        let same = differing.is_empty();
        show::print(|out| match self.json {
            true => json_line(out, &json!({ "same_bits": same, "differing": differing })),
            false if same => writeln!(
                out,
                "same bits for a product of {shape}, with alpha 1 and without C"
            ),
            false => writeln!(out, "not shown to be the same: {}", differing.join("; ")),
        })?;
        Ok(match same {
            true => Ending::Done,
            false => Ending::Different,
        })
    }
}
