//! Numbers for Prometheus: a registry without global state, and the metrics of a manager under controller-runtime's own names.
//! [`Registry`] makes and renders metrics; [`RuntimeMetrics`] are those that dashboards for controller-runtime expect.
//!
//! The registry is our own because the text must be the one `client_golang` writes. `prometheus-client` speaks the `OpenMetrics` format
//! (`# TYPE x counter` for a sample `x_total`, `# EOF`), and `prometheus` writes `le="0.00000001"` where Go writes `le="1e-08"`,
//! so that a query for a bucket by its bound finds nothing.

mod family;
mod process;
mod registry;
mod rest;
mod runtime;
mod scrape;
mod value;

pub use family::Family;
pub use registry::{Registry, RegistryError};
pub use runtime::RuntimeMetrics;
pub(crate) use runtime::{CertificateMetrics, EventMetrics, LeaderMetrics, ReadMetrics, WebhookMetrics};
pub(crate) use scrape::QueueTimes;
pub use value::{Counter, Gauge, Histogram};
