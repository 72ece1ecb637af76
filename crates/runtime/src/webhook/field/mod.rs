//! What is wrong with which field, in Kubernetes' own words.
//! [`Path`] says where, [`FieldError`] what, [`ErrorList`] collects them into one refusal.

mod list;

pub use kubewright_apimachinery::field::{BadValue, ErrorType, FieldError, Path};

pub use self::list::ErrorList;
