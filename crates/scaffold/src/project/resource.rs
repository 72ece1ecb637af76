//! One kind in one version, as PROJECT lists it, and the names that follow from it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{builtin_kinds, names};

/// A kind in one version: its own, or a foreign one the project reconciles or has webhooks for.
///
/// ```
/// use kubewright_scaffold::Project;
/// use kubewright_scaffold::command::{ApiRequest, Target, WebhookRequest};
///
/// let view = |version: &str| Target { group: "view".into(), version: version.into(), kind: "MarkdownView".into() };
/// let project = Project::new("docs", "example.com", "0.1.0")
///     .create_api(&ApiRequest { target: view("v1"), ..ApiRequest::default() })?
///     .create_api(&ApiRequest { target: view("v2"), ..ApiRequest::default() })?
///     .create_webhook(&WebhookRequest {
///         target: view("v1"),
///         validation: true,
///         conversion: true,
///         spokes: vec!["v2".into()],
///         ..WebhookRequest::default()
///     })?;
/// let [hub, spoke] = &project.resources[..] else { unreachable!() };
///
/// // The names that follow.
/// assert_eq!((hub.api_group().as_str(), hub.api_version().as_str()), ("view.example.com", "view.example.com/v1"));
/// assert_eq!((hub.plural().as_str(), hub.lowercase().as_str()), ("markdownviews", "markdownview"));
/// assert_eq!((hub.module().as_str(), hub.group_module().as_str()), ("markdown_view", "view"));
/// assert_eq!(hub.definition_file(), "view.example.com_markdownviews.yaml");
/// assert_eq!(hub.sample_path(), format!("config/samples/{}", hub.sample_file()));
/// assert_eq!(hub.sample_name(), "markdownview-sample");
///
/// // What there is.
/// assert!(hub.namespaced() && hub.has_webhooks() && hub.admits() && hub.validates() && !hub.defaults());
/// assert!(hub.converts() && hub.spokes() == ["v2"] && hub.is_same_kind(spoke));
///
/// // What the project makes of it.
/// assert!(project.has_webhooks() && project.is_stored(hub));
/// assert_eq!(project.versions_of(hub).count(), 2);
/// assert_eq!(project.hub_of(spoke), Some(hub));
/// assert_eq!(project.spokes_of(hub).collect::<Vec<_>>(), [spoke]);
/// assert_eq!((project.crate_name().as_str(), project.prefix().as_str()), ("docs", "docs-"));
/// assert!(project.image_of(hub).is_none() && project.kinds().count() > 0);
/// assert_eq!(project.settings().license, "");
/// assert_eq!(Project::parse(&project.render()).unwrap(), project);
/// # Ok::<(), kubewright_scaffold::command::CommandError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// How it is served; absent for foreign kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<Api>,
    /// Whether there is a controller for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub controller: bool,
    /// What its group ends in; empty for kinds of Kubernetes such as `apps`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// The group without the domain; `core` for the kinds of Kubernetes that have none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version: `v1`.
    pub version: String,
    /// The kind: `MarkdownView`.
    pub kind: String,
    /// The plural, where it is not the regular one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plural: String,
    /// The Rust path of its module.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// A kind of Kubernetes itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub core: bool,
    /// A kind some other project defines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub external: bool,
    /// Its webhooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhooks: Option<Webhooks>,
    /// Keys that are not known here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a kind is served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Api {
    /// The version of its `CustomResourceDefinition`: `v1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub crd_version: String,
    /// Whether its objects live in namespaces.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub namespaced: bool,
    /// The program serves it itself, as an aggregated API: there is no `CustomResourceDefinition`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aggregated: bool,
    /// Keys that are not known here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The webhooks of a kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhooks {
    /// The version of the webhook configurations: `v1`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub webhook_version: String,
    /// It sets defaults.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defaulting: bool,
    /// It refuses bad objects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub validation: bool,
    /// This version is the hub other versions are converted to and from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub conversion: bool,
    /// The versions converted to and from this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spoke: Vec<String>,
    /// Keys that are not known here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Resource {
    /// The group as objects write it: `view.ginoh.github.io`, `apps`, and nothing for the core kinds.
    pub fn api_group(&self) -> String {
        match (self.group.as_str(), self.domain.as_str()) {
            ("core", "") if self.core => String::new(),
            (group, "") => group.to_owned(),
            ("", domain) => domain.to_owned(),
            (group, domain) => format!("{group}.{domain}"),
        }
    }

    /// Group and version as objects write them: `view.ginoh.github.io/v1`.
    pub fn api_version(&self) -> String {
        match self.api_group().as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The plural its address has: `markdownviews`.
    pub fn plural(&self) -> String {
        if self.plural.is_empty() {
            names::plural(&self.kind)
        } else {
            self.plural.clone()
        }
    }

    /// The kind in lower case, as files in `config/` name it: `markdownview`.
    pub fn lowercase(&self) -> String {
        self.kind.to_lowercase()
    }

    /// The kind as a Rust module: `markdown_view`.
    pub fn module(&self) -> String {
        names::snake(&self.kind)
    }

    /// The group as a Rust module: `sea_creatures`.
    pub fn group_module(&self) -> String {
        names::module(if self.group.is_empty() { "core" } else { &self.group })
    }

    /// Whether its objects live in namespaces.
    pub fn namespaced(&self) -> bool {
        match &self.api {
            Some(api) => api.namespaced,
            None => builtin_kinds::is_namespaced(&self.group, &self.version, &self.kind),
        }
    }

    /// Whether the program serves it itself, as an aggregated API.
    pub fn aggregated(&self) -> bool {
        self.api.as_ref().is_some_and(|api| api.aggregated)
    }

    /// Whether it has webhooks of any sort.
    pub fn has_webhooks(&self) -> bool {
        self.admits() || self.converts()
    }

    /// Whether it has a defaulter or a validator.
    pub fn admits(&self) -> bool {
        self.defaults() || self.validates()
    }

    /// Whether it has a defaulter.
    pub fn defaults(&self) -> bool {
        self.webhooks.as_ref().is_some_and(|webhooks| webhooks.defaulting)
    }

    /// Whether it has a validator.
    pub fn validates(&self) -> bool {
        self.webhooks.as_ref().is_some_and(|webhooks| webhooks.validation)
    }

    /// Whether it is the hub of conversions.
    pub fn converts(&self) -> bool {
        self.webhooks.as_ref().is_some_and(|webhooks| webhooks.conversion)
    }

    /// The versions it is the hub of.
    pub fn spokes(&self) -> &[String] {
        self.webhooks.as_ref().map_or(&[], |webhooks| &webhooks.spoke)
    }

    /// Whether both are versions of one kind.
    pub fn is_same_kind(&self, other: &Self) -> bool {
        self.group == other.group && self.domain == other.domain && self.kind == other.kind
    }

    /// Where its sample is: `config/samples/view_v1_markdownview.yaml`.
    pub fn sample_path(&self) -> String {
        format!("config/samples/{}", self.sample_file())
    }

    /// The name of its sample: `view_v1_markdownview.yaml`.
    pub fn sample_file(&self) -> String {
        let group = if self.group.is_empty() {
            &self.domain
        } else {
            &self.group
        };
        format!("{group}_{}_{}.yaml", self.version, self.lowercase())
    }

    /// The name of its sample object: `markdownview-sample`.
    pub fn sample_name(&self) -> String {
        format!("{}-sample", self.lowercase())
    }

    /// The file of its definition in `config/crd/bases`: `view.ginoh.github.io_markdownviews.yaml`.
    pub fn definition_file(&self) -> String {
        format!("{}_{}.yaml", self.api_group(), self.plural())
    }
}
