//! `kubewright envtest`: the embedded API server as a drop-in for the programs that Go's envtest starts.
//!
//! envtest looks for `kube-apiserver`, `etcd` and `kubectl` in the folder that `KUBEBUILDER_ASSETS` names. The first two are this very
//! program: [`Program::of_this_process`] tells by the name under which it was started what it shall be.

mod assets;
mod etcd;
mod flags;
pub(crate) mod kube_apiserver;
mod kubectl;
mod selector;

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kubewright_cluster::quoted;

use self::selector::{Selector, Version};
use crate::output;

/// The version that the embedded server has.
const KUBERNETES: Version = Version(1, 36, 3);

/// The variable in which envtest finds the folder.
const VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// Run the tests of Go operators on the embedded API server
///
/// Go's envtest starts `kube-apiserver` and `etcd` from the folder that `KUBEBUILDER_ASSETS` names. These commands make such a folder, in
/// which both are this program: it takes the flags of the real ones, starts within milliseconds and needs no download.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  # The tests of any kubebuilder project
  KUBEBUILDER_ASSETS=$(kubewright envtest path) go test ./...

  # As above, for this shell
  source <(kubewright envtest env)

  # In the recipe of a Makefile, which ends if there is no folder
  assets=\"$$(kubewright envtest path)\" && KUBEBUILDER_ASSETS=\"$$assets\" go test ./...

  # In a workflow of GitHub
  kubewright envtest env --format github >> \"$GITHUB_ENV\"

  # With Kubernetes' own controllers and a simulated node, so that Deployments get Pods
  KUBEWRIGHT_CONTROLLERS=all KUBEBUILDER_ASSETS=$(kubewright envtest path) go test ./...")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Print the folder with kube-apiserver, etcd and kubectl
    Path(Wanted),
    /// Print what sets `KUBEBUILDER_ASSETS` to that folder
    Env(EnvArguments),
}

#[derive(clap::Args)]
struct EnvArguments {
    /// For whom it is written
    #[arg(long, short, value_name = "FORM", default_value = "sh", value_enum)]
    format: Format,

    #[command(flatten)]
    wanted: Wanted,
}

#[derive(clap::Args)]
struct Wanted {
    /// The version of Kubernetes, as `setup-envtest use` takes it: 1.36.3, 1.36.x, ~1.36.1, <1.37, 1.36.x!, latest
    #[arg(value_name = "VERSION")]
    version: Option<Selector>,

    /// The folder in which the folder of the programs is made; in the user's cache by default
    #[arg(long, value_name = "FOLDER")]
    bin_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A line for bash, zsh and other POSIX shells
    Sh,
    /// A line for fish
    Fish,
    /// A line for PowerShell
    Powershell,
    /// A line for a Makefile
    Make,
    /// A line for the file that `$GITHUB_ENV` names
    Github,
}

/// A version that this command does not have.
#[derive(Debug, thiserror::Error)]
#[error("Kubernetes {0} is not here: this command has {KUBERNETES}; ask for that, or leave the version out")]
struct OtherVersion(Selector);

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let text = match &arguments.command {
        Command::Path(wanted) => format!("{}\n", folder(wanted)?.display()),
        Command::Env(arguments) => line(arguments.format, &folder(&arguments.wanted)?),
    };
    output::write(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn folder(wanted: &Wanted) -> Result<PathBuf, Box<dyn Error>> {
    if let Some(selector) = wanted.version.as_ref().filter(|selector| !selector.matches(KUBERNETES)) {
        return Err(OtherVersion(selector.clone()).into());
    }
    let folder = assets::folder(wanted.bin_dir.as_deref())?;
    if !kubectl::link(&folder) {
        output::complain(kubectl::MISSING);
    }
    Ok(folder)
}

/// What sets the variable.
fn line(format: Format, folder: &Path) -> String {
    let folder = folder.display().to_string();
    match format {
        Format::Sh => format!("export {VARIABLE}={}\n", quoted(&folder)),
        Format::Fish => format!(
            "set -gx {VARIABLE} '{}'\n",
            folder.replace('\\', "\\\\").replace('\'', "\\'")
        ),
        Format::Powershell => format!("$Env:{VARIABLE} = '{}'\n", folder.replace('\'', "''")),
        Format::Make => format!(
            "export {VARIABLE} := {}\n",
            folder.replace('$', "$$").replace('#', "\\#")
        ),
        Format::Github => format!("{VARIABLE}={folder}\n"),
    }
}

/// What this process is, if it was started under a name of envtest's.
pub(crate) enum Program {
    /// `kube-apiserver`.
    KubeApiserver,
    /// `etcd`.
    Etcd,
}

impl Program {
    /// By the name under which this process was started.
    pub(crate) fn of_this_process() -> Option<Self> {
        let name: PathBuf = std::env::args_os().next()?.into();
        match name.file_stem()?.to_str()? {
            "kube-apiserver" => Some(Program::KubeApiserver),
            "etcd" => Some(Program::Etcd),
            _ => None,
        }
    }

    /// Runs it, with what stands behind the name.
    pub(crate) fn run(&self) -> ExitCode {
        let arguments: Result<Vec<String>, OsString> = std::env::args_os().skip(1).map(OsString::into_string).collect();
        match arguments {
            Ok(arguments) => match self {
                Program::KubeApiserver => kube_apiserver::run(&arguments),
                Program::Etcd => etcd::run(&arguments),
            },
            Err(argument) => {
                output::complain(&format!("Error: {} is not UTF-8", argument.display()));
                ExitCode::FAILURE
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_written_for_whoever_reads_it() {
        let folder = Path::new("/a b/it's $5");
        for (format, text) in [
            (Format::Sh, "export KUBEBUILDER_ASSETS='/a b/it'\\''s $5'\n"),
            (Format::Fish, "set -gx KUBEBUILDER_ASSETS '/a b/it\\'s $5'\n"),
            (Format::Powershell, "$Env:KUBEBUILDER_ASSETS = '/a b/it''s $5'\n"),
            (Format::Make, "export KUBEBUILDER_ASSETS := /a b/it's $$5\n"),
            (Format::Github, "KUBEBUILDER_ASSETS=/a b/it's $5\n"),
        ] {
            assert_eq!(line(format, folder), text);
        }
    }
}
