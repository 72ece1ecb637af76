//! Who decides what users may do: authorization modes, webhooks, and files that say both.

use std::fs;
use std::path::Path;
use std::time::Duration;

use kubewright_apimachinery::duration;
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::quote::quote_list;
use kubewright_apiserver::{AuthorizationMode, AuthorizationWebhook};
use kubewright_cluster::with_sources;
use serde_json::Value;

use super::super::flags::Given;

/// The authorizers that flags ask for, one after another. What is wrong with them is in kube-apiserver's words where it has some.
pub(super) fn authorizers(given: &Given, problems: &mut Vec<String>) -> Vec<AuthorizationMode> {
    let modes = given.items("authorization-mode");
    if let Some(path) = given.text("authorization-config").filter(|path| !path.is_empty()) {
        let is_webhook = |name: &str| name.starts_with("authorization-webhook-");
        if !modes.is_empty() || given.flags().any(|(name, _)| is_webhook(name)) {
            problems.push(
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags \
                 are defined"
                    .to_owned(),
            );
            return Vec::new();
        }
        return of_file(path).unwrap_or_else(|why| {
            problems.push(why);
            Vec::new()
        });
    }
    let webhook_file = given
        .text("authorization-webhook-config-file")
        .filter(|path| !path.is_empty());
    let mut known = Vec::new();
    for mode in &modes {
        match (mode.as_str(), webhook_file) {
            ("ABAC", _) => problems.push(
                "--authorization-mode=ABAC is not possible here: this server authorizes by RBAC, Node, Webhook, AlwaysAllow or \
                 AlwaysDeny"
                    .to_owned(),
            ),
            ("Webhook", None) => {
                problems.push("authorization-mode Webhook's authorization config file not passed".to_owned());
            }
            ("Webhook", Some(path)) => match of_flags(given, path) {
                Ok(webhook) => known.push(AuthorizationMode::Webhook(webhook)),
                Err(why) => problems.push(format!("--authorization-webhook-config-file: {why}")),
            },
            (mode, _) => match built_in(mode) {
                Some(mode) => known.push(mode),
                None => problems.push(format!("authorization-mode {} is not a valid mode", quote(mode))),
            },
        }
    }
    if webhook_file.is_some() && !modes.iter().any(|mode| mode == "Webhook") {
        problems.push("cannot specify --authorization-webhook-config-file without mode Webhook".to_owned());
    }
    if (1..modes.len()).any(|at| modes[..at].contains(&modes[at])) {
        let modes = quote_list(&modes);
        problems.push(format!("authorization-mode {modes} has mode specified more than once"));
    }
    if modes.is_empty() {
        known.push(AuthorizationMode::AlwaysAllow);
    }
    known
}

/// Whether everybody may do everything.
pub(super) fn allows_everything(given: &Given) -> bool {
    let modes = given.items("authorization-mode");
    let has_file = given.text("authorization-config").is_some_and(|path| !path.is_empty());
    modes.iter().any(|mode| mode == "AlwaysAllow") || modes.is_empty() && !has_file
}

fn built_in(mode: &str) -> Option<AuthorizationMode> {
    Some(match mode {
        "AlwaysAllow" => AuthorizationMode::AlwaysAllow,
        "AlwaysDeny" => AuthorizationMode::AlwaysDeny,
        "RBAC" => AuthorizationMode::Rbac,
        "Node" => AuthorizationMode::Node,
        _ => return None,
    })
}

fn of_flags(given: &Given, path: &str) -> Result<AuthorizationWebhook, String> {
    let time = |name: &str, default: Duration| given.text(name).and_then(duration::parse_unsigned).unwrap_or(default);
    Ok(of_kubeconfig(path)?
        .v1(given.text("authorization-webhook-version") == Some("v1"))
        .kept(
            time("authorization-webhook-cache-authorized-ttl", Duration::from_mins(5)),
            time("authorization-webhook-cache-unauthorized-ttl", Duration::from_secs(30)),
        ))
}

fn of_kubeconfig(path: &str) -> Result<AuthorizationWebhook, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
    AuthorizationWebhook::from_kubeconfig(&text, folder).map_err(|error| format!("{path}: {}", with_sources(&error)))
}

/// The authorizers of an `AuthorizationConfiguration`.
fn of_file(path: &str) -> Result<Vec<AuthorizationMode>, String> {
    let text = fs::read(path).map_err(|error| format!("open {path}: {error}"))?;
    let load = |why: String| format!("failed to load AuthorizationConfiguration from file: {why}");
    let file = kubewright_codec::yaml::decode(&text).map_err(|error| load(error.to_string()))?;
    let file = file.value;
    let version = file["apiVersion"].as_str().unwrap_or_default();
    let group = "apiserver.config.k8s.io";
    let is_known = ["v1", "v1beta1", "v1alpha1"]
        .iter()
        .any(|known| version == format!("{group}/{known}"));
    if !is_known || file["kind"] != "AuthorizationConfiguration" {
        return Err(load(format!(
            "no kind {} is registered for version {}",
            quote(file["kind"].as_str().unwrap_or_default()),
            quote(version),
        )));
    }
    let mut problems = Vec::new();
    let listed = file["authorizers"].as_array().map_or(&[][..], Vec::as_slice);
    if listed.is_empty() {
        problems.push("authorizers: Required value: at least one authorization mode must be defined".to_owned());
    }
    let mut authorizers = Vec::new();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (index, entry) in listed.iter().enumerate() {
        let at = |field: &str| format!("authorizers[{index}].{field}");
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let (kind, name) = (text("type"), text("name"));
        if kind.is_empty() {
            problems.push(format!("{}: Required value", at("type")));
            continue;
        }
        if kind != "Webhook" && built_in(kind).is_none() {
            let known = r#""ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook""#;
            problems.push(format!(
                "{}: Unsupported value: {}: supported values: {known}",
                at("type"),
                quote(kind)
            ));
            continue;
        }
        if kind != "Webhook" && seen.iter().any(|(known, _)| *known == kind) {
            problems.push(format!("{}: Duplicate value: {}", at("type"), quote(kind)));
            continue;
        }
        if name.is_empty() {
            problems.push(format!("{}: Required value", at("name")));
        } else if seen.iter().any(|(_, known)| *known == name) {
            problems.push(format!("{}: Duplicate value: {}", at("name"), quote(name)));
        } else if kind != "Webhook" && name != kind.to_lowercase() {
            problems.push(format!(
                "expected name {} for authorizer {kind} instead of {name}",
                kind.to_lowercase()
            ));
        }
        seen.push((kind, name));
        let webhook = &entry["webhook"];
        match (kind, webhook.is_object()) {
            ("Webhook", true) => {
                authorizers.extend(of_entry(webhook, &at, &mut problems).map(AuthorizationMode::Webhook));
            }
            ("Webhook", false) => {
                problems.push(format!("{}: Required value: required when type=Webhook", at("webhook")));
            }
            (_, true) => problems.push(format!(
                "{}: Invalid value: \"non-null\": may only be specified when type=Webhook",
                at("webhook")
            )),
            (kind, false) => authorizers.extend(built_in(kind)),
        }
    }
    match problems.as_slice() {
        [] => Ok(authorizers),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

/// One webhook of a file.
fn of_entry(webhook: &Value, at: &impl Fn(&str) -> String, problems: &mut Vec<String>) -> Option<AuthorizationWebhook> {
    let before = problems.len();
    let timeout = time(webhook, "timeout", at, Some(Duration::from_secs(30)), problems);
    let allowed = time(webhook, "authorizedTTL", at, None, problems);
    let refused = time(webhook, "unauthorizedTTL", at, None, problems);
    let version = choice(webhook, "subjectAccessReviewVersion", at, &["v1", "v1beta1"], problems);
    let conditions: Vec<&str> = webhook["matchConditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|condition| condition["expression"].as_str().unwrap_or_default())
        .collect();
    match webhook["matchConditionSubjectAccessReviewVersion"]
        .as_str()
        .unwrap_or_default()
    {
        "" if conditions.is_empty() => {}
        "" => problems.push(format!(
            "{}: Required value: required if match conditions are specified",
            at("matchConditionSubjectAccessReviewVersion")
        )),
        "v1" => {}
        other => problems.push(format!(
            "{}: Unsupported value: {}: supported values: \"v1\"",
            at("matchConditionSubjectAccessReviewVersion"),
            quote(other)
        )),
    }
    let failure = choice(webhook, "failurePolicy", at, &["NoOpinion", "Deny"], problems);
    let connection = &webhook["connectionInfo"];
    let file = connection["kubeConfigFile"].as_str().unwrap_or_default();
    match connection["type"].as_str().unwrap_or_default() {
        "" => problems.push(format!("{}: Required value", at("connectionInfo.type"))),
        "KubeConfigFile" if file.is_empty() => {
            problems.push(format!("{}: Required value", at("connectionInfo.kubeConfigFile")));
        }
        "KubeConfigFile" if !Path::new(file).is_absolute() => problems.push(format!(
            "{}: Invalid value: {}: must be an absolute path",
            at("connectionInfo.kubeConfigFile"),
            quote(file)
        )),
        "KubeConfigFile" => {}
        other => problems.push(format!(
            "{}: {} is not possible here: this server is in no cluster, use KubeConfigFile",
            at("connectionInfo.type"),
            quote(other)
        )),
    }
    if problems.len() > before {
        return None;
    }
    let made = of_kubeconfig(file).and_then(|made| {
        made.v1(version == "v1")
            .kept(allowed, refused)
            .timeout(timeout)
            .deny_on_error(failure == "Deny")
            .match_conditions(&conditions)
            .map_err(|(index, why)| {
                let path = at(&format!("matchConditions[{index}].expression"));
                format!("{path}: Invalid value: {}: {why}", quote(conditions[index]))
            })
    });
    made.map_err(|why| problems.push(why)).ok()
}

fn time(
    webhook: &Value,
    field: &str,
    at: &impl Fn(&str) -> String,
    most: Option<Duration>,
    problems: &mut Vec<String>,
) -> Duration {
    let text = webhook[field].as_str().unwrap_or_default();
    let time = duration::parse_unsigned(text).unwrap_or_default();
    if time.is_zero() && !text.starts_with('-') {
        problems.push(format!("{}: Required value", at(field)));
    } else if text.starts_with('-') || most.is_some_and(|most| time > most) {
        let bounds = if most.is_some() {
            "must be > 0s and <= 30s"
        } else {
            "must be > 0s"
        };
        problems.push(format!("{}: Invalid value: {}: {bounds}", at(field), quote(text)));
    }
    time
}

fn choice<'w>(
    webhook: &'w Value,
    field: &str,
    at: &impl Fn(&str) -> String,
    known: &[&str],
    problems: &mut Vec<String>,
) -> &'w str {
    let text = webhook[field].as_str().unwrap_or_default();
    if text.is_empty() {
        problems.push(format!("{}: Required value", at(field)));
    } else if !known.contains(&text) {
        let known: Vec<String> = known.iter().map(|known| quote(known)).collect();
        problems.push(format!(
            "{}: Unsupported value: {}: supported values: {}",
            at(field),
            quote(text),
            known.join(", ")
        ));
    }
    text
}
