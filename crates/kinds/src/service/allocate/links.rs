//! `clusterIP` and `clusterIPs` have the same meaning, and there are clients that know only the first. A field that a
//! client leaves out of an update keeps its value.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::service::spec::{Spec, int, spec_mut, text};

/// On create: the plural field follows the singular one.
pub(super) fn fill_plural(service: &mut Value) {
    let spec = Spec::of(service);
    let single = spec.text("clusterIP").to_owned();
    if !single.is_empty()
        && spec.cluster_ips().is_empty()
        && let Some(spec) = spec_mut(service)
    {
        spec.insert("clusterIPs".into(), vec![single].into());
    }
}

/// On update: the field the client changed wins over the one it did not touch.
pub(super) fn relink(service: &mut Value, old: &Value) {
    let was = Spec::of(old);
    let old_single = was.text("clusterIP");
    let old_plural = was.get("clusterIPs").filter(|_| !was.cluster_ips().is_empty());
    let single = Spec::of(service).text("clusterIP").to_owned();
    let Some(spec) = spec_mut(service) else { return };
    let is_empty = |value: Option<&Value>| value.and_then(Value::as_array).is_none_or(Vec::is_empty);

    if let Some(old_plural) = old_plural
        && is_empty(spec.get("clusterIPs"))
        && old_single == single
    {
        spec.insert("clusterIPs".into(), old_plural.clone());
    }
    if old_single == single {
        return;
    }
    let same_plural = match (old_plural, spec.get("clusterIPs")) {
        (None, now) => is_empty(now),
        (Some(old), Some(now)) => old == now,
        (Some(_), None) => false,
    };
    if same_plural {
        if single.is_empty() {
            spec.remove("clusterIPs");
        } else {
            spec.insert("clusterIPs".into(), vec![single].into());
        }
    }
}

/// On update: allocated values the client did not send are those it already has.
pub(super) fn carry_over(service: &mut Value, old: &Value) {
    let was = Spec::of(old);
    let is = Spec::of(service);
    let both_need_ip = was.needs_cluster_ip() && is.needs_cluster_ip();
    let fill_single = both_need_ip && is.text("clusterIP").is_empty() && !was.text("clusterIP").is_empty();
    let fill_plural = both_need_ip && is.cluster_ips().is_empty() && !was.cluster_ips().is_empty();
    let both_need_ports = was.needs_node_ports() && is.needs_node_ports();
    let both_need_check = was.needs_health_check() && is.needs_health_check();
    let fill_check = both_need_check && is.number("healthCheckNodePort") == 0;
    let kept: Vec<i64> = was.node_port_set().intersection(&is.node_port_set()).copied().collect();

    let Some(spec) = spec_mut(service) else { return };
    if fill_single && let Some(value) = was.get("clusterIP") {
        spec.insert("clusterIP".into(), value.clone());
    }
    if fill_plural && let Some(value) = was.get("clusterIPs") {
        spec.insert("clusterIPs".into(), value.clone());
    }
    if both_need_ports {
        let by_name: BTreeMap<&str, i64> = was
            .ports()
            .iter()
            .map(|port| (text(port, "name"), int(port, "nodePort")))
            .collect();
        for port in spec
            .get_mut("ports")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let known = by_name.get(text(port, "name")).copied().unwrap_or_default();
            if int(port, "nodePort") == 0
                && known != 0
                && !kept.contains(&known)
                && let Some(port) = port.as_object_mut()
            {
                port.insert("nodePort".into(), known.into());
            }
        }
    }
    if fill_check && was.number("healthCheckNodePort") != 0 {
        spec.insert("healthCheckNodePort".into(), was.number("healthCheckNodePort").into());
    }
}
