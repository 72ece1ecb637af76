//! What a cluster needs to run an operator, as the files of a kustomize tree: definitions, RBAC, Services, webhook configurations
//! and the manager itself. Names and layout are kubebuilder's: `<operator>-controller-manager` in `<operator>-system`.

mod access;
mod alerts;
mod certificates;
mod context;
mod extension;
mod file;
mod kinds;
pub mod kustomization;
mod manager;
mod network;
mod policies;
mod settings;

use kubewright_description::Description;
use serde_json::Value;

use crate::definitions::{self, DefinitionOptions};
use crate::problem::Problems;
pub(crate) use context::NAMESPACE_ANNOTATION;
use context::RenderContext;
pub use file::{GeneratedFile, MARK, is_generated};
use kustomization::Entry;
pub use manager::{MANAGER, manager_yaml};
pub use network::METRICS_SERVICE;
pub use settings::Settings;

/// What an operator needs in a cluster, rendered once. The files of a project are written from it, and the objects that go into
/// a cluster ([`crate::bundle::Bundle`]) are made from it.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedManifests {
    /// The name of the operator.
    pub operator: String,
    /// Whether the API server calls the manager: for admission, or for conversion.
    pub has_webhooks: bool,
    /// Whether the manager serves an aggregated API.
    pub has_extension: bool,
    /// Where and how it runs.
    pub settings: Settings,
    /// The `CustomResourceDefinition`s of its kinds, without who converts them.
    pub definitions: Vec<Value>,
    /// The files that follow from the code, ordered by path: everything below `config/` but the manager, the samples and
    /// `config/default/kustomization.yaml`.
    pub files: Vec<GeneratedFile>,
    /// What `config/default/kustomization.yaml` has to list, and what it must not.
    pub entries: Vec<Entry>,
}

impl RenderedManifests {
    /// Renders the definitions of an operator's kinds and everything else, or reports what is wrong with its types.
    pub fn render(
        operator: &Description,
        options: &DefinitionOptions,
        settings: &Settings,
    ) -> Result<RenderedManifests, Problems> {
        let definitions = definitions::render(operator, options)?;
        // The kinds of an aggregated API have no definitions in the cluster, but are held to the same rules.
        let aggregated = Description {
            definitions: operator.aggregated.clone(),
            conversions: Vec::new(),
            ..Description::new(&operator.name)
        };
        definitions::render(&aggregated, options)?;
        Ok(RenderedManifests::with_definitions(operator, definitions, settings))
    }

    /// Renders everything else for definitions that are there already.
    pub fn with_definitions(operator: &Description, definitions: Vec<Value>, settings: &Settings) -> RenderedManifests {
        let context = RenderContext { operator, settings };
        let replacements = access::namespace_replacements(&context);
        let entries = entries(&context, replacements.is_some());
        let mut files = kinds::files(&context, &definitions);
        files.extend(access::files(&context));
        files.extend(replacements);
        files.extend(network::files(&context));
        files.extend(extension::files(&context));
        files.extend(policies::files(&context));
        files.extend(certificates::files(&context));
        files.extend(manager::patches(&context));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        RenderedManifests {
            operator: operator.name.clone(),
            has_webhooks: context.has_webhooks(),
            has_extension: context.has_extension(),
            settings: settings.clone(),
            definitions,
            files,
            entries,
        }
    }
}

fn entries(context: &RenderContext<'_>, has_replacements: bool) -> Vec<Entry> {
    let settings = context.settings;
    let webhooks = context.has_webhooks();
    vec![
        Entry::resource("../crd", !context.operator.definitions.is_empty()),
        Entry::resource("../webhook", webhooks),
        Entry::resource("../apiservice", context.has_extension()),
        Entry::resource("../policy", !context.operator.policies.is_empty()),
        Entry::resource("../certmanager", settings.cert_manager),
        Entry::resource("../prometheus", settings.prometheus),
        Entry::resource("../network-policy", settings.network_policy),
        Entry::patch("manager_webhook_patch.yaml", webhooks),
        Entry::patch("manager_extension_patch.yaml", context.has_extension()),
        Entry::patch("cert_metrics_manager_patch.yaml", settings.cert_manager),
        Entry::replacement(access::NAMESPACE_REPLACEMENTS, has_replacements),
    ]
}

/// The first `config/default/kustomization.yaml` of a project. From then on it belongs to the user.
pub fn default_kustomization(settings: &Settings, entries: &[Entry]) -> String {
    let text = include_str!("default_kustomization.yaml")
        .replace("{namespace}", &settings.namespace)
        .replace("{prefix}", &settings.prefix);
    // The template has its lists in the form that can be edited.
    kustomization::set(&text, entries).unwrap_or(text)
}

/// The folders of generated files. A marked file there that is not among [`RenderedManifests::files`] belongs to code that was removed.
pub const FOLDERS: [&str; 11] = [
    "config/apiservice",
    "config/certmanager",
    "config/crd",
    "config/crd/bases",
    "config/crd/patches",
    "config/default",
    "config/network-policy",
    "config/policy",
    "config/prometheus",
    "config/rbac",
    "config/webhook",
];
