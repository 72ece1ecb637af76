//! What of a project a session installs, and what of that belongs to its run.

use std::error::Error;

use kubewright_cluster::Reference;
use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::installation::Scope;

use super::super::extension::{self, ServedExtension};
use super::super::settings::Settings;
use super::super::target_cluster::TargetCluster;
use super::super::webhook_host::{self, WebhookHost};
use super::Session;
use super::starting::serves_webhooks;

impl Session<'_> {
    /// Installs what is not installed as it is rendered now.
    pub(super) async fn install(&mut self, bundle: &Bundle) -> Result<(), Box<dyn Error>> {
        if !self.settings.installs {
            return Ok(());
        }
        self.prepare_extension(bundle).await?;
        let is_first = self.installation.is_empty();
        let step = self.progress.step(if is_first {
            "Installing"
        } else {
            "Applying what changed"
        });
        let project = self.project.name();
        let scope = Self::scope_of(self.settings, self.place, self.extension.as_ref(), bundle);
        let changes = self
            .installation
            .apply(&self.place.cluster, project, bundle, scope, self.progress)
            .await?;
        // An empty API server gets everything, so that is not reported.
        let is_news = !(is_first && scope.is_embedded);
        for line in changes.lines.iter().filter(|_| is_news) {
            self.progress.note(line);
        }
        step.done_with(changes.summary());
        Ok(())
    }

    /// Finds out where the aggregated API is served, if there is one, and makes its certificate.
    async fn prepare_extension(&mut self, bundle: &Bundle) -> Result<(), Box<dyn Error>> {
        if !extension::is_served(bundle) {
            self.extension = None;
            return Ok(());
        }
        if self.extension.as_ref().is_some_and(|extension| extension.fits(bundle)) {
            return Ok(());
        }
        let reached_at = match &self.place.embedded {
            Some(_) => None,
            None => Some((
                extension::namespace(&self.place.cluster, bundle).await,
                self.extension_host().await,
            )),
        };
        self.extension = ServedExtension::prepare(bundle, &self.settings.common.flags, reached_at)?;
        Ok(())
    }

    /// The name or address at which the cluster reaches this machine.
    async fn extension_host(&self) -> String {
        if let Some(host) = &self.settings.common.webhook_host {
            return host.clone();
        }
        let Some(server) = &self.place.address else {
            return "localhost".to_owned();
        };
        let WebhookHost { mut host, why } = webhook_host::find(server).await;
        // It becomes the external name of a Service.
        if host == "127.0.0.1" {
            "localhost".clone_into(&mut host);
        }
        self.progress.note(format!(
            "the aggregated API is found at {host}, {why} (--webhook-host says another)"
        ));
        host
    }

    pub(super) fn scope(&self, bundle: &Bundle) -> Scope<'_> {
        Self::scope_of(self.settings, self.place, self.extension.as_ref(), bundle)
    }

    /// What belongs to a run; by its parts, so that the installation can be changed meanwhile.
    fn scope_of<'e>(
        settings: &Settings<'_>,
        place: &TargetCluster,
        extension: Option<&'e ServedExtension>,
        bundle: &Bundle,
    ) -> Scope<'e> {
        let has_any = bundle.objects.iter().any(|object| object["webhooks"].is_array());
        Scope {
            is_embedded: place.embedded.is_some(),
            has_webhooks: has_any && serves_webhooks(&settings.common.flags),
            extension: extension.map(|extension| &extension.local),
        }
    }

    pub(super) fn webhooks_of(&self, bundle: &Bundle) -> Vec<Reference> {
        let references = bundle.objects.iter().filter_map(Reference::of);
        let has_any = self.scope(bundle).has_webhooks;
        references
            .filter(|reference| has_any && reference.is_webhooks())
            .collect()
    }
}
