//! Randomness from a source that can be seeded, so that a seed repeats a run.

pub use kubewright_system::random::Random as Chance;
