//! The Pods of cases whose containers answer.
//!
//! The real kube-apiserver asks the kubelet of a node, which is `upstream/kubelet` when cases are recorded: it answers with the library
//! that container runtimes use, and its containers know a few commands. The embedded server has the same containers in this process
//! (`containers`). What the ports of a Pod answer to proxies stands in the case (`ports`), and this program serves it to both.

pub(crate) mod containers;
pub(crate) mod ports;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::target::Connection;
use crate::template::Variables;

/// Serves a connection to a port of a Pod.
pub type ServePort = Arc<dyn Fn(Box<dyn Connection>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// A Pod whose containers answer.
#[derive(Debug)]
pub struct RunningPod {
    /// The port of the kubelet on its node.
    pub kubelet: u16,
    /// The address that proxies reach the Pod's ports at.
    pub address: String,
    /// The ports that the case names.
    pub ports: BTreeMap<String, u16>,
    /// What serves them. It ends with the case.
    pub serving: JoinSet<()>,
}

impl RunningPod {
    /// The values of `${kubelet.port}`, `${pod.address}` and `${POD.PORT}` in a case.
    pub(crate) fn variables(&self, pod: &str) -> Variables {
        let mut variables = Variables::from([
            ("kubelet.port".to_owned(), json!(self.kubelet)),
            ("pod.address".to_owned(), json!(self.address)),
        ]);
        for (name, port) in &self.ports {
            variables.insert(format!("{pod}.{name}"), json!(port));
        }
        variables
    }

    /// The texts that differ from run to run, with their placeholders.
    pub(crate) fn places(&self, pod: &str) -> Vec<(String, String)> {
        let ports = self.ports.iter();
        let ports = ports.map(|(name, port)| (format!(":{port}"), format!(":<{pod}.{name}>")));
        let mut places: Vec<_> = ports.collect();
        places.push((format!(":{}", self.kubelet), ":<kubelet.port>".to_owned()));
        places.push((self.address.clone(), "<pod.address>".to_owned()));
        places
    }
}

/// The names of the ports that a case gives a Pod.
pub(crate) fn port_names(ports: &Value) -> Vec<String> {
    ports
        .as_object()
        .into_iter()
        .flat_map(|ports| ports.keys().cloned())
        .collect()
}
