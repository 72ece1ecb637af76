//! What of the host a Pod uses: its namespaces, its ports, other hosts by the kubelet's probes, its processes on Windows.

use serde_json::Value;

use super::{distinct, named, of_context, of_pod_context, one_or_more, quoted, setters, these_containers, violation};
use crate::Violation;
use crate::pod::{containers, list, text};

pub(super) fn namespaces(pod: &Value) -> Option<Violation> {
    let spec = pod.get("spec")?;
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter();
    let shared: Vec<String> = shared
        .filter(|field| spec.get(field) == Some(&Value::Bool(true)))
        .map(|field| format!("{field}=true"))
        .collect();
    if shared.is_empty() {
        return None;
    }
    violation("host namespaces", shared.join(", "))
}

pub(super) fn ports(pod: &Value) -> Option<Violation> {
    let of = |container: &Value| -> Vec<String> {
        let ports = list(container.get("ports")).iter();
        let ports = ports.filter_map(|port| port.get("hostPort").and_then(Value::as_i64));
        ports.filter(|port| *port != 0).map(|port| port.to_string()).collect()
    };
    let names = named(pod, |container| !of(container).is_empty());
    if names.is_empty() {
        return None;
    }
    let ports = distinct(containers(pod).flat_map(of));
    let (these, count) = (these_containers(&names), names.len());
    let (uses, word) = (
        one_or_more("uses", "use", count),
        one_or_more("hostPort", "hostPorts", ports.len()),
    );
    violation("hostPort", format!("{these} {uses} {word} {}", ports.join(", ")))
}

pub(super) fn probes(pod: &Value) -> Option<Violation> {
    let names = distinct(named(pod, |container| !hosts(container).is_empty()));
    if names.is_empty() {
        return None;
    }
    let hosts = distinct(containers(pod).flat_map(hosts));
    let word = one_or_more("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    let uses = one_or_more("uses", "use", names.len());
    let detail = format!("{} {uses} {word} {}", these_containers(&names), quoted(&hosts));
    violation("probe or lifecycle host", detail)
}

fn hosts(container: &Value) -> Vec<&str> {
    let probes = ["livenessProbe", "readinessProbe", "startupProbe"].into_iter();
    let probes = probes.filter_map(|probe| container.get(probe));
    let lifecycle = container.get("lifecycle");
    let handlers = ["postStart", "preStop"]
        .into_iter()
        .filter_map(|handler| lifecycle?.get(handler));
    let actions = probes.chain(handlers).flat_map(|handler| {
        ["httpGet", "tcpSocket"]
            .into_iter()
            .filter_map(|action| handler.get(action))
    });
    actions
        .map(|action| text(action, "host"))
        .filter(|host| !host.is_empty())
        .collect()
}

pub(super) fn windows_process(pod: &Value) -> Option<Violation> {
    let is_host =
        |options: Option<&Value>| options.and_then(|options| options.get("hostProcess")) == Some(&Value::Bool(true));
    let names = named(pod, |container| is_host(of_context(container, "windowsOptions")));
    let these = setters(is_host(of_pod_context(pod, "windowsOptions")), &names)?;
    violation(
        "hostProcess",
        format!("{these} must not set securityContext.windowsOptions.hostProcess=true"),
    )
}
