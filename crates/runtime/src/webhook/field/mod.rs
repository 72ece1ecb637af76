//! What is wrong with which field, in Kubernetes' own words.
//! [`Path`] says where, [`FieldError`] what, [`ErrorList`] collects them into one refusal.

mod error;
mod list;
mod path;
mod value;

pub use error::{ErrorType, FieldError};
pub use list::ErrorList;
pub use path::Path;
pub use value::BadValue;
