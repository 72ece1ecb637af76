//! Cluster roles that gather the rules of others: `admin`, `edit`, `view`, and what operators add to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kubewright_apimachinery::rbac::aggregate;
use kubewright_runtime::cache::{Event, Query};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result, Watch};
use kubewright_runtime::object::{Kind, Selector};
use kubewright_runtime::operator::Operator;
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Adds the controller. Most roles are looked through for an aggregation rule, and not decoded: there are dozens of them in every cluster.
pub(crate) fn add_to(operator: Operator) -> Operator {
    let gathering = Arc::new(GatheringRoles::default());
    let all = Arc::clone(&gathering);
    // Roles with an aggregation rule are reconciled at the start and at each resync anyway, so the others wake nothing then.
    let news = Predicate::new(|event| !event.is_background());
    let controller = Controller::of::<ClusterRole>()
        .named("clusterrole-aggregation-controller")
        .of_when(Predicate::new(move |event| gathering.observe(event)))
        .watch(Watch::mapped_as(Kind::of::<ClusterRole>(), move |_: &IgnoredAny| all.requests()).when(news))
        .reconcile_with(|context| Roles {
            client: context.client(),
        });
    operator.controller(controller)
}

/// What is looked at of every role.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnyRole {
    aggregation_rule: Option<IgnoredAny>,
}

/// The roles that gather the rules of others. Every other role wakes all of them: its labels may be what one of them looks for.
#[derive(Default)]
struct GatheringRoles(Mutex<BTreeSet<Request>>);

impl GatheringRoles {
    /// Takes note of an event. Returns whether the role gathers.
    fn observe(&self, event: &Event) -> bool {
        let role = event.object().decode::<AnyRole>();
        let gathers = role.is_ok_and(|role| role.aggregation_rule.is_some());
        let request = Request::from(event.key().clone());
        let mut roles = self.0.lock();
        if gathers && !matches!(event, Event::Deleted { .. }) {
            roles.insert(request);
        } else {
            roles.remove(&request);
        }
        gathers
    }

    fn requests(&self) -> Vec<Request> {
        self.0.lock().iter().cloned().collect()
    }
}

struct Roles {
    client: Client,
}

impl Reconciler for Roles {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(role) = self.client.get_opt::<ClusterRole>(&request).await? else {
            return Ok(Action::done());
        };
        let Some(aggregation) = &role.aggregation_rule else {
            return Ok(Action::done());
        };
        let mut selected = Vec::new();
        for selector in aggregation.cluster_role_selectors.iter().flatten() {
            let Ok(selector) = Selector::try_from(selector) else {
                continue;
            };
            let query = Query::all().matching(selector);
            // The cache lists by name, as upstream does.
            selected.extend(self.client.list::<ClusterRole>(&query).await?);
        }
        let selected = selected.iter().map(|role| (name_of(role), role.rules.iter().flatten()));
        let rules: Vec<PolicyRule> = aggregate(name_of(&role), selected).into_iter().cloned().collect();
        if role.rules.as_deref().unwrap_or_default() == rules {
            return Ok(Action::done());
        }
        let mut role = role.into_owned();
        role.rules = Some(rules);
        self.client.update(&role).await?;
        Ok(Action::done())
    }
}

fn name_of(role: &ClusterRole) -> &str {
    role.metadata.name.as_deref().unwrap_or_default()
}
