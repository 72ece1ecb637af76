//! Cluster roles that gather the rules of others: `admin`, `edit`, `view`, and what operators add to them.

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kubewright_apimachinery::rbac::aggregate;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result, Watch};
use kubewright_runtime::object::Selector;
use kubewright_runtime::operator::Operator;

/// The roles that gather the rules of others, under [`GATHERS`].
const INDEX: &str = "gathers";
const GATHERS: &str = "true";

/// Adds the controller. What is looked at of most roles is their labels: there are dozens of them in every cluster.
pub(crate) fn add_to(operator: Operator) -> Operator {
    // Roles with an aggregation rule are reconciled at the start and at each resync anyway, so the others wake nothing then.
    let news = Predicate::new(|event| !event.is_background());
    let controller = Controller::of::<ClusterRole>()
        .named("clusterrole-aggregation-controller")
        .of_when(Predicate::object::<ClusterRole>(gathers))
        .watch(Watch::mapped_with::<ClusterRole, _>(|client: Client, _| gathering(client)).when(news))
        .reconcile_with(|context| Roles {
            client: context.client(),
        });
    operator.controller(controller).index::<ClusterRole>(INDEX, |role| {
        let gathers = gathers(role).then(|| GATHERS.to_owned());
        gathers.into_iter().collect()
    })
}

fn gathers(role: &ClusterRole) -> bool {
    role.aggregation_rule.is_some()
}

/// A role wakes all that gather: its labels may be what one of them looks for.
async fn gathering(client: Client) -> Vec<Request> {
    let query = Query::all().indexed(INDEX, GATHERS);
    let roles = client.without_waiting().list::<ClusterRole>(&query).await;
    let roles = roles.unwrap_or_default().into_iter();
    roles.map(|role| role.key().clone().into()).collect()
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
