//! The type model of Kubernetes objects and the table of facts of the built-in kinds: decode, normalise, default, merge topology.
//! Everything here is pure: values in, values out, no I/O.
//!
//! ```
//! use kubewright_schema::{Types, decode, default, resources};
//! use serde_json::json;
//!
//! let pod = Types::builtin().kind("", "v1", "Pod").unwrap();
//! let sent = json!({ "spec": { "containers": [{ "name": "web", "image": "nginx", "imagee": "?" }] } });
//! let mut decoded = decode(pod, sent, None).unwrap();
//! assert_eq!(decoded.unknown, ["spec.containers[0].imagee"]);
//! default(pod, &mut decoded.value);
//! assert_eq!(decoded.value["spec"]["restartPolicy"], "Always");
//!
//! // Errors have the words of Go's decoder.
//! let wrong = decode(pod, json!({ "spec": { "containers": "web" } }), None).unwrap_err();
//! assert!(wrong.to_string().contains("cannot unmarshal string into Go struct field"), "{wrong}");
//!
//! let deployments = resources().find("apps", "v1", "deployments").unwrap();
//! assert!(deployments.subresource("scale").is_some());
//! ```

mod decode;
mod default;
mod encode;
mod model;
pub mod openapi;
pub mod protobuf;
pub mod registered;
mod resources;
mod table;
mod type_ref;
mod types;

pub use decode::{Decoded, Source, TypeError, decode, has_empties, keep_empties, leave_out_empties};
pub use default::default;
pub use encode::{write_json, write_members, write_object_json};
pub use model::{Omit, Scalar};
pub use resources::{GroupVersion, Resource, Resources, Subresource, resources};
pub use type_ref::{FieldRef, TypeRef};
pub use types::{Types, fingerprint};
