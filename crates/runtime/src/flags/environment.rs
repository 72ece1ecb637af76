//! The environment of a process as a value, so that tests need not change the real one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Where a container that is a process of its machine finds its mounts, as Windows' `HostProcess` containers do.
const MOUNT_POINT: &str = "CONTAINER_SANDBOX_MOUNT_POINT";

/// The environment of a process: its variables, and where the files of its service account are.
#[derive(Clone, Debug)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    service_account: PathBuf,
}

impl Environment {
    /// The environment of this process.
    pub fn system() -> Self {
        // Variables that are not text cannot be ours.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let variables: BTreeMap<String, String> = std::env::vars_os().filter_map(text).collect();
        let service_account = account_under(variables.get(MOUNT_POINT).map(String::as_str));
        Environment {
            variables,
            service_account,
        }
    }

    /// One with these variables and nothing else.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Environment {
            variables: variables.into_iter().map(owned).collect(),
            service_account: PathBuf::from(SERVICE_ACCOUNT),
        }
    }

    /// The folder with token, certificate and namespace of a Pod's service account.
    pub fn with_service_account(mut self, folder: impl Into<PathBuf>) -> Self {
        self.service_account = folder.into();
        self
    }

    /// A variable; empty ones count as missing.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The namespaces to watch by `WATCH_NAMESPACE`, separated by commas. None: all.
    pub(crate) fn watch_namespaces(&self) -> Vec<String> {
        let names = self.variable("WATCH_NAMESPACE").unwrap_or_default();
        names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Whether this is a Pod with a service account.
    pub(crate) fn is_in_cluster(&self) -> bool {
        let address = ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];
        let files = ["token", "ca.crt"];
        address.iter().all(|name| self.variable(name).is_some())
            && files.iter().all(|file| self.service_account.join(file).exists())
    }

    /// The namespace this Pod is in.
    pub fn namespace(&self) -> Option<String> {
        let text = std::fs::read_to_string(self.service_account.join("namespace")).ok()?;
        Some(text.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// The files that `$KUBECONFIG` names.
    pub(super) fn kubeconfigs(&self) -> Option<Vec<PathBuf>> {
        let paths = std::env::split_paths(self.variable("KUBECONFIG")?);
        Some(paths.filter(|path| !path.as_os_str().is_empty()).collect())
    }

    /// `~/.kube/config`.
    pub(super) fn home_kubeconfig(&self) -> Option<PathBuf> {
        let home = self.variable("HOME").or_else(|| self.variable("USERPROFILE"))?;
        Some(Path::new(home).join(".kube").join("config"))
    }
}

/// Where the service account is, if mounts are under another folder than the machine's own.
fn account_under(mounts: Option<&str>) -> PathBuf {
    match mounts.filter(|mounts| !mounts.is_empty()) {
        Some(mounts) => Path::new(mounts).join(SERVICE_ACCOUNT.trim_start_matches('/')),
        None => PathBuf::from(SERVICE_ACCOUNT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_that_is_a_process_finds_its_account_under_its_mounts() {
        let account = |mounts| account_under(mounts).display().to_string();
        assert_eq!(account(Some("/pods/1")), format!("/pods/1{SERVICE_ACCOUNT}"));
        assert_eq!(account(None), SERVICE_ACCOUNT);
        assert_eq!(account(Some("")), SERVICE_ACCOUNT);
    }
}
