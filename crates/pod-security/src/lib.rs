//! The Pod Security Standards: which policy the labels of a namespace ask for, and what of a Pod violates it, in the words
//! of k8s.io/pod-security-admission. No I/O.
//!
//! ```
//! use kubewright_pod_security::{Level, LevelVersion, Version, violations};
//! use serde_json::json;
//!
//! let pod = json!({ "spec": { "hostNetwork": true, "containers": [{ "name": "web", "image": "nginx" }] } });
//! let baseline = LevelVersion { level: Level::Baseline, version: Version::Latest };
//! let found = violations(baseline, &pod);
//! assert_eq!(found.details(), "host namespaces (hostNetwork=true)");
//! ```

mod checks;
mod configuration;
mod existing;
mod pod;
mod policy;
mod violations;

pub use configuration::Configuration;
pub use existing::warnings_of_existing_pods;
pub use pod::{changes_images, template_of};
pub use policy::{LabelError, Level, LevelVersion, Policy, Version};
pub use violations::{Violation, Violations, violations};
