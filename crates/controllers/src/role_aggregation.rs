//! Cluster roles that gather the rules of others: `admin`, `edit`, `view`, and what operators add to them.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::object::{Selector, View};

use crate::support::labels;

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::of::<ClusterRole>()
        .named("clusterrole-aggregation-controller")
        .watches_with::<ClusterRole, _>(|client: Client, _| async move {
            let roles = client
                .without_waiting()
                .list::<ClusterRole>(&Query::all())
                .await
                .unwrap_or_default();
            let gathering = roles.into_iter().filter(|role| role.aggregation_rule.is_some());
            gathering.map(|role| role.key().clone().into()).collect()
        })
        .reconcile_with(|context| Roles {
            client: context.client(),
        })
}

struct Roles {
    client: Client,
}

impl Reconciler for Roles {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(role) = self.client.get_opt::<ClusterRole>(&request).await? else {
            return Ok(Action::done());
        };
        if role.aggregation_rule.is_none() {
            return Ok(Action::done());
        }
        let others = self.client.list::<ClusterRole>(&Query::all()).await?;
        let rules = gather(&role, &others);
        if role.rules.as_deref().unwrap_or_default() == rules {
            return Ok(Action::done());
        }
        let mut role = role.into_owned();
        role.rules = Some(rules);
        self.client.update(&role).await?;
        Ok(Action::done())
    }
}

/// The rules of all roles that one of the selectors means, by name, each rule once.
fn gather(role: &ClusterRole, others: &[View<ClusterRole>]) -> Vec<PolicyRule> {
    let selectors = role
        .aggregation_rule
        .iter()
        .flat_map(|rule| rule.cluster_role_selectors.iter().flatten());
    let mut rules: Vec<PolicyRule> = Vec::new();
    for selector in selectors.filter_map(|selector| Selector::try_from(selector).ok()) {
        // The cache lists by name.
        let meant = others.iter().filter(|other| {
            other.metadata.name != role.metadata.name && labels::matches(&selector, other.metadata.labels.as_ref())
        });
        for rule in meant.flat_map(|other| other.rules.iter().flatten()) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    rules
}
