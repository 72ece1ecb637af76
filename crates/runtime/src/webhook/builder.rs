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

/// A handler and its webhook configurations.
#[derive(Clone, Default)]
pub(super) struct Hook {
    pub(super) settings: Settings,
    pub(super) factory: Option<Factory>,
}

/// Webhooks whose kind is not part of their type.
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
    /// How much of the kind is in a generated name, so that no other webhook has the same.
    name_detail: NameDetail,
    of: std::marker::PhantomData<fn(T)>,
}

/// What of a kind is in the name of its webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum NameDetail {
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
    pub fn of<T: Object>() -> Webhook<T> {
        Webhook::empty(Some(Kind::of::<T>()))
    }

    /// A handler of requests about any kind. It is served; to be called by the server as well it must be said
    /// [what it mutates](Webhook::mutates) or [validates](Webhook::validates).
    pub fn raw(path: impl Into<String>, handler: impl Handler) -> Self {
        Self::raw_from(path, Factory::ready(handler))
    }

    /// The same for a handler that needs a client. It is made when the manager runs.
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
            name_detail: NameDetail::default(),
            of: std::marker::PhantomData,
        }
    }

    /// Changes the configuration of the mutating webhook.
    pub fn mutating(mut self, change: impl FnOnce(Settings) -> Settings) -> Self {
        self.mutating.settings = change(self.mutating.settings);
        self
    }

    /// Changes the configuration of the validating webhook.
    pub fn validating(mut self, change: impl FnOnce(Settings) -> Settings) -> Self {
        self.validating.settings = change(self.validating.settings);
        self
    }

    /// Changes the configuration of both webhooks.
    pub fn settings(self, change: impl Fn(Settings) -> Settings) -> Self {
        self.mutating(&change).validating(&change)
    }

    /// The webhooks as data, in the order mutating, validating.
    pub fn describe(&self) -> Vec<WebhookDescription> {
        self.hooks().map(|(description, _)| description).collect()
    }

    pub(super) fn is_raw(&self) -> bool {
        self.kind.is_none()
    }

    pub(super) fn kind_name(&self) -> String {
        self.kind.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// The webhooks that are served, with their configurations. A raw handler without configuration comes last.
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
        match self.name_detail {
            NameDetail::Kind => format!("{name}.kb.io"),
            NameDetail::Version => format!("{name}-{}.kb.io", kind.version()),
            NameDetail::Group if kind.group().is_empty() => format!("{name}-{}.core.kb.io", kind.version()),
            NameDetail::Group => format!("{name}-{}.{}.kb.io", kind.version(), kind.group()),
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
        let name_detail = if own.group() == others.group() {
            NameDetail::Version
        } else {
            NameDetail::Group
        };
        self.name_detail = self.name_detail.max(name_detail);
        other.name_detail = other.name_detail.max(name_detail);
    }
}

impl<T: Object> Webhook<T> {
    /// Fills in what users leave out, with [a defaulter](Defaulter).
    pub fn defaulter(mut self, defaulter: impl Defaulter<T>) -> Self {
        self.mutating.factory = Some(Factory::ready(Defaulting::new(defaulter)));
        self
    }

    /// The same with a defaulter that needs a client. It is made when the manager runs.
    pub fn defaulter_with<D: Defaulter<T>>(mut self, make: impl Fn(&Client) -> D + Send + Sync + 'static) -> Self {
        self.mutating.factory = Some(Factory::with_client(move |client| Defaulting::new(make(client))));
        self
    }

    /// Refuses what is wrong, with [a validator](Validator).
    pub fn validator(mut self, validator: impl Validator<T>) -> Self {
        self.validating.factory = Some(Factory::ready(Validating::new(validator)));
        self
    }

    /// The same with a validator that needs a client. It is made when the manager runs.
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
            name_detail: webhook.name_detail,
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
            name_detail: self.name_detail,
            of: std::marker::PhantomData,
        }
    }
}

impl<T> fmt::Debug for Webhook<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.describe()).finish()
    }
}
