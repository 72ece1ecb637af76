//! How a session starts the operator: its flags and variables, who is told of it, and the samples that follow.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_cluster::bundle::{Bundle, account};
use kubewright_cluster::{denials, ports};
use kubewright_view::OperatorKinds;

use super::super::process::{Process, StartOptions};
use super::super::settings::Samples;
use super::super::webhook_host::{self, WebhookHost};
use super::super::{extension, samples};
use super::{Built, Session};

impl Session<'_> {
    /// Starts the operator.
    pub(super) async fn start(&mut self, built: &Built) -> Result<Process, Box<dyn Error>> {
        let start = self.how_to_start(&built.bundle).await?;
        let process = Process::start(&built.binary, self.project.root(), &start)
            .map_err(|error| format!("cannot start {}: {error}", built.binary.display()))?;
        self.progress.note(format!(
            "The operator runs; Ctrl-C stops it ({})",
            self.place.cluster.title()
        ));
        self.finish_aside();
        if let Some(view) = &mut self.view {
            match (&self.place.embedded, account(&built.bundle)) {
                (Some(_), Some(account)) => {
                    let namespace = account.namespace.as_deref().unwrap_or_default();
                    let user = format!("system:serviceaccount:{namespace}:{}", account.name);
                    view.model().rights(user, (*built.description).clone());
                }
                (Some(_), None) => {}
                (None, _) => {
                    view.model().traced_rights((*built.description).clone());
                    view.follow_cluster(self.place.cluster.client(), OperatorKinds::of(&built.description));
                }
            }
        }
        if let (Some(embedded), Some(account)) = (&self.place.embedded, account(&built.bundle)) {
            let telling = denials::tell(embedded.server().clone(), account, self.progress.clone());
            self.aside.push(tokio::spawn(telling));
        }
        if self.extension.is_some() {
            let (cluster, bundle) = (Arc::clone(&self.place.cluster), built.bundle.clone());
            self.aside
                .push(tokio::spawn(extension::tell(cluster, bundle, self.progress.clone())));
        }
        self.webhooks = self.webhooks_of(&built.bundle);
        self.apply_samples();
        Ok(process)
    }

    async fn how_to_start(&self, bundle: &Bundle) -> Result<StartOptions, Box<dyn Error>> {
        let mut flags = self.settings.common.flags.clone();
        flags.extend(self.webhook_host(bundle).await);
        if let Some(extension) = &self.extension {
            flags.extend_from_slice(extension.flags());
            if let Some(embedded) = &self.place.embedded {
                extension.register(embedded, bundle);
            }
        }
        if let Some(debug) = self.debug {
            flags.extend(debug.flags(&flags));
        }
        for (flag, told) in ports::flags(&flags, self.scope(bundle).has_webhooks) {
            self.progress.note(told);
            flags.push(flag);
        }
        let mut variables = Vec::new();
        if let Some(path) = self.place.kubeconfig(bundle).await? {
            variables.push(("KUBECONFIG".to_owned(), path.display().to_string()));
        }
        if std::env::var_os("WATCH_NAMESPACE").is_none() {
            variables.extend(watched_namespace(bundle).map(|namespace| ("WATCH_NAMESPACE".to_owned(), namespace)));
        }
        Ok(StartOptions { flags, variables })
    }

    /// The flag that says where the cluster calls the operator's webhooks, unless it is said already or there are none.
    async fn webhook_host(&self, bundle: &Bundle) -> Option<String> {
        if let Some(host) = &self.settings.common.webhook_host {
            return Some(format!("--webhook-host={host}"));
        }
        let is_said = |word: &String| word.trim_start_matches('-').starts_with("webhook-host");
        let scope = self.scope(bundle);
        if scope.is_embedded || !scope.has_webhooks || self.settings.common.flags.iter().any(is_said) {
            return None;
        }
        let server = self.place.address.as_ref()?;
        let WebhookHost { host, why } = webhook_host::find(server).await;
        self.progress.note(format!(
            "webhooks are called at {host}, {why} (--webhook-host says another)"
        ));
        Some(format!("--webhook-host={host}"))
    }

    pub(super) fn apply_changed_samples(&mut self, saved: &[PathBuf]) {
        let folder = self.project.root().join("config/samples");
        if saved.iter().any(|path| path.starts_with(&folder)) {
            self.apply_samples();
        }
    }

    /// Applies the samples beside everything else, if they are wanted.
    fn apply_samples(&mut self) {
        let has_any = self.project.root().join("config/samples").is_dir();
        match self.settings.samples {
            Samples::Ignored => return,
            Samples::IfAny if !has_any => return,
            Samples::IfAny | Samples::Required => {}
        }
        if let Some(earlier) = self.applying.take() {
            earlier.abort();
        }
        match samples::read(self.project.root()) {
            Ok(samples) => {
                let (cluster, progress) = (Arc::clone(&self.place.cluster), self.progress.clone());
                let webhooks = self.webhooks.clone();
                self.applying = Some(tokio::spawn(async move {
                    samples::apply(&cluster, &samples, &webhooks, &progress).await;
                }));
            }
            Err(error) => self.progress.warn(kubewright_cluster::with_sources(&error)),
        }
    }

    /// The operator ended: samples that wait for its webhooks would wait in vain. Its next start applies them.
    pub(super) fn drop_samples(&mut self) {
        if self.webhooks.is_empty() {
            return;
        }
        let Some(applying) = self.applying.take().filter(|applying| !applying.is_finished()) else {
            return;
        };
        applying.abort();
        self.progress
            .warn("the samples are not applied: they are when the operator runs again");
    }
}

/// As kubebuilder's scaffold has it, webhooks can be switched off.
pub(super) fn serves_webhooks(words: &[String]) -> bool {
    let is_zero = |word: &String| word.trim_start_matches('-') == "webhook-port=0";
    let is_zero_apart = |pair: &[String]| pair[0].trim_start_matches('-') == "webhook-port" && pair[1] == "0";
    let is_off = std::env::var_os("ENABLE_WEBHOOKS").is_some_and(|value| value == "false");
    !is_off && !words.iter().any(is_zero) && !words.windows(2).any(is_zero_apart)
}

/// The namespaces that the manager watches according to its Deployment.
fn watched_namespace(bundle: &Bundle) -> Option<String> {
    let deployment = bundle.objects.iter().find(|object| object["kind"] == "Deployment")?;
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array()?;
    let mut variables = containers
        .iter()
        .filter_map(|container| container["env"].as_array())
        .flatten();
    let variable = variables.find(|variable| variable["name"] == "WATCH_NAMESPACE")?;
    match variable["value"].as_str() {
        Some(namespace) => Some(namespace.to_owned()),
        None => Some(bundle.namespace.clone()),
    }
}
