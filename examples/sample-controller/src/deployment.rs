//! The Deployment of a `Foo`, and whose a Deployment is.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kube::{Resource as _, ResourceExt as _};

use crate::api::Foo;

/// A Foo that did not come from a server cannot own anything.
#[derive(Debug, thiserror::Error)]
#[error("Foo {0:?} has no uid, so nothing can be made for it; was it read from a server?")]
pub(crate) struct NotCreated(String);

/// The Deployment that a Foo asks for, owned by it: who deletes the Foo deletes the Deployment too.
pub(crate) fn wanted_by(foo: &Foo) -> Result<Deployment, NotCreated> {
    let labels = BTreeMap::from([
        ("app".to_owned(), "nginx".to_owned()),
        ("controller".to_owned(), foo.name_any()),
    ]);
    Ok(Deployment {
        metadata: ObjectMeta {
            name: Some(foo.spec.deployment_name.clone()),
            namespace: foo.namespace(),
            owner_references: Some(vec![controller_reference(foo)?]),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: foo.spec.replicas,
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    containers: vec![Container {
                        name: "nginx".to_owned(),
                        image: Some("nginx:latest".to_owned()),
                        ..Container::default()
                    }],
                    ..PodSpec::default()
                }),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    })
}

/// Whether this very Foo, not one of the same name before it, controls a Deployment.
pub(crate) fn is_controlled_by(deployment: &Deployment, foo: &Foo) -> bool {
    let owners = deployment.owner_references().iter();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    controllers
        .next()
        .is_some_and(|owner| Some(&owner.uid) == foo.meta().uid.as_ref())
}

fn controller_reference(foo: &Foo) -> Result<OwnerReference, NotCreated> {
    Ok(OwnerReference {
        api_version: Foo::api_version(&()).into_owned(),
        kind: Foo::kind(&()).into_owned(),
        name: foo.name_any(),
        uid: foo.uid().ok_or_else(|| NotCreated(foo.name_any()))?,
        controller: Some(true),
        block_owner_deletion: Some(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::FooSpec;

    fn foo(uid: Option<&str>) -> Foo {
        let mut foo = Foo::new("example", FooSpec::default());
        foo.spec.deployment_name = "web".to_owned();
        foo.metadata.uid = uid.map(str::to_owned);
        foo
    }

    #[test]
    fn a_deployment_belongs_to_the_foo_it_was_made_for_and_to_no_namesake() {
        let deployment = wanted_by(&foo(Some("1"))).unwrap();
        assert!(is_controlled_by(&deployment, &foo(Some("1"))));
        assert!(!is_controlled_by(&deployment, &foo(Some("2"))));
        assert!(!is_controlled_by(&Deployment::default(), &foo(Some("1"))));
    }

    #[test]
    fn a_foo_that_was_never_stored_is_told_so() {
        let error = wanted_by(&foo(None)).unwrap_err();
        assert!(error.to_string().starts_with("Foo \"example\" has no uid"), "{error}");
    }
}
