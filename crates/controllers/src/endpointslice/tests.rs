//! Slices, without a server.

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};

use super::plan::{Plan, Zones};

fn service(ports: Value) -> Service {
    serde_json::from_value(json!({
        "metadata": { "name": "web", "namespace": "shop", "uid": "1" },
        "spec": { "clusterIP": "10.96.0.1", "selector": { "app": "web" }, "ports": ports },
    }))
    .unwrap()
}

fn pod(name: &str, ready: bool, port: i32) -> Pod {
    serde_json::from_value(json!({
        "metadata": { "name": name, "namespace": "shop", "uid": name },
        "spec": { "nodeName": "n", "containers": [{ "name": "c", "ports": [{ "name": "http", "containerPort": port }] }] },
        "status": { "phase": "Running", "podIP": format!("10.0.0.{port}"), "conditions": [
            { "type": "Ready", "status": if ready { "True" } else { "False" } },
        ] },
    }))
    .unwrap()
}

fn zones() -> Zones {
    [("n".to_owned(), Some("east".to_owned()))].into()
}

fn plan(service: &Service, pods: &[&Pod], present: &[&EndpointSlice]) -> Plan {
    super::plan::plan(service, pods, &zones(), present)
}

/// What the server would have made of it.
fn stored(slices: &[EndpointSlice]) -> Vec<EndpointSlice> {
    let mut stored = slices.to_vec();
    for (number, slice) in stored.iter_mut().enumerate() {
        slice.metadata.name.get_or_insert_with(|| format!("web-{number}"));
    }
    stored
}

fn lengths(slices: &[EndpointSlice]) -> Vec<usize> {
    slices
        .iter()
        .map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len))
        .collect()
}

#[test]
fn endpoints_say_where_they_are_and_whether_they_are_ready() {
    let service = service(json!([{ "port": 80 }]));
    let (a, b) = (pod("a", true, 1), pod("b", false, 2));
    let made = plan(&service, &[&b, &a], &[]);
    let endpoints = made.create[0].endpoints.clone().unwrap();
    let ready: Vec<_> = endpoints
        .iter()
        .map(|end| end.conditions.as_ref().unwrap().ready)
        .collect();
    assert_eq!(ready, [Some(true), Some(false)]);
    assert_eq!(endpoints[0].zone.as_deref(), Some("east"));
    assert_eq!(made.create[0].ports.as_ref().unwrap()[0].port, Some(80));
    let present = stored(&made.create);
    assert_eq!(plan(&service, &[&a, &b], &[&present[0]]), Plan::default());
}

#[test]
fn named_ports_are_looked_up_in_each_pod() {
    let service = service(json!([{ "port": 80, "targetPort": "http" }]));
    let (a, b) = (pod("a", true, 1), pod("b", true, 2));
    assert_eq!(plan(&service, &[&a, &b], &[]).create.len(), 2);
}

#[test]
fn a_pod_on_a_node_that_is_not_there_is_left_out_and_named() {
    let service = service(json!([{ "port": 80 }]));
    let mut lost = pod("a", true, 1);
    lost.spec.as_mut().unwrap().node_name = Some("gone".to_owned());
    let left_out = plan(&service, &[&lost], &[]);
    assert_eq!(
        left_out.skipped,
        ["skipping Pod a for Service shop/web: Node gone Not Found"]
    );
    assert_eq!(lengths(&left_out.create), [0]);
    let mut early = service.clone();
    early.spec.as_mut().unwrap().publish_not_ready_addresses = Some(true);
    assert_eq!(lengths(&plan(&early, &[&lost], &[]).create), [1]);
}

#[test]
fn endpoints_stay_in_their_slices_and_new_ones_fill_them_up() {
    let service = service(json!([{ "port": 80 }]));
    let pods: Vec<Pod> = (0..250)
        .map(|number| pod(&format!("p{number:03}"), true, number))
        .collect();
    let all: Vec<&Pod> = pods.iter().collect();
    let made = stored(&plan(&service, &all, &[]).create);
    assert_eq!(lengths(&made), [100, 100, 50]);
    let present: Vec<&EndpointSlice> = made.iter().collect();
    // One of the second slice goes: nothing else moves.
    let fewer: Vec<&Pod> = all
        .iter()
        .copied()
        .filter(|pod| pod.metadata.name.as_deref() != Some("p150"))
        .collect();
    let changed = plan(&service, &fewer, &present);
    assert_eq!((lengths(&changed.update), changed.create.len()), (vec![99], 0));
    assert_eq!(changed.update[0].metadata.name, made[1].metadata.name);
    // Nobody is left but one of the first: the others go.
    let last = plan(&service, &all[..1], &present);
    assert_eq!((lengths(&last.update), last.delete.len()), (vec![1], 2));
    // Nobody at all: one slice says so, and it is not another one.
    let none = plan(&service, &[], &present);
    assert_eq!(
        (lengths(&none.update), none.create.len(), none.delete.len()),
        (vec![0], 0, 2)
    );
}

#[test]
fn a_placeholder_is_made_once_and_then_used() {
    let service = service(json!([{ "port": 80 }]));
    let placeholder = stored(&plan(&service, &[], &[]).create);
    assert_eq!(lengths(&placeholder), [0]);
    assert_eq!(plan(&service, &[], &[&placeholder[0]]), Plan::default());
    let used = plan(&service, &[&pod("a", true, 1)], &[&placeholder[0]]);
    assert_eq!(
        (lengths(&used.update), used.create.len(), used.delete.len()),
        (vec![1], 0, 0)
    );
}

#[test]
fn a_slice_of_a_service_of_the_same_name_is_not_taken_over() {
    let service = service(json!([{ "port": 80 }]));
    let mut other = stored(&plan(&service, &[], &[]).create);
    other[0].metadata.owner_references.as_mut().unwrap()[0].uid = "0".to_owned();
    let plan = plan(&service, &[], &[&other[0]]);
    assert_eq!((plan.create.len(), plan.delete.len()), (1, 1));
}

#[test]
fn a_service_of_two_families_has_slices_of_both() {
    let mut service = service(json!([{ "port": 80 }]));
    service.spec.as_mut().unwrap().ip_families = Some(vec!["IPv4".to_owned(), "IPv6".to_owned()]);
    let mut pod = pod("a", true, 1);
    pod.status.as_mut().unwrap().pod_ips =
        serde_json::from_value(json!([{ "ip": "10.0.0.1" }, { "ip": "fd00::1" }])).unwrap();
    let plan = plan(&service, &[&pod], &[]);
    let families: Vec<_> = plan.create.iter().map(|slice| slice.address_type.as_str()).collect();
    assert_eq!(families, ["IPv4", "IPv6"]);
    assert_eq!(plan.create[1].endpoints.as_ref().unwrap()[0].addresses, ["fd00::1"]);
}
