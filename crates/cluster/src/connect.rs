//! Finding the cluster: which one the kubeconfig means, and whether it answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kubewright_runtime::flags::{ConfigError, ConfigSource, Environment, Flags};

use super::error::describe_failure;
use super::{Cluster, ClusterFlags};

/// How long a cluster may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(10);

const WITHOUT_ONE: &str =
    "without a cluster: `kubewright run --embedded`, or `kubewright apiserver` and its kubeconfig";

/// The reason why a cluster cannot be connected to.
#[allow(missing_docs, reason = "the message of each variant says it")]
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("no cluster is configured: use --kubeconfig or $KUBECONFIG, or write ~/.kube/config; {WITHOUT_ONE}")]
    Nowhere,
    #[error("the kubeconfig {} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("the kubeconfig from {0} cannot be used")]
    Kubeconfig(String, #[source] Box<KubeconfigError>),
    #[error("the kubeconfig {} {what}{place}; correct it, or choose another with --kubeconfig", path.display())]
    Malformed {
        path: PathBuf,
        what: &'static str,
        place: String,
    },
    #[error("the kubeconfig from {source_name} has no context \"{context}\"; it has {}", known(.contexts))]
    NoContext {
        source_name: String,
        context: String,
        contexts: Vec<String>,
    },
    #[error(transparent)]
    Other(ConfigError),
    #[error("no client can be made for the cluster {title}: {}", describe_failure(.why))]
    Client { title: String, why: Box<kube::Error> },
    #[error("the cluster {title} does not answer: {why}; start it, choose another with --context, or do {WITHOUT_ONE}")]
    Silent { title: String, why: String },
    #[error(
        "the cluster {title} rejects your credentials: {why}; renew the credentials of this context in the kubeconfig"
    )]
    Unknown { title: String, why: String },
    #[error("cannot write a kubeconfig for the operator")]
    Write(#[source] std::io::Error),
}

fn known(contexts: &[String]) -> String {
    if contexts.is_empty() {
        return "none".to_owned();
    }
    contexts.join(", ")
}

/// A kubeconfig that was read.
struct LoadedKubeconfig {
    kubeconfig: Kubeconfig,
    source: ConfigSource,
}

/// What a kubeconfig says of the API server of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// The name of the context.
    pub context: String,
    /// The host name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether minikube wrote the entry.
    pub is_minikube: bool,
}

impl ServerAddress {
    /// The description of a context, if it has an API server.
    fn of(kubeconfig: &Kubeconfig, context: &str) -> Option<Self> {
        let chosen = kubeconfig.contexts.iter().find(|named| named.name == context)?;
        let name = &chosen.context.as_ref()?.cluster;
        let cluster = kubeconfig.clusters.iter().find(|named| named.name == *name)?;
        let cluster = cluster.cluster.as_ref()?;
        let url: http::Uri = cluster.server.as_deref()?.parse().ok()?;
        let is_https = url.scheme_str() != Some("http");
        let mut extensions = cluster.extensions.iter().flatten();
        Some(ServerAddress {
            context: context.to_owned(),
            host: url.host()?.trim_matches(['[', ']']).to_owned(),
            port: url.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            is_minikube: extensions.any(|named| named.extension["provider"] == "minikube.sigs.k8s.io"),
        })
    }
}

impl ClusterFlags {
    /// The address of the API server of the chosen context; `None` without a kubeconfig.
    pub fn server(&self, environment: &Environment) -> Option<ServerAddress> {
        let kubeconfig = self.read(environment).ok().flatten()?.kubeconfig;
        let context = self.context.clone().or_else(|| kubeconfig.current_context.clone())?;
        ServerAddress::of(&kubeconfig, &context)
    }

    /// Whether nothing at all says which cluster is meant.
    pub fn is_nowhere(&self, environment: &Environment) -> bool {
        matches!(self.flags().config_source(environment), Err(ConfigError::Nowhere))
    }

    /// The cluster, once it has answered.
    pub async fn connect(&self, environment: &Environment) -> Result<Cluster, ConnectError> {
        let (config, title) = self.config(environment).await?;
        let client = kube::Client::try_from(config).map_err(|error| ConnectError::Client {
            title: title.clone(),
            why: Box::new(error),
        })?;
        let answer = tokio::time::timeout(PATIENCE, client.apiserver_version()).await;
        match answer {
            Ok(Ok(_)) => Ok(Cluster::of(client, title)),
            Ok(Err(kube::Error::Api(status))) if status.code == 401 => Err(ConnectError::Unknown {
                title,
                why: describe_failure(&kube::Error::Api(status)),
            }),
            // A user who may not read the version may still be allowed other requests.
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => Ok(Cluster::of(client, title)),
            Ok(Err(error)) => Err(ConnectError::Silent {
                title,
                why: describe_failure(&error),
            }),
            Err(_) => Err(ConnectError::Silent {
                title,
                why: format!("no answer within {} seconds", PATIENCE.as_secs()),
            }),
        }
    }

    /// What a child process needs to reach the same cluster: the text of a kubeconfig whose current context is the chosen
    /// one. `None` where it finds the cluster by itself.
    pub fn for_child(&self, environment: &Environment) -> Result<Option<String>, ConnectError> {
        if self.context.is_none() && self.kubeconfig.is_none() {
            return Ok(None);
        }
        let Some(mut found) = self.read(environment)? else {
            return Ok(None);
        };
        if let Some(context) = &self.context {
            found.kubeconfig.current_context = Some(context.clone());
        }
        serde_json::to_string(&found.kubeconfig)
            .map(Some)
            .map_err(|error| ConnectError::Write(error.into()))
    }

    async fn config(&self, environment: &Environment) -> Result<(kube::Config, String), ConnectError> {
        let Some(LoadedKubeconfig { kubeconfig, source }) = self.read(environment)? else {
            let config = kube::Config::incluster()
                .map_err(|error| ConnectError::Other(ConfigError::InCluster(Box::new(error))))?;
            return Ok((config, "this Pod runs in".to_owned()));
        };
        let context = self.context.clone().or_else(|| kubeconfig.current_context.clone());
        let contexts: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let source = source.to_string();
        let context = context.filter(|context| !context.is_empty()).unwrap_or_default();
        if !contexts.contains(&context) {
            return Err(ConnectError::NoContext {
                source_name: source,
                context,
                contexts,
            });
        }
        let options = KubeConfigOptions {
            context: Some(context.clone()),
            ..KubeConfigOptions::default()
        };
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| ConnectError::Kubeconfig(source, Box::new(error)))?;
        let url = config.cluster_url.to_string();
        let title = format!("{context} ({})", url.trim_end_matches('/'));
        Ok((config, title))
    }

    /// The kubeconfig; `None` in a Pod that has none.
    fn read(&self, environment: &Environment) -> Result<Option<LoadedKubeconfig>, ConnectError> {
        let source = match self.flags().config_source(environment) {
            Ok(source) => source,
            Err(ConfigError::Nowhere) => return Err(ConnectError::Nowhere),
            Err(error) => return Err(ConnectError::Other(error)),
        };
        let read = match &source {
            ConfigSource::InCluster => return Ok(None),
            ConfigSource::Flag(path) if !path.exists() => return Err(ConnectError::Missing(path.clone())),
            ConfigSource::Flag(path) | ConfigSource::Home(path) => self::read(path, &source),
            ConfigSource::Variable(paths) => {
                let existing = paths.iter().filter(|path| path.exists());
                let merged = existing
                    .map(|path| self::read(path, &source))
                    .reduce(|first, next| first?.merge(next?).map_err(|error| unusable(&source, error)));
                match (merged, paths.as_slice()) {
                    (Some(merged), _) => merged,
                    (None, [path]) => return Err(ConnectError::Missing(path.clone())),
                    (None, _) => return Err(ConnectError::Nowhere),
                }
            }
        };
        Ok(Some(LoadedKubeconfig {
            kubeconfig: read?,
            source,
        }))
    }

    fn flags(&self) -> Flags {
        Flags {
            kubeconfig: self.kubeconfig.clone(),
            ..Flags::default()
        }
    }
}

fn unusable(source: &ConfigSource, error: KubeconfigError) -> ConnectError {
    ConnectError::Kubeconfig(source.to_string(), Box::new(error))
}

/// Reads one file. Since a kubeconfig has secrets, an error has only the place of the mistake.
fn read(path: &Path, source: &ConfigSource) -> Result<Kubeconfig, ConnectError> {
    Kubeconfig::read_from(path).map_err(|error| match error {
        KubeconfigError::Parse(error) => {
            let place = error.location().filter(|place| place.line() > 0);
            let text = std::fs::read(path).unwrap_or_default();
            let what = match kubewright_codec::yaml::decode(&text) {
                Ok(_) => "has a field that is missing, repeated or of the wrong type",
                Err(_) => "is not valid YAML",
            };
            ConnectError::Malformed {
                path: path.to_owned(),
                what,
                place: place.map_or_else(String::new, |place| {
                    format!(" at line {}, column {}", place.line(), place.column())
                }),
            }
        }
        error => unusable(source, error),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_address_of_the_api_server_is_that_of_the_context() {
        let text = "{contexts: [{name: a, context: {cluster: a, user: u}}, {name: b, context: {cluster: b, user: u}}], clusters: [\
                    {name: a, cluster: {server: \"https://192.168.49.2:8443\", extensions: [{name: cluster_info, extension: \
                    {provider: minikube.sigs.k8s.io, version: v1.38.0}}]}}, {name: b, cluster: {server: \"https://[::1]\"}}]}";
        let kubeconfig = Kubeconfig::from_yaml(text).unwrap();
        let address = |context| ServerAddress::of(&kubeconfig, context);
        let a = address("a").unwrap();
        assert_eq!((a.host.as_str(), a.port, a.is_minikube), ("192.168.49.2", 8443, true));
        let b = address("b").unwrap();
        assert_eq!((b.host.as_str(), b.port, b.is_minikube), ("::1", 443, false));
        assert_eq!(address("c"), None);
    }

    fn kubeconfig() -> &'static str {
        "{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: c, user: u}}, \
         {name: there, context: {cluster: d, user: u}}], clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}, \
         {name: d, cluster: {server: \"http://127.0.0.1:2\"}}], users: [{name: u, user: {token: t}}]}"
    }

    fn choice(context: Option<&str>) -> (tempfile::TempDir, ClusterFlags) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, kubeconfig()).unwrap();
        let choice = ClusterFlags {
            kubeconfig: Some(path),
            context: context.map(str::to_owned),
        };
        (folder, choice)
    }

    async fn refusal(choice: &ClusterFlags) -> String {
        let environment = Environment::of([]).with_service_account("/no/such/folder");
        choice.connect(&environment).await.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn a_cluster_that_does_not_answer_is_named_with_what_to_do_next() {
        let (_folder, choice) = choice(None);
        let error = refusal(&choice).await;
        assert!(
            error.starts_with("the cluster here (http://127.0.0.1:1) does not answer: "),
            "{error}"
        );
        assert!(
            error.contains("kubewright run --embedded") && error.contains("kubewright apiserver"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_context_that_is_not_there_is_told_with_those_that_are() {
        let (_folder, wrong) = choice(Some("nowhere"));
        let error = refusal(&wrong).await;
        assert!(
            error.ends_with("has no context \"nowhere\"; it has here, there"),
            "{error}"
        );
        let (_folder, there) = choice(Some("there"));
        assert!(refusal(&there).await.contains("there (http://127.0.0.1:2)"));
    }

    #[tokio::test]
    async fn a_missing_kubeconfig_is_named() {
        let choice = ClusterFlags {
            kubeconfig: Some("/no/such/kubeconfig".into()),
            context: None,
        };
        assert_eq!(
            refusal(&choice).await,
            "the kubeconfig /no/such/kubeconfig does not exist"
        );
        assert!(
            refusal(&ClusterFlags::default())
                .await
                .starts_with("no cluster is configured")
        );
    }

    #[test]
    fn nothing_at_all_is_nowhere() {
        let environment = |variables: &[(&'static str, &'static str)]| {
            Environment::of(variables.iter().copied()).with_service_account("/no/such/folder")
        };
        assert!(ClusterFlags::default().is_nowhere(&environment(&[("HOME", "/no/such/home")])));
        // A file that is named must be there.
        assert!(!ClusterFlags::default().is_nowhere(&environment(&[("KUBECONFIG", "/no/such/file")])));
        let (_folder, given) = choice(None);
        assert!(!given.is_nowhere(&environment(&[])));
    }

    #[test]
    fn a_child_is_given_the_chosen_context() {
        let (_folder, there) = choice(Some("there"));
        let text = there.for_child(&Environment::of([])).unwrap().unwrap();
        let read = Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(read.current_context.as_deref(), Some("there"));
        assert_eq!(read.clusters.len(), 2);
        assert!(
            ClusterFlags::default()
                .for_child(&Environment::of([]))
                .unwrap()
                .is_none()
        );
    }
}
