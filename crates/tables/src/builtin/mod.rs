//! The printers of Kubernetes' own resources: recorded columns, and per kind the way to its cells.

mod admission;
mod autoscaling;
mod batch;
mod certificates;
mod cluster;
mod config;
mod devices;
mod endpoints;
mod events;
mod flowcontrol;
mod networking;
mod nodes;
mod pods;
mod rbac;
mod services;
mod storage;
mod workloads;

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;

use crate::column::Column;
use crate::facts::{self, Key};
use crate::read::{int, text};
use crate::row::{Cell, PrintError, Row};

/// Cells from whatever they are made of.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(serde_json::Value::from($cell)),*] };
}
use cells;

/// How a built-in resource is printed.
#[derive(Debug)]
pub struct Builtin {
    key: Key,
    columns: Vec<Column>,
    print: Print,
}

#[derive(Clone, Copy, Debug)]
enum Print {
    /// A name and a date, for what has no printer of its own.
    Default,
    Cells(fn(&Value, Timestamp) -> Vec<Cell>),
    Row(fn(&Value, Timestamp) -> Row),
    Fallible(fn(&Value, Timestamp) -> Result<Vec<Cell>, PrintError>),
}

/// Sorted by key.
static ALL: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
    let builtin = |(key, columns): (Key, Vec<Column>)| {
        let print = print(key.0, key.1);
        Builtin { key, columns, print }
    };
    facts::columns().into_iter().map(builtin).collect()
});

fn find(group: &str, plural: &str) -> Option<&'static Builtin> {
    let at = ALL.binary_search_by(|builtin| builtin.key.cmp(&(group, plural))).ok()?;
    ALL.get(at)
}

/// Whether a path below a built-in resource offers Tables (H7). Subresources that are no view of their object do not,
/// and neither do a few whose status upstream serves from a storage without a printer.
pub fn is_convertible(group: &str, plural: &str, subresource: &str) -> bool {
    match subresource {
        "" => find(group, plural).is_some(),
        "scale" => true,
        "status" => !matches!(
            (group, plural),
            ("apiextensions.k8s.io" | "apiregistration.k8s.io", _) | ("resource.k8s.io", "resourceclaims")
        ),
        _ => false,
    }
}

impl Builtin {
    /// The printer of a resource or subresource; `None` where there are no Tables.
    pub fn of(group: &str, plural: &str, subresource: &str) -> Option<&'static Self> {
        if !is_convertible(group, plural, subresource) {
            return None;
        }
        if subresource == "scale" {
            find("autoscaling", "scale")
        } else {
            find(group, plural)
        }
    }

    /// Every printer, by group and plural.
    pub fn all() -> impl Iterator<Item = (&'static str, &'static str, &'static Self)> {
        ALL.iter().map(|builtin| (builtin.key.0, builtin.key.1, builtin))
    }

    /// The columns, wide ones included.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// An object's row.
    pub fn row(&self, object: &Value, now: Timestamp) -> Result<Row, PrintError> {
        Ok(match self.print {
            Print::Default => default(object).into(),
            Print::Cells(print) => print(object, now).into(),
            Print::Row(print) => print(object, now),
            Print::Fallible(print) => print(object, now)?.into(),
        })
    }

    /// Whether this is a resource without a printer of its own.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self.print, Print::Default)
    }

    /// Flow schemas are listed in the order in which they are tried; everything else as it comes.
    pub(crate) fn sorts(&self) -> bool {
        self.key == ("flowcontrol.apiserver.k8s.io", "flowschemas")
    }

    /// Puts a list's objects into the order of its rows.
    pub(crate) fn order(&self, objects: &mut [Value]) {
        if self.sorts() {
            objects.sort_by(|a, b| {
                let precedence = |schema: &Value| int(&schema["spec"]["matchingPrecedence"]);
                precedence(a).cmp(&precedence(b)).then_with(|| name(a).cmp(name(b)))
            });
        }
    }
}

/// What Kubernetes says about the name and the creation time of every object, for columns that show them.
pub(crate) fn metadata_columns() -> (Option<&'static Column>, Option<&'static Column>) {
    let columns = Builtin::of("", "namespaces", "").map_or(&[][..], Builtin::columns);
    (columns.first(), columns.last())
}

fn print(group: &str, plural: &str) -> Print {
    use Print::{Cells, Default, Fallible};
    match (group, plural) {
        ("", "pods") => Print::Row(pods::pod),
        ("", "podtemplates") => Cells(pods::pod_template),
        ("", "replicationcontrollers") => Cells(workloads::replication_controller),
        ("", "services") => Cells(services::service),
        ("", "endpoints") => Cells(endpoints::endpoints),
        ("", "nodes") => Cells(nodes::node),
        ("" | "events.k8s.io", "events") => Cells(events::event),
        ("", "namespaces") => Cells(cluster::namespace),
        ("", "componentstatuses") => Cells(cluster::component_status),
        ("", "secrets") => Cells(config::secret),
        ("", "configmaps") => Cells(config::config_map),
        ("", "resourcequotas") => Cells(config::resource_quota),
        ("", "persistentvolumes") => Cells(storage::persistent_volume),
        ("", "persistentvolumeclaims") => Cells(storage::persistent_volume_claim),
        ("apps", "deployments") => Cells(workloads::deployment),
        ("apps", "replicasets") => Cells(workloads::replica_set),
        ("apps", "statefulsets") => Cells(workloads::stateful_set),
        ("apps", "daemonsets") => Cells(workloads::daemon_set),
        ("apps", "controllerrevisions") => Fallible(workloads::controller_revision),
        ("batch", "jobs") => Cells(batch::job),
        ("batch", "cronjobs") => Cells(batch::cron_job),
        ("autoscaling", "horizontalpodautoscalers") => Cells(autoscaling::horizontal_pod_autoscaler),
        ("autoscaling", "scale") => Cells(autoscaling::scale),
        ("policy", "poddisruptionbudgets") => Cells(workloads::pod_disruption_budget),
        ("networking.k8s.io", "ingresses") => Cells(networking::ingress),
        ("networking.k8s.io", "ingressclasses") => Cells(networking::ingress_class),
        ("networking.k8s.io", "networkpolicies") => Cells(networking::network_policy),
        ("networking.k8s.io", "servicecidrs") => Cells(networking::service_cidr),
        ("networking.k8s.io", "ipaddresses") => Cells(networking::ip_address),
        ("discovery.k8s.io", "endpointslices") => Cells(endpoints::endpoint_slice),
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => Cells(rbac::binding),
        ("certificates.k8s.io", "certificatesigningrequests") => Cells(certificates::signing_request),
        ("coordination.k8s.io", "leases") => Cells(config::lease),
        ("storage.k8s.io", "storageclasses") => Cells(storage::storage_class),
        ("storage.k8s.io", "volumeattributesclasses") => Cells(storage::volume_attributes_class),
        ("storage.k8s.io", "volumeattachments") => Cells(storage::volume_attachment),
        ("storage.k8s.io", "csinodes") => Cells(storage::csi_node),
        ("storage.k8s.io", "csidrivers") => Cells(storage::csi_driver),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations" | "validatingwebhookconfigurations") => {
            Cells(admission::webhook_configuration)
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => Cells(admission::validating_policy),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => Cells(admission::mutating_policy),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings") => {
            Cells(admission::policy_binding)
        }
        ("apiregistration.k8s.io", "apiservices") => Cells(cluster::api_service),
        ("scheduling.k8s.io", "priorityclasses") => Cells(nodes::priority_class),
        ("node.k8s.io", "runtimeclasses") => Cells(nodes::runtime_class),
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => Cells(flowcontrol::flow_schema),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => Cells(flowcontrol::priority_level),
        ("", "serviceaccounts") | ("resource.k8s.io", "deviceclasses" | "resourceclaimtemplates") => {
            Cells(config::name_and_age)
        }
        ("resource.k8s.io", "resourceclaims") => Cells(devices::resource_claim),
        ("resource.k8s.io", "resourceslices") => Cells(devices::resource_slice),
        _ => Default,
    }
}

/// Name and creation time, for what has no printer of its own.
fn default(object: &Value) -> Vec<Cell> {
    let created = object["metadata"]["creationTimestamp"].as_str();
    cells![name(object), created.unwrap_or("0001-01-01T00:00:00Z")]
}

fn name(object: &Value) -> &str {
    text(&object["metadata"]["name"])
}

/// At most `most` of the items, and how many more there are.
fn with_more(shown: &[String], all: usize, most: usize) -> String {
    let list = shown.join(",");
    if all > most {
        format!("{list} + {} more...", all - most)
    } else {
        list
    }
}

/// The names and the images of containers, each as one text.
fn containers(pod_spec: &Value) -> (String, String) {
    let containers = crate::read::list(&pod_spec["containers"]);
    let join = |field: &str| {
        let all: Vec<&str> = containers.iter().map(|container| text(&container[field])).collect();
        all.join(",")
    };
    (join("name"), join("image"))
}

/// Go lowers rune by rune; a letter whose lower case is several characters keeps the first.
fn lower(text: &str) -> String {
    text.chars()
        .map(|letter| letter.to_lowercase().next().unwrap_or(letter))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_resource_has_as_many_cells_as_columns() {
        for (group, plural, builtin) in Builtin::all() {
            let row = builtin
                .row(&json!({"metadata": {"name": "n"}}), Timestamp::UNIX_EPOCH)
                .expect("printable");
            // Upstream prints an age that it has no column for.
            let without_column = usize::from(plural == "ipaddresses");
            assert_eq!(
                row.cells.len(),
                builtin.columns().len() + without_column,
                "{group} {plural}"
            );
        }
        assert!(Builtin::all().count() > 60);
    }

    #[test]
    fn the_default_printer_is_used_exactly_where_the_real_server_uses_it() {
        for (group, plural, builtin) in Builtin::all() {
            let is_default = builtin.columns().iter().any(|column| column.name == "Created At");
            assert_eq!(is_default, builtin.is_default(), "{group} {plural}");
        }
    }

    #[test]
    fn subresources_are_tables_only_where_upstream_can_convert_them() {
        for (group, plural, subresource, expected) in [
            ("", "pods", "", true),
            ("", "pods", "status", true),
            ("", "pods", "log", false),
            ("", "pods", "binding", false),
            ("", "bindings", "", false),
            ("", "serviceaccounts", "token", false),
            ("apps", "deployments", "scale", true),
            ("apiextensions.k8s.io", "customresourcedefinitions", "status", false),
            ("apiregistration.k8s.io", "apiservices", "status", false),
            ("resource.k8s.io", "resourceclaims", "status", false),
            ("certificates.k8s.io", "certificatesigningrequests", "approval", false),
            ("authorization.k8s.io", "selfsubjectaccessreviews", "", false),
        ] {
            assert_eq!(
                is_convertible(group, plural, subresource),
                expected,
                "{plural}/{subresource}"
            );
        }
        let scale = Builtin::of("apps", "deployments", "scale").expect("a printer");
        assert_eq!(scale.columns()[1].name, "Desired");
    }
}
