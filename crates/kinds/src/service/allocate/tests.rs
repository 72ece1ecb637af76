//! What a reservation changes, and what it leaves alone.

use super::*;

fn service(spec: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s", "namespace": "n" }, "spec": spec })
}

fn cluster_ip() -> Value {
    service(&json!({ "type": "ClusterIP", "ports": [{ "port": 80, "protocol": "TCP" }] }))
}

fn node_port() -> Value {
    service(&json!({ "type": "NodePort", "ports": [{ "port": 80, "protocol": "TCP" }] }))
}

fn with(mut object: Value, field: &str, value: Value) -> Value {
    object["spec"][field] = value;
    object
}

fn create(allocator: &mut Allocator, object: &mut Value) -> Result<Transaction, AllocationError> {
    allocator.begin_create(object, false, &mut |_| 0)
}

fn refused(outcome: Result<Transaction, AllocationError>) -> String {
    match outcome {
        Err(AllocationError::Invalid(errors)) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        Err(AllocationError::Internal(text)) => format!("Internal error occurred: {text}"),
        Err(AllocationError::Unexpected(text)) => text,
        Ok(transaction) => panic!("not refused: {transaction:?}"),
    }
}

#[test]
fn the_upper_part_of_the_range_is_handed_out_first() {
    let mut allocator = Allocator::default();
    let mut first = cluster_ip();
    create(&mut allocator, &mut first).unwrap();
    assert_eq!(first["spec"]["clusterIP"], "10.0.0.17");
    assert_eq!(first["spec"]["clusterIPs"], json!(["10.0.0.17"]));
    assert_eq!(first["spec"]["ipFamilies"], json!(["IPv4"]));
    let mut second = node_port();
    allocator
        .begin_create(&mut second, false, &mut |bound| bound - 1)
        .unwrap();
    assert_eq!(second["spec"]["clusterIP"], "10.0.0.254");
    assert_eq!(second["spec"]["ports"][0]["nodePort"], 32767);
}

#[test]
fn every_address_is_handed_out_once_and_then_the_range_is_full() {
    let mut allocator = Allocator::default();
    let mut given = std::collections::BTreeSet::new();
    for turn in 0..254u64 {
        let mut object = cluster_ip();
        allocator
            .begin_create(&mut object, false, &mut |bound| turn * 7 % bound)
            .unwrap();
        assert!(given.insert(object["spec"]["clusterIP"].to_string()), "{object}");
    }
    assert_eq!(
        refused(create(&mut allocator, &mut cluster_ip())),
        r#"Internal error occurred: failed to allocate a serviceIP for Service "s": range is full"#
    );
    assert_eq!(
        allocator
            .release(&with(cluster_ip(), "clusterIPs", json!(["10.0.0.9"])))
            .len(),
        1
    );
    let mut object = cluster_ip();
    create(&mut allocator, &mut object).unwrap();
    assert_eq!(object["spec"]["clusterIP"], "10.0.0.9");
}

#[test]
fn node_ports_run_out_too() {
    let mut allocator = Allocator::new(
        AddressRange::new(Ipv4Addr::new(10, 0, 0, 0), 24),
        PortRange::new(30000, 30001),
    );
    create(&mut allocator, &mut node_port()).unwrap();
    create(&mut allocator, &mut node_port()).unwrap();
    assert_eq!(
        refused(create(&mut allocator, &mut node_port())),
        "Internal error occurred: failed to allocate a nodePort: range is full"
    );
}

#[test]
fn a_taken_address_is_refused() {
    let mut allocator = Allocator::default();
    let wish = || with(cluster_ip(), "clusterIP", json!("10.0.0.10"));
    create(&mut allocator, &mut wish()).unwrap();
    assert_eq!(
        refused(create(&mut allocator, &mut wish())),
        r#"spec.clusterIPs: Invalid value: ["10.0.0.10"]: failed to allocate IP 10.0.0.10: provided IP is already allocated"#
    );
}

#[test]
fn an_address_that_cannot_be_handed_out_is_refused() {
    let mut allocator = Allocator::default();
    for address in ["10.0.0.0", "10.0.0.255", "10.1.0.1"] {
        assert_eq!(
            refused(create(
                &mut allocator,
                &mut with(cluster_ip(), "clusterIP", json!(address))
            )),
            format!(
                r#"spec.clusterIPs: Invalid value: ["{address}"]: failed to allocate IP {address}: the provided network does not match the current range"#
            )
        );
    }
}

#[test]
fn a_node_port_outside_the_range_or_taken_is_refused() {
    let mut allocator = Allocator::default();
    let wish = |port: i64| {
        with(
            node_port(),
            "ports",
            json!([{ "port": 80, "protocol": "TCP", "nodePort": port }]),
        )
    };
    assert_eq!(
        refused(create(&mut allocator, &mut wish(80))),
        "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
    );
    create(&mut allocator, &mut wish(30001)).unwrap();
    assert_eq!(
        refused(create(&mut allocator, &mut wish(30001))),
        "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"
    );
}

#[test]
fn a_health_check_port_outside_the_range_is_an_internal_error() {
    let mut object = with(node_port(), "type", json!("LoadBalancer"));
    object["spec"]["externalTrafficPolicy"] = json!("Local");
    object["spec"]["healthCheckNodePort"] = json!(80);
    assert_eq!(
        refused(create(&mut Allocator::default(), &mut object)),
        "Internal error occurred: failed to allocate requested HealthCheck NodePort 80: provided port is not in the valid range. The range of valid ports is 30000-32767"
    );
}

#[test]
fn a_refused_create_leaves_nothing_taken() {
    let mut allocator = Allocator::default();
    let mut object = with(node_port(), "clusterIP", json!("10.0.0.10"));
    object["spec"]["ports"] =
        json!([{ "port": 80, "protocol": "TCP", "nodePort": 30001 }, { "port": 81, "protocol": "TCP", "nodePort": 1 }]);
    assert!(create(&mut allocator, &mut object).is_err());
    assert!(!allocator.addresses().is_taken(Ipv4Addr::new(10, 0, 0, 10)));
    assert!(!allocator.ports().is_taken(30001));
}

#[test]
fn a_reverted_create_leaves_nothing_taken() {
    let mut allocator = Allocator::default();
    let transaction = create(&mut allocator, &mut node_port()).unwrap();
    assert_eq!(transaction.taken_addresses(), [Ipv4Addr::new(10, 0, 0, 17)]);
    allocator.revert(&transaction);
    assert!(!allocator.addresses().is_taken(Ipv4Addr::new(10, 0, 0, 17)));
    assert!(!allocator.ports().is_taken(30086));
}

#[test]
fn a_dry_run_takes_nothing() {
    let mut allocator = Allocator::default();
    let mut object = node_port();
    allocator.begin_create(&mut object, true, &mut |_| 0).unwrap();
    assert_eq!(object["spec"]["clusterIP"], "10.0.0.0");
    assert_eq!(object["spec"]["ports"][0]["nodePort"], 32769);
    let mut wish = with(cluster_ip(), "clusterIP", json!("10.0.0.10"));
    allocator.begin_create(&mut wish, true, &mut |_| 0).unwrap();
    assert!(!allocator.addresses().is_taken(Ipv4Addr::new(10, 0, 0, 10)));
}

#[test]
fn becoming_an_external_name_frees_address_and_ports_on_commit() {
    let mut allocator = Allocator::default();
    let mut old = node_port();
    create(&mut allocator, &mut old).unwrap();
    let mut new = service(&json!({ "type": "ExternalName", "externalName": "example.com" }));
    let transaction = allocator.begin_update(&mut new, &old, false, &mut |_| 0).unwrap();
    assert!(allocator.addresses().is_taken(Ipv4Addr::new(10, 0, 0, 17)));
    assert_eq!(transaction.freed_addresses(), [Ipv4Addr::new(10, 0, 0, 17)]);
    allocator.commit(&transaction);
    assert!(!allocator.addresses().is_taken(Ipv4Addr::new(10, 0, 0, 17)));
    assert!(!allocator.ports().is_taken(30086));
}

#[test]
fn an_update_that_is_not_stored_frees_only_what_it_took() {
    let mut allocator = Allocator::default();
    let mut old = node_port();
    create(&mut allocator, &mut old).unwrap();
    let mut new = old.clone();
    new["spec"]["ports"] = json!([{ "port": 81, "protocol": "TCP", "nodePort": 31000 }]);
    let transaction = allocator.begin_update(&mut new, &old, false, &mut |_| 0).unwrap();
    assert!(allocator.ports().is_taken(30086) && allocator.ports().is_taken(31000));
    allocator.revert(&transaction);
    assert!(allocator.ports().is_taken(30086) && !allocator.ports().is_taken(31000));
}

#[test]
fn an_allocator_is_rebuilt_from_what_is_stored() {
    let mut allocator = Allocator::default();
    let mut stored = with(node_port(), "type", json!("LoadBalancer"));
    stored["spec"]["externalTrafficPolicy"] = json!("Local");
    create(&mut allocator, &mut stored).unwrap();
    let mut rebuilt = Allocator::default();
    rebuilt.observe(&stored);
    for port in [30086, 30087] {
        assert!(rebuilt.ports().is_taken(port), "{port}");
    }
    assert!(rebuilt.addresses().is_taken(Ipv4Addr::new(10, 0, 0, 17)));
    rebuilt.release(&stored);
    assert!(!rebuilt.ports().is_taken(30087));
}

#[test]
fn an_address_object_is_the_reservation() {
    let mut allocator = Allocator::default();
    let address = Ipv4Addr::new(10, 0, 0, 16);
    let wish = || with(cluster_ip(), "clusterIP", json!("10.0.0.16"));
    assert!(allocator.reserve_address(address));
    assert_eq!(
        refused(create(&mut allocator, &mut wish())),
        r#"spec.clusterIPs: Invalid value: ["10.0.0.16"]: failed to allocate IP 10.0.0.16: provided IP is already allocated"#
    );
    allocator.free_address(address);
    create(&mut allocator, &mut wish()).unwrap();
}

#[test]
fn shapeless_services_do_not_panic() {
    for object in [
        json!(null),
        json!({}),
        json!({ "spec": [] }),
        json!({ "spec": { "type": "NodePort", "ports": [1] } }),
    ] {
        let _ = Allocator::default().begin_create(&mut object.clone(), false, &mut |_| u64::MAX);
        let _ = Allocator::default().begin_update(&mut object.clone(), &cluster_ip(), false, &mut |_| 0);
        let _ = Allocator::default().begin_update(&mut cluster_ip(), &object, false, &mut |_| 0);
    }
}

/// The recorded form of what a real server shows beside a Service.
#[test]
fn the_objects_beside_a_service_are_those_upstream_shows() {
    assert_eq!(
        ip_address(Ipv4Addr::new(10, 0, 0, 1), "default", "kubernetes"),
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {
                "name": "10.0.0.1",
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": "IPv4",
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                },
            },
            "spec": { "parentRef": { "name": "kubernetes", "namespace": "default", "resource": "services" } },
        })
    );
    let cidr = service_cidr(Allocator::default().addresses(), "2026-01-01T00:00:00Z");
    assert_eq!(cidr["spec"], json!({ "cidrs": ["10.0.0.0/24"] }));
    assert_eq!(
        cidr["status"]["conditions"][0]["message"],
        "Kubernetes default Service CIDR is ready"
    );
}
