//! `resource` and `schema` for types whose fields may be left out unless they say `#[schema(required)]`: what
//! `+kubebuilder:validation:Optional` above a Go package is.
//!
//! One import says it for all types of a module, whether that is a file of its own or written in place; the path says it for a single
//! type. `required` in place of it, as in `#[resource(required, …)]`, takes a type of such a module out.
//!
//! ```
//! mod v1 {
//!     use kubewright::optional::{resource, schema};
//!
//!     #[resource(group = "example.com", version = "v1", kind = "House", namespaced)]
//!     pub struct HouseSpec {
//!         pub storeys: u8,
//!         #[schema(required)]
//!         pub door: Door,
//!     }
//!
//!     #[schema]
//!     #[derive(Default)]
//!     pub struct Door {
//!         pub width: u16,
//!     }
//! }
//!
//! #[kubewright::optional::schema]
//! struct Window {
//!     width: u16,
//! }
//!
//! # use kubewright::schemars::schema_for;
//! # use kubewright::serde_json::{json, to_value};
//! assert_eq!(to_value(schema_for!(v1::HouseSpec)).unwrap()["required"], json!(["door"]));
//! assert!(to_value(schema_for!(v1::Door)).unwrap().get("required").is_none());
//! assert!(to_value(schema_for!(Window)).unwrap().get("required").is_none());
//! # let _ = Window { width: 1 };
//! ```

#[doc(inline)]
pub use kubewright_macros::{optional_resource as resource, optional_schema as schema};
