//! Settings that all controllers share.

use kubewright_runtime::client::Client;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::random::Random;

use crate::certificates::SigningAuthority;

use super::events::{EventBroadcaster, EventRecorder};
use crate::kubelet::process::Processes;

/// Settings that all controllers share.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) nodes: usize,
    pub(crate) clock: Option<Clock>,
    pub(crate) random: Option<Random>,
    pub(crate) root_ca: String,
    /// Whether and how containers are processes.
    pub(crate) processes: Option<Processes>,
    /// How many Pods that have ended are kept; all of them if none.
    pub(crate) most_ended: usize,
    /// Whether there will be simulated nodes, so that it is worth waiting for them.
    pub(crate) expects_nodes: bool,
    pub(crate) events: EventBroadcaster,
    /// Who signs certificates for those who ask through the API.
    pub(crate) signing_authority: Option<SigningAuthority>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            nodes: 1,
            clock: None,
            random: None,
            root_ca: String::new(),
            processes: None,
            most_ended: 12_500,
            expects_nodes: false,
            events: EventBroadcaster::default(),
            signing_authority: None,
        }
    }
}

impl Settings {
    /// The clock of the cluster, or that of the client.
    pub(crate) fn clock_of(&self, client: &Client) -> Clock {
        self.clock.unwrap_or_else(|| client.clock())
    }

    /// The event recorder of a controller.
    pub(crate) fn recorder(&self, component: &str, client: &Client) -> EventRecorder {
        self.events.recorder(component, self.clock_of(client))
    }
}
