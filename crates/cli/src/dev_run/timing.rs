//! How long a change took to become a running operator, and whose time it was.

use std::time::{Duration, Instant};

use kubewright_cluster::progress::duration;
use kubewright_view::OperatorState;

/// A change on its way to a running operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turnaround {
    saved: Instant,
    cargo: Duration,
}

impl Turnaround {
    /// Something was saved then.
    pub(super) fn saved(saved: Instant) -> Self {
        Turnaround {
            saved,
            cargo: Duration::ZERO,
        }
    }

    /// Cargo has built it, and took so long.
    pub(super) fn built(mut self, cargo: Duration) -> Self {
        self.cargo = cargo;
        self
    }

    /// The operator runs, after this.
    pub(super) fn running(self) -> OperatorState {
        OperatorState::Running {
            compiler: Some(self.cargo.as_secs_f64()),
            rest: Some(self.saved.elapsed().saturating_sub(self.cargo).as_secs_f64()),
        }
    }

    /// The time since it was saved, in cargo's part and ours.
    pub(super) fn told(self) -> String {
        told(self.saved.elapsed(), self.cargo)
    }
}

fn told(whole: Duration, cargo: Duration) -> String {
    let ours = whole.saturating_sub(cargo);
    format!(
        "{} after the change: cargo {}, everything else {}",
        duration(whole),
        duration(cargo),
        duration(ours)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_cargo_and_the_rest_are_told_apart() {
        let told = |whole, cargo| told(Duration::from_millis(whole), Duration::from_millis(cargo));
        assert_eq!(
            told(3_650, 3_250),
            "3.6s after the change: cargo 3.2s, everything else 400ms"
        );
        // Two clocks are read one after the other.
        assert!(told(10, 11).ends_with("everything else 0ms"));
    }
}
