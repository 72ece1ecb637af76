// SPDX-License-Identifier: Apache-2.0

//! A broker in memory, that can be told to fail: for tests, and for playing.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Answer, Broker, BrokerError, Topic};

#[derive(Debug, Default)]
struct State {
    topics: BTreeMap<String, Topic>,
    trouble: Option<String>,
    calls: usize,
}

/// A broker in memory. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct MemoryBroker {
    state: Arc<Mutex<State>>,
}

impl MemoryBroker {
    /// One without topics.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on every call fails like this.
    pub fn fail(&self, text: &str) {
        self.state().trouble = Some(text.to_owned());
    }

    /// From now on calls succeed.
    pub fn recover(&self) {
        self.state().trouble = None;
    }

    /// A topic, if it is there.
    pub fn topic(&self, name: &str) -> Option<Topic> {
        self.state().topics.get(name).cloned()
    }

    /// All topics, by their names.
    pub fn topics(&self) -> BTreeMap<String, Topic> {
        self.state().topics.clone()
    }

    /// Has these topics and no others.
    pub fn set_topics(&self, topics: BTreeMap<String, Topic>) {
        self.state().topics = topics;
    }

    /// Forgets a topic, as a broker that lost its disk.
    pub fn lose(&self, name: &str) -> bool {
        self.state().topics.remove(name).is_some()
    }

    /// How often it was called, in vain or not.
    pub fn calls(&self) -> usize {
        self.state().calls
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No call leaves the state half changed, so what a panic left behind is sound.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(
        &self,
        act: impl FnOnce(&mut BTreeMap<String, Topic>) -> Result<(), BrokerError>,
    ) -> Result<(), BrokerError> {
        let mut state = self.state();
        state.calls += 1;
        match &state.trouble {
            Some(text) => Err(BrokerError::Unavailable(text.clone())),
            None => act(&mut state.topics),
        }
    }
}

impl Broker for MemoryBroker {
    fn ensure<'a>(&'a self, name: &'a str, wanted: &'a Topic) -> Answer<'a> {
        Box::pin(ready(self.call(|topics| match topics.get_mut(name) {
            None => {
                topics.insert(name.to_owned(), wanted.clone());
                Ok(())
            }
            Some(present) if present.owner != wanted.owner => Err(BrokerError::Taken(name.to_owned())),
            Some(present) if present.partitions > wanted.partitions => Err(BrokerError::Refused(format!(
                "{name} has {} partitions and keeps them",
                present.partitions
            ))),
            Some(present) => {
                present.clone_from(wanted);
                Ok(())
            }
        })))
    }

    fn remove<'a>(&'a self, name: &'a str, owner: &'a str) -> Answer<'a> {
        Box::pin(ready(self.call(|topics| {
            if topics.get(name).is_some_and(|topic| topic.owner == owner) {
                topics.remove(name);
            }
            Ok(())
        })))
    }
}
