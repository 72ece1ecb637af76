//! Claims and volumes: who gets which, what becomes of them afterwards, and who keeps them while they are in use.

use serde_json::{Value, json};

use super::{Act, Scenario, delete, merge, patch, scenario};

const CLAIM: &str = "PersistentVolumeClaim";
const VOLUME: &str = "PersistentVolume";
const ATTRIBUTES: &str = "VolumeAttributesClass";

/// A claim for 1 GiB that one node may write to, of a class; `spec` says what is different.
fn claim(name: &str, class: &str, spec: Value) -> Act {
    claim_with(name, class, json!({}), spec)
}

fn claim_with(name: &str, class: &str, annotations: Value, spec: Value) -> Act {
    let mut claim = json!({
        "kind": CLAIM, "metadata": { "name": name, "annotations": annotations }, "spec": {
            "resources": { "requests": { "storage": "1Gi" } }, "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
        },
    });
    merge(&mut claim["spec"], spec);
    Act::Create(claim)
}

fn of_size(size: &str) -> Value {
    json!({ "resources": { "requests": { "storage": size } } })
}

/// A volume of 1 GiB that one node may write to, of a class: its name begins with that of the class.
fn volume(class: &str, name: &str, spec: Value) -> Act {
    volume_with(class, name, json!({}), spec)
}

fn volume_with(class: &str, name: &str, metadata: Value, spec: Value) -> Act {
    let mut volume = json!({
        "kind": VOLUME, "metadata": { "name": format!("{class}-{name}") }, "spec": {
            "capacity": { "storage": "1Gi" }, "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "hostPath": { "path": "/data" },
        },
    });
    merge(&mut volume["metadata"], metadata);
    merge(&mut volume["spec"], spec);
    Act::Create(volume)
}

fn capacity(size: &str) -> Value {
    json!({ "capacity": { "storage": size } })
}

fn class(name: &str, mode: &str, provisioner: &str) -> Act {
    Act::Create(json!({
        "kind": "StorageClass", "metadata": { "name": name }, "provisioner": provisioner, "volumeBindingMode": mode,
    }))
}

/// The driver of the volume that is not of Kubernetes.
fn csi() -> Value {
    json!({ "hostPath": null, "csi": { "driver": "example.com", "volumeHandle": "one" } })
}

fn attributes(name: &str) -> Act {
    Act::Create(json!({
        "kind": ATTRIBUTES, "metadata": { "name": name }, "driverName": "example.com", "parameters": { "iops": "1" },
    }))
}

fn pod(name: &str, node: Option<&str>, claim: &str) -> Act {
    Act::Create(json!({
        "kind": "Pod", "metadata": { "name": name },
        "spec": {
            "nodeName": node, "containers": [{ "name": "main", "image": "nginx:1" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }],
        },
    }))
}

fn gone(kind: &str, name: &str) -> Act {
    delete(kind, name, "Background")
}

fn without_finalizers(kind: &str, name: &str) -> Act {
    patch(kind, name, json!({ "metadata": { "finalizers": null } }))
}

/// A claim that a volume names: in the namespace of the scenario, which has the name of the class.
fn claimed(class: &str, claim: &str) -> Value {
    json!({ "claimRef": { "namespace": class, "name": claim } })
}

/// The same with the uid of the claim.
fn claimed_exactly(class: &str, claim: &str, uid: &str) -> Value {
    json!({ "claimRef": { "apiVersion": "v1", "kind": CLAIM, "namespace": class, "name": claim, "uid": uid } })
}

pub(super) fn all() -> Vec<Scenario> {
    let mut all = matching();
    all.extend(choosing());
    all.extend(reclaiming());
    all.extend(losing());
    all.extend(attributed());
    all.extend(waiting());
    all
}

/// Which volume a claim gets that takes any.
fn matching() -> Vec<Scenario> {
    let (size, class_of, modes) = (
        "claim-takes-the-smallest-volume",
        "claim-and-volume-of-one-class",
        "claim-takes-fewest-modes",
    );
    let (labels, blocks, attributes) = (
        "claim-selects-by-labels",
        "claim-for-blocks",
        "volume-of-an-attributes-class",
    );
    let beta = json!({ "volume.beta.kubernetes.io/storage-class": class_of });
    let labelled = |label: &str| json!({ "labels": { "kind": label } });
    let with_modes = |modes: &[&str], size: &str| json!({ "accessModes": modes, "capacity": { "storage": size } });
    vec![
        scenario(
            size,
            vec![
                volume(size, "small", capacity("1Gi")),
                volume(size, "large", capacity("10Gi")),
                volume(size, "middle", capacity("5Gi")),
                claim("a", size, of_size("2Gi")),
                claim("b", size, of_size("4Gi")),
                claim("c", size, of_size("1Gi")),
                claim("d", size, of_size("3Gi")),
                volume(size, "late", capacity("3Gi")),
            ],
        ),
        scenario(
            class_of,
            vec![
                volume(
                    class_of,
                    "other",
                    json!({ "storageClassName": "claim-and-volume-of-another" }),
                ),
                claim("a", class_of, json!({})),
                volume(class_of, "own", json!({})),
                volume_with(
                    class_of,
                    "annotated",
                    json!({ "annotations": beta.clone() }),
                    json!({ "storageClassName": null }),
                ),
                claim_with("b", class_of, beta, json!({ "storageClassName": null })),
            ],
        ),
        scenario(
            modes,
            vec![
                volume(
                    modes,
                    "three",
                    with_modes(&["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"], "1Gi"),
                ),
                volume(modes, "two", with_modes(&["ReadWriteOnce", "ReadOnlyMany"], "5Gi")),
                volume(modes, "one", with_modes(&["ReadWriteOnce"], "10Gi")),
                claim("a", modes, json!({})),
                claim("b", modes, json!({ "accessModes": ["ReadOnlyMany"] })),
                claim("c", modes, json!({ "accessModes": ["ReadWriteOncePod"] })),
                claim("d", modes, json!({ "accessModes": ["ReadWriteMany", "ReadWriteOnce"] })),
            ],
        ),
        scenario(
            labels,
            vec![
                volume_with(labels, "slow", labelled("slow"), json!({})),
                volume_with(labels, "fast", labelled("fast"), capacity("5Gi")),
                claim(
                    "a",
                    labels,
                    json!({ "selector": { "matchLabels": { "kind": "fast" } } }),
                ),
                claim(
                    "b",
                    labels,
                    json!({ "selector": { "matchExpressions": [
                        { "key": "kind", "operator": "In", "values": ["medium", "fast"] },
                    ] } }),
                ),
                patch(
                    VOLUME,
                    &format!("{labels}-slow"),
                    json!({ "metadata": { "labels": { "kind": "medium" } } }),
                ),
            ],
        ),
        scenario(
            blocks,
            vec![
                volume(blocks, "files", json!({})),
                claim("a", blocks, json!({ "volumeMode": "Block" })),
                volume(blocks, "blocks", json!({ "volumeMode": "Block" })),
                claim("b", blocks, of_size("9Gi")),
                volume(blocks, "mistaken", {
                    let mut spec = claimed_exactly(blocks, "b", &format!("$uid:{CLAIM}/b"));
                    spec["volumeMode"] = "Block".into();
                    spec
                }),
            ],
        ),
        scenario(
            attributes,
            vec![
                volume(attributes, "plain", json!({})),
                claim("a", attributes, json!({ "volumeAttributesClassName": "gold" })),
                volume(attributes, "gold", {
                    let mut spec = csi();
                    spec["volumeAttributesClassName"] = "gold".into();
                    spec
                }),
                claim(
                    "b",
                    attributes,
                    json!({
                        "volumeName": format!("{attributes}-plain"), "volumeAttributesClassName": "gold",
                    }),
                ),
            ],
        ),
    ]
}

/// Claims that name their volume, and volumes that name their claim.
fn choosing() -> Vec<Scenario> {
    let (chosen, reserved) = ("claim-chooses-its-volume", "volume-chooses-its-claim");
    let (elsewhere, shared) = ("claim-has-another-volume", "claims-of-one-volume");
    let names = |volume: &str| json!({ "volumeName": format!("{chosen}-{volume}") });
    let names_with = |volume: &str, spec: Value| {
        let mut whole = names(volume);
        merge(&mut whole, spec);
        whole
    };
    let going = Act::All(vec![
        volume_with(
            chosen,
            "going",
            json!({ "finalizers": ["example.com/keep"] }),
            json!({}),
        ),
        gone(VOLUME, &format!("{chosen}-going")),
    ]);
    let by_controller = json!({ "annotations": { "pv.kubernetes.io/bound-by-controller": "yes" } });
    let completed = json!({ "pv.kubernetes.io/bind-completed": "yes" });
    vec![
        scenario(
            chosen,
            vec![
                claim("a", chosen, names("late")),
                volume(chosen, "late", json!({})),
                volume(chosen, "one", json!({})),
                claim("b", chosen, names_with("one", of_size("2Gi"))),
                claim("c", chosen, names_with("one", json!({ "storageClassName": "other" }))),
                claim(
                    "d",
                    chosen,
                    names_with("one", json!({ "accessModes": ["ReadWriteMany"] })),
                ),
                claim("e", chosen, names_with("one", json!({ "volumeMode": "Block" }))),
                claim("f", chosen, names("late")),
                going,
                claim("g", chosen, names("going")),
                without_finalizers(VOLUME, &format!("{chosen}-going")),
                claim(
                    "h",
                    chosen,
                    names_with("one", json!({ "selector": { "matchLabels": { "no": "such" } } })),
                ),
            ],
        ),
        scenario(
            reserved,
            vec![
                volume(reserved, "one", claimed(reserved, "b")),
                claim("a", reserved, json!({})),
                claim("b", reserved, json!({})),
                volume_with(
                    reserved,
                    "resized",
                    json!({ "annotations": { "volume.alpha.kubernetes.io/pre-resize-capacity": "500Mi" } }),
                    claimed(reserved, "c"),
                ),
                claim("c", reserved, of_size("200Mi")),
                volume(reserved, "small", claimed(reserved, "d")),
                claim("d", reserved, of_size("4Gi")),
                claim("e", reserved, json!({ "storageClassName": "other" })),
                volume(reserved, "of-e", claimed(reserved, "e")),
            ],
        ),
        scenario(
            elsewhere,
            vec![
                volume(elsewhere, "one", json!({})),
                claim("a", elsewhere, json!({})),
                volume(elsewhere, "two", claimed(elsewhere, "a")),
                volume(
                    elsewhere,
                    "three",
                    claimed_exactly(elsewhere, "a", &format!("$uid:{CLAIM}/a")),
                ),
                volume_with(
                    elsewhere,
                    "four",
                    by_controller,
                    claimed_exactly(elsewhere, "a", &format!("$uid:{CLAIM}/a")),
                ),
                volume_with(
                    elsewhere,
                    "five",
                    json!({ "annotations": { "pv.kubernetes.io/provisioned-by": "example.com/disks" } }),
                    {
                        let mut spec = claimed_exactly(elsewhere, "a", &format!("$uid:{CLAIM}/a"));
                        spec["persistentVolumeReclaimPolicy"] = "Delete".into();
                        spec
                    },
                ),
            ],
        ),
        scenario(
            shared,
            vec![
                volume(shared, "one", json!({})),
                claim("a", shared, json!({})),
                claim_with(
                    "b",
                    shared,
                    completed.clone(),
                    json!({ "volumeName": format!("{shared}-one") }),
                ),
                claim_with("c", shared, completed, json!({})),
                volume(shared, "two", json!({})),
                claim_with(
                    "d",
                    shared,
                    json!({ "pv.kubernetes.io/bound-by-controller": "yes" }),
                    json!({ "volumeName": format!("{shared}-one") }),
                ),
            ],
        ),
    ]
}

/// What becomes of volumes whose claim is gone.
fn reclaiming() -> Vec<Scenario> {
    let (retained, deleted, emptied) = ("volume-is-retained", "volume-gets-deleted", "volume-gets-emptied");
    let stranger = "volume-of-a-claim-that-is-gone";
    let to_delete = |source: Value| {
        let mut spec = json!({ "persistentVolumeReclaimPolicy": "Delete" });
        merge(&mut spec, source);
        spec
    };
    let to_empty = |source: Value| {
        let mut spec = json!({ "persistentVolumeReclaimPolicy": "Recycle" });
        merge(&mut spec, source);
        spec
    };
    let at = |path: &str| json!({ "hostPath": { "path": path } });
    let nfs = json!({ "hostPath": null, "nfs": { "server": "nfs.example.com", "path": "/" } });
    let recycler = |status: Value| Act::Status("Pod".to_owned(), format!("default/recycler-for-{emptied}-one"), status);
    vec![
        scenario(
            retained,
            vec![
                volume(retained, "one", json!({})),
                claim("a", retained, json!({})),
                gone(CLAIM, "a"),
                claim("a", retained, json!({})),
                patch(
                    VOLUME,
                    &format!("{retained}-one"),
                    json!({ "spec": { "claimRef": null } }),
                ),
            ],
        ),
        scenario(
            deleted,
            vec![
                volume(deleted, "one", to_delete(at("/data"))),
                claim("a", deleted, json!({})),
                gone(CLAIM, "a"),
                volume(deleted, "two", to_delete(csi())),
                claim("b", deleted, json!({})),
                gone(CLAIM, "b"),
                volume(deleted, "three", to_delete(nfs.clone())),
                claim("c", deleted, json!({})),
                gone(CLAIM, "c"),
                volume(deleted, "four", to_delete(at("/tmp/kubewright-no-such-directory"))),
                claim("d", deleted, json!({})),
                gone(CLAIM, "d"),
                patch(
                    VOLUME,
                    &format!("{deleted}-two"),
                    json!({ "spec": { "persistentVolumeReclaimPolicy": "Retain" } }),
                ),
            ],
        ),
        scenario(
            emptied,
            vec![
                volume(emptied, "one", to_empty(at("/data"))),
                claim("a", emptied, json!({})),
                gone(CLAIM, "a"),
                recycler(json!({ "phase": "Failed", "message": "it is full" })),
                recycler(json!({ "phase": "Succeeded" })),
                volume(emptied, "two", {
                    let mut spec = to_empty(csi());
                    spec["capacity"]["storage"] = "5Gi".into();
                    spec
                }),
                claim("b", emptied, of_size("1Gi")),
                claim("c", emptied, of_size("2Gi")),
                gone(CLAIM, "b"),
                gone(CLAIM, "c"),
            ],
        ),
        scenario(
            stranger,
            vec![
                volume(
                    stranger,
                    "one",
                    claimed_exactly(stranger, "a", "0a0a0a0a-0000-0000-0000-000000000000"),
                ),
                claim("b", stranger, json!({})),
                volume(
                    stranger,
                    "two",
                    claimed_exactly(stranger, "b", "0a0a0a0a-0000-0000-0000-000000000000"),
                ),
            ],
        ),
    ]
}

/// Claims and volumes that somebody deletes while they are in use.
fn losing() -> Vec<Scenario> {
    let (lost, protected) = ("claim-loses-its-volume", "bound-volume-is-protected");
    vec![
        scenario(
            "claim-is-protected",
            vec![
                claim("a", "manual", json!({})),
                without_finalizers(CLAIM, "a"),
                pod("one", Some("somewhere"), "a"),
                pod("two", None, "a"),
                gone(CLAIM, "a"),
                Act::Kill(2),
                Act::Gone(1),
                claim("b", "manual", json!({})),
                pod("three", None, "b"),
                gone(CLAIM, "b"),
            ],
        ),
        scenario(
            protected,
            vec![
                volume(protected, "one", json!({})),
                without_finalizers(VOLUME, &format!("{protected}-one")),
                claim("a", protected, json!({})),
                gone(VOLUME, &format!("{protected}-one")),
                gone(CLAIM, "a"),
                volume(protected, "two", json!({})),
                gone(VOLUME, &format!("{protected}-two")),
            ],
        ),
        scenario(
            lost,
            vec![
                volume(lost, "one", json!({})),
                claim("a", lost, json!({})),
                gone(VOLUME, &format!("{lost}-one")),
                without_finalizers(VOLUME, &format!("{lost}-one")),
                volume(lost, "one", json!({})),
                patch(VOLUME, &format!("{lost}-one"), json!({ "spec": { "claimRef": null } })),
            ],
        ),
    ]
}

/// Classes of attributes, which stay while a claim or a volume names them.
fn attributed() -> Vec<Scenario> {
    let (of_claims, of_volumes) = ("class-of-claims-is-protected", "class-of-volumes-is-protected");
    let named = |scenario: &str, name: &str| format!("{scenario}-{name}");
    let class_of = |scenario: &str, name: &str| json!({ "volumeAttributesClassName": named(scenario, name) });
    let status = |status: Value| Act::Status(CLAIM.to_owned(), "b".to_owned(), status);
    vec![
        scenario(
            of_claims,
            vec![
                attributes(&named(of_claims, "unused")),
                without_finalizers(ATTRIBUTES, &named(of_claims, "unused")),
                gone(ATTRIBUTES, &named(of_claims, "unused")),
                attributes(&named(of_claims, "wanted")),
                claim("a", "manual", class_of(of_claims, "wanted")),
                gone(ATTRIBUTES, &named(of_claims, "wanted")),
                gone(CLAIM, "a"),
                attributes(&named(of_claims, "current")),
                attributes(&named(of_claims, "target")),
                claim("b", "manual", json!({})),
                status(json!({
                    "currentVolumeAttributesClassName": named(of_claims, "current"),
                    "modifyVolumeStatus": { "status": "Pending", "targetVolumeAttributesClassName": named(of_claims, "target") },
                })),
                gone(ATTRIBUTES, &named(of_claims, "current")),
                gone(ATTRIBUTES, &named(of_claims, "target")),
                status(json!({ "modifyVolumeStatus": null })),
                status(json!({ "currentVolumeAttributesClassName": null })),
            ],
        ),
        scenario(
            of_volumes,
            vec![
                attributes(&named(of_volumes, "gold")),
                attributes(&named(of_volumes, "silver")),
                volume(of_volumes, "one", {
                    let mut spec = csi();
                    merge(&mut spec, class_of(of_volumes, "gold"));
                    spec
                }),
                gone(ATTRIBUTES, &named(of_volumes, "gold")),
                patch(
                    VOLUME,
                    &named(of_volumes, "one"),
                    json!({ "spec": class_of(of_volumes, "silver") }),
                ),
                gone(ATTRIBUTES, &named(of_volumes, "silver")),
                gone(VOLUME, &named(of_volumes, "one")),
            ],
        ),
    ]
}

/// Claims that have to wait for somebody.
fn waiting() -> Vec<Scenario> {
    let (first, made) = ("claim-waits-for-its-first-pod", "claim-waits-for-a-provisioner");
    let (nothing, default) = ("class-that-provisions-nothing", "claim-gets-the-default-class");
    let later = "WaitForFirstConsumer";
    let is_default =
        json!({ "metadata": { "annotations": { "storageclass.kubernetes.io/is-default-class": "true" } } });
    let mut made_volume = claimed_exactly(made, "a", &format!("$uid:{CLAIM}/a"));
    merge(&mut made_volume, csi());
    made_volume["persistentVolumeReclaimPolicy"] = "Delete".into();
    let own = |name: &str| format!("{nothing}-{name}");
    vec![
        scenario(
            first,
            vec![
                class(first, later, "example.com/disks"),
                volume(first, "one", json!({})),
                claim("a", first, json!({})),
                pod("one", None, "a"),
                pod("two", None, "a"),
                patch(
                    VOLUME,
                    &format!("{first}-one"),
                    json!({
                        "metadata": { "annotations": { "pv.kubernetes.io/bound-by-controller": "yes" } },
                        "spec": claimed_exactly(first, "a", &format!("$uid:{CLAIM}/a")),
                    }),
                ),
                claim("b", first, json!({})),
                patch(
                    CLAIM,
                    "b",
                    json!({ "metadata": { "annotations": { "volume.kubernetes.io/selected-node": "somewhere" } } }),
                ),
                claim("c", first, json!({})),
                volume(first, "two", claimed(first, "c")),
            ],
        ),
        scenario(
            made,
            vec![
                claim("a", made, json!({})),
                class(made, "Immediate", "example.com/disks"),
                volume_with(
                    made,
                    "one",
                    json!({ "annotations": { "pv.kubernetes.io/provisioned-by": "example.com/disks" } }),
                    made_volume,
                ),
                gone(CLAIM, "a"),
            ],
        ),
        scenario(
            nothing,
            vec![
                class(&own("none"), "Immediate", "kubernetes.io/no-provisioner"),
                claim("a", &own("none"), json!({})),
                class(&own("nfs"), "Immediate", "kubernetes.io/nfs"),
                claim("b", &own("nfs"), json!({})),
                class(&own("path"), "Immediate", "kubernetes.io/host-path"),
                claim("c", &own("path"), json!({})),
                class(&own("cloud"), "Immediate", "kubernetes.io/aws-ebs"),
                claim("d", &own("cloud"), json!({})),
            ],
        ),
        scenario(
            default,
            vec![
                claim("a", default, json!({ "storageClassName": null })),
                claim("b", default, json!({ "storageClassName": "" })),
                class(default, "Immediate", "example.com/disks"),
                patch("StorageClass", default, is_default),
                volume(default, "none", json!({ "storageClassName": "" })),
                gone("StorageClass", default),
            ],
        ),
    ]
}
