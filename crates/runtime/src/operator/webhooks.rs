//! The webhooks of an operator: their server, their configurations and their certificates.

use super::{MainError, Operator, Rule};
use crate::certificates::{CertificateFiles, LocalMode, ManagedOptions, Permission, Source, Target};
use crate::client::Client;
use crate::flags::{Environment, Flags};
use crate::manager::{self, Manager, ManagerError};
use crate::serve::BindAddress;
use crate::webhook::{ClientConfig, Configurations, Webhook, WebhookServer, WebhookType};

impl Operator {
    /// A server of the webhooks and conversions, for tests and servers of your own. See [`WebhookServer`].
    pub fn webhook_server(&self, client: &Client) -> Result<WebhookServer, ManagerError> {
        manager::serve_webhooks(&self.webhooks, &self.conversions, client)
    }

    /// The webhook configurations that tell the API server of the webhooks.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_runtime::operator::Operator;
    /// use kubewright_runtime::webhook::{AdmissionRequest, ClientConfig, Webhook};
    ///
    /// let operator = Operator::new("shop")
    ///     .webhook(Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(())));
    /// let configurations = operator.webhook_configurations(&ClientConfig::url("https://127.0.0.1:9443", "PEM"));
    /// let webhooks = configurations.mutating.unwrap().webhooks.unwrap();
    /// assert_eq!(webhooks[0].client_config.url.as_deref(), Some("https://127.0.0.1:9443/mutate--v1-configmap"));
    /// ```
    pub fn webhook_configurations(&self, config: &ClientConfig) -> Configurations {
        let webhooks: Vec<_> = self.webhooks.iter().flat_map(Webhook::describe).collect();
        Configurations::render(&self.name, &webhooks, config)
    }

    /// What holds a caBundle for the webhooks and conversions of this operator.
    pub fn certificate_targets(&self) -> Vec<Target> {
        let listed = |role| {
            let mut webhooks = self.webhooks.iter().flat_map(Webhook::describe);
            webhooks.any(|webhook| webhook.role == role)
        };
        let mutating =
            listed(WebhookType::Mutating).then(|| Target::mutating(Configurations::mutating_name(&self.name)));
        let validating =
            listed(WebhookType::Validating).then(|| Target::validating(Configurations::validating_name(&self.name)));
        let conversions = self.conversions.iter().map(|conversion| {
            let kind = conversion.kind();
            Target::conversion(format!("{}.{}", kind.plural(), kind.group()))
        });
        mutating.into_iter().chain(validating).chain(conversions).collect()
    }

    /// The Service through which the API server reaches the webhooks, as kubebuilder calls it.
    fn webhook_service(&self) -> String {
        format!("{}-webhook-service", self.name)
    }

    /// The rules for certificates of its own: those for everywhere, and those for its own namespace.
    pub(super) fn certificate_rules(&self) -> (Vec<Rule>, Vec<Rule>) {
        let services = [
            (self.webhook_service(), self.certificate_targets()),
            (self.extension_service(), self.extension_targets()),
        ];
        let (own, all): (Vec<_>, Vec<_>) = services
            .into_iter()
            .filter(|(_, targets)| !targets.is_empty())
            .flat_map(|(service, targets)| {
                // Which namespace that is, the installation decides.
                let mut options = ManagedOptions::new("", service);
                options.targets = targets;
                options.permissions()
            })
            .partition(|permission| permission.namespace.is_some());
        (all.into_iter().map(rule).collect(), own.into_iter().map(rule).collect())
    }

    /// Serves webhooks as flags and environment say.
    pub(super) fn serve_webhooks(
        &self,
        manager: Manager,
        flags: &Flags,
        environment: &Environment,
    ) -> Result<Manager, MainError> {
        // As in kubebuilder's scaffold.
        let off = environment.variable("ENABLE_WEBHOOKS") == Some("false") || flags.webhook_port == 0;
        if off || (self.webhooks.is_empty() && self.conversions.is_empty()) {
            return Ok(manager.webhook_address(BindAddress::Off));
        }
        let address = BindAddress::At {
            host: None,
            port: flags.webhook_port,
        };
        let certificates = self
            .certificate_source(flags, environment)
            .open()
            .map_err(ManagerError::WebhookCertificates)?
            .restoring(self.certificate_targets());
        Ok(manager
            .webhook_address(address)
            .webhook_certificates(certificates, flags.enable_http2))
    }

    /// Where certificates come from: files, if a flag names them; else a Secret of ours in the cluster; else they are made for a run
    /// on this machine.
    fn certificate_source(&self, flags: &Flags, environment: &Environment) -> Source {
        if let Some(folder) = &flags.webhook_cert_path {
            let files = CertificateFiles::in_folder(folder, &flags.webhook_cert_name, &flags.webhook_cert_key);
            return Source::Files(files);
        }
        let targets = self.certificate_targets();
        match environment.namespace() {
            Some(namespace) if environment.is_in_cluster() => {
                let service = flags.webhook_service_name.clone();
                let mut options = ManagedOptions::new(namespace, service.unwrap_or_else(|| self.webhook_service()));
                options.targets = targets;
                Source::Managed(options)
            }
            _ => {
                let mut local = LocalMode::new(flags.webhook_host.clone(), flags.webhook_port);
                local.targets = targets;
                Source::Local(local)
            }
        }
    }
}

fn rule(permission: Permission) -> Rule {
    Rule::new([permission.api_group], [permission.resource], permission.verbs).named(permission.resource_names)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::webhook::{AdmissionRequest, Settings};

    fn operator() -> Operator {
        let webhook = Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()));
        Operator::new("shop").webhook(webhook)
    }

    fn source(words: &[&str], environment: &Environment) -> Source {
        let flags = Flags::try_parse_from(std::iter::once("shop").chain(words.iter().copied())).unwrap();
        operator().certificate_source(&flags, environment)
    }

    #[test]
    fn certificates_come_from_files_if_a_flag_says_so() {
        let files = source(
            &["--webhook-cert-path=/certs", "--webhook-cert-name=a.crt"],
            &Environment::of([]),
        );
        assert_eq!(
            files,
            Source::Files(CertificateFiles::in_folder("/certs", "a.crt", "tls.key"))
        );
    }

    #[test]
    fn certificates_are_kept_in_the_cluster_by_a_manager_that_runs_there() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["token", "ca.crt"] {
            std::fs::write(folder.path().join(file), "x").unwrap();
        }
        std::fs::write(folder.path().join("namespace"), "shop-system").unwrap();
        let environment = Environment::of([
            ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
            ("KUBERNETES_SERVICE_PORT", "443"),
        ])
        .with_service_account(folder.path());
        let Source::Managed(options) = source(&[], &environment) else {
            panic!("not managed");
        };
        assert_eq!(options.dns_names()[0], "shop-webhook-service.shop-system.svc");
        assert_eq!(
            options.targets,
            [Target::mutating("shop-mutating-webhook-configuration")]
        );
    }

    #[test]
    fn outside_the_cluster_the_server_is_told_to_call_this_machine() {
        let environment = Environment::of([]).with_service_account("/no/such/folder");
        let Source::Local(local) = source(&["--webhook-host=host.docker.internal"], &environment) else {
            panic!("not local");
        };
        assert_eq!(local.url(), "https://host.docker.internal:9443");
    }

    #[test]
    fn webhooks_can_be_switched_off_as_in_kubebuilders_scaffold() {
        let served = |words: &[&str], environment: &Environment| {
            let flags = Flags::try_parse_from(std::iter::once("shop").chain(words.iter().copied())).unwrap();
            let manager = operator().manager_with(&flags, environment).unwrap();
            manager.serves_webhooks()
        };
        assert!(served(&[], &Environment::of([])));
        assert!(!served(&["--webhook-port=0"], &Environment::of([])));
        assert!(!served(&[], &Environment::of([("ENABLE_WEBHOOKS", "false")])));
    }

    #[test]
    fn two_webhooks_of_one_path_are_an_error_before_anything_starts() {
        let twice = operator().webhook(
            Webhook::of::<ConfigMap>()
                .defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(()))
                .mutating(|settings: Settings| settings.name("other.shop.example.com")),
        );
        let error = twice.manager().unwrap_err();
        assert_eq!(
            error.to_string(),
            "webhooks \"mconfigmap.kb.io\" and \"other.shop.example.com\" are both served at /mutate--v1-configmap; give one \
             another path with `settings.path(…)`"
        );
    }
}
