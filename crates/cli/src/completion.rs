//! `kubewright completion`: what a shell needs to complete the command.

use std::error::Error;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

/// Print a script that completes this command in a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # bash, for this session
  source <(kubewright completion bash)

  # bash, for all sessions
  kubewright completion bash > /etc/bash_completion.d/kubewright

  # zsh
  kubewright completion zsh > \"${fpath[1]}/_kubewright\"

  # fish
  kubewright completion fish > ~/.config/fish/completions/kubewright.fish

  # PowerShell
  kubewright completion powershell | Out-String | Invoke-Expression")]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let mut command = crate::Arguments::command();
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, "kubewright", &mut script);
    crate::output::write(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
