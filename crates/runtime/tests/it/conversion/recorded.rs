//! The answers of controller-runtime v0.25.2 to the same reviews, recorded with a twin of these types in Go.

use kube::CustomResource;
use kubewright_runtime::conversion::{Conversion, Conversions, Convert};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::webhook::ask;

mod v1 {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "shop.example.com", version = "v1", kind = "Shop")]
    #[serde(rename_all = "camelCase")]
    pub(crate) struct ShopSpec {
        pub(crate) replicas: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) timeout_seconds: Option<u32>,
    }
}

mod v1beta1 {
    use super::{Convert, CustomResource, Deserialize, JsonSchema, Serialize, v1};

    #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "shop.example.com", version = "v1beta1", kind = "Shop")]
    #[convert(hub = v1::ShopSpec)]
    pub(crate) struct ShopSpec {
        #[convert(rename = replicas, to_hub = not_666, from_hub = same)]
        pub(crate) size: i64,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[convert(rename = timeout_seconds, try_to_hub = seconds, from_hub = text)]
        pub(crate) timeout: Option<String>,
    }

    fn not_666(size: i64) -> i64 {
        assert_ne!(size, 666);
        size
    }

    fn same(size: i64) -> i64 {
        size
    }

    fn seconds(text: Option<String>) -> Result<Option<u32>, String> {
        let parse = |text: String| {
            let number = text.strip_suffix('s').and_then(|digits| digits.parse().ok());
            number.ok_or_else(|| format!("{text:?} is not a number of seconds, as 5s"))
        };
        text.map(parse).transpose()
    }

    fn text(seconds: Option<u32>) -> Option<String> {
        seconds.map(|seconds| format!("{seconds}s"))
    }
}

mod v1alpha1 {
    use super::{Convert, CustomResource, Deserialize, JsonSchema, Serialize, v1};

    #[derive(CustomResource, Convert, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "shop.example.com", version = "v1alpha1", kind = "Shop")]
    #[convert(hub = v1::ShopSpec, added(timeout_seconds))]
    pub(crate) struct ShopSpec {
        #[convert(rename = replicas, try_to_hub = number, from_hub = text)]
        pub(crate) size: String,
    }

    #[expect(clippy::needless_pass_by_value, reason = "fields are given away")]
    fn number(text: String) -> Result<i64, String> {
        text.parse().map_err(|_| format!("{text:?} is not a number"))
    }

    fn text(number: i64) -> String {
        number.to_string()
    }
}

#[derive(Deserialize)]
struct Recorded {
    request: String,
    code: u16,
    answer: String,
}

#[test]
fn answers_are_controller_runtime_s_with_the_object_s_name_before_the_reason() {
    let shops = Conversion::hub::<v1::Shop>()
        .spoke::<v1beta1::Shop>()
        .spoke::<v1alpha1::Shop>();
    let conversions = Conversions::new().with(shops).unwrap();
    let recorded: Vec<Recorded> = serde_json::from_str(include_str!("controller_runtime.json")).unwrap();
    assert_eq!(recorded.len(), 21);
    for Recorded { request, code, answer } in recorded {
        let (our_code, ours) = ask(&conversions, request.as_bytes());
        assert_eq!(our_code, code, "{request}");
        if answer.is_empty() {
            assert!(ours.is_empty(), "{request}");
            continue;
        }
        assert_eq!(ours.last(), Some(&b'\n'));
        let mut ours: Value = serde_json::from_slice(&ours).unwrap();
        let mut theirs: Value = serde_json::from_str(&answer).unwrap();
        let message = theirs["response"]["result"]["message"].take();
        let our_message = ours["response"]["result"]["message"].take();
        if let Some(message) = message.as_str() {
            // Differences on purpose: an object that is what it should be is no mistake; Rust's types are not Go's; whole
            // objects and places in Go's sources are not repeated.
            if message.starts_with("conversion is not allowed between same type") {
                assert_eq!(ours["response"]["result"]["status"], "Success");
                continue;
            }
            let message = message
                .split(" in scheme ")
                .next()
                .unwrap()
                .split(" in '")
                .next()
                .unwrap();
            let our_message = our_message.as_str().unwrap();
            let ours = our_message.split_once(": ").map_or(our_message, |(_, reason)| reason);
            match message.strip_prefix("json: ") {
                Some(_) => assert_eq!(ours, "spec.size: invalid type: string \"x\", expected i64"),
                None => assert_eq!(ours, message),
            }
        }
        assert_eq!(ours, theirs, "{request}");
    }
}
