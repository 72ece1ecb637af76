//! What tests of operators need beside an API server: so far, the check that no conversion loses anything.

pub use kubewright_runtime::conversion::{conversion_round_trips, conversion_round_trips_preserving};
