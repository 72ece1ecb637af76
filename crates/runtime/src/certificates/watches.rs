//! Waking up when one of a few named objects changes. Only metadata is watched: nothing of a Secret is kept.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::target::Target;
use crate::cache::{Event, Indexes, Registration, Store};
use crate::object::Kind;
use crate::random::Random;
use crate::reflector::{Reflector, Target as Watched};

/// Running watches; dropping them ends them.
pub(super) struct Watches {
    wake: Arc<Notify>,
    _tasks: JoinSet<()>,
    _registrations: Vec<Registration>,
}

impl Watches {
    /// Watches a Secret, if there is one to watch, and targets.
    pub(super) fn start(
        kube: &kube::Client,
        secret: Option<(&str, &str)>,
        targets: &[Target],
        random: &Random,
    ) -> Self {
        let secrets = Kind::named("", "v1", "Secret", "secrets", true);
        let secret = secret.map(|(namespace, name)| (Watched::new(secrets).namespace(namespace), name));
        let targets = targets.iter().map(|target| {
            let (group, kind, resource) = (target.kind.group(), target.kind.kind(), target.kind.resource());
            let kind = Kind::named(group, "v1", kind, resource, false);
            (Watched::new(kind), target.name.as_str())
        });
        let wake = Arc::new(Notify::new());
        let (mut tasks, mut registrations) = (JoinSet::new(), Vec::new());
        for (watched, name) in secret.into_iter().chain(targets) {
            // Rights on a name cover a watch that asks for nothing but that name.
            let watched = watched.fields(format!("metadata.name={name}")).metadata_only();
            let store = Store::new(watched.kind.clone(), Indexes::default());
            let woken = Arc::clone(&wake);
            registrations.push(store.add_handler(Arc::new(move |event: &Event| {
                // What the first list shows may have changed since it was last looked at.
                if matches!(event, Event::Added { .. }) || !event.is_background() {
                    woken.notify_one();
                }
            })));
            let writer = store.writer(watched.namespace.as_deref());
            tasks.spawn(Reflector::new(kube.clone(), watched, writer, random.clone()).run());
        }
        Watches {
            wake,
            _tasks: tasks,
            _registrations: registrations,
        }
    }

    /// Waits until something changed since the last time.
    pub(super) async fn changed(&self) {
        self.wake.notified().await;
    }
}
