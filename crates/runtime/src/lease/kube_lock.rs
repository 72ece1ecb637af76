//! A Lease through `kube`'s client. The object is kept as it came, so that nothing others wrote into it is lost.

use std::collections::BTreeMap;

use kube::core::params::PostParams;
use kube::core::request::Request;
use serde_json::{Value, json};

use super::lock::{Lock, Problem};
use super::options::ElectionOptions;
use super::record::Record;

pub(super) struct KubeLock {
    client: kube::Client,
    request: Request,
    namespace: String,
    name: String,
    labels: BTreeMap<String, String>,
    lease: Option<Value>,
}

impl KubeLock {
    pub(super) fn new(client: kube::Client, options: &ElectionOptions) -> Self {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", options.namespace);
        KubeLock {
            client,
            request: Request::new(path),
            namespace: options.namespace.clone(),
            name: options.name.clone(),
            labels: options.labels.clone(),
            lease: None,
        }
    }

    async fn send(
        &mut self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Value, kube::Error> {
        let request = request.map_err(kube::Error::BuildRequest)?;
        self.client.request::<Value>(request).await
    }

    async fn write(
        &mut self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<(), Problem> {
        self.lease = Some(self.send(request).await.map_err(problem)?);
        Ok(())
    }
}

fn problem(error: impl std::fmt::Display) -> Problem {
    Problem(error.to_string())
}

impl Lock for KubeLock {
    async fn read(&mut self) -> Result<Option<Record>, Problem> {
        let request = self.request.get(&self.name, &kube::core::params::GetParams::default());
        match self.send(request).await {
            Ok(lease) => {
                let record = Record::of(&lease);
                self.lease = Some(lease);
                Ok(Some(record))
            }
            // A namespace that does not exist is found out by creating.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(problem(error)),
        }
    }

    async fn create(&mut self, record: &Record) -> Result<(), Problem> {
        let mut lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": self.name, "namespace": self.namespace },
            "spec": record.spec(),
        });
        if !self.labels.is_empty() {
            lease["metadata"]["labels"] = json!(self.labels);
        }
        let body = serde_json::to_vec(&lease).map_err(problem)?;
        let request = self.request.create(&PostParams::default(), body);
        self.write(request).await
    }

    async fn update(&mut self, record: &Record) -> Result<(), Problem> {
        let mut lease = self
            .lease
            .clone()
            .ok_or_else(|| Problem("the lease was not read yet".to_owned()))?;
        // Without it the write would not be guarded.
        if lease["metadata"]["resourceVersion"].as_str().is_none_or(str::is_empty) {
            return Err(Problem("the lease has no resourceVersion".to_owned()));
        }
        lease["spec"] = record.spec();
        for (label, value) in &self.labels {
            lease["metadata"]["labels"][label] = json!(value);
        }
        let body = serde_json::to_vec(&lease).map_err(problem)?;
        let request = self.request.replace(&self.name, &PostParams::default(), body);
        self.write(request).await
    }
}
