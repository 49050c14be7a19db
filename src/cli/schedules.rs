//! `tcverify schedules`: which schedules are known, and with what evidence.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::show;
use super::show::write_pretty;
use crate::check::schedule::read;
use crate::emu::schedule::{Schedule, presets};
use crate::report::Scheduled;

/// List the schedules: how kernels chain an instruction over K
///
/// A name shows one schedule, with the evidence and source of each constant.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify schedules
  tcverify schedules cublas-workspace
  tcverify schedules --raw cutlass-splitk-serial > mine.json   # a start for --schedule-file
  tcverify schedules --file mine.json                          # check your own file")]
pub struct Schedules {
    /// One schedule
    #[arg(value_name = "NAME", value_parser = super::values::schedule_names(), hide_possible_values = true)]
    name: Option<String>,

    /// Your own schedule
    #[arg(long, value_name = "FILE.json", conflicts_with = "name")]
    file: Option<PathBuf>,

    /// Print the schedule's file
    #[arg(long, requires = "name")]
    raw: bool,

    /// Print JSON
    #[arg(long, conflicts_with = "raw")]
    json: bool,
}

impl Schedules {
    pub fn run(self) -> Result<()> {
        let own = self.file.as_deref().map(read).transpose()?;
        let chosen: Vec<&Schedule> = match (&own, &self.name) {
            (Some(own), _) => vec![own],
            (None, Some(name)) => vec![Schedule::preset(name)?],
            (None, None) => presets().iter().collect(),
        };
        let one = own.is_some() || self.name.is_some();
        if self.raw {
            show::print(|out| write_pretty(chosen[0], out))?;
            return Ok(());
        }
        let rows = chosen.iter().map(|schedule| Scheduled::plainly(schedule));
        show::either(self.json, &rows.collect::<Vec<_>>(), |out| {
            for schedule in &chosen {
                if one {
                    describe(schedule, out)?;
                } else {
                    writeln!(
                        out,
                        "{:<25} {:<11} {}",
                        schedule.name, schedule.evidence, schedule.title
                    )?;
                    writeln!(out, "{:<25} {:<11} {}", "", "", schedule.spec.summary())?;
                }
            }
            Ok(())
        })
    }
}

fn describe(schedule: &Schedule, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    writeln!(out, "{}: {}\n", schedule.name, schedule.title)?;
    writeln!(out, "  {}", schedule.spec.summary())?;
    writeln!(out, "  sha256 {}\n", schedule.spec.sha256())?;
    for constant in schedule.spec.constants() {
        let known = schedule
            .known_by(&constant.name)
            .expect("checked when it was read");
        writeln!(
            out,
            "  {:<18} {:<12} {:<11} {}",
            constant.name,
            constant.value.to_string(),
            known.evidence,
            known.source.join(", ")
        )?;
        if let Some(note) = &known.note {
            writeln!(out, "  {:<18} {:<12} {:<11} {note}", "", "", "")?;
        }
    }
    writeln!(out)?;
    for note in &schedule.notes {
        writeln!(out, "  {note}")?;
    }
    for (key, source) in &schedule.sources {
        writeln!(out, "  [{key}] {source}")?;
    }
    Ok(())
}
