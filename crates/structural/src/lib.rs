//! `CustomResourceDefinitions` and their structural schemas: what a definition must look like, and what it makes of the
//! objects it defines. Everything here is pure: values in, values out, no I/O.
//!
//! ```
//! use kubewright_structural::{Schema, crd};
//! use serde_json::json;
//!
//! let schema = Schema::compile(
//!     &json!({
//!         "type": "object",
//!         "properties": { "spec": {
//!             "type": "object",
//!             "properties": { "replicas": { "type": "integer", "default": 1, "maximum": 5 } },
//!         } },
//!     }),
//!     false,
//! );
//! // What the schema does not know is cut off, what it knows better is filled in.
//! let mut object = json!({ "spec": { "colour": "blue" } });
//! assert_eq!(schema.prune(&mut object), ["spec.colour"]);
//! schema.default(&mut object);
//! assert_eq!(object, json!({ "spec": { "replicas": 1 } }));
//!
//! let mut errors = Vec::new();
//! schema.validate(&json!({ "spec": { "replicas": 9 } }), None, &mut errors);
//! assert!(errors[0].to_string().contains("should be less than or equal to 5"), "{}", errors[0]);
//!
//! // Definitions themselves are judged as the API server judges them.
//! let errors = crd::validate_create(&json!({ "metadata": { "name": "gardens" }, "spec": {} }));
//! assert!(errors.iter().any(|error| error.to_string().starts_with("spec.group: Required value")));
//! ```

pub mod crd;
pub mod discovery;
pub mod openapi;
pub mod schema;

pub use schema::Schema;
