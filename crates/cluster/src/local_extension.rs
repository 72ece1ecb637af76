//! The aggregated API of an operator that runs on this machine: what the cluster is told of where it is served.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::bundle::Bundle;

/// Where the aggregated API of a run is served, and how its certificate is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalExtension {
    /// The Service that leads from the cluster to this machine; `None` if the API server is led there without one.
    pub service: Option<HostService>,
    /// The authority of its certificate, as PEM; `None` if nobody can verify it.
    pub authority: Option<String>,
}

/// A Service by which a cluster reaches a machine that is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostService {
    /// The namespace of the Service.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The name or address by which the cluster reaches the machine.
    pub host: String,
    /// The port there.
    pub port: u16,
}

impl HostService {
    /// The name of such a Service for an installation. It differs from that of a deployed one.
    pub fn name_for(bundle: &Bundle) -> String {
        format!("{}extension-run", bundle.prefix)
    }

    /// `EndpointSlices` may not name loopback addresses, and an address of a Service needs a kube-proxy beside the API server; an
    /// external name needs neither.
    fn object(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": { "type": "ExternalName", "externalName": self.host, "ports": [{ "name": "https", "port": self.port }] },
        })
    }
}

impl LocalExtension {
    /// The Service that has to be made.
    pub(crate) fn object(&self) -> Option<Value> {
        self.service.as_ref().map(HostService::object)
    }

    /// Leads an `APIService` to this machine.
    pub(crate) fn redirect(&self, api_service: &mut Value) {
        let spec = &mut api_service["spec"];
        if let Some(service) = &self.service {
            spec["service"] = json!({ "name": service.name, "namespace": service.namespace, "port": service.port });
        }
        match &self.authority {
            Some(authority) => spec["caBundle"] = STANDARD.encode(authority).into(),
            None => spec["insecureSkipTLSVerify"] = true.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_service() -> Value {
        json!({ "spec": { "group": "sky.example.com", "service": { "name": "a", "namespace": "b", "port": 443 } } })
    }

    #[test]
    fn an_api_service_is_led_to_the_service_of_the_machine() {
        let extension = LocalExtension {
            service: Some(HostService {
                namespace: "default".to_owned(),
                name: "sky-extension-run".to_owned(),
                host: "172.18.0.1".to_owned(),
                port: 7443,
            }),
            authority: Some("PEM".to_owned()),
        };
        let mut redirected = api_service();
        extension.redirect(&mut redirected);
        assert_eq!(
            redirected["spec"],
            json!({
                "group": "sky.example.com", "caBundle": "UEVN",
                "service": { "name": "sky-extension-run", "namespace": "default", "port": 7443 },
            })
        );
        let service = extension.object().unwrap();
        assert_eq!(service["spec"]["externalName"], "172.18.0.1");
        assert_eq!(service["spec"]["ports"][0]["port"], 7443);
    }

    #[test]
    fn without_an_authority_nothing_is_verified_and_without_a_service_none_is_made() {
        let extension = LocalExtension {
            service: None,
            authority: None,
        };
        let mut redirected = api_service();
        extension.redirect(&mut redirected);
        assert_eq!(redirected["spec"]["insecureSkipTLSVerify"], true);
        assert_eq!(redirected["spec"]["service"], api_service()["spec"]["service"]);
        assert_eq!(extension.object(), None);
    }
}
