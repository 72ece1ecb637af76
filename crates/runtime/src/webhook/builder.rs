//! A webhook as a value.

use std::fmt;

use kubewright_description::{AdmissionRule, RuleDescription, WebhookDescription, WebhookType};

use super::defaulting::{Defaulter, Defaulting};
use super::handler::{Factory, Handler};
use super::selector;
use super::settings::Settings;
use super::validating::{Validating, Validator};
use crate::client::Client;
use crate::object::{Kind, Object};

/// A handler and how the server is told of it.
#[derive(Clone, Default)]
pub(super) struct Hook {
    pub(super) settings: Settings,
    pub(super) factory: Option<Factory>,
}

/// Webhooks whose kind is not part of their type.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_runtime::webhook::{AdmissionRequest, AnyKind, Webhook};
///
/// let of_maps = Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()));
/// let of_secrets = Webhook::of::<Secret>().defaulter(|_: &mut Secret, _: &AdmissionRequest| Ok(()));
/// let all: [Webhook<AnyKind>; 2] = [of_maps.into(), of_secrets.into()];
/// # drop(all);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AnyKind;

/// The webhooks of one kind, or a raw handler at a path.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, AdmissionRule, Validator, Webhook};
///
/// struct Anything;
/// impl Validator<Deployment> for Anything {}
///
/// let typed = Webhook::of::<Deployment>()
///     .defaulter(|deployment: &mut Deployment, _: &AdmissionRequest| {
///         deployment.spec.get_or_insert_default().replicas.get_or_insert(1);
///         Ok(())
///     })
///     .validator(Anything);
/// let paths: Vec<_> = typed.describe().into_iter().map(|hook| hook.path).collect();
/// assert_eq!(paths, ["/mutate-apps-v1-deployment", "/validate-apps-v1-deployment"]);
///
/// let raw = Webhook::raw("/mutate-pods", |_: AdmissionRequest| async { AdmissionResponse::allowed() })
///     .mutates(AdmissionRule::new([""], ["v1"], ["pods"]));
/// assert_eq!(raw.describe()[0].name, "mutate-pods.kb.io");
/// ```
pub struct Webhook<T = AnyKind> {
    kind: Option<Kind>,
    pub(super) mutating: Hook,
    pub(super) validating: Hook,
    /// A handler that no configuration names.
    pub(super) raw: Hook,
    /// How much of the kind a name of ours has to say so that no other webhook has it too.
    told: Told,
    of: std::marker::PhantomData<fn(T)>,
}

/// What of a kind is in the name of its webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    /// `mdeployment.kb.io`
    #[default]
    Kind,
    /// `mdeployment-v1.kb.io`, as kubebuilder has it now: there are webhooks of another version too.
    Version,
    /// `mdeployment-v1.apps.kb.io`: another group has a kind of this name.
    Group,
}

impl Webhook {
    /// The webhooks of a kind: none yet.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::webhook::Webhook;
    ///
    /// assert!(Webhook::of::<ConfigMap>().describe().is_empty());
    /// ```
    pub fn of<T: Object>() -> Webhook<T> {
        Webhook::empty(Some(Kind::of::<T>()))
    }

    /// A handler of requests about any kind. It is served; to be called by the server as well it must be said
    /// [what it mutates](Webhook::mutates) or [validates](Webhook::validates).
    ///
    /// ```
    /// use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, Webhook, WebhookType};
    ///
    /// let webhook = Webhook::raw("/judge", |_: AdmissionRequest| async { AdmissionResponse::allowed() });
    /// assert_eq!(webhook.describe()[0].role, WebhookType::Unlisted);
    /// ```
    pub fn raw(path: impl Into<String>, handler: impl Handler) -> Self {
        Self::raw_from(path, Factory::ready(handler))
    }

    /// The same for a handler that needs a client. It is made when the manager runs.
    ///
    /// ```
    /// use kubewright_runtime::client::Client;
    /// use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, Webhook};
    ///
    /// let webhook = Webhook::raw_with("/validate-all", |client: &Client| {
    ///     let client = client.clone();
    ///     move |_: AdmissionRequest| {
    ///         let _client = client.clone();
    ///         async { AdmissionResponse::allowed() }
    ///     }
    /// });
    /// # drop(webhook);
    /// ```
    pub fn raw_with<H: Handler>(path: impl Into<String>, make: impl Fn(&Client) -> H + Send + Sync + 'static) -> Self {
        Self::raw_from(path, Factory::with_client(make))
    }

    fn raw_from(path: impl Into<String>, factory: Factory) -> Self {
        let mut webhook = Webhook::empty(None);
        webhook.raw = Hook {
            settings: Settings::default().path(path),
            factory: Some(factory),
        };
        webhook
    }

    /// The server calls the raw handler to change these objects. May be called several times.
    ///
    /// ```
    /// use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, AdmissionRule, PatchOperation, Webhook};
    ///
    /// let webhook = Webhook::raw("/mutate-pods", |_: AdmissionRequest| async {
    ///     AdmissionResponse::patched([PatchOperation::add("/spec/priority", 0)])
    /// })
    /// .mutates(AdmissionRule::new([""], ["v1"], ["pods"]));
    /// assert_eq!(webhook.describe()[0].rules[0].rule.resources, ["pods"]);
    /// ```
    pub fn mutates(mut self, rule: AdmissionRule) -> Self {
        let hook = if self.mutating.factory.is_some() {
            &mut self.mutating
        } else {
            self.mutating = self.raw.clone();
            &mut self.mutating
        };
        hook.settings.rules.push(rule);
        self
    }

    /// The server calls the raw handler to judge these objects. May be called several times.
    ///
    /// ```
    /// use kubewright_runtime::webhook::{AdmissionRequest, AdmissionResponse, AdmissionRule, Webhook};
    ///
    /// let webhook = Webhook::raw("/validate-pods", |_: AdmissionRequest| async { AdmissionResponse::allowed() })
    ///     .validates(AdmissionRule::new([""], ["v1"], ["pods"]));
    /// # drop(webhook);
    /// ```
    pub fn validates(mut self, rule: AdmissionRule) -> Self {
        let hook = if self.validating.factory.is_some() {
            &mut self.validating
        } else {
            self.validating = self.raw.clone();
            &mut self.validating
        };
        hook.settings.rules.push(rule);
        self
    }
}

impl<T> Webhook<T> {
    fn empty(kind: Option<Kind>) -> Self {
        Webhook {
            kind,
            mutating: Hook::default(),
            validating: Hook::default(),
            raw: Hook::default(),
            told: Told::default(),
            of: std::marker::PhantomData,
        }
    }

    /// How the server is told of the mutating webhook.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::webhook::{AdmissionRequest, ReinvocationPolicy, Webhook};
    ///
    /// let webhook = Webhook::of::<ConfigMap>()
    ///     .defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()))
    ///     .mutating(|settings| settings.reinvocation_policy(ReinvocationPolicy::IfNeeded));
    /// assert_eq!(webhook.describe()[0].reinvocation_policy, Some(ReinvocationPolicy::IfNeeded));
    /// ```
    pub fn mutating(mut self, change: impl FnOnce(Settings) -> Settings) -> Self {
        self.mutating.settings = change(self.mutating.settings);
        self
    }

    /// How the server is told of the validating webhook.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::webhook::{Operation, Validator, Webhook};
    ///
    /// struct Keep;
    /// impl Validator<ConfigMap> for Keep {}
    ///
    /// let webhook = Webhook::of::<ConfigMap>()
    ///     .validator(Keep)
    ///     .validating(|settings| settings.operations([Operation::Delete]).timeout_seconds(5));
    /// assert_eq!(webhook.describe()[0].timeout_seconds, Some(5));
    /// ```
    pub fn validating(mut self, change: impl FnOnce(Settings) -> Settings) -> Self {
        self.validating.settings = change(self.validating.settings);
        self
    }

    /// How the server is told of both.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::webhook::{AdmissionRequest, FailurePolicy, Webhook};
    ///
    /// let webhook = Webhook::of::<ConfigMap>()
    ///     .defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()))
    ///     .settings(|settings| settings.failure_policy(FailurePolicy::Ignore));
    /// assert_eq!(webhook.describe()[0].failure_policy, FailurePolicy::Ignore);
    /// ```
    pub fn settings(self, change: impl Fn(Settings) -> Settings) -> Self {
        self.mutating(&change).validating(&change)
    }

    /// The webhooks as data, in the order mutating, validating.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::webhook::{AdmissionRequest, Webhook};
    ///
    /// let webhook = Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()));
    /// assert_eq!(webhook.describe()[0].name, "mconfigmap.kb.io");
    /// ```
    pub fn describe(&self) -> Vec<WebhookDescription> {
        self.hooks().map(|(description, _)| description).collect()
    }

    pub(super) fn is_raw(&self) -> bool {
        self.kind.is_none()
    }

    pub(super) fn kind_name(&self) -> String {
        self.kind.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// What is served, and how the server is told of it. A raw handler that nobody is told of comes last.
    pub(super) fn hooks(&self) -> impl Iterator<Item = (WebhookDescription, &Factory)> {
        let listed = [
            (WebhookType::Mutating, &self.mutating),
            (WebhookType::Validating, &self.validating),
        ];
        let unlisted = listed.iter().all(|(_, hook)| hook.factory.is_none());
        let raw = unlisted.then_some((WebhookType::Unlisted, &self.raw));
        listed
            .into_iter()
            .chain(raw)
            .filter_map(|(role, hook)| Some((self.describe_hook(role, &hook.settings), hook.factory.as_ref()?)))
    }

    fn describe_hook(&self, role: WebhookType, settings: &Settings) -> WebhookDescription {
        let settings = settings.clone();
        let path = settings.path.unwrap_or_else(|| self.default_path(role));
        let name = settings.name.unwrap_or_else(|| self.default_name(role, &path));
        let own = self
            .kind
            .iter()
            .map(|kind| AdmissionRule::new([kind.group()], [kind.version()], [kind.plural()]));
        let rules: Vec<AdmissionRule> = if settings.rules.is_empty() {
            own.collect()
        } else {
            settings.rules
        };
        let operations: Vec<String> = settings
            .operations
            .iter()
            .map(|operation| operation.as_str().to_owned())
            .collect();
        WebhookDescription {
            role,
            name,
            path,
            rules: rules
                .into_iter()
                .map(|rule| RuleDescription {
                    operations: operations.clone(),
                    rule,
                    scope: settings.scope,
                })
                .collect(),
            failure_policy: settings.failure_policy,
            side_effects: settings.side_effects,
            timeout_seconds: settings.timeout_seconds,
            match_policy: settings.match_policy,
            namespace_selector: settings.namespace_selector.map(selector::described),
            object_selector: settings.object_selector.map(selector::described),
            match_conditions: settings.match_conditions,
            reinvocation_policy: settings.reinvocation_policy,
            review_versions: settings.review_versions,
        }
    }

    fn default_path(&self, role: WebhookType) -> String {
        let verb = match role {
            WebhookType::Mutating => "mutate",
            WebhookType::Validating | WebhookType::Unlisted => "validate",
        };
        let Some(kind) = &self.kind else {
            return format!("/{verb}");
        };
        let group = kind.group().replace('.', "-");
        format!("/{verb}-{group}-{}-{}", kind.version(), kind.kind().to_lowercase())
    }

    fn default_name(&self, role: WebhookType, path: &str) -> String {
        let Some(kind) = &self.kind else {
            return format!(
                "{}.kb.io",
                path.trim_matches('/').replace(['/', '_'], "-").to_lowercase()
            );
        };
        let letter = if role == WebhookType::Mutating { 'm' } else { 'v' };
        let name = format!("{letter}{}", kind.kind().to_lowercase());
        match self.told {
            Told::Kind => format!("{name}.kb.io"),
            Told::Version => format!("{name}-{}.kb.io", kind.version()),
            Told::Group if kind.group().is_empty() => format!("{name}-{}.core.kb.io", kind.version()),
            Told::Group => format!("{name}-{}.{}.kb.io", kind.version(), kind.group()),
        }
    }

    /// Both webhooks get names that tell them apart, if their kinds have one name.
    pub(crate) fn tell_apart(&mut self, other: &mut Self) {
        let (Some(own), Some(others)) = (&self.kind, &other.kind) else {
            return;
        };
        if own.kind() != others.kind() || own == others {
            return;
        }
        let told = if own.group() == others.group() {
            Told::Version
        } else {
            Told::Group
        };
        self.told = self.told.max(told);
        other.told = other.told.max(told);
    }
}

impl<T: Object> Webhook<T> {
    /// Fills in what users leave out, with [a defaulter](Defaulter).
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_runtime::webhook::{AdmissionRequest, Webhook};
    ///
    /// let webhook = Webhook::of::<Deployment>().defaulter(|deployment: &mut Deployment, _: &AdmissionRequest| {
    ///     deployment.spec.get_or_insert_default().replicas.get_or_insert(1);
    ///     Ok(())
    /// });
    /// # drop(webhook);
    /// ```
    pub fn defaulter(mut self, defaulter: impl Defaulter<T>) -> Self {
        self.mutating.factory = Some(Factory::ready(Defaulting::new(defaulter)));
        self
    }

    /// The same with a defaulter that needs a client. It is made when the manager runs.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::client::Client;
    /// use kubewright_runtime::object::ObjectKey;
    /// use kubewright_runtime::webhook::{AdmissionRequest, Defaulter, Rejection, Webhook};
    ///
    /// struct Defaults(Client);
    ///
    /// impl Defaulter<ConfigMap> for Defaults {
    ///     async fn set_defaults(&self, object: &mut ConfigMap, _: &AdmissionRequest) -> Result<(), Rejection> {
    ///         let standard = self.0.live().get::<ConfigMap>(&ObjectKey::namespaced("shop", "standard")).await?;
    ///         object.data.get_or_insert_with(|| standard.data.clone().unwrap_or_default());
    ///         Ok(())
    ///     }
    /// }
    /// let webhook = Webhook::of::<ConfigMap>().defaulter_with(|client| Defaults(client.clone()));
    /// # drop(webhook);
    /// ```
    pub fn defaulter_with<D: Defaulter<T>>(mut self, make: impl Fn(&Client) -> D + Send + Sync + 'static) -> Self {
        self.mutating.factory = Some(Factory::with_client(move |client| Defaulting::new(make(client))));
        self
    }

    /// Refuses what is wrong, with [a validator](Validator).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_runtime::webhook::{AdmissionRequest, Rejection, Validator, Verdict, Webhook};
    ///
    /// struct Immutable;
    ///
    /// impl Validator<Secret> for Immutable {
    ///     async fn validate_update(&self, _: &Secret, _: &Secret, _: &AdmissionRequest) -> Verdict {
    ///         Err(Rejection::denied("secrets are not changed here"))
    ///     }
    /// }
    /// let webhook = Webhook::of::<Secret>().validator(Immutable);
    /// assert_eq!(webhook.describe()[0].path, "/validate--v1-secret");
    /// ```
    pub fn validator(mut self, validator: impl Validator<T>) -> Self {
        self.validating.factory = Some(Factory::ready(Validating::new(validator)));
        self
    }

    /// The same with a validator that needs a client. It is made when the manager runs.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::client::Client;
    /// use kubewright_runtime::webhook::{Validator, Webhook};
    ///
    /// struct Rules(Client);
    /// impl Validator<ConfigMap> for Rules {}
    ///
    /// let webhook = Webhook::of::<ConfigMap>().validator_with(|client| Rules(client.clone()));
    /// # drop(webhook);
    /// ```
    pub fn validator_with<V: Validator<T>>(mut self, make: impl Fn(&Client) -> V + Send + Sync + 'static) -> Self {
        self.validating.factory = Some(Factory::with_client(move |client| Validating::new(make(client))));
        self
    }
}

/// Webhooks of different kinds fit together once their kinds are forgotten.
impl<T: Object> From<Webhook<T>> for Webhook {
    fn from(webhook: Webhook<T>) -> Self {
        Webhook {
            kind: webhook.kind,
            mutating: webhook.mutating,
            validating: webhook.validating,
            raw: webhook.raw,
            told: webhook.told,
            of: std::marker::PhantomData,
        }
    }
}

impl<T> Clone for Webhook<T> {
    fn clone(&self) -> Self {
        Webhook {
            kind: self.kind.clone(),
            mutating: self.mutating.clone(),
            validating: self.validating.clone(),
            raw: self.raw.clone(),
            told: self.told,
            of: std::marker::PhantomData,
        }
    }
}

impl<T> fmt::Debug for Webhook<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.describe()).finish()
    }
}
