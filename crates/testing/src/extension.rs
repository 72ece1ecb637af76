//! The aggregated API of an operator, served in the test: in this process to the embedded server, with TLS to a real one.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use kube::core::DynamicObject;
use kubewright_runtime::client::Client;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::extension::{ApiExtension, ExtensionContext, InProcessContext};
use kubewright_runtime::object::Kind;
use kubewright_runtime::operator::Operator;
use kubewright_runtime::serve::Certificates;
use kubewright_runtime::stop::Stopper;
use kubewright_system::certificates::{Leaf, Signer, authority};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::control_plane::ControlPlane;
use crate::env::live;
use crate::install::{Installation, SERVICE_PORT};
use crate::{Error, deadline};

/// How long the API server may take to find the API, at least.
const AVAILABLE: Duration = Duration::from_secs(20);

/// An aggregated API that is served. Dropping it ends it.
pub(crate) struct RunningExtension {
    /// Ends the listener.
    _stopper: Stopper,
}

/// Serves the aggregated API of an operator, if it has one, and waits until it is found.
pub(crate) async fn start(
    operator: &Operator,
    installation: &Installation,
    control_plane: &ControlPlane,
    (clock, seed): (Clock, Option<u64>),
) -> Result<Option<RunningExtension>, Error> {
    let Some(extension) = operator.api_extension() else {
        return Ok(None);
    };
    let (namespace, account) = (&installation.namespace, &installation.account);
    let groups = [
        "system:serviceaccounts".to_owned(),
        format!("system:serviceaccounts:{namespace}"),
    ];
    let kube = control_plane.user(&format!("system:serviceaccount:{namespace}:{account}"), &groups)?;
    let (stopper, stop) = Stopper::new();
    let extension = Arc::clone(extension);
    let admin = live(control_plane.admin());
    let mut services = api_services(installation);
    match control_plane {
        ControlPlane::Embedded(_) => {
            let context = InProcessContext { kube, clock, seed };
            let service = extension.in_process(context).await.map_err(|error| failed(&*error))?;
            let server = control_plane.server().ok_or_else(|| failed("there is no server"))?;
            server.serve_service_with(namespace, &installation.extension_service, SERVICE_PORT, service);
        }
        ControlPlane::Binaries(_) => {
            let port = listen(extension, kube, installation, stop, &mut services).await?;
            put(&admin, service_kind(), &this_machine(installation, port)).await?;
        }
        ControlPlane::Existing(_) => {
            return Err(Error::NotThere {
                what: "an aggregated API",
                mode: control_plane.mode_name(),
                remedy: "the cluster cannot reach the process of a test; deploy it with `kubewright deploy`, or test it on the \
                         embedded server",
            });
        }
    }
    for service in &services {
        put(
            &admin,
            Kind::named("apiregistration.k8s.io", "v1", "APIService", "apiservices", false),
            service,
        )
        .await?;
    }
    available(&admin, &services).await?;
    Ok(Some(RunningExtension { _stopper: stopper }))
}

fn api_services(installation: &Installation) -> Vec<Value> {
    let objects = installation.objects.iter();
    objects
        .filter(|object| object["kind"] == "APIService")
        .cloned()
        .collect()
}

/// Listens on this machine with a certificate that the `APIServices` are told to trust.
async fn listen(
    extension: Arc<dyn ApiExtension>,
    kube: kube::Client,
    installation: &Installation,
    stop: kubewright_runtime::stop::Stop,
    services: &mut [Value],
) -> Result<u16, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .map_err(|error| failed(&error))?;
    let port = listener.local_addr().map_err(|error| failed(&error))?.port();
    let name = "kubewright-test-extension";
    let ca = authority(name, None).map_err(|error| failed(&error))?;
    let signer = Signer::new(name, &ca.key_pem()).map_err(|error| failed(&error))?;
    let host = format!("{}.{}.svc", installation.extension_service, installation.namespace);
    let serving = signer
        .sign(&Leaf::server(&host, &[host.as_str(), "localhost"]))
        .map_err(|error| failed(&error))?;
    let certificates = Certificates::from_pem(&serving.certificate_pem(), &serving.key_pem());
    let context = ExtensionContext {
        kube,
        listener,
        certificates: certificates.map_err(|error| failed(&error))?,
        stop,
    };
    tokio::spawn(async move {
        if let Err(error) = extension.serve(context).await {
            eprintln!("the aggregated API ended: {error}");
        }
    });
    for service in services {
        service["spec"]["service"]["port"] = port.into();
        service["spec"]["caBundle"] = json!(ByteString(ca.certificate_pem().into_bytes()));
    }
    Ok(port)
}

/// A Service by which a real API server reaches this machine: `EndpointSlices` may not name loopback addresses.
fn this_machine(installation: &Installation, port: u16) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": installation.extension_service, "namespace": installation.namespace },
        "spec": { "type": "ExternalName", "externalName": "localhost", "ports": [{ "port": port }] },
    })
}

fn service_kind() -> Kind {
    Kind::named("", "v1", "Service", "services", true)
}

async fn put(client: &Client, kind: Kind, object: &Value) -> Result<(), Error> {
    let what = format!(
        "{} {}",
        kind.kind(),
        object["metadata"]["name"].as_str().unwrap_or_default()
    );
    let wanted: DynamicObject = serde_json::from_value(object.clone()).map_err(|error| Error::Manifest {
        place: what.clone(),
        problem: error.to_string(),
    })?;
    let applied = client.dynamic(kind).apply(&wanted).await;
    applied.map(drop).map_err(|source| Error::Install {
        what,
        source: Box::new(source),
    })
}

/// Waits until the API server passes requests on, and until discovery tells clients of the kinds, which is a moment later.
async fn available(client: &Client, services: &[Value]) -> Result<(), Error> {
    let patience = AVAILABLE.max(deadline::of_starts());
    let deadline = Instant::now() + patience;
    for service in services {
        let text = |field: &str| service["spec"][field].as_str().unwrap_or_default().to_owned();
        let (group, version) = (text("group"), text("version"));
        while let Err(problem) = discovered(client, &group, &version).await {
            if Instant::now() > deadline {
                return Err(Error::ControlPlane(format!(
                    "/apis/{group}/{version} is not served after {patience:?}: {problem}"
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

/// Whether a version is served and discovered; the error says what is missing.
async fn discovered(client: &Client, group: &str, version: &str) -> Result<(), String> {
    // What kubectl asks for: servers before 1.30 have the second form, those before 1.26 a list of names.
    const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
        application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    let request = |path: &str, accept: &str| {
        let request = http::Request::get(path)
            .header(http::header::ACCEPT, accept)
            .body(Vec::new());
        request.map_err(|error| error.to_string())
    };
    let path = format!("/apis/{group}/{version}");
    let listed = client.kube().request_text(request(&path, "application/json")?).await;
    listed.map_err(|error| error.to_string())?;
    let found: Value = client
        .kube()
        .request(request("/apis", AGGREGATED)?)
        .await
        .map_err(|error| error.to_string())?;
    if lists(&found, group, version) {
        Ok(())
    } else {
        Err("discovery does not list its kinds".to_owned())
    }
}

/// Whether discovery has a version, in either of its forms.
fn lists(discovery: &Value, group: &str, version: &str) -> bool {
    let listed = |list: &str| discovery[list].as_array().into_iter().flatten();
    let versions_of = |item: &'_ Value| item["versions"].as_array().cloned().unwrap_or_default();
    let with_kinds = listed("items")
        .filter(|item| item["metadata"]["name"] == group)
        .flat_map(versions_of)
        .any(|listed| listed["version"] == version && listed["resources"].is_array());
    let by_name = listed("groups")
        .filter(|item| item["name"] == group)
        .flat_map(versions_of)
        .any(|listed| listed["version"] == version);
    with_kinds || by_name
}

fn failed(error: &(impl std::fmt::Display + ?Sized)) -> Error {
    Error::ControlPlane(format!("the aggregated API cannot be served: {error}"))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    /// A server that knows aggregated discovery as 1.26 to 1.29 do. It serves a group and lists its name before it lists its kinds.
    fn server_of_1_29(lists_kinds: bool) -> Client {
        let answer = move |request: Request<Body>| {
            let accept = request.headers()[http::header::ACCEPT].to_str().unwrap_or_default();
            let version = json!({ "version": "v1", "resources": [{ "resource": "stars" }] });
            let answer = if request.uri().path() == "/apis" && accept.contains("v=v2beta1") {
                let item = json!({ "metadata": { "name": "sky.example.com" }, "versions": [version] });
                json!({ "items": if lists_kinds { vec![item] } else { Vec::new() } })
            } else {
                json!({ "groups": [{ "name": "sky.example.com", "versions": [{ "version": "v1" }] }] })
            };
            async move { Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes()))) }
        };
        live(kube::Client::new(tower::service_fn(answer), "default"))
    }

    #[tokio::test]
    async fn kinds_are_waited_for_where_kubectl_looks_for_them() {
        let found = discovered(&server_of_1_29(false), "sky.example.com", "v1").await;
        assert_eq!(found, Err("discovery does not list its kinds".to_owned()));
        let found = discovered(&server_of_1_29(true), "sky.example.com", "v1").await;
        assert_eq!(found, Ok(()));
    }
}
