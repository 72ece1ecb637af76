//! A server over the network: its administrator, other users by impersonation, service accounts by their tokens.

use http::Request;
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::{Value, json};
use tower::service_fn;

use crate::Error;
use crate::traffic::{self, Traffic};

pub(crate) struct Remote {
    config: Config,
    admin: Client,
}

impl Remote {
    pub(super) fn new(config: Config) -> Result<Self, Error> {
        let admin = connect(config.clone())?;
        Ok(Remote { config, admin })
    }

    pub(super) fn admin(&self) -> &Client {
        &self.admin
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn user(&self, name: &str, groups: &[String]) -> Result<Client, Error> {
        let mut config = self.config.clone();
        config.auth_info.impersonate = Some(name.to_owned());
        config.auth_info.impersonate_groups = Some(groups.to_vec()).filter(|groups| !groups.is_empty());
        connect(config)
    }

    pub(super) async fn account(&self, namespace: &str, name: &str, traffic: &Traffic) -> Result<Client, Error> {
        let token = self.token(namespace, name).await?;
        let mut config = self.config.clone();
        let auth: Result<AuthInfo, _> = serde_json::from_value(json!({ "token": token }));
        config.auth_info = auth.map_err(|error| Error::ControlPlane(error.to_string()))?;
        // The retries come above the record, once.
        config.default_retry = false;
        let client = connect(config)?;
        let service = service_fn(move |request: Request<kube::client::Body>| {
            let client = client.clone();
            async move { client.send(request).await }
        });
        Ok(traffic::client(service, traffic.clone(), self.admin.clone(), namespace))
    }

    /// The client of the administrator, whose responses count as activity.
    pub(super) fn observed(&self, traffic: &Traffic) -> Client {
        let client = self.admin.clone();
        let service = service_fn(move |request: Request<kube::client::Body>| {
            let client = client.clone();
            async move { client.send(request).await }
        });
        traffic::observed_client(service, traffic.clone())
    }

    async fn token(&self, namespace: &str, name: &str) -> Result<String, Error> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let doing = format!("a token for the manager's ServiceAccount {namespace}/{name}");
        let body = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
        let request = Request::post(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes());
        let request = request.map_err(|error| Error::ControlPlane(error.to_string()))?;
        let answer: Value = self
            .admin
            .request(request)
            .await
            .map_err(|error| Error::kube(&doing, error))?;
        match answer["status"]["token"].as_str() {
            Some(token) => Ok(token.to_owned()),
            None => Err(Error::ControlPlane(format!("{doing}: the server gave none"))),
        }
    }
}

fn connect(config: Config) -> Result<Client, Error> {
    Client::try_from(config).map_err(|error| Error::kube("connecting to the cluster", error))
}
