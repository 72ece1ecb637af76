//! Where the operator runs: in a cluster that is there, or beside an API server in this process.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_apiserver::{ApiServer, Options};
use kubewright_cluster::bundle::{Bundle, account};
use kubewright_cluster::embedded::Embedded;
use kubewright_cluster::kubeconfig::{self, TemporaryFolder};
use kubewright_cluster::progress::Progress;
use kubewright_cluster::{Cluster, ConnectError, ServerAddress};
use kubewright_runtime::flags::Environment;
use kubewright_view::LiveCluster;

use super::settings::Settings;
use crate::cluster_arguments::connect;
use crate::shown::ViewArguments;

/// Where the operator runs.
pub(super) struct TargetCluster {
    pub(super) cluster: Arc<Cluster>,
    pub(super) embedded: Option<Embedded>,
    /// Where its API server is, by the kubeconfig.
    pub(super) address: Option<ServerAddress>,
    /// The kubeconfig of a cluster that was chosen by flags, in a folder of ours.
    chosen: Option<(PathBuf, TemporaryFolder)>,
}

impl TargetCluster {
    /// Finds the cluster, or starts an API server.
    pub(super) async fn find(settings: &Settings<'_>, progress: &Progress) -> Result<Self, Box<dyn Error>> {
        let arguments = settings.common;
        let environment = Environment::system();
        let is_nowhere = arguments.choice.is_nowhere(&environment);
        if !settings.is_embedded && !is_nowhere {
            let cluster = connect(&arguments.choice, progress).await?;
            let chosen = match arguments.choice.for_child(&environment)? {
                Some(text) => Some(written(&text).map_err(ConnectError::Write)?),
                None => None,
            };
            return Ok(TargetCluster {
                cluster: Arc::new(cluster),
                embedded: None,
                address: arguments.choice.server(&environment),
                chosen,
            });
        }
        if !settings.is_embedded {
            progress.note("no cluster is configured: an embedded API server takes its place (--embedded)");
        }
        let options = arguments.history.apply(Options::new());
        let options = arguments.admission.apply(options, false)?;
        let embedded = Embedded::start(
            arguments.secure_port,
            arguments.kubeconfig_out.as_deref(),
            options,
            &arguments.controllers,
            progress,
        )
        .await?;
        progress.note(format!("Embedded API server on {}", embedded.url()));
        progress.plain(format!("\n  {}\n", embedded.export()));
        let title = format!("embedded ({})", embedded.url());
        Ok(TargetCluster {
            cluster: Arc::new(Cluster::of(embedded.client(), title)),
            embedded: Some(embedded),
            address: None,
            chosen: None,
        })
    }

    /// The kubeconfig of the operator; `None` where it finds the one everybody uses.
    pub(super) async fn kubeconfig(&self, bundle: &Bundle) -> Result<Option<PathBuf>, Box<dyn Error>> {
        match (&self.embedded, account(bundle)) {
            (Some(embedded), Some(account)) => Ok(Some(embedded.kubeconfig_of(&account).await?)),
            (Some(_), None) => Err("the project renders no ServiceAccount for the operator to run as".into()),
            (None, _) => Ok(self.chosen_kubeconfig()),
        }
    }

    /// The API server, if it is in this process.
    pub(super) fn server(&self) -> Option<&ApiServer> {
        self.embedded.as_ref().map(Embedded::server)
    }

    /// It, as a page shows it.
    pub(super) fn shown(&self, settings: &Settings<'_>, view: ViewArguments) -> LiveCluster {
        match self.server() {
            Some(server) => LiveCluster::Here {
                server: server.clone(),
                controllers: Box::new(settings.common.controllers.clone()),
            },
            None => LiveCluster::Elsewhere {
                client: self.cluster.client().clone(),
                allow_writes: view.allow_writes,
            },
        }
    }

    /// The kubeconfig of a cluster that was chosen by flags.
    pub(super) fn chosen_kubeconfig(&self) -> Option<PathBuf> {
        self.chosen.as_ref().map(|(path, _)| path.clone())
    }
}

fn written(text: &str) -> std::io::Result<(PathBuf, TemporaryFolder)> {
    let folder = kubeconfig::temporary_folder()?;
    let path = folder.path().join("kubeconfig");
    kubeconfig::write(&path, text)?;
    Ok((path, folder))
}
