//! `tcverify man`: manual pages.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use roff::{Roff, bold, roman};

use super::{Cli, groups, operation};
use crate::io::Output;

/// Write manual pages: tcverify.1 and one per command
///
/// The pages come from the same definitions as --help. To read one: tcverify man --output man1,
/// then man -l man1/tcverify-check.1
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify man --output man1 && man -l man1/tcverify-check.1")]
pub struct ManPages {
    /// Directory to write them to, created if missing; existing pages are replaced
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

impl ManPages {
    pub fn run(self) -> Result<()> {
        let mut program = Cli::command().disable_help_subcommand(true);
        program.build();
        let mut pages = Vec::new();
        render(&program, &[], &mut pages)?;
        for command in operation::commands() {
            render(&command, &[], &mut pages)?;
        }
        let failed = || format!("{}: cannot be written", self.output.display());
        std::fs::create_dir_all(&self.output).with_context(failed)?;
        for (name, page) in pages {
            let page_output = Output::prepare(&self.output.join(name))?;
            page_output.commit(|out| out.write_all(&page))?;
        }
        Ok(())
    }
}

/// Renders a command's page and those of its subcommands; `above` are the helps of its parents.
fn render(command: &Command, above: &[String], pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let man = Man::new(command.clone());
    let man = man.source(concat!("tcverify ", env!("CARGO_PKG_VERSION")));
    let own = command.get_after_long_help().or(command.get_after_help());
    let own = own.map_or(String::new(), ToString::to_string);
    let mut helps = above.to_vec();
    helps.push(own);
    let mut page = Vec::new();
    sections(command, &man, &helps, &mut page).context("a page cannot be rendered")?;
    pages.push((man.get_filename(), page));
    let below = command.get_subcommands().filter(|c| !c.is_hide_set());
    for command in below.filter(|c| c.get_name() != "help") {
        render(command, &helps, pages)?;
    }
    Ok(())
}

/// One page; the last of the helps is the command's own.
fn sections(
    command: &Command,
    man: &Man,
    helps: &[String],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    man.render_title(out)?;
    man.render_name_section(out)?;
    synopsis(command, out)?;
    man.render_description_section(out)?;
    if command
        .get_arguments()
        .any(|argument| !argument.is_hide_set())
    {
        man.render_options_section(out)?;
    }
    if command.get_name() == "tcverify" {
        groups_section(out)?;
    } else if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let name = command.get_bin_name().unwrap_or("tcverify");
    let mut roff = Roff::new();
    let examples = examples(name, helps);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in &examples {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.control("SH", ["EXIT STATUS"]);
    roff.text([roman(exit_status(helps))]);
    roff.to_writer(out)?;
    man.render_version_section(out)
}

/// The usage of help, which names no option that can be left out.
fn synopsis(command: &Command, out: &mut dyn Write) -> std::io::Result<()> {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]).control("nf", []);
    for line in usage.lines() {
        roff.text([roman(line.trim())]);
    }
    roff.control("fi", []);
    roff.to_writer(out)
}

/// The commands of the program in groups, as in its help.
fn groups_section(out: &mut dyn Write) -> std::io::Result<()> {
    let mut roff = Roff::new();
    roff.control("SH", ["COMMANDS"]);
    for (title, commands) in groups::GROUPS {
        roff.control("SS", [title]);
        for (name, question) in commands {
            roff.control("TP", []);
            roff.text([bold(format!("tcverify-{name}(1)"))]);
            roff.text([roman(*question)]);
        }
    }
    roff.to_writer(out)
}

/// The command's own examples, or those of its parents that call it.
pub(super) fn examples(name: &str, helps: &[String]) -> Vec<String> {
    let (own, above) = helps.split_last().expect("its own at least");
    let of = |help: &str| -> Vec<String> {
        let (before, _) = help.split_once(EXIT).unwrap_or((help, ""));
        let after = before.split_once("Examples:\n").map(|(_, after)| after);
        let lines = after.unwrap_or_default().trim_end().lines();
        lines
            .map(|line| line.strip_prefix("  ").unwrap_or(line).to_owned())
            .collect()
    };
    let own = of(own);
    if !own.is_empty() {
        return own;
    }
    let calls = |line: &String| {
        let rest = line.trim_start().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let above = above.iter().rev().map(|help| of(help));
    let above = above.map(|lines| {
        let mut goes_on = false;
        let own = lines.into_iter().filter(|line| {
            let is_own = goes_on || calls(line);
            goes_on = is_own && line.ends_with('\\');
            is_own
        });
        own.collect::<Vec<_>>()
    });
    above
        .into_iter()
        .find(|lines| !lines.is_empty())
        .unwrap_or_default()
}

const EXIT: &str = "Exit codes: ";

/// The command's own text, or that of its nearest parent other than the program.
fn exit_status(helps: &[String]) -> String {
    let own = helps.len() - 1;
    let status = |(i, help): (usize, &String)| {
        let (_, text) = help.split_once(EXIT)?;
        let text = text.split("\n'").next().unwrap_or(text);
        (i > 0 || own == 0).then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let status = helps.iter().enumerate().rev().find_map(status);
    status.unwrap_or_else(|| "0 done, 2 anything else (standard error has the reason).".to_owned())
}
