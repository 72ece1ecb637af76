//! Which IP families a Service has, decided from what it says and from what the cluster offers: IPv4 alone.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use super::AllocationError;
use crate::service::cluster_ips;
use crate::service::spec::{NONE, Spec, is_v4, is_v6, spec_mut};

/// The family of a single-stack cluster.
pub(super) const PRIMARY: &str = "IPv4";
const SECONDARY: &str = "IPv6";

/// Whether an update leaves a Service that prefers dual-stack as it is.
pub(super) fn unchanged_preference(is: Spec<'_>, was: Spec<'_>) -> bool {
    let prefers = |policy: &str| policy == "PreferDualStack";
    was.service_type() == is.service_type()
        && matches!(is.service_type(), "ClusterIP" | "NodePort" | "LoadBalancer")
        && prefers(is.text("ipFamilyPolicy"))
        && (was.get("ipFamilyPolicy").is_none() || prefers(was.text("ipFamilyPolicy")))
        && was.cluster_ips() == is.cluster_ips()
        && was.ip_families() == is.ip_families()
}

/// Fills in `ipFamilyPolicy` and `ipFamilies`, or refuses what the cluster cannot do.
pub(super) fn decide(service: &mut Value, old: Option<&Value>) -> Result<(), AllocationError> {
    let was = old.map(Spec::of);
    let is = Spec::of(service);
    if is.is_external_name() || was.is_some_and(|was| unchanged_preference(is, was)) {
        return Ok(());
    }
    let bare_headless = is.text("clusterIP") == NONE && !is.has_selector();
    let policy = match (is.get("ipFamilyPolicy"), was.and_then(|was| was.get("ipFamilyPolicy"))) {
        (Some(policy), _) | (None, Some(policy)) => policy.as_str().unwrap_or_default().to_owned(),
        (None, None) if bare_headless => "RequireDualStack".to_owned(),
        (None, None) => "SingleStack".to_owned(),
    };
    let mut addresses: Vec<String> = is.cluster_ips().iter().map(ToString::to_string).collect();
    let mut families: Vec<String> = is.ip_families().iter().map(ToString::to_string).collect();
    if let Some(spec) = spec_mut(service) {
        spec.insert("ipFamilyPolicy".into(), policy.clone().into());
    }
    let mut errors = Errors::new();
    cluster_ips::validate(Spec::of(service), was, &mut errors);
    refuse(&mut errors)?;

    if let Some(was) = was {
        validate_reduction(&policy, was, &mut addresses, &mut families, &mut errors);
    }
    validate_single_stack(&policy, &addresses, &families, &mut errors);
    add_families_of(&addresses, &mut families, &mut errors);
    if !bare_headless && errors.is_empty() {
        validate_offered(&policy, &families, &mut errors);
    }
    refuse(&mut errors)?;

    if families.is_empty() {
        families.push(PRIMARY.to_owned());
    }
    // A headless Service without selector gets no addresses: whoever writes its endpoints decides their families.
    if bare_headless && families.len() < 2 && policy != "SingleStack" {
        let other = if families[0] == PRIMARY { SECONDARY } else { PRIMARY };
        families.push(other.to_owned());
    }
    if let Some(spec) = spec_mut(service) {
        if addresses.is_empty() {
            spec.remove("clusterIPs");
        } else {
            spec.insert("clusterIPs".into(), addresses.into());
        }
        spec.insert("ipFamilies".into(), families.into());
    }
    Ok(())
}

/// The families of the addresses that have none yet.
fn add_families_of(addresses: &[String], families: &mut Vec<String>, errors: &mut Errors) {
    let root = PathRef::root("spec");
    let path = root.child("clusterIPs");
    let named = addresses.iter().enumerate().take_while(|(_, address)| *address != NONE);
    for (index, address) in named.skip(families.len()) {
        if is_v4(address) {
            families.push(PRIMARY.to_owned());
        } else {
            let family = if is_v6(address) { SECONDARY } else { "unknown" };
            let words = format!("{family} is not configured on this cluster");
            errors.push(FieldError::invalid(&path.index(index), addresses, words));
        }
    }
}

/// The cluster has one family, and that one only.
fn validate_offered(policy: &str, families: &[String], errors: &mut Errors) {
    let root = PathRef::root("spec");
    if policy == "RequireDualStack" {
        let words = "this cluster is not configured for dual-stack services";
        errors.push(FieldError::invalid(&root.child("ipFamilyPolicy"), policy, words));
    }
    let path = root.child("ipFamilies");
    for (index, family) in families.iter().enumerate().filter(|(_, family)| *family != PRIMARY) {
        let words = "not configured on this cluster";
        errors.push(FieldError::invalid(&path.index(index), family.as_str(), words));
    }
}

/// An update to `SingleStack` drops the second family; nothing else does.
fn validate_reduction(
    policy: &str,
    was: Spec<'_>,
    addresses: &mut Vec<String>,
    families: &mut Vec<String>,
    errors: &mut Errors,
) {
    if policy == "SingleStack" {
        if was.cluster_ips() == *addresses {
            addresses.truncate(1);
        }
        if was.ip_families() == *families {
            families.truncate(1);
        }
        return;
    }
    let root = PathRef::root("spec");
    let path = root.child("ipFamilyPolicy");
    if !addresses.is_empty() && addresses.len() < was.cluster_ips().len() {
        errors.push(FieldError::invalid(
            &path,
            policy,
            "must be 'SingleStack' to release the secondary cluster IP",
        ));
    }
    if !families.is_empty() && families.len() < was.ip_families().len() {
        errors.push(FieldError::invalid(
            &path,
            policy,
            "must be 'SingleStack' to release the secondary IP family",
        ));
    }
}

fn validate_single_stack(policy: &str, addresses: &[String], families: &[String], errors: &mut Errors) {
    if policy != "SingleStack" {
        return;
    }
    let root = PathRef::root("spec");
    let path = root.child("ipFamilyPolicy");
    for (count, what) in [(addresses.len(), "cluster IPs"), (families.len(), "IP families")] {
        if count == 2 {
            let detail = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.push(FieldError::invalid(&path, policy, detail));
        }
    }
}

fn refuse(errors: &mut Errors) -> Result<(), AllocationError> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(AllocationError::Invalid(std::mem::take(errors)))
    }
}
