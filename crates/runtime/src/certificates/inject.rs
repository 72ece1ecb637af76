//! Which caBundles an object lacks: a pure decision from the object as it is.
//!
//! Bundles are written by a JSON patch that names the resourceVersion it was made for, not by server-side apply: whoever applied
//! `{name, clientConfig.caBundle}` of a webhook keeps that webhook in the list when its author removes it, half of it, and the
//! author's own apply is refused as invalid.

use serde_json::{Value, json};

use super::target::TargetKind;

/// Annotations of cert-manager: it writes the caBundle of an object that has one of them.
pub(super) const CERT_MANAGER: [&str; 3] = [
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
];

/// The annotation of cert-manager on the Secrets in which it keeps certificates.
pub(super) const CERT_MANAGER_CERTIFICATE: &str = "cert-manager.io/certificate-name";

/// What an object needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Injection {
    /// All bundles are there.
    Nothing,
    /// This JSON patch.
    Patch(Value),
    /// cert-manager cares for it.
    Others,
    /// None of its webhooks is behind our Service.
    NotOurs,
}

/// The Service that the webhooks of this manager are behind.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Service {
    fn is_in(&self, client_config: &Value) -> bool {
        let service = &client_config["service"];
        service["name"] == self.name.as_str() && service["namespace"] == self.namespace.as_str()
    }
}

/// What an object needs so that this bundle, in base64, is trusted for all webhooks behind the Service.
pub(super) fn inject(kind: TargetKind, object: &Value, service: &Service, bundle: &str) -> Injection {
    let annotations = &object["metadata"]["annotations"];
    if CERT_MANAGER.iter().any(|name| annotations.get(name).is_some()) {
        return Injection::Others;
    }
    let ours: Vec<_> = client_configs(kind, object)
        .into_iter()
        .filter(|(_, config)| service.is_in(config))
        .collect();
    if ours.is_empty() {
        return Injection::NotOurs;
    }
    let mut operations = vec![unchanged(object)];
    for (path, config) in ours {
        if config["caBundle"] != bundle {
            operations.push(json!({ "op": "add", "path": format!("{path}/caBundle"), "value": bundle }));
        }
    }
    if operations.len() == 1 {
        Injection::Nothing
    } else {
        Injection::Patch(Value::Array(operations))
    }
}

/// Makes a JSON patch fail with a conflict if the object is no longer this one.
pub(super) fn unchanged(object: &Value) -> Value {
    json!({ "op": "replace", "path": "/metadata/resourceVersion", "value": object["metadata"]["resourceVersion"] })
}

/// Where webhooks are said to be, with the paths of that in the object.
pub(super) fn client_configs(kind: TargetKind, object: &Value) -> Vec<(String, &Value)> {
    match kind {
        TargetKind::Mutating | TargetKind::Validating => object["webhooks"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
            .map(|(at, webhook)| (format!("/webhooks/{at}/clientConfig"), &webhook["clientConfig"]))
            .collect(),
        TargetKind::Conversion => {
            let config = &object["spec"]["conversion"]["webhook"]["clientConfig"];
            let path = "/spec/conversion/webhook/clientConfig".to_owned();
            config.is_object().then_some((path, config)).into_iter().collect()
        }
        TargetKind::ApiService => {
            let config = &object["spec"];
            let path = "/spec".to_owned();
            config.is_object().then_some((path, config)).into_iter().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Service {
        Service {
            namespace: "shop".to_owned(),
            name: "webhooks".to_owned(),
        }
    }

    fn configuration() -> Value {
        let config = |service: &str, bundle: Option<&str>| {
            let mut config = json!({ "service": { "name": service, "namespace": "shop", "path": "/a" } });
            if let Some(bundle) = bundle {
                config["caBundle"] = bundle.into();
            }
            config
        };
        json!({
            "metadata": { "resourceVersion": "7" },
            "webhooks": [
                { "name": "a", "clientConfig": config("webhooks", None) },
                { "name": "b", "clientConfig": config("others", None) },
                { "name": "c", "clientConfig": config("webhooks", Some("b2xk")) },
                { "name": "d", "clientConfig": config("webhooks", Some("bmV3")) },
                { "name": "e", "clientConfig": { "url": "https://example.com" } },
            ],
        })
    }

    #[test]
    fn only_bundles_of_our_service_are_written_and_only_where_they_differ() {
        let patch = json!([
            { "op": "replace", "path": "/metadata/resourceVersion", "value": "7" },
            { "op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "bmV3" },
            { "op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": "bmV3" },
        ]);
        let injection = inject(TargetKind::Mutating, &configuration(), &service(), "bmV3");
        assert_eq!(injection, Injection::Patch(patch));
    }

    #[test]
    fn what_has_its_bundle_is_left_alone() {
        let mut object = configuration();
        object["webhooks"].as_array_mut().unwrap().drain(..3);
        let injection = inject(TargetKind::Validating, &object, &service(), "bmV3");
        assert_eq!(injection, Injection::Nothing);
    }

    #[test]
    fn what_cert_manager_cares_for_is_left_to_it() {
        for annotation in CERT_MANAGER {
            let mut object = configuration();
            object["metadata"]["annotations"] = json!({ annotation: "shop/serving" });
            let injection = inject(TargetKind::Mutating, &object, &service(), "bmV3");
            assert_eq!(injection, Injection::Others);
        }
    }

    #[test]
    fn a_definition_converts_through_one_webhook_or_none() {
        let config = json!({ "service": { "name": "webhooks", "namespace": "shop" } });
        let mut object = json!({
            "metadata": { "resourceVersion": "7" },
            "spec": { "conversion": { "strategy": "Webhook", "webhook": { "clientConfig": config } } },
        });
        let Injection::Patch(patch) = inject(TargetKind::Conversion, &object, &service(), "bmV3") else {
            panic!("no patch");
        };
        assert_eq!(patch[1]["path"], "/spec/conversion/webhook/clientConfig/caBundle");
        object["spec"]["conversion"] = json!({ "strategy": "None" });
        let injection = inject(TargetKind::Conversion, &object, &service(), "bmV3");
        assert_eq!(injection, Injection::NotOurs);
    }

    #[test]
    fn an_api_service_has_its_bundle_beside_its_service() {
        let object = json!({
            "metadata": { "resourceVersion": "7" },
            "spec": { "group": "shop.example.com", "version": "v1", "service": { "name": "webhooks", "namespace": "shop" } },
        });
        let Injection::Patch(patch) = inject(TargetKind::ApiService, &object, &service(), "bmV3") else {
            panic!("no patch");
        };
        assert_eq!(patch[1]["path"], "/spec/caBundle");
    }

    #[test]
    fn an_object_of_any_shape_is_no_trouble() {
        for object in [
            json!(null),
            json!([]),
            json!({ "webhooks": 1 }),
            json!({ "webhooks": [1, null, { "clientConfig": [] }] }),
        ] {
            for kind in [TargetKind::Mutating, TargetKind::Conversion] {
                assert_eq!(inject(kind, &object, &service(), "bmV3"), Injection::NotOurs);
            }
        }
    }
}
