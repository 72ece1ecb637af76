//! The table says what the real server's documents say; spot checks of each notation.

use kubewright_merge::{ListKind, Shape, Topology};
use kubewright_schema::{FieldRef, Omit, TypeRef, Types, resources};
use serde_json::json;

fn kind(group: &str, kind: &str) -> TypeRef<'static> {
    Types::builtin().kind(group, "v1", kind).unwrap()
}

fn at(ty: TypeRef<'static>, path: &str) -> TypeRef<'static> {
    path.split('.').fold(ty, |ty, name| match name {
        "*" => ty.element().unwrap(),
        name => Topology::field(ty, name).unwrap(),
    })
}

#[test]
fn every_type_of_the_table_can_be_read() {
    let mut fields = 0;
    for ty in Types::builtin().iter() {
        for field in ty.fields() {
            assert!(!field.type_ref().go_type().is_empty());
            let _ = (Topology::shape(field.type_ref()), Topology::default(field.type_ref()));
            fields += 1;
        }
    }
    assert!(fields > 2500, "{fields}");
}

#[test]
fn every_served_kind_has_a_type() {
    for resource in resources().iter() {
        let found = Types::builtin().kind(resource.group, resource.version, resource.kind);
        assert!(
            found.is_some_and(TypeRef::is_kind),
            "{} {}",
            resource.group,
            resource.kind
        );
        if resource.verbs.contains(&"list") {
            let list = Types::builtin().kind(resource.group, resource.version, &format!("{}List", resource.kind));
            assert!(list.is_some(), "{}List", resource.kind);
        }
        for subresource in &resource.subresources {
            let found = Types::builtin().kind(subresource.group, subresource.version, subresource.kind);
            assert!(found.is_some(), "{}/{}", resource.plural, subresource.name);
        }
    }
    assert!(Types::builtin().kind("apps", "v1", "DeleteOptions").is_some());
    assert!(Types::builtin().kind("apps", "v1", "DeploymentSpec").is_none());
    assert!(Types::builtin().kind("nowhere", "v1", "Status").is_none());
}

#[test]
fn lists_know_how_apply_owns_them() {
    let pod = kind("", "Pod");
    assert_eq!(at(pod, "spec.containers").shape(), Shape::List(ListKind::Map));
    assert_eq!(at(pod, "spec.containers").keys(), ["name".into()]);
    assert_eq!(
        at(pod, "spec.containers.*.ports").keys(),
        ["containerPort".into(), "protocol".into()]
    );
    assert_eq!(at(pod, "spec.containers.*.args").shape(), Shape::List(ListKind::Atomic));
    assert_eq!(at(pod, "metadata.finalizers").shape(), Shape::List(ListKind::Set));
    assert_eq!(at(pod, "metadata.labels").shape(), Shape::Map { atomic: false });
    assert_eq!(at(pod, "spec.nodeSelector").shape(), Shape::Map { atomic: true });
    assert_eq!(
        at(pod, "spec.containers.*.env.*.valueFrom.secretKeyRef").shape(),
        Shape::Struct { atomic: true }
    );
    assert_eq!(at(pod, "spec").shape(), Shape::Struct { atomic: false });
    // A reference is atomic, but a volume says otherwise of the one it has.
    assert_eq!(
        at(kind("", "Event"), "involvedObject").shape(),
        Shape::Struct { atomic: true }
    );
    assert_eq!(
        at(kind("", "PersistentVolume"), "spec.claimRef").shape(),
        Shape::Struct { atomic: false }
    );
    assert_eq!(at(pod, "spec.containers.*.resources.limits.*").shape(), Shape::Scalar);
    assert_eq!(
        at(kind("apps", "Deployment"), "spec.selector").shape(),
        Shape::Struct { atomic: true }
    );
}

#[test]
fn keys_have_the_defaults_that_the_schema_declares() {
    let port = at(kind("", "Pod"), "spec.containers.*.ports.*");
    assert_eq!(Topology::default(at(port, "protocol")), Some(&json!("TCP")));
    assert_eq!(Topology::default(at(port, "containerPort")), Some(&json!(0)));
    assert_eq!(Topology::default(at(port, "hostIP")), None);
}

#[test]
fn strategic_merge_patch_finds_its_strategies_and_keys() {
    let pod = kind("", "Pod");
    let volumes = at(pod, "spec.volumes").patch_strategy();
    assert!(volumes.merge && volumes.retain_keys && !volumes.replace);
    assert_eq!(volumes.merge_key, Some("name"));
    assert_eq!(
        at(pod, "spec.containers.*.ports").patch_strategy().merge_key,
        Some("containerPort")
    );
    assert!(at(pod, "metadata.finalizers").patch_strategy().merge);
    assert!(
        at(kind("apps", "Deployment"), "spec.strategy")
            .patch_strategy()
            .retain_keys
    );
    assert!(!at(pod, "spec.tolerations").patch_strategy().merge);
}

#[test]
fn fields_know_what_the_schema_says_of_them() {
    let container = at(kind("", "Pod"), "spec.containers.*");
    let name = container.field_named("name").unwrap();
    assert!(name.is_required());
    assert_eq!(name.omit(), Omit::Never);
    assert_eq!(container.fields().next().map(FieldRef::name), Some("name"));
    let policy = at(container, "imagePullPolicy");
    assert_eq!(policy.go_type(), "v1.PullPolicy");
    assert_eq!(
        policy.enumeration().unwrap(),
        ["Always".into(), "IfNotPresent".into(), "Never".into()]
    );
    assert_eq!(at(container, "ports.*.containerPort").format(), Some("int32"));
    let usages = at(
        kind("certificates.k8s.io", "CertificateSigningRequest"),
        "spec.usages.*",
    );
    assert!(usages.enumeration().unwrap().contains(&"client auth".into()));
    let replicas = at(kind("apps", "Deployment"), "spec").field_named("replicas").unwrap();
    assert_eq!(replicas.default(), Some(&json!(1)));
    assert!(replicas.type_ref().is_pointer());
}

#[test]
fn resources_come_in_the_order_of_the_real_server() {
    let groups: Vec<_> = resources()
        .group_versions()
        .map(|gv| format!("{}/{}", gv.group, gv.version))
        .collect();
    assert_eq!(
        groups[..4],
        ["/v1", "apiregistration.k8s.io/v1", "apps/v1", "events.k8s.io/v1"]
    );
    let autoscaling: Vec<_> = resources().group("autoscaling").map(|gv| gv.version).collect();
    assert_eq!(autoscaling, ["v2", "v1"]);
    assert_eq!(
        resources().iter().next().map(|resource| resource.plural),
        Some("bindings")
    );
}

#[test]
fn a_resource_is_found_with_all_its_names() {
    let deployments = resources().find("apps", "v1", "deployments").unwrap();
    assert_eq!(
        (deployments.kind, deployments.singular, deployments.namespaced),
        ("Deployment", "deployment", true)
    );
    assert_eq!(deployments.short_names, ["deploy"]);
    assert_eq!(deployments.categories, ["all"]);
    assert_eq!(deployments.storage_version_hash, Some("8aSe+NMegvE="));
    assert_eq!(deployments.verbs.len(), 8);
    let scale = deployments.subresource("scale").unwrap();
    assert_eq!((scale.group, scale.version, scale.kind), ("autoscaling", "v1", "Scale"));
    assert!(scale.names_group_version);
    assert_eq!(scale.verbs, ["get", "patch", "update"]);
    assert!(!deployments.returns_deleted);
    assert!(resources().find("", "v1", "pods").unwrap().returns_deleted);
    assert!(resources().find("apps", "v1", "pods").is_none());
    assert!(!resources().find("", "v1", "nodes").unwrap().namespaced);
}
