//! What touches the machine, in one place: listening for connections, signals, processes, certificates, kubeconfigs, the clock,
//! randomness, shutdown.
//!
//! This crate knows nothing of Kubernetes objects; of the workspace it depends on the leaf crates `apimachinery` and `x509` alone.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use kubewright_system::{clock::Clock, random::Random, stop::Stopper};
//!
//! let (clock, random) = (Clock::starting_at("2026-01-01T00:00:00Z".parse()?), Random::seeded(7));
//! let (stopper, stop) = Stopper::new();
//! tokio::time::sleep(std::time::Duration::from_secs(60)).await;
//! stopper.stop();
//! stop.stopped().await;
//! assert_eq!(clock.stamp(), "2026-01-01T00:01:00Z");
//! assert_eq!(random.uuid().len(), 36);
//! # Ok(())
//! # }
//! ```

pub mod certificates;
pub mod clock;
pub mod kubeconfig;
pub mod listen;
pub mod process;
pub mod prometheus;
pub mod random;
pub mod same_process;
pub mod signals;
pub mod stop;
