//! The roles for users of a kind, and what an operator that works in one namespace is given.
#![allow(missing_docs)]

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kubewright_manifests::roles::{RoleOptions, of_kind};
use kubewright_manifests::rules::by_scope;
use kubewright_manifests::yaml::documents;
use kubewright_runtime::controller::Controller;
use kubewright_runtime::operator::{Operator, Rule};
use serde_json::Value;

use crate::cluster::{Cluster, golden};
use crate::kinds;

#[tokio::test]
async fn roles_of_a_kind_are_what_they_were_and_a_cluster_takes_them() {
    let operator = Operator::new("markdown-view")
        .resource::<kinds::MarkdownView>()
        .describe();
    let roles = of_kind(&operator.definitions[0], &RoleOptions::new("markdown-view"));
    let files: Vec<&str> = roles.iter().map(|role| role.file_name.as_str()).collect();
    assert_eq!(
        files,
        [
            "markdownview_admin_role.yaml",
            "markdownview_editor_role.yaml",
            "markdownview_viewer_role.yaml"
        ]
    );
    let objects: Vec<Value> = roles.into_iter().map(|role| role.object).collect();
    golden("definitions/roles.yaml", &documents(&objects));
    let cluster = Cluster::new();
    for object in objects {
        let answer = cluster
            .create("/apis/rbac.authorization.k8s.io/v1/clusterroles", &object)
            .await;
        assert_eq!(answer.code, 201, "{:#}", answer.body);
    }
}

#[test]
fn projects_of_several_groups_and_of_one_namespace_name_them_so() {
    let operator = Operator::new("markdown-view")
        .resource::<kinds::MarkdownView>()
        .describe();
    let options = RoleOptions {
        prefix: "markdown-view-".to_owned(),
        group: Some("View".to_owned()),
        namespaced: true,
        ..RoleOptions::new("markdown-view")
    };
    let viewer = &of_kind(&operator.definitions[0], &options)[2];
    assert_eq!(viewer.file_name, "view_markdownview_viewer_role.yaml");
    assert_eq!(viewer.object["kind"], "Role");
    assert_eq!(
        viewer.object["metadata"]["name"],
        "markdown-view-view-markdownview-viewer-role"
    );
}

#[test]
fn an_operator_of_one_namespace_needs_a_cluster_role_only_for_what_is_in_none() {
    let operator = Operator::new("shop")
        .resource::<kinds::MarkdownView>()
        .resource::<kinds::Gallery>()
        .controller(
            Controller::of::<ConfigMap>()
                .owns::<kinds::MarkdownView>()
                .watches::<kinds::Gallery>(|_| Vec::new()),
        )
        .reads::<Node>()
        .rule(Rule::new(["example.com"], ["galleries/status"], ["patch"]).named(["one"]))
        .rule(Rule::new(["unheard.of"], ["things"], ["get"]))
        .describe();
    let split = by_scope(&operator.rules, &operator);
    assert_eq!(
        split.cluster,
        [
            Rule::new([""], ["nodes"], ["get", "list", "watch"]),
            Rule::new(["example.com"], ["galleries"], ["get", "list", "watch"]),
            Rule::new(["example.com"], ["galleries/status"], ["patch"]).named(["one"]),
        ]
    );
    assert_eq!(
        split.namespace,
        [
            Rule::new([""], ["configmaps"], ["get", "list", "watch"]),
            Rule::new(["events.k8s.io"], ["events"], ["create", "patch"]),
            Rule::new(["unheard.of"], ["things"], ["get"]),
            Rule::new(["view.zoetrope.github.io"], ["markdownviews"], ["get", "list", "watch"]),
        ]
    );
}
