//! A pod's own DNS settings: servers, search domains and options, and how many of them a resolver takes.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, complain, list_at, str_at, strings_at};
use crate::rules::net;

const MAX_NAMESERVERS: usize = 3;
const MAX_SEARCHES: usize = 32;
const MAX_SEARCH_CHARACTERS: usize = 2048;

/// Everything wrong with `dnsConfig`, which `dnsPolicy: None` requires.
pub(crate) fn validate_dns(spec: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let config = at(spec, &["dnsConfig"]);
    let nameservers = config
        .map(|config| strings_at(config, &["nameservers"]))
        .unwrap_or_default();
    if str_at(spec, &["dnsPolicy"]) == "None" {
        if config.is_none() {
            errors.push(FieldError::required(
                path,
                "must provide `dnsConfig` when `dnsPolicy` is None",
            ));
            return;
        }
        if nameservers.is_empty() {
            let words = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(FieldError::required(&path.child("nameservers"), words));
            return;
        }
    }
    let Some(config) = config else { return };
    let nameservers_path = path.child("nameservers");
    if nameservers.len() > MAX_NAMESERVERS {
        let words = format!("must not have more than {MAX_NAMESERVERS} nameservers");
        errors.push(FieldError::invalid(&nameservers_path, nameservers.clone(), words));
    }
    for (index, address) in nameservers.into_iter().enumerate() {
        net::validate_ip_of_old_field(&nameservers_path.index(index), address, &[], errors);
    }
    let searches = strings_at(config, &["searches"]);
    let searches_path = path.child("searches");
    if searches.len() > MAX_SEARCHES {
        let words = format!("must not have more than {MAX_SEARCHES} search paths");
        errors.push(FieldError::invalid(&searches_path, searches.clone(), words));
    }
    if searches.join(" ").len() > MAX_SEARCH_CHARACTERS {
        let words =
            format!("must not have more than {MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list");
        errors.push(FieldError::invalid(&searches_path, searches.clone(), words));
    }
    for (index, search) in searches.into_iter().enumerate() {
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            let complaints = names::dns1123_subdomain_with_underscore(search);
            complain(&searches_path.index(index), search, complaints, errors);
        }
    }
    let options_path = path.child("options");
    for (index, option) in list_at(config, &["options"]).iter().enumerate() {
        if str_at(option, &["name"]).is_empty() {
            errors.push(FieldError::required(&options_path.index(index), "must not be empty"));
        }
    }
}
