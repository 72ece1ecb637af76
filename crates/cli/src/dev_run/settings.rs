//! What a session does: the settings that the arguments of `run` and `dev` come to.

use std::path::PathBuf;

use kubewright_cluster::ClusterFlags;
use kubewright_controllers::Controllers;

use crate::admission_arguments::AdmissionArguments;
use crate::history_arguments::HistoryArguments;
use crate::shown::ViewArguments;

/// What a session does.
pub(super) struct Settings<'a> {
    pub(super) common: &'a CommonArguments,
    /// Whether an API server in this process is wanted, whatever cluster is configured.
    pub(super) is_embedded: bool,
    /// Whether the operator is built and started anew at each change.
    pub(super) watches: bool,
    pub(super) samples: Samples,
    pub(super) installs: bool,
    /// The page that shows what happens, if it is served.
    pub(super) view: Option<ViewArguments>,
}

/// Whether the objects of `config/samples` are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Samples {
    Ignored,
    /// If the project has some.
    IfAny,
    /// It is a mistake if there are none.
    Required,
}

/// The arguments that `run` and `dev` have in common.
#[derive(clap::Args)]
pub(crate) struct CommonArguments {
    /// Port of the embedded API server; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(super) secure_port: u16,

    /// The cluster's own controllers beside the embedded API server, which bring Deployments to life and clean up: all, none, or
    /// names as in gc,deployment or *,-job.
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = Controllers::parse)]
    pub(super) controllers: Controllers,

    /// File to write the embedded API server's kubeconfig to; an existing one is replaced. Without it, the kubeconfig is in a
    /// temporary folder that is removed in the end.
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig_out: Option<PathBuf>,

    /// Name or address at which the cluster reaches this machine, for its webhooks. Default: the address of this machine on the way to
    /// the API server; for clusters in containers and virtual machines of this machine the gateway of their network or the name that
    /// they know it by, as host.minikube.internal; else 127.0.0.1.
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub(super) webhook_host: Option<String>,

    #[command(flatten)]
    pub(super) admission: AdmissionArguments,

    #[command(flatten)]
    pub(super) history: HistoryArguments,

    #[command(flatten)]
    pub(super) choice: ClusterFlags,

    /// Flags for the operator, after --.
    #[arg(last = true, value_name = "FLAGS")]
    pub(super) flags: Vec<String>,
}

fn host(text: &str) -> Result<String, String> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    if text.is_empty() || !text.chars().all(is_fit) {
        return Err("write a host name or an address, without scheme and port".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address() {
        assert!(host("host.docker.internal").is_ok() && host("::1").is_ok() && host("10.0.0.1").is_ok());
        assert!(host("").is_err() && host("https://me").is_err() && host("a b").is_err());
    }
}
