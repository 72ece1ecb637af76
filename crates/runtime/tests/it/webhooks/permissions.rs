//! An operator under its own service account, with nothing but the permissions its description asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use kube::api::{Api, ListParams, PostParams};
use kubewright_apiserver::{ApiServer, Options, User};
use kubewright_runtime::certificates::{ManagedOptions, Source};
use kubewright_runtime::client::Client;
use kubewright_runtime::client::helpers::set_controller_reference;
use kubewright_runtime::controller::{Action, Controller, ControllerStats, Failure, Request};
use kubewright_runtime::events::{EventNote, EventRecorder};
use kubewright_runtime::lease::ElectionOptions;
use kubewright_runtime::operator::{Description, Operator, Rule};
use kubewright_runtime::serve::{BindAddress, Checks};
use kubewright_runtime::stop::Stopper;
use kubewright_runtime::webhook::{AdmissionRequest, ClientConfig, Webhook};
use serde_json::json;

use super::support::create;

fn policy(rule: &Rule) -> PolicyRule {
    let some = |texts: &[String]| (!texts.is_empty()).then(|| texts.to_vec());
    PolicyRule {
        api_groups: some(&rule.api_groups),
        resources: some(&rule.resources),
        resource_names: some(&rule.resource_names),
        non_resource_urls: some(&rule.non_resource_urls),
        verbs: rule.verbs.clone(),
    }
}

/// Gives rules to a service account of the default namespace: in one namespace, or everywhere.
pub(crate) async fn allow(server: &ApiServer, role: &str, account: &str, rules: &[Rule], namespace: Option<&str>) {
    let metadata = json!({ "name": role });
    let subjects = json!([{ "kind": "ServiceAccount", "name": account, "namespace": "default" }]);
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let role_ref = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role });
    let binding = json!({ "metadata": metadata, "roleRef": role_ref, "subjects": subjects });
    let rules: Vec<PolicyRule> = rules.iter().map(policy).collect();
    if let Some(namespace) = namespace {
        let role = Role {
            metadata: serde_json::from_value(metadata).unwrap(),
            rules: Some(rules),
        };
        let there = Api::<Role>::namespaced(server.client(), namespace);
        there.create(&PostParams::default(), &role).await.unwrap();
        let binding = serde_json::from_value(binding).unwrap();
        let there = Api::<RoleBinding>::namespaced(server.client(), namespace);
        there.create(&PostParams::default(), &binding).await.unwrap();
        return;
    }
    let role = ClusterRole {
        metadata: serde_json::from_value(metadata).unwrap(),
        rules: Some(rules),
        aggregation_rule: None,
    };
    create(server, &role).await;
    create::<ClusterRoleBinding>(server, &serde_json::from_value(binding).unwrap()).await;
}

const NAMESPACE: &str = "shop-system";
const SERVICE: &str = "shop-webhook-service";

/// Copies each `ConfigMap` into a Secret of its name, tells of it, and labels what is created.
fn operator() -> Operator {
    async fn copy(client: &Client, events: &EventRecorder, request: &Request) -> Result<Action, Failure> {
        let Some(original) = client.get_opt::<ConfigMap>(request.key()).await? else {
            return Ok(Action::done());
        };
        if client.get_opt::<Secret>(request.key()).await?.is_some() {
            return Ok(Action::done());
        }
        let mut copy = Secret::default();
        copy.metadata.name.clone_from(&original.metadata.name);
        copy.metadata.namespace.clone_from(&original.metadata.namespace);
        set_controller_reference(&*original, &mut copy)?;
        client.create(&copy).await?;
        events.record(&*original, EventNote::normal("Copied", "Copy", "there is a copy"));
        Ok(Action::done())
    }
    let label = |object: &mut ConfigMap, _: &AdmissionRequest| {
        let labels = object.metadata.labels.get_or_insert_default();
        labels.insert("seen".to_owned(), "yes".to_owned());
        Ok(())
    };
    Operator::new("shop")
        .namespaces(["default"])
        .controller(
            Controller::of::<ConfigMap>()
                .owns::<Secret>()
                .reconcile_with(|context| {
                    let (client, events) = (context.client(), context.events());
                    move |request: Request| {
                        let (client, events) = (client.clone(), events.clone());
                        async move { copy(&client, &events, &request).await }
                    }
                }),
        )
        .webhook(Webhook::of::<ConfigMap>().defaulter(label).mutating(|settings| {
            let selector = json!({ "matchLabels": { "kubernetes.io/metadata.name": "default" } });
            settings.namespace_selector(serde_json::from_value(selector).unwrap())
        }))
        .rule(Rule::new([""], ["secrets"], ["create"]))
}

/// What the outside sees of a run that does not come to its end.
struct Run {
    stats: ControllerStats,
    ready: Checks,
    server: ApiServer,
}

impl Run {
    /// What is not as it should be; nothing when everything is.
    async fn missing(&self) -> Option<String> {
        for check in ["/webhook", "/caches"] {
            let (code, text) = self.ready.ask(check, "").await;
            if code != 200 {
                return Some(text);
            }
        }
        let copies: Api<Secret> = Api::namespaced(self.server.client(), "default");
        if copies.get_opt("a").await.unwrap().is_some() {
            return None;
        }
        let failed = self.stats.snapshot().last_error;
        Some(failed.unwrap_or_else(|| "there is no copy".to_owned()))
    }
}

/// Runs the operator as its own account with what a description allows, until it has done its work; else says what is missing.
async fn run(description: &Description) -> Result<ApiServer, String> {
    let server = ApiServer::new(Options::new());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": NAMESPACE } })).unwrap();
    create::<k8s_openapi::api::core::v1::Namespace>(&server, &namespace).await;
    let everywhere = [description.rules.clone(), description.certificate_rules.clone()].concat();
    let own = [
        description.leader_election_rules.clone(),
        description.certificate_namespace_rules.clone(),
    ]
    .concat();
    allow(&server, "shop-manager", "shop", &everywhere, None).await;
    allow(&server, "shop-own", "shop", &own, Some(NAMESPACE)).await;

    let operator = operator();
    let configurations = operator.webhook_configurations(&ClientConfig::service(NAMESPACE, SERVICE));
    create(&server, &configurations.mutating.unwrap()).await;
    let mut options = ManagedOptions::new(NAMESPACE, SERVICE);
    options.targets = operator.certificate_targets();
    let port = kubewright_test_support::free_port();
    server.serve_service(NAMESPACE, SERVICE, 443, ([127, 0, 0, 1], port).into());
    let address: BindAddress = format!("127.0.0.1:{port}").parse().unwrap();
    let manager = operator
        .manager()
        .unwrap()
        .webhook_address(address)
        .webhook_certificates(Source::Managed(options).open().unwrap(), false)
        .leader_election(ElectionOptions::new(NAMESPACE, "shop"));
    let watched = Run {
        stats: manager.stats().remove(0).1,
        ready: manager.ready().clone(),
        server: server.clone(),
    };
    let (stopper, stop) = Stopper::new();
    let account = User::service_account("default", "shop");
    let running = tokio::spawn(manager.run(server.client_as(account), stop));
    let mut last = None;
    let mut asked = false;
    for _ in 0..250 {
        last = watched.missing().await;
        if last.is_none() {
            break;
        }
        if !asked && watched.ready.ask("/webhook", "").await.0 == 200 {
            let objects: Api<ConfigMap> = Api::namespaced(server.client(), "default");
            let new: ConfigMap = serde_json::from_value(json!({ "metadata": { "name": "a" } })).unwrap();
            let made = objects.create(&PostParams::default(), &new).await.unwrap();
            assert_eq!(
                made.metadata.labels,
                Some(BTreeMap::from([("seen".to_owned(), "yes".to_owned())]))
            );
            asked = true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stopper.stop();
    running.await.unwrap().map_err(|error| error.to_string())?;
    last.map_or(Ok(server), Err)
}

#[tokio::test]
async fn an_operator_does_its_work_with_nothing_but_its_generated_permissions() {
    let server = run(&operator().describe()).await.unwrap();
    let account = "system:serviceaccount:default:shop";
    let refused: Vec<String> = server
        .audit()
        .user(account)
        .refused()
        .events()
        .iter()
        .map(|event| format!("{:?}", event.attributes))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let events: Api<Event> = Api::namespaced(server.client(), "default");
    let told = events.list(&ListParams::default()).await.unwrap();
    assert!(told.items.iter().any(|event| event.reason.as_deref() == Some("Copied")));
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(server.client());
    let configuration = configurations.get("shop-mutating-webhook-configuration").await.unwrap();
    assert!(configuration.webhooks.unwrap()[0].client_config.ca_bundle.is_some());
}

/// One of the lists of rules in a description.
type Rules = fn(&mut Description) -> &mut Vec<Rule>;

/// The description without one verb on one resource.
fn without(mut description: Description, rules: Rules, resource: &str, verb: &str) -> Description {
    let rules = rules(&mut description);
    let mut found = false;
    for mut rule in std::mem::take(rules) {
        if rule.resources.iter().any(|name| name == resource) && rule.verbs.iter().any(|name| name == verb) {
            found = true;
            let mut lesser = rule.clone();
            lesser.resources = vec![resource.to_owned()];
            lesser.verbs.retain(|name| name != verb);
            rule.resources.retain(|name| name != resource);
            rules.push(lesser);
        }
        rules.push(rule);
    }
    assert!(found, "no rule allows to {verb} {resource}");
    rules.retain(|rule| !rule.verbs.is_empty() && !rule.resources.is_empty());
    description
}

#[tokio::test]
async fn a_missing_rule_is_named_by_what_fails_without_it() {
    let cases: [(Rules, _, _, _); 4] = [
        (
            |all| &mut all.rules,
            "secrets",
            "create",
            "add `.rule(Rule::new([\"\"], [\"secrets\"], [\"create\"]))` to the operator",
        ),
        (
            |all| &mut all.rules,
            "configmaps",
            "watch",
            "declare the kind with `.reads::<…>()` (or `of`, `owns`, `watches`), or add `.rule(Rule::new([\"\"], \
             [\"configmaps\"], [\"watch\"]))`",
        ),
        (
            |all| &mut all.certificate_rules,
            "mutatingwebhookconfigurations",
            "patch",
            "the rule that is missing: {apiGroups: [\"admissionregistration.k8s.io\"], resources: \
             [\"mutatingwebhookconfigurations\"], resourceNames: [\"shop-mutating-webhook-configuration\"], verbs: [\"patch\"]}",
        ),
        (
            |all| &mut all.certificate_namespace_rules,
            "secrets",
            "patch",
            "resourceNames: [\"shop-webhook-service-cert\"], verbs: [\"patch\"]} in a Role of namespace shop-system",
        ),
    ];
    for (rules, resource, verb, named) in cases {
        let lesser = without(operator().describe(), rules, resource, verb);
        let Err(said) = run(&lesser).await else {
            panic!("nobody missed the right to {verb} {resource}");
        };
        assert!(said.contains(named), "without {verb} {resource}: {said}");
    }
}
