//! Runs outside the cluster: for as long as one lasts, webhook configurations point to this machine.
//! What was there before is kept in an annotation, so that it comes back, whatever happens to the run.

mod keeper;
mod restorer;
pub(super) mod rewrite;

use super::permission::Permission;
use super::target::Target;

pub(super) use keeper::LocalKeeper;
pub(super) use restorer::Restorer;

/// How a run outside the cluster is reached by the API server.
///
/// Each webhook of the targets is called at this machine by URL, with `failurePolicy: Ignore` and a short timeout, so that a
/// run that is gone holds nobody up. The original is in the annotation `kubewright.dev/local-run`. It is restored when the run
/// ends. After a `kill -9` the next run, or the manager in the cluster when it starts or when it has not heard of the run for a
/// quarter of an hour, restores it. Of two runs the later one is called.
///
/// ```
/// use kubewright_runtime::certificates::{LocalMode, Target};
///
/// let local = LocalMode::new("host.docker.internal", 9443).target(Target::mutating("shop"));
/// assert_eq!(local.url(), "https://host.docker.internal:9443");
/// assert_eq!(LocalMode::new("::1", 9443).url(), "https://[::1]:9443");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalMode {
    /// The name or address of this machine, as the API server sees it.
    pub host: String,
    /// The port of the webhook server.
    pub port: u16,
    /// What is to be redirected.
    pub targets: Vec<Target>,
    /// How many seconds a webhook may take. Default: 3.
    pub timeout_seconds: u8,
}

impl LocalMode {
    /// This machine.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        LocalMode {
            host: host.into(),
            port,
            targets: Vec::new(),
            timeout_seconds: 3,
        }
    }

    /// One more object whose webhooks are called here.
    pub fn target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    /// Where webhooks are called, without their paths.
    pub fn url(&self) -> String {
        let LocalMode { host, port, .. } = self;
        if host.contains(':') {
            format!("https://[{host}]:{port}")
        } else {
            format!("https://{host}:{port}")
        }
    }

    /// What the person who runs it needs to be allowed.
    pub fn permissions(&self) -> Vec<Permission> {
        Permission::on_targets(&self.targets, &["get", "list", "watch", "patch"])
    }

    /// The names its certificate is for.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.host.clone()];
        for name in ["localhost", "127.0.0.1", "::1"] {
            if self.host != name {
                names.push(name.to_owned());
            }
        }
        names
    }
}
