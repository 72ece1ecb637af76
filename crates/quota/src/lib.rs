//! What `LimitRanges` and `ResourceQuotas` make of an object, without I/O: the defaults that a `LimitRange` fills in and what it
//! refuses, what an object uses of a quota, and whether that is still free.
//!
//! ```
//! use kubewright_quota::{Evaluator, QuotaWrite, charges};
//! use serde_json::json;
//!
//! let quota = json!({
//!     "metadata": { "name": "small" },
//!     "status": { "hard": { "count/configmaps": "1" }, "used": { "count/configmaps": "1" } },
//! });
//! let map = json!({ "metadata": { "name": "one-too-many" } });
//! let write = QuotaWrite::create(&map);
//! let refusal = charges(&[quota], &Evaluator::of("", "configmaps"), &write, jiff::Timestamp::UNIX_EPOCH).unwrap_err();
//! assert_eq!(refusal, "exceeded quota: small, requested: count/configmaps=1, used: count/configmaps=1, limited: count/configmaps=1");
//! ```

mod charge;
mod evaluator;
pub mod limit_range;
mod pod;
mod resource_list;
mod scope;
mod status;

pub use charge::{Charge, QuotaWrite, charges};
pub use evaluator::Evaluator;
pub use pod::{Basis, pod_limits, pod_requests};
pub use resource_list::ResourceList;
pub use status::{evaluators_of, recomputed};

use serde_json::Value;

/// The items of a list, or none.
fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of a field, or nothing.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
