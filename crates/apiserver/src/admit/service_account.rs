//! `ServiceAccount`: pods run as an account of their namespace, get its token mounted and its pull secrets (A2).
//!
//! Off unless [`Options::service_account_admission`](crate::Options::service_account_admission) says otherwise, since it
//! needs the accounts that a controller makes.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::references::refers_to_secrets;
use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::object;
use crate::registry::{BuiltInId, Subresource};
use crate::wire::status::{Result, Status};

pub(super) struct ServiceAccount;

const DEFAULT_NAME: &str = "default";
const MIRROR: &str = "kubernetes.io/config.mirror";
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// A token that expires is warned of before it is refused.
const TOKEN_SECONDS: i64 = 3607;
const DEFAULT_MODE: i64 = 0o644;

impl Plugin for ServiceAccount {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::ServiceAccount)
    }

    fn mutate(&self, attributes: &Attributes<'_>, pod: &mut Value, _old: Option<&Value>) -> Result<()> {
        if !concerns(attributes) || attributes.operation != Operation::Create || attributes.subresource.is_some() {
            return Ok(());
        }
        if is_mirror(pod) {
            return check(attributes, pod);
        }
        let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else {
            return Ok(());
        };
        if text(spec, "serviceAccountName").is_empty() {
            for key in ["serviceAccountName", "serviceAccount"] {
                spec.insert(key.into(), DEFAULT_NAME.into());
            }
        }
        let account = account(attributes, text(spec, "serviceAccountName"))?;
        let own = spec.get("automountServiceAccountToken").and_then(Value::as_bool);
        let of_account = account.get("automountServiceAccountToken").and_then(Value::as_bool);
        if own.or(of_account).unwrap_or(true) {
            mount_token(attributes, spec);
        }
        if list(spec.get("imagePullSecrets")).is_empty() {
            let secrets: Vec<Value> = list(account.get("imagePullSecrets"))
                .iter()
                .map(|secret| json!({ "name": secret.get("name").cloned().unwrap_or_default() }))
                .collect();
            if !secrets.is_empty() {
                spec.insert("imagePullSecrets".into(), secrets.into());
            }
        }
        check(attributes, pod)
    }

    fn validate(
        &self,
        attributes: &Attributes<'_>,
        pod: &Value,
        _old: Option<&Value>,
        _warnings: &mut Vec<String>,
    ) -> Result<()> {
        if concerns(attributes) {
            check(attributes, pod)
        } else {
            Ok(())
        }
    }
}

fn concerns(attributes: &Attributes<'_>) -> bool {
    attributes.resource.is(BuiltInId::Pods)
        && matches!(attributes.subresource, None | Some(Subresource::EphemeralContainers))
}

fn check(attributes: &Attributes<'_>, pod: &Value) -> Result<()> {
    let empty = Map::new();
    let spec = pod.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let ephemeral =
        attributes.operation == Operation::Update && attributes.subresource == Some(Subresource::EphemeralContainers);
    if !ephemeral && attributes.operation != Operation::Create {
        return Ok(());
    }
    let name = text(spec, "serviceAccountName");
    if !ephemeral && is_mirror(pod) {
        return check_mirror(attributes, pod, name);
    }
    if name.is_empty() {
        let pod_name = object::meta_text(pod, "name");
        let why = format!(
            "no service account specified for pod {}/{pod_name}",
            attributes.namespace
        );
        return Err(attributes.forbidden(&why));
    }
    let account = account(attributes, name)?;
    let enforced = account
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(ENFORCE));
    // What Go's ParseBool takes for true.
    let is_true = |text: &str| matches!(text, "1" | "t" | "T" | "true" | "TRUE" | "True");
    if !enforced.and_then(Value::as_str).is_some_and(is_true) {
        return Ok(());
    }
    match unmountable(spec, name, &account, ephemeral) {
        // Upstream forgets to say that it forbids it.
        Some(why) if ephemeral => Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why)),
        Some(why) => Err(attributes.forbidden(&why)),
        None => Ok(()),
    }
}

fn check_mirror(attributes: &Attributes<'_>, pod: &Value, account: &str) -> Result<()> {
    let projected = list(pod.pointer("/spec/volumes"))
        .iter()
        .flat_map(|volume| list(volume.pointer("/projected/sources")))
        .any(|source| source.get("serviceAccountToken").is_some());
    let why = if !account.is_empty() {
        "a mirror pod may not reference service accounts"
    } else if refers_to_secrets(pod) {
        "a mirror pod may not reference secrets"
    } else if projected {
        "a mirror pod may not use ServiceAccountToken volume projections"
    } else {
        return Ok(());
    };
    Err(attributes.forbidden(why))
}

/// The first secret that a pod refers to and its account does not.
fn unmountable(spec: &Map<String, Value>, name: &str, account: &Value, ephemeral: bool) -> Option<String> {
    let known = |field: &str, secret: &str| {
        let listed = list(account.get(field)).iter();
        listed
            .into_iter()
            .any(|item| item.get("name").and_then(Value::as_str) == Some(secret))
    };
    let ending = format!("is not allowed because service account {name} does not reference that");
    if ephemeral {
        return in_containers(spec, "ephemeralContainers", "ephemeral container", &known, &ending);
    }
    for volume in list(spec.get("volumes")) {
        let secret = volume.pointer("/secret/secretName").and_then(Value::as_str);
        if let Some(secret) = secret.filter(|secret| !known("secrets", secret)) {
            return Some(format!("volume with secret.secretName=\"{secret}\" {ending} secret"));
        }
    }
    let found = in_containers(spec, "initContainers", "init container", &known, &ending)
        .or_else(|| in_containers(spec, "containers", "container", &known, &ending));
    if found.is_some() {
        return found;
    }
    for (at, reference) in list(spec.get("imagePullSecrets")).iter().enumerate() {
        let secret = reference.get("name").and_then(Value::as_str).unwrap_or_default();
        if !known("imagePullSecrets", secret) {
            return Some(format!(
                "imagePullSecrets[{at}].name=\"{secret}\" {ending} imagePullSecret"
            ));
        }
    }
    None
}

fn in_containers(
    spec: &Map<String, Value>,
    field: &str,
    what: &str,
    known: &dyn Fn(&str, &str) -> bool,
    ending: &str,
) -> Option<String> {
    for container in list(spec.get(field)) {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
        for variable in list(container.get("env")) {
            let secret = variable.pointer("/valueFrom/secretKeyRef/name").and_then(Value::as_str);
            if let Some(secret) = secret.filter(|secret| !known("secrets", secret)) {
                let variable = variable.get("name").and_then(Value::as_str).unwrap_or_default();
                return Some(format!(
                    "{what} {name} with envVar {variable} referencing secret.secretName=\"{secret}\" {ending} secret"
                ));
            }
        }
        for source in list(container.get("envFrom")) {
            let secret = source.pointer("/secretRef/name").and_then(Value::as_str);
            if let Some(secret) = secret.filter(|secret| !known("secrets", secret)) {
                return Some(format!(
                    "{what} {name} with envFrom referencing secret.secretName=\"{secret}\" {ending} secret"
                ));
            }
        }
    }
    None
}

/// Mounts a token into every container that has nothing at its place.
fn mount_token(attributes: &Attributes<'_>, spec: &mut Map<String, Value>) {
    let named = list(spec.get("volumes"))
        .iter()
        .filter_map(|volume| volume.get("name").and_then(Value::as_str))
        .find(|name| name.starts_with(VOLUME_PREFIX))
        .map(str::to_owned);
    let volume = named
        .clone()
        .unwrap_or_else(|| format!("{VOLUME_PREFIX}{}", attributes.server.random.name_suffix()));
    let mut needed = false;
    for field in ["initContainers", "containers"] {
        let Some(Value::Array(containers)) = spec.get_mut(field) else {
            continue;
        };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            let at_place = |mount: &Value| mount.get("mountPath").and_then(Value::as_str) == Some(MOUNT_PATH);
            if list(container.get("volumeMounts")).iter().any(at_place) {
                continue;
            }
            let mount = json!({ "name": volume, "readOnly": true, "mountPath": MOUNT_PATH });
            append(container, "volumeMounts", mount);
            needed = true;
        }
    }
    if named.is_none() && needed {
        let sources = json!([
            { "serviceAccountToken": { "path": "token", "expirationSeconds": TOKEN_SECONDS } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [{
                "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" },
            }] } },
        ]);
        let projected = json!({ "name": volume, "projected": { "defaultMode": DEFAULT_MODE, "sources": sources } });
        append(spec, "volumes", projected);
    }
}

fn append(fields: &mut Map<String, Value>, key: &str, item: Value) {
    match fields.get_mut(key) {
        Some(Value::Array(items)) => items.push(item),
        _ => drop(fields.insert(key.into(), json!([item]))),
    }
}

fn account(attributes: &Attributes<'_>, name: &str) -> Result<Value> {
    let accounts = BuiltInId::ServiceAccounts.resource();
    let key = object::key(attributes.namespace, name);
    if let Some(record) = attributes.server.store.get(accounts.table, &key) {
        return Ok(object::to_value(accounts, &record, record.revision));
    }
    let quoted = kubewright_apimachinery::go::quote(name);
    let why = format!(
        "error looking up service account {}/{name}: serviceaccount {quoted} not found",
        attributes.namespace
    );
    Err(attributes.forbidden(&why))
}

fn is_mirror(pod: &Value) -> bool {
    pod.pointer("/metadata/annotations")
        .is_some_and(|annotations| annotations.get(MIRROR).is_some())
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(fields: &'v Map<String, Value>, key: &str) -> &'v str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}
