//! `tcverify man`: manual pages.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use super::{Cli, Ending};
use crate::io::Output;

/// Write manual pages: tcverify.1 and one for every command
///
/// They are made from the definitions that --help shows. To read them: tcverify man --output man1,
/// then man -l man1/tcverify-check.1
#[derive(Args)]
pub struct ManPages {
    /// Directory to write them to; made if it is not there, what has these names is replaced
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
}

impl ManPages {
    pub fn run(self) -> Result<Ending> {
        let mut program = Cli::command().disable_help_subcommand(true);
        program.build();
        let mut pages = Vec::new();
        render(&program, &mut pages)?;
        let failed = || format!("{}: cannot be written", self.output.display());
        std::fs::create_dir_all(&self.output).with_context(failed)?;
        for (name, page) in pages {
            let page_output = Output::prepare(&self.output.join(name))?;
            page_output.commit(|out| out.write_all(&page))?;
        }
        Ok(Ending::Done)
    }
}

/// A command's page and those of the commands below it.
fn render(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    let man = Man::new(command.clone());
    let man = man.source(concat!("tcverify ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page).context("a page cannot be rendered")?;
    pages.push((man.get_filename(), page));
    let below = command.get_subcommands().filter(|c| !c.is_hide_set());
    for command in below.filter(|c| c.get_name() != "help") {
        render(command, pages)?;
    }
    Ok(())
}
