//! A cluster that is there already, found as kubectl finds it.

use kube::Config;

use super::remote::Remote;
use crate::Error;

pub(crate) struct Existing {
    remote: Remote,
}

impl Existing {
    pub(super) async fn find() -> Result<Self, Error> {
        let config = Config::infer().await.map_err(|error| {
            Error::ControlPlane(format!(
                "USE_EXISTING_CLUSTER is set, but there is no cluster: set KUBECONFIG ({error})"
            ))
        })?;
        Ok(Existing {
            remote: Remote::new(config)?,
        })
    }

    pub(super) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// For cleaning up after the runtime of the test is gone.
    pub(crate) fn config(&self) -> &Config {
        self.remote.config()
    }

    #[expect(clippy::unused_self, reason = "the question is about this cluster")]
    pub(super) fn kubeconfig(&self) -> Result<String, Error> {
        let path = std::env::var_os("KUBECONFIG").unwrap_or_default();
        let first = std::env::split_paths(&path).next().filter(|path| path.is_file());
        let home = std::env::home_dir().map(|home| home.join(".kube/config"));
        let Some(path) = first.or(home) else {
            return Err(Error::ControlPlane(
                "the cluster was not found through a kubeconfig".to_owned(),
            ));
        };
        std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })
    }
}
