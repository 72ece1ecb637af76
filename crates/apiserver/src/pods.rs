//! What a pod's containers have said, as far as a test told the server.

use std::collections::HashMap;

use parking_lot::RwLock;

/// Log texts by namespace, pod and container.
#[derive(Debug, Default)]
pub(crate) struct Logs(RwLock<HashMap<(String, String, String), String>>);

impl Logs {
    pub(crate) fn set(&self, namespace: &str, pod: &str, container: &str, text: String) {
        self.0
            .write()
            .insert((namespace.into(), pod.into(), container.into()), text);
    }

    pub(crate) fn fork(&self) -> Self {
        Logs(RwLock::new(self.0.read().clone()))
    }

    pub(crate) fn get(&self, namespace: &str, pod: &str, container: &str) -> Option<String> {
        self.0
            .read()
            .get(&(namespace.to_owned(), pod.to_owned(), container.to_owned()))
            .cloned()
    }
}
