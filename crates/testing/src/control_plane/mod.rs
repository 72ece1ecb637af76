//! Control planes a test can run on: the embedded server, real binaries, a cluster that is there already.

mod binaries;
mod certificates;
mod embedded;
mod existing;
mod process;
mod remote;

use std::path::PathBuf;

use kubewright_apiserver::{AdmissionPlugin, ApiServer};
use kubewright_controllers::SigningAuthority;
use kubewright_runtime::clock::Clock;

pub(crate) use binaries::Binaries;
pub(crate) use embedded::Embedded;
pub(crate) use existing::Existing;

use crate::Error;
use crate::traffic::{self, Traffic};

/// Where tests run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// On the embedded server, in this process.
    Embedded,
    /// On an `etcd` and a `kube-apiserver` of the test's own, from this folder. Kubernetes' own controllers are those of
    /// [`Builder::controllers`](crate::Builder::controllers), as on the embedded server.
    Binaries(PathBuf),
    /// On the cluster that the kubeconfig names. Managers see the whole cluster, so tests run there one after another:
    /// `cargo test -- --test-threads=1`. Definitions stay there afterwards; all else is deleted.
    Existing,
}

impl Mode {
    /// What the environment says, as envtest reads it: `USE_EXISTING_CLUSTER=true`, else the folder in `KUBEBUILDER_ASSETS`, else
    /// the embedded server.
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The same, with variables from elsewhere.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let existing = variable("USE_EXISTING_CLUSTER").unwrap_or_default();
        if existing.eq_ignore_ascii_case("true") {
            return Mode::Existing;
        }
        match variable("KUBEBUILDER_ASSETS") {
            Some(folder) if !folder.is_empty() => Mode::Binaries(folder.into()),
            _ => Mode::Embedded,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Mode::Embedded => "on the embedded server",
            Mode::Binaries(_) => "on real binaries (KUBEBUILDER_ASSETS)",
            Mode::Existing => "on an existing cluster (USE_EXISTING_CLUSTER)",
        }
    }
}

/// A control plane that runs.
pub(crate) enum ControlPlane {
    Embedded(Embedded),
    Binaries(Box<Binaries>),
    Existing(Box<Existing>),
}

impl ControlPlane {
    /// Starts one with these admission plugins on or off, or finds it.
    pub(crate) async fn start(
        mode: &Mode,
        seed: Option<u64>,
        clock: Clock,
        admission: &[(AdmissionPlugin, bool)],
    ) -> Result<Self, Error> {
        if crate::time::is_paused() && *mode != Mode::Embedded {
            return Err(Error::EmbeddedOnly {
                what: "virtual time",
                mode: mode.name(),
                remedy: "start the environment with `TestEnv::builder().operator(…).embedded()` to keep this test there",
            });
        }
        if !admission.is_empty() && *mode != Mode::Embedded {
            return Err(Error::EmbeddedOnly {
                what: "turning admission plugins on and off",
                mode: mode.name(),
                remedy: "start the environment with `TestEnv::builder().operator(…).embedded()` to keep this test there",
            });
        }
        Ok(match mode {
            Mode::Embedded => ControlPlane::Embedded(Embedded::new(seed, clock, admission)),
            Mode::Binaries(folder) => ControlPlane::Binaries(Box::new(Binaries::start(folder).await?)),
            Mode::Existing => ControlPlane::Existing(Box::new(Existing::find().await?)),
        })
    }

    pub(crate) fn mode_name(&self) -> &'static str {
        match self {
            ControlPlane::Embedded(_) => Mode::Embedded.name(),
            ControlPlane::Binaries(_) => Mode::Binaries(PathBuf::new()).name(),
            ControlPlane::Existing(_) => Mode::Existing.name(),
        }
    }

    pub(crate) fn server(&self) -> Option<&ApiServer> {
        match self {
            ControlPlane::Embedded(embedded) => Some(embedded.server()),
            _ => None,
        }
    }

    /// Whether it may have objects of others.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, ControlPlane::Existing(_))
    }

    /// A client that may do everything.
    pub(crate) fn admin(&self) -> kube::Client {
        match self {
            ControlPlane::Embedded(embedded) => embedded.admin(),
            ControlPlane::Binaries(binaries) => binaries.remote().admin().clone(),
            ControlPlane::Existing(existing) => existing.remote().admin().clone(),
        }
    }

    /// A client of another user.
    pub(crate) fn user(&self, name: &str, groups: &[String]) -> Result<kube::Client, Error> {
        match self {
            ControlPlane::Embedded(embedded) => Ok(embedded.user(name, groups)),
            ControlPlane::Binaries(binaries) => binaries.remote().user(name, groups),
            ControlPlane::Existing(existing) => existing.remote().user(name, groups),
        }
    }

    /// A client of a service account, whose requests are recorded.
    pub(crate) async fn account(&self, namespace: &str, name: &str, traffic: &Traffic) -> Result<kube::Client, Error> {
        match self {
            ControlPlane::Embedded(embedded) => Ok(embedded.account(namespace, name, traffic)),
            ControlPlane::Binaries(binaries) => binaries.remote().account(namespace, name, traffic).await,
            ControlPlane::Existing(existing) => existing.remote().account(namespace, name, traffic).await,
        }
    }

    /// A client for Kubernetes' own controllers; `None` where the cluster runs them. Its requests count as activity,
    /// but are not recorded.
    pub(crate) fn controllers_client(&self, traffic: &Traffic) -> Option<kube::Client> {
        match self {
            ControlPlane::Embedded(embedded) => {
                Some(traffic::observed_client(embedded.server().service(), traffic.clone()))
            }
            ControlPlane::Binaries(binaries) => Some(binaries.remote().observed(traffic)),
            ControlPlane::Existing(_) => None,
        }
    }

    /// The CA of the server's certificate, for the `kube-root-ca.crt` of namespaces.
    pub(crate) fn authority(&self) -> Option<&str> {
        match self {
            ControlPlane::Binaries(binaries) => Some(binaries.authority()),
            _ => None,
        }
    }

    /// Who signs certificates for those who ask through the API; `None` where the cluster does.
    pub(crate) fn signing_authority(&self) -> Option<&SigningAuthority> {
        match self {
            ControlPlane::Embedded(embedded) => Some(embedded.signing_authority()),
            ControlPlane::Binaries(binaries) => Some(binaries.signing_authority()),
            ControlPlane::Existing(_) => None,
        }
    }

    /// A kubeconfig for clients outside this process.
    pub(crate) async fn kubeconfig(&self) -> Result<String, Error> {
        match self {
            ControlPlane::Embedded(embedded) => embedded.kubeconfig().await,
            ControlPlane::Binaries(binaries) => Ok(binaries.kubeconfig()),
            ControlPlane::Existing(existing) => existing.kubeconfig(),
        }
    }

    /// Ends it. Dropping it does the same without waiting.
    pub(crate) async fn stop(self) {
        match self {
            ControlPlane::Embedded(embedded) => embedded.stop().await,
            ControlPlane::Binaries(binaries) => binaries.stop(),
            ControlPlane::Existing(_) => {}
        }
    }
}
