//! What an operator asked for, as a server's audit has it, against what its rules grant.
#![allow(missing_docs)]

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_apiserver::{ApiServer, AuditDecision, Options, User};
use kubewright_manifests::rules::check::{Origin, Request, check};
use kubewright_runtime::controller::Controller;
use kubewright_runtime::operator::{Description, Operator, Rule};

fn operator() -> Description {
    Operator::new("shop")
        .controller(Controller::of::<ConfigMap>().owns::<Deployment>())
        .reads::<Secret>()
        .rule(Rule::new(["apps"], ["deployments"], ["create", "patch", "delete"]))
        .rule(Rule::new([""], ["secrets"], ["get"]))
        .describe()
}

fn request(allowed: bool, verb: &str, resource: &str) -> Request {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    Request {
        user: "system:serviceaccount:shop-system:shop-controller-manager".to_owned(),
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: "default".to_owned(),
        name: "one".to_owned(),
        allowed,
        ..Request::default()
    }
}

#[test]
fn what_was_refused_is_told_with_the_line_to_add() {
    let requests = [
        request(false, "patch", "configmaps/status"),
        request(false, "get", "configmaps/status"),
        request(false, "patch", "configmaps/status"),
        request(false, "update", "leases.coordination.k8s.io"),
        request(false, "watch", "deployments.apps"),
    ];
    let told: Vec<String> = check(&operator(), &requests)
        .denied
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "repeatedly denied: get, patch of configmaps/status (namespace default); add \
             #[rbac(groups = \"\", resources = \"configmaps/status\", verbs = \"get, patch\")]",
            "once denied: watch of deployments.apps (namespace default); the rules grant it, but the role in force did not: run \
             `kubewright manifests` and install it again",
            "once denied: update of leases.coordination.k8s.io (namespace default); the rules grant it, but the role in force \
             did not: run `kubewright manifests` and install it again",
        ]
    );
}

#[test]
fn what_was_never_used_is_told_with_why_it_is_there() {
    let requests = [
        request(true, "list", "configmaps"),
        request(true, "watch", "configmaps"),
        request(true, "patch", "deployments.apps"),
    ];
    let report = check(&operator(), &requests);
    let unused: Vec<(Origin, &Rule)> = report
        .unused
        .iter()
        .map(|unused| (unused.origin, &unused.rule))
        .collect();
    assert_eq!(
        unused,
        [
            (
                Origin::Written,
                &Rule::new(["apps"], ["deployments"], ["create", "delete"])
            ),
            (
                Origin::Toolkit,
                &Rule::new(["events.k8s.io"], ["events"], ["create", "patch"])
            ),
            // That somebody wrote `get` of Secrets once more makes it no less a declared read.
            (Origin::Declared, &Rule::new([""], ["configmaps"], ["get"])),
            (
                Origin::Declared,
                &Rule::new([""], ["secrets"], ["get", "list", "watch"])
            ),
            (
                Origin::Declared,
                &Rule::new(["apps"], ["deployments"], ["get", "list", "watch"])
            ),
        ]
    );
    assert!(!report.is_clean());
}

#[test]
fn a_rule_for_one_namespace_is_used_there_and_nowhere_else() {
    let rule = Rule::new([""], ["secrets"], ["delete"]).in_namespace("vault");
    let operator = Operator::new("shop").rule(rule.clone()).describe();
    let elsewhere = check(&operator, &[request(false, "delete", "secrets")]);
    assert!(!elsewhere.denied[0].granted_by_now);
    assert_eq!(elsewhere.unused[0].rule, rule);
    assert_eq!(
        elsewhere.unused[0].to_string(),
        "never used: delete of secrets in vault; take it out of its `#[rbac(…)]` or `.rule(…)`"
    );
    let there = Request {
        namespace: "vault".to_owned(),
        ..request(true, "delete", "secrets")
    };
    assert!(check(&operator, &[there]).is_clean());
}

#[test]
fn an_operator_that_used_what_it_wrote_is_clean() {
    let requests = ["create", "patch", "delete"].map(|verb| request(true, verb, "deployments.apps"));
    assert!(check(&operator(), &requests).is_clean());
}

#[tokio::test]
async fn the_audit_of_a_server_is_what_is_checked() {
    let server = ApiServer::new(Options::new());
    let user = User::service_account("shop-system", "shop-controller-manager");
    for path in ["/api/v1/namespaces/default/pods/web/log", "/metrics"] {
        let request = http::Request::get(path).body(String::new().into()).unwrap();
        server.handle_as(Some(&user), request).await;
    }
    let requests: Vec<Request> = server
        .audit()
        .user(&user.name)
        .events()
        .into_iter()
        .map(|event| Request {
            user: user.name.clone(),
            verb: event.attributes.verb.to_string(),
            group: event.attributes.group.to_string(),
            resource: event.attributes.resource.to_string(),
            subresource: event.attributes.subresource.to_string(),
            namespace: event.attributes.namespace.to_string(),
            name: event.attributes.name.to_string(),
            path: event.attributes.path.to_string(),
            allowed: event.decision == AuditDecision::Allowed,
        })
        .collect();
    let lines: Vec<String> = check(&operator(), &requests)
        .denied
        .into_iter()
        .map(|denied| denied.attribute)
        .collect();
    assert_eq!(
        lines,
        [
            r#"#[rbac(groups = "", resources = "pods/log", verbs = "get")]"#,
            r#"#[rbac(urls = "/metrics", verbs = "get")]"#,
        ]
    );
}
