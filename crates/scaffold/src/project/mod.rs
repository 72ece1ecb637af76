//! The PROJECT file, version 3: what a project is called, and which kinds and webhooks it has.
//! Keys this version does not know are kept as they are.

mod resource;
mod text;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::names;

pub use resource::{Api, Resource, Webhooks};
pub use text::ProjectError;

/// The layout of the projects written here.
pub const LAYOUT: &str = "kubewright.dev/v1";

/// The generation of the templates that new projects are written from. It grows with every release that changes a template; the
/// earlier ones are kept in `templates/`, so that an upgrade knows what a user changed.
pub const TEMPLATES: u32 = 2;

/// A project, as its PROJECT file says.
///
/// ```
/// use kubewright_scaffold::Project;
///
/// let project = Project::parse("domain: ginoh.github.io\nprojectName: markdown-view\nversion: \"3\"\n")?;
/// assert_eq!(project.name, "markdown-view");
/// assert_eq!(project.namespace(), "markdown-view-system");
/// # Ok::<(), kubewright_scaffold::project::ProjectError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// The version of the file's format: "3".
    pub version: String,
    /// Which `kubewright` wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cli_version: String,
    /// What every group ends in.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub domain: String,
    /// The plugins that define its layout.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "text::one_or_many"
    )]
    pub layout: Vec<String>,
    /// A DNS label: the prefix of what is installed, and the name of the crate.
    #[serde(default, rename = "projectName", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Where its source lives, as it was given: `github.com/ginoh/markdown-view`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repo: String,
    /// Whether folders are per group.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multigroup: bool,
    /// Whether the operator watches its own namespace only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub namespaced: bool,
    /// What plugins keep here, by their key.
    #[serde(default, skip_serializing_if = "Plugins::is_empty")]
    pub plugins: Plugins,
    /// Its kinds, and the foreign kinds it reconciles or has webhooks for, in the order they were created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Resource>,
    /// The text of `hack/boilerplate.rs.txt`, which stands above Rust files in place of the license. It is a file of the project and
    /// no part of PROJECT; a plan reads it.
    #[serde(skip)]
    pub boilerplate: Option<String>,
    /// Keys that are not known here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What plugins keep in a PROJECT file: ours, and everybody else's untouched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plugins {
    /// The switches of `kubewright edit` and what else later commands need to know.
    #[serde(default, rename = "kubewright.dev/v1", skip_serializing_if = "Settings::is_default")]
    pub settings: Settings,
    /// What other plugins keep.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Plugins {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Switches and options of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
// Each is a switch of its own.
#[allow(clippy::struct_excessive_bools)]
pub struct Settings {
    /// Certificates come from cert-manager instead of from the operator itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cert_manager: bool,
    /// A `ServiceMonitor` is installed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prometheus: bool,
    /// There are a Grafana dashboard and, beside the `ServiceMonitor`, alert rules.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grafana: bool,
    /// Network policies are installed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub network_policy: bool,
    /// How long a description in a definition may be; 0 leaves them all out.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "text::description_length"
    )]
    pub max_description_length: Option<u32>,
    /// The generation of the templates that its files were written from; the first one where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub templates: Option<u32>,
    /// The license of the source: `apache2`, `copyright` or `none`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub license: String,
    /// Whose copyright it is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The kinds that run an image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Keys that are not known here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Settings {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What the kind of a ready-made operator runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The group of the kind, without the domain.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its name.
    pub kind: String,
    /// The container's image.
    pub image: String,
    /// What the container runs instead of the image's own command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Where the container listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The user the container runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as_user: Option<i64>,
    /// Keys that are not known here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Project {
    /// The switches and options of the project.
    pub fn settings(&self) -> &Settings {
        &self.plugins.settings
    }

    /// The generation of the templates that its files were written from.
    pub fn templates(&self) -> u32 {
        self.settings().templates.unwrap_or(1)
    }

    /// A kind as the documentation of its generation names one of it: the first had one article for all.
    pub(crate) fn one_of(&self, kind: &str) -> String {
        if self.templates() == 1 {
            format!("a `{kind}`")
        } else {
            names::one_of(kind)
        }
    }

    /// The template of its generation.
    pub(crate) fn template<'a>(&self, first: &'a str, current: &'a str) -> &'a str {
        if self.templates() == 1 { first } else { current }
    }

    /// The namespace it is installed in: `<name>-system`.
    pub fn namespace(&self) -> String {
        format!("{}-system", self.name)
    }

    /// What the names of installed objects begin with: `<name>-`.
    pub fn prefix(&self) -> String {
        format!("{}-", self.name)
    }

    /// The crate as Rust code names it.
    pub fn crate_name(&self) -> String {
        names::module(&self.name)
    }

    /// The kinds the project defines, in the order they were created; one entry per version.
    pub fn kinds(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(|resource| resource.api.is_some())
    }

    /// The kinds that have a `CustomResourceDefinition`.
    pub fn defined_kinds(&self) -> impl Iterator<Item = &Resource> {
        self.kinds().filter(|resource| !resource.aggregated())
    }

    /// Whether the program serves kinds itself, as an aggregated API.
    pub fn has_extension(&self) -> bool {
        self.kinds().any(Resource::aggregated)
    }

    /// Whether any webhook of admission or conversion is served.
    pub fn has_webhooks(&self) -> bool {
        self.resources.iter().any(Resource::has_webhooks)
    }

    /// The versions of one kind, in the order they were created.
    pub fn versions_of<'a>(&'a self, kind: &'a Resource) -> impl Iterator<Item = &'a Resource> {
        self.resources.iter().filter(move |other| other.is_same_kind(kind))
    }

    /// Whether objects of the kind are stored in this version: the hub of its conversions, or else its first version.
    pub fn is_stored(&self, resource: &Resource) -> bool {
        let versions = || self.versions_of(resource).filter(|version| version.api.is_some());
        let hub = versions().find(|version| version.webhooks.as_ref().is_some_and(|webhooks| webhooks.conversion));
        hub.or_else(|| versions().next())
            .is_none_or(|stored| stored.version == resource.version)
    }

    /// The version of the kind that this one is converted to and from, if it is not itself that version.
    pub fn hub_of(&self, resource: &Resource) -> Option<&Resource> {
        let resource = self
            .resources
            .iter()
            .find(|own| own.is_same_kind(resource) && own.version == resource.version)?;
        self.resources
            .iter()
            .find(|hub| hub.is_same_kind(resource) && hub.spokes().contains(&resource.version))
    }

    /// The versions of the kind that are converted to and from this one.
    pub fn spokes_of<'a>(&'a self, hub: &'a Resource) -> impl Iterator<Item = &'a Resource> {
        self.versions_of(hub)
            .filter(|spoke| hub.spokes().contains(&spoke.version))
    }

    /// What the kind runs, if it was created for an image.
    pub fn image_of(&self, resource: &Resource) -> Option<&Image> {
        self.settings().images.iter().find(|image| {
            image.group == resource.group && image.version == resource.version && image.kind == resource.kind
        })
    }
}
