//! What the commands share that change a cluster: flags, and how they begin.

use kubewright_cluster::progress::Progress;
use kubewright_cluster::{Cluster, ClusterFlags, ConnectError, Output, values};
use kubewright_runtime::flags::Environment;

use crate::project::Overrides;

/// Which cluster a command changes, whether it only tries to, and what it prints.
#[derive(clap::Args)]
pub(crate) struct ClusterArguments {
    #[command(flatten)]
    flags: ClusterFlags,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Where an operator is installed, and under which names.
#[derive(clap::Args)]
pub(crate) struct InstallationArguments {
    /// The namespace of the operator. Default: that of the project's configuration, `<project>-system`.
    #[arg(long, value_name = "NAMESPACE", value_parser = values::namespace)]
    pub(crate) namespace: Option<String>,

    /// What the names of the operator's objects begin with. Default: that of the project's configuration, `<project>-`.
    #[arg(long, value_name = "PREFIX", value_parser = values::prefix)]
    pub(crate) name_prefix: Option<String>,
}

impl ClusterArguments {
    /// Connects to the cluster, and says which one it is.
    pub(crate) async fn connect(&self, progress: &Progress) -> Result<Cluster, ConnectError> {
        connect(&self.flags, progress).await
    }

    /// As [`connect`](Self::connect); `None` with `--dry-run=client`, which needs no cluster.
    pub(crate) async fn connect_unless_on_client(&self, progress: &Progress) -> Result<Option<Cluster>, ConnectError> {
        if self.output.tries_on_client() {
            return Ok(None);
        }
        self.connect(progress).await.map(Some)
    }
}

impl InstallationArguments {
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            namespace: self.namespace.clone(),
            name_prefix: self.name_prefix.clone(),
            ..Overrides::default()
        }
    }
}

/// Connects to a cluster, and says which one it is.
pub(crate) async fn connect(flags: &ClusterFlags, progress: &Progress) -> Result<Cluster, ConnectError> {
    let cluster = flags.connect(&Environment::system()).await?;
    progress.note(format!("Cluster {}", cluster.title()));
    Ok(cluster)
}
