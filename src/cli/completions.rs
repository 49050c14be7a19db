//! `tcverify completions`: scripts for shells.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, show};

/// Print a completion script for a shell
///
/// For bash: tcverify completions bash > ~/.local/share/bash-completion/completions/tcverify
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  tcverify completions bash > ~/.local/share/bash-completion/completions/tcverify
  tcverify completions zsh > ~/.zfunc/_tcverify
  tcverify completions fish > ~/.config/fish/completions/tcverify.fish")]
pub struct Completions {
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "tcverify", &mut script);
        show::commands(|out| out.write_all(&script))
    }
}
