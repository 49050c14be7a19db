//! `tcverify schedules`: which schedules are known, and with what evidence.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::show;
use super::show::write_pretty;
use crate::check::schedule::read;
use crate::emu::KnownBy;
use crate::emu::schedule::{Schedule, presets};
use crate::emu::step::Constant;
use crate::forms::InWords as _;
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
        let file = own.as_ref().map(|(_, file)| file.clone());
        // Its own words, or what they are worth.
        let own = own.map(|(own, _)| if self.raw { own } else { own.claimed() });
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
        let plainly = |schedule: &&Schedule| Scheduled::plainly(schedule).from_file(file.as_ref());
        let rows = chosen.iter().map(plainly);
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
                    writeln!(out, "{:<25} {:<11} {}", "", "", schedule.spec.in_words())?;
                }
            }
            Ok(())
        })
    }
}

fn describe(schedule: &Schedule, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}\n", schedule.name, schedule.title)?;
    writeln!(out, "  {}", schedule.spec.in_words())?;
    writeln!(out, "  sha256 {}\n", schedule.spec.sha256())?;
    let known = |constant: &str| schedule.known_by(constant);
    constants(&schedule.spec.constants(), known, [18, 12], out)?;
    notes(&schedule.notes, &schedule.sources, out)
}

/// Constants with their evidence and sources; the widths are those of names and values.
pub fn constants<'a>(
    constants: &[Constant],
    known_by: impl Fn(&str) -> Option<&'a KnownBy>,
    [a, b]: [usize; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    for Constant { name, value } in constants {
        let known = known_by(name).expect("checked when it was read");
        let (value, evidence) = (value.to_string(), known.evidence);
        let source = known.source.join(", ");
        writeln!(out, "  {name:<a$} {value:<b$} {evidence:<11} {source}")?;
        if let Some(note) = &known.note {
            writeln!(out, "  {:<a$} {:<b$} {:<11} {note}", "", "", "")?;
        }
    }
    Ok(())
}

/// Notes, and what the keys of sources stand for.
pub fn notes(
    notes: &[String],
    sources: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out)?;
    for note in notes {
        writeln!(out, "  {note}")?;
    }
    for (key, source) in sources {
        writeln!(out, "  [{key}] {source}")?;
    }
    Ok(())
}
