//! `kubewright version`: what this command is.

use std::error::Error;
use std::process::ExitCode;

use serde_json::json;

/// Print the version of this command and of the Kubernetes it speaks
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  kubewright version
  kubewright version -o json")]
pub(crate) struct Arguments {
    /// The output format
    #[arg(long, short, value_name = "FORM", default_value = "text", value_parser = ["text", "json", "yaml"])]
    output: String,
}

/// The Kubernetes whose API the embedded server has.
const KUBERNETES: &str = "1.36";

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let version = env!("CARGO_PKG_VERSION");
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let value = json!({ "kubewright": version, "kubernetes": KUBERNETES, "platform": platform });
    let text = match arguments.output.as_str() {
        "json" => format!("{value:#}\n"),
        "yaml" => kubewright_codec::yaml::encode(&value),
        _ => format!("kubewright {version} (Kubernetes {KUBERNETES}, {platform})\n"),
    };
    crate::output::write(&text)?;
    Ok(ExitCode::SUCCESS)
}
