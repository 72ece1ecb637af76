//! sample-controller, the client-go way: every part that a toolkit would bring is put together here by hand.
//! Read it beside `bar-controller`, which does the same with the toolkit.

// The kind is called so, and so are its objects.
#![allow(clippy::disallowed_names)]

pub mod api;
pub mod controller;
mod deployment;
pub mod informer;
mod sync;

use std::time::Duration;

use kubewright::clock::Clock;
use kubewright::events::EventRecorder;
use kubewright::random::Random;
use kubewright::stop::{Stop, Stopper};
use tokio::task::JoinSet;

use controller::{Controller, RunError, StatusBy};
use informer::SharedInformer;

/// Who writes: the field manager, and the reporter of events.
pub const CONTROLLER_AGENT_NAME: &str = "sample-controller";

/// How often handlers are told of everything again.
const RESYNC: Duration = Duration::from_secs(30);

/// How many Foos are worked on at once.
const WORKERS: usize = 2;

/// Where times and random numbers come from. Tests that compare two runs bring their own.
#[derive(Clone, Debug)]
pub struct Sources {
    /// What events are dated and named by.
    pub clock: Clock,
    /// By which the pauses between retries differ.
    pub random: Random,
}

impl Sources {
    /// The machine's.
    pub fn system() -> Self {
        Sources {
            clock: Clock::system(),
            random: Random::from_entropy(),
        }
    }
}

/// Puts the parts together and runs them until asked to stop: informers, recorder, controller.
pub async fn run(kube: kube::Client, status_by: StatusBy, sources: Sources, stop: Stop) -> Result<(), RunError> {
    let Sources { clock, random } = sources;
    let foos = SharedInformer::new(RESYNC);
    let deployments = SharedInformer::new(RESYNC);

    let instance = std::env::var("HOSTNAME").unwrap_or_else(|_| CONTROLLER_AGENT_NAME.to_owned());
    let (recorder, writer) = EventRecorder::repeatable(CONTROLLER_AGENT_NAME, &instance, clock, random.fork());
    // Events outlive the controller, so that its last ones are told too.
    let (events_end, events_stop) = Stopper::new();
    let writing = tokio::spawn(writer.run_with(kube.clone(), events_stop));

    // Handlers are there before the informers begin, so that they miss nothing.
    let controller = Controller::new(kube.clone(), &foos, &deployments, recorder, status_by);
    let mut watches = JoinSet::new();
    foos.start(&kube, random.fork(), &mut watches);
    deployments.start(&kube, random, &mut watches);

    let done = controller.run(&foos, &deployments, WORKERS, stop).await;
    watches.shutdown().await;
    events_end.stop();
    // What it could not tell is in its log.
    let _ = writing.await;
    done
}
