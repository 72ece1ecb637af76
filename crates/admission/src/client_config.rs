//! Where a webhook is, as its `clientConfig` says (A5).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The address of a webhook and the authorities that may have signed its certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// How it is reached.
    pub endpoint: Endpoint,
    /// Certificates in PEM; empty when there are none.
    pub ca_bundle: Vec<u8>,
}

/// How a webhook is reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// By a URL.
    Url(String),
    /// By a Service.
    Service {
        /// The namespace of the Service.
        namespace: String,
        /// Its name.
        name: String,
        /// The path to post to.
        path: String,
        /// The port of the Service.
        port: u16,
    },
}

impl ClientConfig {
    /// Reads a `clientConfig`; `None` when it names neither a URL nor a Service.
    pub fn read(config: &Value) -> Option<ClientConfig> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let endpoint = match config.get("service").filter(|service| service.is_object()) {
            Some(service) => Endpoint::Service {
                namespace: text(service, "namespace"),
                name: text(service, "name"),
                path: text(service, "path"),
                port: service
                    .get("port")
                    .and_then(Value::as_u64)
                    .and_then(|port| u16::try_from(port).ok())
                    .filter(|port| *port != 0)
                    .unwrap_or(443),
            },
            None => Endpoint::Url(config.get("url")?.as_str()?.to_owned()),
        };
        let bundle = config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
        Some(ClientConfig {
            endpoint,
            ca_bundle: STANDARD.decode(bundle).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_has_the_port_of_https_unless_it_says_otherwise() {
        let config =
            ClientConfig::read(&json!({"service": {"namespace": "a", "name": "b"}, "caBundle": "YQ=="})).unwrap();
        assert_eq!(config.ca_bundle, b"a");
        let Endpoint::Service { port, path, .. } = config.endpoint else {
            panic!("a service");
        };
        assert_eq!((port, path.as_str()), (443, ""));
    }

    #[test]
    fn a_client_config_without_url_and_service_is_none() {
        assert_eq!(ClientConfig::read(&json!({})), None);
    }
}
