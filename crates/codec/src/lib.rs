//! JSON and YAML the way the API machinery of Kubernetes reads and writes them.
//!
//! Bytes become a [`Decoded`]: a value plus what Go's decoders noticed on the way. Values become bytes again as Go's
//! encoders print them.
//!
//! ```
//! use kubewright_codec::{json, strict, yaml};
//!
//! // What is said twice is noticed, and the last one counts, as in Go.
//! let decoded = json::decode(br#"{"name": "a", "name": "b", "size": 1e3}"#).unwrap();
//! assert_eq!(decoded.value["name"], "b");
//! assert_eq!(decoded.duplicates, ["name"]);
//! assert_eq!(strict::complaints(&decoded, &[], None), ["duplicate field \"name\""]);
//! assert_eq!(json::decode(b"{").unwrap_err().to_string(), "unexpected end of JSON input");
//!
//! // YAML 1.1 as kubectl reads it, and keys in order when it is written.
//! let decoded = yaml::decode(b"on: yes\nmode: 0644\n").unwrap();
//! assert_eq!(decoded.value["true"], true);
//! assert_eq!(yaml::encode(&decoded.value), "mode: 420\n\"true\": true\n");
//!
//! let mut bytes = Vec::new();
//! json::write(&serde_json::json!({ "text": "<a & b>" }), &mut bytes);
//! assert_eq!(bytes, br#"{"text":"\u003ca \u0026 b\u003e"}"#); // Go's encoder escapes what a browser could mistake
//! ```

mod decoded;
pub mod json;
pub mod strict;
pub mod yaml;

pub use decoded::{Decoded, KEPT_DEPTH, NumberLiteral};
