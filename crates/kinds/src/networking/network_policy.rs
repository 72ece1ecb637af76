//! `NetworkPolicies`: the traffic that selected pods may receive and send.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use serde_json::{Value, json};

use crate::behaviour::Behaviour;
use crate::rules::access::{at, complain, is_unset, list_at, map_mut, opt_int_at, opt_str_at, str_at, strings_at};
use crate::rules::labels::{SelectorOptions, has_invalid_values, validate_selector};
use crate::rules::net::{cidr_warnings, parse_cidr_sloppy, validate_cidr_of_old_field};

/// The rules of `NetworkPolicies`.
pub(crate) struct NetworkPolicy;

/// The two directions: the list of rules, and the peers of a rule.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

/// Invalid values that a stored policy has and that an update may keep.
struct Tolerated<'a> {
    selectors: SelectorOptions,
    blocks: Vec<&'a str>,
}

impl Behaviour for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        if is_unset(object, &["spec", "policyTypes"]) {
            let egress = !list_at(object, &["spec", "egress"]).is_empty();
            if let Some(spec) = map_mut(object, &["spec"]) {
                let types = if egress {
                    json!(["Ingress", "Egress"])
                } else {
                    json!(["Ingress"])
                };
                spec.insert("policyTypes".into(), types);
            }
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        validate(
            object,
            &Tolerated {
                selectors: SelectorOptions::default(),
                blocks: Vec::new(),
            },
            errors,
        );
    }

    fn validate_update(&self, object: &Value, old: &Value, _subresource: Option<&str>, errors: &mut Errors) {
        let selector = at(old, &["spec", "podSelector"]);
        let selectors = SelectorOptions {
            allow_invalid_values: has_invalid_values(selector),
        };
        let mut blocks = Vec::new();
        for (_, _, block) in ip_blocks(old) {
            blocks.push(str_at(block, &["cidr"]));
            blocks.extend(strings_at(block, &["except"]));
        }
        validate(object, &Tolerated { selectors, blocks }, errors);
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        let spec = PathRef::root("spec");
        for ((rules, rule), (peers, peer), block) in ip_blocks(object) {
            let (rules, at_rule) = (spec.child(rules), rule);
            let rule = rules.index(at_rule);
            let peers = rule.child(peers);
            let peer = peers.index(peer);
            let path = peer.child("ipBlock");
            warnings.extend(cidr_warnings(&path.child("cidr"), str_at(block, &["cidr"])));
            let except = path.child("except");
            for (index, range) in strings_at(block, &["except"]).into_iter().enumerate() {
                warnings.extend(cidr_warnings(&except.index(index), range));
            }
        }
        warnings
    }
}

/// The field of a list and the index of an item in it.
type ListItem = (&'static str, usize);

/// Every `ipBlock` of a policy, with its rule and its peer.
fn ip_blocks(object: &Value) -> impl Iterator<Item = (ListItem, ListItem, &Value)> {
    DIRECTIONS.into_iter().flat_map(move |(rules, peers)| {
        list_at(object, &["spec", rules])
            .iter()
            .enumerate()
            .flat_map(move |(rule_index, rule)| {
                list_at(rule, &[peers])
                    .iter()
                    .enumerate()
                    .filter_map(move |(peer_index, peer)| {
                        at(peer, &["ipBlock"]).map(|block| ((rules, rule_index), (peers, peer_index), block))
                    })
            })
    })
}

fn validate(object: &Value, tolerated: &Tolerated<'_>, errors: &mut Errors) {
    let spec = PathRef::root("spec");
    validate_selector(
        at(object, &["spec", "podSelector"]),
        tolerated.selectors,
        &spec.child("podSelector"),
        errors,
    );
    for (rules, peers) in DIRECTIONS {
        let rules_path = spec.child(rules);
        for (index, rule) in list_at(object, &["spec", rules]).iter().enumerate() {
            let path = rules_path.index(index);
            let ports_path = path.child("ports");
            for (index, port) in list_at(rule, &["ports"]).iter().enumerate() {
                validate_port(port, &ports_path.index(index), errors);
            }
            let peers_path = path.child(peers);
            for (index, peer) in list_at(rule, &[peers]).iter().enumerate() {
                validate_peer(peer, tolerated, &peers_path.index(index), errors);
            }
        }
    }
    let types = strings_at(object, &["spec", "policyTypes"]);
    let path = spec.child("policyTypes");
    if types.len() > 2 {
        errors.push(FieldError::invalid(
            &path,
            types,
            "may not specify more than two policyTypes",
        ));
        return;
    }
    for (index, kind) in types
        .into_iter()
        .enumerate()
        .filter(|(_, kind)| !matches!(*kind, "Ingress" | "Egress"))
    {
        errors.push(FieldError::not_supported(
            &path.index(index),
            kind,
            ["Ingress", "Egress"],
        ));
    }
}

fn validate_port(port: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    if let Some(protocol) = opt_str_at(port, &["protocol"])
        && !matches!(protocol, "TCP" | "UDP" | "SCTP")
    {
        errors.push(FieldError::not_supported(
            &path.child("protocol"),
            protocol,
            ["TCP", "UDP", "SCTP"],
        ));
    }
    let end = opt_int_at(port, &["endPort"]);
    let (port_path, end_path) = (path.child("port"), path.child("endPort"));
    match at(port, &["port"]) {
        Some(Value::String(name)) => {
            if let Some(end) = end {
                errors.push(FieldError::invalid(
                    &end_path,
                    end,
                    "may not be specified when `port` is non-numeric",
                ));
            }
            complain(&port_path, name.as_str(), names::port_name(name), errors);
        }
        Some(number) => {
            let number = number.as_i64().unwrap_or_default();
            complain(&port_path, number, names::port_number(number), errors);
            if let Some(end) = end {
                if end < number {
                    errors.push(FieldError::invalid(
                        &end_path,
                        number,
                        "must be greater than or equal to `port`",
                    ));
                }
                complain(&end_path, end, names::port_number(end), errors);
            }
        }
        None => {
            if let Some(end) = end {
                errors.push(FieldError::invalid(
                    &end_path,
                    end,
                    "may not be specified when `port` is not specified",
                ));
            }
        }
    }
}

fn validate_peer(peer: &Value, tolerated: &Tolerated<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let mut selectors = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = at(peer, &[field]) {
            selectors += 1;
            validate_selector(Some(selector), tolerated.selectors, &path.child(field), errors);
        }
    }
    match at(peer, &["ipBlock"]) {
        Some(block) => {
            validate_block(block, tolerated, &path.child("ipBlock"), errors);
            if selectors > 0 {
                errors.push(FieldError::forbidden(
                    path,
                    "may not specify both ipBlock and another peer",
                ));
            }
        }
        None if selectors == 0 => errors.push(FieldError::required(path, "must specify a peer")),
        None => {}
    }
}

fn validate_block(block: &Value, tolerated: &Tolerated<'_>, path: &PathRef<'_>, errors: &mut Errors) {
    let range = str_at(block, &["cidr"]);
    let cidr_path = path.child("cidr");
    if range.is_empty() {
        errors.push(FieldError::required(&cidr_path, ""));
        return;
    }
    validate_cidr_of_old_field(&cidr_path, range, &tolerated.blocks, errors);
    let Some(outer) = parse_cidr_sloppy(range) else { return };
    let except_path = path.child("except");
    for (index, except) in strings_at(block, &["except"]).into_iter().enumerate() {
        let path = except_path.index(index);
        validate_cidr_of_old_field(&path, except, &tolerated.blocks, errors);
        let Some(inner) = parse_cidr_sloppy(except) else {
            continue;
        };
        if !outer.contains(inner.network()) || outer.prefix >= inner.prefix {
            errors.push(FieldError::invalid(&path, except, "must be a strict subset of `cidr`"));
        }
    }
}
