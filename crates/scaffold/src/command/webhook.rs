//! `create webhook` and `delete webhook`.

use super::{CommandError, Target};
use crate::{Project, Resource, builtin_kinds};

/// Which webhooks a command is about.
#[derive(Clone, Debug, Default)]
pub struct WebhookRequest {
    /// The kind.
    pub target: Target,
    /// Setting defaults.
    pub defaulting: bool,
    /// Refusing bad objects.
    pub validation: bool,
    /// Converting other versions to this one and back.
    pub conversion: bool,
    /// Those versions.
    pub spokes: Vec<String>,
    /// The Rust module of a foreign type.
    pub external_path: String,
    /// What the group of a foreign kind ends in.
    pub external_domain: String,
}

impl Project {
    /// The project with more webhooks for a kind.
    pub fn create_webhook(&self, request: &WebhookRequest) -> Result<Self, CommandError> {
        let target = &request.target;
        target.check(self)?;
        if !request.defaulting && !request.validation && !request.conversion {
            return Err(if request.spokes.is_empty() {
                CommandError::NoWebhook
            } else {
                CommandError::SpokeAlone
            });
        }
        if !request.conversion && !request.spokes.is_empty() {
            return Err(CommandError::SpokeAlone);
        }
        let resource = match target.find(self) {
            Some(there) => there.clone(),
            None if !request.external_path.is_empty() || builtin_kinds::is_group(&target.group) => {
                Self::foreign(target, &request.external_path, &request.external_domain)?
            }
            None => return Err(CommandError::NoKind(target.clone())),
        };
        if resource.aggregated() {
            return Err(CommandError::AggregatedWebhook(target.clone()));
        }
        if request.conversion {
            self.check_conversion(&resource, request)?;
        }
        let mut project = self.clone();
        let entry = target.entry(&mut project, resource);
        let webhooks = entry.webhooks.get_or_insert_default();
        "v1".clone_into(&mut webhooks.webhook_version);
        webhooks.defaulting |= request.defaulting;
        webhooks.validation |= request.validation;
        webhooks.conversion |= request.conversion;
        for spoke in &request.spokes {
            if !webhooks.spoke.contains(spoke) {
                webhooks.spoke.push(spoke.clone());
            }
        }
        Ok(project)
    }

    fn check_conversion(&self, hub: &Resource, request: &WebhookRequest) -> Result<(), CommandError> {
        let target = &request.target;
        if hub.api.is_none() {
            return Err(CommandError::ForeignConversion(target.clone()));
        }
        let other_hub = self
            .versions_of(hub)
            .find(|other| other.converts() && other.version != hub.version);
        if let Some(other) = other_hub {
            return Err(CommandError::SecondHub {
                kind: hub.kind.clone(),
                hub: other.version.clone(),
            });
        }
        let versions = || self.versions_of(hub).filter(|other| other.api.is_some());
        if request.spokes.is_empty() && hub.spokes().is_empty() {
            let others = versions().filter(|other| other.version != hub.version);
            return Err(CommandError::NoSpoke {
                target: target.clone(),
                others: others.map(|other| other.version.clone()).collect(),
            });
        }
        for spoke in &request.spokes {
            if *spoke == hub.version {
                return Err(CommandError::OwnSpoke(spoke.clone()));
            }
            if !versions().any(|version| version.version == *spoke) {
                return Err(CommandError::NoSuchSpoke {
                    kind: hub.kind.clone(),
                    version: spoke.clone(),
                });
            }
        }
        Ok(())
    }

    /// The project without webhooks of a kind: those that are named, or all of them.
    pub fn delete_webhook(&self, request: &WebhookRequest) -> Result<Self, CommandError> {
        let target = &request.target;
        let missing = |what| CommandError::NotThere {
            what,
            target: target.clone(),
        };
        let there = target.find(self).and_then(|there| there.webhooks.clone());
        let mut webhooks = there.ok_or_else(|| missing("webhook"))?;
        if !request.spokes.is_empty() && !request.conversion {
            return Err(CommandError::SpokeAlone);
        }
        let all = !request.defaulting && !request.validation && !request.conversion;
        let named = [
            (request.defaulting, webhooks.defaulting, "defaulting webhook"),
            (request.validation, webhooks.validation, "validating webhook"),
            (request.conversion, webhooks.conversion, "conversion"),
        ];
        if let Some((_, _, what)) = named.into_iter().find(|(asked, there, _)| *asked && !there) {
            return Err(missing(what));
        }
        if let Some(spoke) = request.spokes.iter().find(|spoke| !webhooks.spoke.contains(spoke)) {
            return Err(CommandError::NoSuchSpoke {
                kind: target.kind.clone(),
                version: spoke.clone(),
            });
        }
        webhooks.defaulting &= !(all || request.defaulting);
        webhooks.validation &= !(all || request.validation);
        if all || request.conversion {
            let named = |spoke: &String| request.spokes.is_empty() || request.spokes.contains(spoke);
            webhooks.spoke.retain(|spoke| !named(spoke));
            webhooks.conversion = !webhooks.spoke.is_empty();
        }
        let mut project = self.clone();
        let entry = target.entry(&mut project, Resource::default());
        let empty = !webhooks.defaulting && !webhooks.validation && !webhooks.conversion;
        entry.webhooks = (!empty).then_some(webhooks);
        let is_unused = entry.webhooks.is_none() && entry.api.is_none() && !entry.controller;
        if is_unused {
            project.resources.retain(|resource| !target.is(resource));
        }
        Ok(project)
    }
}
