//! Tests of operators: an API server in milliseconds, the operator running in it, and questions that wait for their answer.
//!
//! With the feature `testing`, [`TestEnv`] is where a test begins and `#[kubewright::test]` is how. Kubernetes' own controllers run
//! there too, so Deployments get Pods and Pods become ready:
//!
//! ```text
//! use kubewright::testing::TestEnv;
//!
//! #[kubewright::test]
//! async fn a_sample_is_accepted_and_reconciled() {
//!     let env = TestEnv::start(markdown_view::operator()).await;
//!     env.apply_file("config/samples/view_v1_markdownview.yaml").await;
//!     env.eventually::<MarkdownView>("markdownview-sample", |view| view.is_available()).await;
//! }
//! ```
//!
//! Without it, there is the check that no conversion loses anything.

#[cfg(feature = "testing")]
pub use kubewright_macros::test;
pub use kubewright_runtime::conversion::{conversion_round_trips, conversion_round_trips_preserving};
#[cfg(feature = "testing")]
pub use kubewright_testing::*;
