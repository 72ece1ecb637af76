//! A kind with three versions, of which the newest is the hub.

use kube::CustomResource;
use kubewright_runtime::conversion::{Conversion, Conversions, Convert, Hub};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) mod v1 {
    use std::collections::BTreeMap;

    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "shop.example.com",
        version = "v1",
        kind = "Shop",
        namespaced,
        status = "ShopStatus"
    )]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct ShopSpec {
        pub(crate) replicas: i64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) ports: Vec<Port>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub(crate) shelves: BTreeMap<String, Shelf>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) timeout_seconds: Option<u32>,
        #[serde(default)]
        pub(crate) paused: bool,
        #[serde(default)]
        pub(crate) payment: Payment,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
    pub(crate) struct Port {
        pub(crate) name: String,
        pub(crate) number: u16,
        #[serde(default)]
        pub(crate) protocol: Protocol,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default)]
    pub(crate) enum Protocol {
        #[default]
        #[serde(rename = "TCP")]
        Tcp,
        #[serde(rename = "UDP")]
        Udp,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
    pub(crate) struct Shelf {
        pub(crate) height: f64,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
    pub(crate) enum Payment {
        #[default]
        Cash,
        Card,
        Barter,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct ShopStatus {
        pub(crate) ready_replicas: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) message: Option<String>,
    }
}

pub(crate) mod v1beta1 {
    use std::collections::BTreeMap;

    use super::{Convert, CustomResource, Deserialize, JsonSchema, Serialize, v1};

    #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "shop.example.com",
        version = "v1beta1",
        kind = "Shop",
        namespaced,
        status = "ShopStatus"
    )]
    #[serde(rename_all = "camelCase")]
    #[convert(hub = v1::ShopSpec, added(paused))]
    pub(crate) struct ShopSpec {
        #[convert(rename = replicas)]
        pub(crate) size: i64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub(crate) ports: Vec<Port>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub(crate) shelves: BTreeMap<String, v1::Shelf>,
        /// As `5s`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[convert(rename = timeout_seconds, try_to_hub = seconds, from_hub = text)]
        pub(crate) timeout: Option<String>,
        #[serde(default)]
        pub(crate) payment: Payment,
    }

    #[derive(Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[convert(hub = v1::Port, added(protocol))]
    pub(crate) struct Port {
        pub(crate) name: String,
        pub(crate) number: u16,
    }

    #[derive(Convert, JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
    #[convert(hub = v1::Payment, added(Barter = Payment::Cash))]
    pub(crate) enum Payment {
        #[default]
        Cash,
        #[convert(rename = Card)]
        Plastic,
    }

    #[derive(Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[convert(hub = v1::ShopStatus, added(message))]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct ShopStatus {
        #[convert(rename = ready_replicas)]
        pub(crate) ready: i64,
    }

    fn seconds(text: Option<String>) -> Result<Option<u32>, String> {
        let parse = |text: String| {
            let digits = text.strip_suffix('s').unwrap_or_default();
            let number = digits.parse::<u32>().ok();
            // Exactly what `text` writes: another spelling would not come back.
            let number = number.filter(|number| format!("{number}s") == text);
            number.ok_or_else(|| format!("{text:?} is not a number of seconds, as 5s"))
        };
        text.map(parse).transpose()
    }

    fn text(seconds: Option<u32>) -> Option<String> {
        seconds.map(|seconds| format!("{seconds}s"))
    }
}

pub(crate) mod v1alpha1 {
    use super::{Convert, CustomResource, Deserialize, JsonSchema, Serialize, v1};

    #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "shop.example.com", version = "v1alpha1", kind = "Shop", namespaced)]
    #[serde(rename_all = "camelCase")]
    #[convert(hub = v1::ShopSpec, added(shelves, timeout_seconds, paused, payment))]
    pub(crate) struct ShopSpec {
        #[convert(rename = replicas, try_to_hub = number, from_hub = text)]
        pub(crate) size: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[convert(to_hub = ports, from_hub = numbers)]
        pub(crate) ports: Vec<u16>,
        /// Newer versions have no place for it.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[convert(skip)]
        pub(crate) motto: Option<String>,
    }

    #[expect(clippy::needless_pass_by_value, reason = "fields are given away")]
    fn number(text: String) -> Result<i64, String> {
        let number = text.parse::<i64>().ok().filter(|number| number.to_string() == text);
        number.ok_or_else(|| format!("{text:?} is not a number"))
    }

    fn text(number: i64) -> String {
        number.to_string()
    }

    fn ports(numbers: Vec<u16>) -> Vec<v1::Port> {
        let port = |number: u16| v1::Port {
            name: format!("port-{number}"),
            number,
            protocol: v1::Protocol::Tcp,
        };
        numbers.into_iter().map(port).collect()
    }

    fn numbers(ports: Vec<v1::Port>) -> Vec<u16> {
        ports.into_iter().map(|port| port.number).collect()
    }
}

/// The versions as an operator says them.
pub(crate) fn shops() -> Hub<v1::Shop> {
    Conversion::hub::<v1::Shop>()
        .spoke::<v1beta1::Shop>()
        .spoke::<v1alpha1::Shop>()
}

/// Without a memory.
pub(crate) fn forgetful() -> Conversions {
    Conversions::new().with(shops()).unwrap()
}

/// What a version cannot hold is kept.
pub(crate) fn preserving() -> Conversions {
    Conversions::new().with(shops().preserving()).unwrap()
}

/// A shop of a version.
pub(crate) fn shop(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("shop.example.com/{version}"), "kind": "Shop",
        "metadata": { "name": name, "namespace": "default", "uid": format!("uid-of-{name}") },
        "spec": spec,
    })
}

/// A review of the API server.
pub(crate) fn review(desired: &str, objects: &[Value]) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": { "uid": "705ab4f5", "desiredAPIVersion": desired, "objects": objects },
    })
}
