//! The processes of a node through the Kubernetes API: `kubectl get processes`.
//!
//! No object of this kind is stored anywhere. The API server of the cluster passes requests on to this program, which reads them from
//! `/proc` whenever somebody asks. That is what an aggregated API is for; a kind whose objects people write is better defined by a
//! `CustomResourceDefinition`.

pub mod api;
pub mod proc;

use std::path::Path;
use std::time::Duration;

use kubewright::extension::{ExtensionServer, RowStore};
use kubewright::operator::Operator;

use crate::api::Process;
use crate::proc::ProcessFolder;

/// The operator: no controllers, one kind that it serves itself, read from a folder like `/proc`.
pub fn operator(folder: impl AsRef<Path>) -> Operator {
    let processes = RowStore::<Process, _>::new(ProcessFolder::at(folder)).watch_every(Duration::from_secs(1));
    Operator::new("process-api").extension(ExtensionServer::new().rows(processes))
}
