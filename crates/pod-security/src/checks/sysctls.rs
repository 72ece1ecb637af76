//! Kernel parameters that a Pod sets.

use serde_json::Value;

use super::{of_pod_context, violation};
use crate::Violation;
use crate::pod::{list, text};

/// Safe ones, in the order in which versions allowed them.
const SAFE: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

pub(super) fn check(pod: &Value) -> Option<Violation> {
    beyond(pod, &SAFE[..5])
}

pub(super) fn check_1_27(pod: &Value) -> Option<Violation> {
    beyond(pod, &SAFE[..6])
}

pub(super) fn check_1_29(pod: &Value) -> Option<Violation> {
    beyond(pod, &SAFE[..10])
}

pub(super) fn check_1_32(pod: &Value) -> Option<Violation> {
    beyond(pod, &SAFE)
}

fn beyond(pod: &Value, safe: &[&str]) -> Option<Violation> {
    let set = list(of_pod_context(pod, "sysctls"))
        .iter()
        .map(|sysctl| text(sysctl, "name"));
    let unsafe_ones: Vec<&str> = set.filter(|name| !safe.contains(name)).collect();
    if unsafe_ones.is_empty() {
        return None;
    }
    violation("forbidden sysctls", unsafe_ones.join(", "))
}
