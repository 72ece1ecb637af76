//! The fields of some kinds that hold the time of a write. The server knows the time and calls this after a kind has
//! prepared the write.

use serde_json::Value;

use crate::apiregistration;
use crate::certificates;
use crate::core_group::persistent_volume;
use crate::resource_slice;

/// Sets `now`, the time as JSON writes it, where the kind has such a field: the phase of a persistent volume, the conditions
/// of a certificate signing request, the availability of a local API service, the taints of devices. `old` is `None` on create.
pub fn set_times(
    group: &str,
    resource: &str,
    subresource: Option<&str>,
    object: &mut Value,
    old: Option<&Value>,
    now: &str,
) {
    match (group, resource, subresource, old) {
        ("", "persistentvolumes", None, None) | ("", "persistentvolumes", Some("status"), Some(_)) => {
            persistent_volume::set_phase_time(object, old, now);
        }
        ("certificates.k8s.io", "certificatesigningrequests", Some("status" | "approval"), Some(old)) => {
            certificates::set_condition_times(object, old, now);
        }
        ("resource.k8s.io", "resourceslices", None, _) => resource_slice::set_taint_times(object, now),
        ("apiregistration.k8s.io", "apiservices", None, None) => apiregistration::set_available(object, now),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_create_and_a_status_update_set_the_time_of_the_phase() {
        let old = json!({"status": {"phase": "Pending", "lastPhaseTransitionTime": "t1"}});
        let phase_time = |subresource, old: Option<&Value>| {
            let mut object = json!({"status": {"phase": "Bound"}});
            set_times("", "persistentvolumes", subresource, &mut object, old, "t2");
            object["status"]["lastPhaseTransitionTime"].clone()
        };
        assert_eq!(phase_time(None, None), "t2");
        assert_eq!(phase_time(Some("status"), Some(&old)), "t2");
        assert_eq!(phase_time(None, Some(&old)), Value::Null);
    }
}
