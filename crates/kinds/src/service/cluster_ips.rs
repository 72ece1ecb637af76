//! The rules that tie `clusterIP`, `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` together, and what of them may change.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use super::spec::{NONE, Spec, is_v4, is_v6};
use crate::rules::net::validate_ip_of_old_field;

const CHANGED: &str = "may not change once set";

/// Everything wrong with the four fields as they stand; `ExternalName` has rules of its own for them.
pub(super) fn validate(is: Spec<'_>, was: Option<Spec<'_>>, errors: &mut Errors) {
    if is.is_external_name() {
        return;
    }
    let spec = PathRef::root("spec");
    let ips_path = spec.child("clusterIPs");
    let (single, plural) = (is.text("clusterIP"), is.cluster_ips());
    let shown = || is.get("clusterIPs").cloned().unwrap_or(Value::Null);
    match plural.first() {
        None if !single.is_empty() => errors.push(FieldError::required(&ips_path, "")),
        Some(_) if single.is_empty() => {
            errors.push(FieldError::invalid(
                &ips_path,
                shown(),
                "must be empty when `clusterIP` is not specified",
            ));
        }
        Some(first) if *first != single => {
            errors.push(FieldError::invalid(
                &ips_path,
                shown(),
                "first value must match `clusterIP`",
            ));
        }
        _ => {}
    }
    validate_families(is, errors);
    if validate_addresses(is, was, &ips_path, errors) && !is.is_headless() {
        validate_addresses_have_their_families(is, &ips_path, errors);
    }
}

/// Each address is one, and there is at most one of each family; returns whether the first is true.
fn validate_addresses(is: Spec<'_>, was: Option<Spec<'_>>, path: &PathRef<'_>, errors: &mut Errors) -> bool {
    let addresses = is.cluster_ips();
    let invalid = |words: &str| {
        let shown = is.get("clusterIPs").cloned().unwrap_or(Value::Null);
        FieldError::invalid(path, shown, words)
    };
    let before = was.map(Spec::cluster_ips).unwrap_or_default();
    let known = errors.len();
    for (index, address) in addresses.iter().enumerate() {
        if index > 0 || *address != NONE {
            validate_ip_of_old_field(&path.index(index), address, &before, errors);
        } else if addresses.len() > 1 {
            errors.push(invalid("'None' must be the first and only value"));
        }
    }
    let well_formed = errors.len() == known;
    if addresses.len() > 2 {
        errors.push(invalid("may only hold up to 2 values"));
    }
    let has_both = addresses.iter().any(|ip| is_v4(ip)) && addresses.iter().any(|ip| is_v6(ip));
    if well_formed && addresses.len() > 1 && !has_both {
        errors.push(invalid("may specify no more than one IP for each IP family"));
    }
    well_formed
}

fn validate_addresses_have_their_families(is: Spec<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    for (index, (address, family)) in is.cluster_ips().iter().zip(is.ip_families()).enumerate() {
        let matches = if family == "IPv4" {
            !is_v6(address)
        } else {
            family != "IPv6" || is_v6(address)
        };
        if !matches {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            errors.push(FieldError::invalid(&path.index(index), *address, detail));
        }
    }
}

fn validate_families(is: Spec<'_>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    let path = spec.child("ipFamilies");
    let families = is.ip_families();
    for (index, family) in families.iter().enumerate() {
        if !matches!(*family, "IPv4" | "IPv6") {
            errors.push(FieldError::not_supported(&path.index(index), *family, ["IPv4", "IPv6"]));
        }
        if families[..index].contains(family) {
            errors.push(FieldError::duplicate(&path.index(index), *family));
        }
    }
    if let Some(policy) = is.get("ipFamilyPolicy").and_then(Value::as_str)
        && !matches!(policy, "SingleStack" | "PreferDualStack" | "RequireDualStack")
    {
        errors.push(FieldError::not_supported(
            &spec.child("ipFamilyPolicy"),
            policy,
            ["PreferDualStack", "RequireDualStack", "SingleStack"],
        ));
    }
}

/// What of the addresses changed that may not: a second one may come and go, the first stays.
pub(super) fn validate_address_change(is: Spec<'_>, was: Spec<'_>, errors: &mut Errors) {
    if is.is_external_name() || was.is_external_name() || (is.is_headless() && was.is_headless()) {
        return;
    }
    let spec = PathRef::root("spec");
    let path = spec.child("clusterIPs");
    let shown = || is.get("clusterIPs").cloned().unwrap_or(Value::Null);
    let (old, new) = (was.cluster_ips(), is.cluster_ips());
    if old.len() == new.len() {
        for (index, _) in old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new) {
            errors.push(FieldError::invalid(&path.index(index), shown(), CHANGED));
        }
        return;
    }
    if old.len() > new.len() && new.is_empty() {
        errors.push(FieldError::invalid(
            &path.index(0),
            shown(),
            "primary clusterIP can not be unset",
        ));
    }
    if let (Some(old), Some(new)) = (old.first(), new.first())
        && old != new
    {
        errors.push(FieldError::invalid(&path.index(0), shown(), CHANGED));
    }
    if old.len() > new.len() && new.len() == 1 {
        require_single_stack(
            is,
            "must be set to 'SingleStack' when releasing the secondary clusterIP",
            errors,
        );
    }
}

/// What of the families changed that may not; a headless Service may have any.
pub(super) fn validate_family_change(is: Spec<'_>, was: Spec<'_>, errors: &mut Errors) {
    if is.is_external_name() || was.is_external_name() || is.is_headless() || was.is_headless() {
        return;
    }
    let spec = PathRef::root("spec");
    let families_path = spec.child("ipFamilies");
    let path = families_path.index(0);
    let shown = |field: &str| is.get(field).cloned().unwrap_or(Value::Null);
    let (old, new) = (was.ip_families(), is.ip_families());
    if old.len() == new.len() {
        for _ in old.iter().zip(&new).filter(|(old, new)| old != new) {
            errors.push(FieldError::invalid(&path, shown("ipFamilies"), CHANGED));
        }
        return;
    }
    if old.len() > new.len() && is.cluster_ips().is_empty() {
        errors.push(FieldError::invalid(
            &path,
            shown("ipFamilies"),
            "primary ipFamily can not be unset",
        ));
    }
    if let (Some(old), Some(new)) = (old.first(), new.first())
        && old != new
    {
        errors.push(FieldError::invalid(&path, shown("clusterIPs"), CHANGED));
    }
    if old.len() > new.len() && new.len() == 1 {
        require_single_stack(
            is,
            "must be set to 'SingleStack' when releasing the secondary ipFamily",
            errors,
        );
    }
}

fn require_single_stack(is: Spec<'_>, detail: &str, errors: &mut Errors) {
    if is.text("ipFamilyPolicy") != "SingleStack" {
        let policy = is.get("ipFamilyPolicy").cloned().unwrap_or(Value::Null);
        errors.push(FieldError::invalid(
            &PathRef::root("spec").child("ipFamilyPolicy"),
            policy,
            detail,
        ));
    }
}
