//! Which cluster: the flag, then `$KUBECONFIG`, then the cluster this Pod is in, then `~/.kube/config`.

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::environment::Environment;
use super::parse::Flags;

/// The reason why a cluster cannot be connected to.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Nothing says which cluster.
    #[error("no cluster is configured: use --kubeconfig or $KUBECONFIG, run in a cluster, or write ~/.kube/config")]
    Nowhere,
    /// A kubeconfig cannot be used.
    #[error("the kubeconfig from {0} cannot be used")]
    Kubeconfig(ConfigSource, #[source] Box<KubeconfigError>),
    /// A kubeconfig is malformed. Since it has secrets, the error has the place only.
    #[error("the kubeconfig {} is not well written{place}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// ` at line 6, column 5`, where it is known.
        place: String,
    },
    /// The Pod's service account cannot be used.
    #[error("the service account of this Pod cannot be used")]
    InCluster(#[source] Box<kube::config::InClusterError>),
    /// No client can be made of it.
    #[error("cannot make a client")]
    Client(#[source] Box<kube::Error>),
}

/// Where the configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// `--kubeconfig`.
    Flag(PathBuf),
    /// `$KUBECONFIG`: what the first file says counts; files that do not exist are skipped.
    Variable(Vec<PathBuf>),
    /// The service account of the Pod we are in.
    InCluster,
    /// `~/.kube/config`.
    Home(PathBuf),
}

impl std::fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConfigSource::Flag(path) => write!(f, "--kubeconfig={}", path.display()),
            ConfigSource::Variable(_) => f.write_str("$KUBECONFIG"),
            ConfigSource::InCluster => f.write_str("the service account"),
            ConfigSource::Home(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Flags {
    /// Where the configuration comes from.
    pub fn config_source(&self, environment: &Environment) -> Result<ConfigSource, ConfigError> {
        if let Some(path) = self.kubeconfig.clone().filter(|path| !path.as_os_str().is_empty()) {
            return Ok(ConfigSource::Flag(path));
        }
        if let Some(paths) = environment.kubeconfigs() {
            return Ok(ConfigSource::Variable(paths));
        }
        if environment.is_in_cluster() {
            return Ok(ConfigSource::InCluster);
        }
        let home = environment.home_kubeconfig().filter(|path| path.exists());
        home.map(ConfigSource::Home).ok_or(ConfigError::Nowhere)
    }

    /// The configuration.
    pub async fn config(&self, environment: &Environment) -> Result<kube::Config, ConfigError> {
        let source = self.config_source(environment)?;
        tracing::debug!(%source, "configuration");
        let read = match &source {
            ConfigSource::InCluster => {
                return kube::Config::incluster().map_err(|error| ConfigError::InCluster(Box::new(error)));
            }
            ConfigSource::Flag(path) | ConfigSource::Home(path) => read(path, &source)?,
            ConfigSource::Variable(paths) => {
                let existing = paths.iter().filter(|path| path.exists());
                let merged = existing.map(|path| read(path, &source)).reduce(|first, next| {
                    let merged = first?.merge(next?);
                    merged.map_err(|error| ConfigError::Kubeconfig(source.clone(), Box::new(error)))
                });
                merged.ok_or(ConfigError::Nowhere)??
            }
        };
        let failed = |error| ConfigError::Kubeconfig(source.clone(), Box::new(error));
        let options = KubeConfigOptions::default();
        kube::Config::from_custom_kubeconfig(read, &options)
            .await
            .map_err(failed)
    }
}

fn read(path: &Path, source: &ConfigSource) -> Result<Kubeconfig, ConfigError> {
    Kubeconfig::read_from(path).map_err(|error| match error {
        // The parser's message is not shown: it quotes the text around the mistake.
        KubeconfigError::Parse(error) => ConfigError::Malformed {
            path: path.to_owned(),
            place: error
                .location()
                .filter(|place| place.line() > 0)
                .map_or_else(String::new, |place| {
                    format!(" at line {}, column {}", place.line(), place.column())
                }),
        },
        error => ConfigError::Kubeconfig(source.clone(), Box::new(error)),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn kubeconfig(server: &str) -> String {
        format!(
            "{{apiVersion: v1, kind: Config, current-context: c, contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
             clusters: [{{name: c, cluster: {{server: \"{server}\"}}}}], users: [{{name: u, user: {{token: t}}}}]}}"
        )
    }

    /// A folder with a kubeconfig for each place.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/.kube")).unwrap();
        fs::create_dir_all(folder.path().join("account")).unwrap();
        fs::write(folder.path().join("home/.kube/config"), kubeconfig("http://home:80")).unwrap();
        fs::write(folder.path().join("variable"), kubeconfig("http://variable:80")).unwrap();
        fs::write(folder.path().join("flag"), kubeconfig("http://flag:80")).unwrap();
        for file in ["token", "ca.crt", "namespace"] {
            fs::write(folder.path().join("account").join(file), "shop\n").unwrap();
        }
        folder
    }

    #[tokio::test]
    async fn the_flag_wins_then_the_variable_then_the_cluster_then_the_home() {
        let folder = folder();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (home, variable, flag) = (path("home"), path("variable"), path("flag"));
        let in_cluster = [
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("KUBERNETES_SERVICE_PORT", "443"),
        ];
        let flags = Flags::try_parse_from(["m".to_owned(), format!("--kubeconfig={flag}")]).unwrap();
        let host = async |flags: &Flags, environment: &Environment| {
            flags
                .config(environment)
                .await
                .unwrap()
                .cluster_url
                .host()
                .unwrap()
                .to_owned()
        };

        let mut variables = vec![("HOME", home.as_str())];
        let around = |variables: &[(&'static str, &str)]| {
            Environment::of(variables.iter().copied()).with_service_account(path("account"))
        };
        assert_eq!(host(&Flags::default(), &around(&variables)).await, "home");
        variables.extend(in_cluster);
        assert_eq!(
            Flags::default().config_source(&around(&variables)).unwrap(),
            ConfigSource::InCluster
        );
        variables.push(("KUBECONFIG", variable.as_str()));
        assert_eq!(host(&Flags::default(), &around(&variables)).await, "variable");
        assert_eq!(host(&flags, &around(&variables)).await, "flag");
    }

    #[tokio::test]
    async fn the_first_of_several_kubeconfigs_counts_and_missing_ones_do_not() {
        let folder = folder();
        let files = ["nowhere", "flag", "variable"].map(|name| folder.path().join(name));
        let joined = std::env::join_paths(files).unwrap().into_string().unwrap();
        let environment = Environment::of([("KUBECONFIG", joined.as_str())]);
        let config = Flags::default().config(&environment).await.unwrap();
        assert_eq!(config.cluster_url.host(), Some("flag"));
    }

    #[tokio::test]
    async fn without_any_the_error_says_where_to_put_one() {
        let environment = Environment::of([("HOME", "/no/such/home")]);
        let error = Flags::default().config(&environment).await.unwrap_err().to_string();
        assert!(
            error.contains("--kubeconfig") && error.contains("$KUBECONFIG"),
            "{error}"
        );
        let flags = Flags::try_parse_from(["m", "--kubeconfig=/no/such/file"]).unwrap();
        let error = flags.config(&environment).await.unwrap_err().to_string();
        assert!(error.contains("/no/such/file"), "{error}");
    }

    #[tokio::test]
    async fn a_mistake_in_a_kubeconfig_is_told_without_its_secrets() {
        let folder = folder();
        let path = folder.path().join("broken");
        fs::write(&path, "users:\n- name: me\n  user:\n    token: SECRET\n   bad: [\n").unwrap();
        let flag = format!("--kubeconfig={}", path.display());
        let flags = Flags::try_parse_from(["m", flag.as_str()]).unwrap();
        let error = flags.config(&Environment::of([])).await.unwrap_err();
        let mut told = format!("{error} {error:?}");
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            told = format!("{told} {error} {error:?}");
            source = error.source();
        }
        assert!(told.contains("at line") && !told.contains("SECRET"), "{told}");
    }

    #[test]
    fn a_pod_knows_its_namespace() {
        let folder = folder();
        let environment = Environment::of([]).with_service_account(folder.path().join("account"));
        assert_eq!(environment.namespace().as_deref(), Some("shop"));
        // Without the address of the API server it is not in a cluster.
        assert!(!environment.is_in_cluster());
    }
}
