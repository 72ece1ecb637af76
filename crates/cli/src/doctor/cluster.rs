//! The cluster of the current context: whether it answers, which version it has, and what one may do there.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::{Api, PostParams};
use kubewright_cluster::{Cluster, ClusterFlags, with_sources};
use kubewright_runtime::flags::Environment;
use kubewright_runtime::operator::version_warning;

use super::Check;

/// How long a cluster may take to answer all questions.
const PATIENCE: Duration = Duration::from_secs(15);

/// What `install` and `deploy` create: the verb, the group and the resource.
const NEEDED: [(&str, &str, &str); 4] = [
    ("create", "apiextensions.k8s.io", "customresourcedefinitions"),
    ("create", "rbac.authorization.k8s.io", "clusterroles"),
    ("create", "", "namespaces"),
    ("create", "apps", "deployments"),
];

const CLUSTER: &str = "cluster";
const PERMISSIONS: &str = "permissions";

/// What is known of the cluster.
pub(super) async fn checks(choice: &ClusterFlags) -> Vec<Check> {
    match tokio::time::timeout(PATIENCE, ask(choice)).await {
        Ok(checks) => checks,
        Err(_) => vec![Check::warn(
            CLUSTER,
            format!("no answer within {} seconds", PATIENCE.as_secs()),
            "start it, or choose another with --context",
        )],
    }
}

async fn ask(choice: &ClusterFlags) -> Vec<Check> {
    let cluster = match choice.connect(&Environment::system()).await {
        Ok(cluster) => cluster,
        Err(error) => {
            // The message says what to do behind its first sentence.
            let text = with_sources(&error);
            let (found, hint) = text
                .split_once("; ")
                .unwrap_or((text.as_str(), "see `kubewright apiserver --help`"));
            return vec![Check::warn(CLUSTER, found, hint)];
        }
    };
    vec![version(&cluster).await, permissions(&cluster).await]
}

async fn version(cluster: &Cluster) -> Check {
    let title = cluster.title();
    let Ok(info) = cluster.client().apiserver_version().await else {
        return Check::warn(
            CLUSTER,
            format!("{title} answers and does not tell its version"),
            "ask who runs it whether it is one of the supported versions",
        );
    };
    let found = format!("{title}, Kubernetes {}", info.git_version);
    match version_warning(&info.major, &info.minor, &[]) {
        None => Check::ok(CLUSTER, found),
        Some(warning) => Check::warn(CLUSTER, found, warning),
    }
}

async fn permissions(cluster: &Cluster) -> Check {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(cluster.client().clone());
    let mut refused = Vec::new();
    for (verb, group, resource) in NEEDED {
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    verb: Some(verb.to_owned()),
                    group: Some(group.to_owned()),
                    resource: Some(resource.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        match reviews.create(&PostParams::default(), &review).await {
            Ok(answer) if answer.status.as_ref().is_some_and(|status| status.allowed) => {}
            Ok(_) => refused.push(resource),
            Err(error) => {
                let why = kubewright_cluster::describe_failure(&error);
                return Check::warn(
                    PERMISSIONS,
                    format!("the cluster does not say what you may do: {why}"),
                    "try `kubectl auth can-i --list`",
                );
            }
        }
    }
    if refused.is_empty() {
        return Check::ok(PERMISSIONS, "you may install CRDs and deploy operators");
    }
    Check::warn(
        PERMISSIONS,
        format!("you may not create {}", refused.join(", ")),
        "`kubewright install` and `deploy` need a cluster administrator; `kubewright run --embedded` needs none",
    )
}
