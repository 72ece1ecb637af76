//! The Pods of a case whose containers answer.

use super::{CasePlayer, StepError};
use crate::case::CaseFile;
use crate::extension::Extension;
use crate::kubelet;
use crate::template::fill_value;
use crate::webhook::WebhookServer;

impl CasePlayer<'_> {
    /// Has the containers of the case's Pods answer.
    pub(super) async fn run_pods(&mut self, file: &CaseFile) -> Result<(), StepError> {
        for (pod, ports) in file.pods.as_object().into_iter().flatten() {
            let key = |name: &String| (self.unique.clone(), format!("{pod}.{name}"));
            let names = kubelet::port_names(ports);
            let served = names.iter();
            let served = served.map(|name| (name.clone(), kubelet::ports::serving(&self.ports, &key(name))));
            let running = self.target.run_pod(&self.namespace, pod, served.collect()).await;
            let running = running.map_err(StepError::Transport)?;
            self.variables.extend(running.variables(pod));
            let answers = Extension::all(&fill_value(ports, &self.variables)?).map_err(StepError::Extension)?;
            let answers = answers.into_iter();
            let answers = answers.map(|(name, answers)| (format!("{pod}.{name}"), answers));
            self.ports.open(&self.unique, answers.collect());
            self.pods.insert(pod.clone(), running);
        }
        Ok(())
    }

    /// The texts that differ from run to run, with their placeholders.
    pub(super) fn places(&self) -> Vec<(String, String)> {
        let mut places = self.webhooks.map(WebhookServer::places).unwrap_or_default();
        places.extend(self.pods.iter().flat_map(|(name, pod)| pod.places(name)));
        places
    }
}
