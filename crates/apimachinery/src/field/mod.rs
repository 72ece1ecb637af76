//! Field paths and the errors that validation collects, as `k8s.io/apimachinery/pkg/util/validation/field` words them.
//!
//! [`Path`] owns its text and is for code that is written by hand. [`PathRef`] lives on the stack and costs nothing until
//! an error names it: it is for code that walks whole objects. [`FieldError`] says what is wrong with a field.
//!
//! ```
//! use kubewright_apimachinery::field::{FieldError, Path, PathRef, aggregate};
//!
//! let replicas = Path::new("spec").child("replicas");
//! let negative = FieldError::invalid(&replicas, -1, "must be greater than or equal to 0");
//! assert_eq!(negative.to_string(), "spec.replicas: Invalid value: -1: must be greater than or equal to 0");
//!
//! let missing = FieldError::required(&PathRef::root("metadata").child("name"), "name or generateName is required");
//! assert_eq!(
//!     aggregate(&[negative, missing]).unwrap(),
//!     "[spec.replicas: Invalid value: -1: must be greater than or equal to 0, \
//!      metadata.name: Required value: name or generateName is required]"
//! );
//! ```

mod error;
mod path;
mod value;

pub use error::{ErrorType, Errors, FieldError, aggregate};
pub use path::{Path, PathRef};
pub use value::BadValue;
