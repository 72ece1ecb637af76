//! The TLS transport: a port with its own certificate authority, and the kubeconfig of its administrator.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kubewright_system::kubeconfig::{Authority, Credentials, Kubeconfig};
use kubewright_system::listen::{self, Limits};
use kubewright_system::stop::Stopper;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::certificates::{Certificates, GivenCertificates, PemPair};
use super::connection::{Clients, TlsTransport};
use super::publish;
use crate::access::front_proxy::{FrontProxies, FrontProxyHeaders};
use crate::server::ApiServer;

/// How a server listens. The default is a free port on 127.0.0.1; an address or a port number converts into one.
#[derive(Clone)]
pub struct ListenOptions {
    address: SocketAddr,
    advertised: Advertised,
    external_host: Option<String>,
    publishes_endpoints: bool,
    drain: Duration,
    write_timeout: Duration,
    certificates: GivenCertificates,
}

/// The address by which others reach a listener.
#[derive(Clone, Copy, Debug)]
enum Advertised {
    /// Where it listens.
    Bound,
    /// Where this machine's default route begins.
    DefaultRoute,
    Given(IpAddr),
}

/// Keys are secrets and not shown.
impl std::fmt::Debug for ListenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListenOptions")
            .field("address", &self.address)
            .field("advertised", &self.advertised)
            .field("external_host", &self.external_host)
            .field("publishes_endpoints", &self.publishes_endpoints)
            .field("drain", &self.drain)
            .field("write_timeout", &self.write_timeout)
            .finish_non_exhaustive()
    }
}

impl Default for ListenOptions {
    fn default() -> Self {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()
    }
}

impl From<SocketAddr> for ListenOptions {
    fn from(address: SocketAddr) -> Self {
        ListenOptions {
            address,
            advertised: Advertised::Bound,
            external_host: None,
            publishes_endpoints: true,
            drain: Duration::from_secs(5),
            write_timeout: Duration::from_secs(30),
            certificates: GivenCertificates::default(),
        }
    }
}

impl From<u16> for ListenOptions {
    fn from(port: u16) -> Self {
        SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into()
    }
}

impl ListenOptions {
    /// The address by which others reach the server: by default the one it listens on, or where this machine's default route
    /// begins if it listens on all.
    ///
    /// Discovery tells it, the serving certificate is valid for it, and the Endpoints and the `EndpointSlice` `kubernetes` in
    /// namespace `default` name it, unless it is one that others cannot reach, such as a loopback address.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, ListenOptions, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::new(Options::new());
    /// let options = ListenOptions::default().advertise("192.0.2.7".parse()?);
    /// let _listener = server.listen(options).await?;
    /// let path = "/api/v1/namespaces/default/endpoints/kubernetes";
    /// let answer = server.handle(http::Request::get(path).body(Default::default())?).await;
    /// assert_eq!(answer.status(), 200);
    /// # Ok(())
    /// # }
    /// ```
    pub fn advertise(mut self, address: IpAddr) -> Self {
        self.advertised = Advertised::Given(address);
        self
    }

    /// Advertises the address where this machine's default route begins also where the server listens on a loopback address, as
    /// kube-apiserver does.
    pub fn advertise_default_route(mut self) -> Self {
        self.advertised = Advertised::DefaultRoute;
        self
    }

    /// The host, with or without a port, that discovery and the configuration of `OpenID` name in place of the advertised address.
    pub fn external_host(mut self, host: impl Into<String>) -> Self {
        self.external_host = Some(host.into());
        self
    }

    /// Whether the Endpoints and the `EndpointSlice` `kubernetes` name the advertised address (they do by default).
    pub fn publish_endpoints(mut self, publishes: bool) -> Self {
        self.publishes_endpoints = publishes;
        self
    }

    /// How long [`Listener::shutdown`] waits for requests that are being answered (5 seconds by default). Watches are
    /// ended at once.
    pub fn drain(mut self, within: Duration) -> Self {
        self.drain = within;
        self
    }

    /// How long a client may stop reading before it is disconnected (30 seconds by default).
    pub fn write_timeout(mut self, write_timeout: Duration) -> Self {
        self.write_timeout = write_timeout;
        self
    }

    /// The certificate to serve with, followed by those between it and its authority, and its private key; both as PEM. By
    /// default the listener makes one, for `localhost`, the names of Service `kubernetes` and the addresses it is reached at.
    ///
    /// The last of these certificates is what [`Listener::ca_pem`] and the kubeconfig then name as the authority.
    pub fn serving_certificate(mut self, chain: impl Into<String>, key: impl Into<String>) -> Self {
        self.certificates.serving = Some(PemPair {
            certificate: chain.into(),
            key: key.into(),
        });
        self
    }

    /// Authorities, as PEM, whose certificates prove who a client is: the common name is the user, organizations are groups.
    /// Those of the listener's own authority do in any case.
    pub fn client_authorities(mut self, pem: impl Into<String>) -> Self {
        self.certificates.clients = Some(pem.into());
        self
    }

    /// Front proxies: clients with a certificate of these authorities (PEM) and one of these common names (any, if there is none) say in
    /// headers whom their requests are of. `ConfigMap` `extension-apiserver-authentication` tells others about them. There are none by default.
    pub fn front_proxies(
        mut self,
        authorities: impl Into<String>,
        allowed_names: impl IntoIterator<Item = String>,
        headers: FrontProxyHeaders,
    ) -> Self {
        self.certificates.proxies = Some(FrontProxies {
            authorities: authorities.into(),
            allowed: allowed_names.into_iter().collect(),
            headers,
        });
        self
    }

    /// The authority that signs the certificates which the listener makes: [`Listener::authority_pem`] of an earlier one, whose
    /// kubeconfig then works with this one, too. By default the listener makes one.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, ListenOptions, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = ApiServer::new(Options::new());
    /// let first = server.listen(0).await?;
    /// let (certificate, key) = first.authority_pem();
    /// let second = server.listen(ListenOptions::default().authority(certificate, key)).await?;
    /// assert_eq!(first.ca_pem(), second.ca_pem());
    /// # Ok(())
    /// # }
    /// ```
    pub fn authority(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        self.certificates.authority = Some(PemPair {
            certificate: certificate.into(),
            key: key.into(),
        });
        self
    }

    /// Refuses clients that do not speak TLS 1.3; 1.2 is accepted by default.
    pub fn only_tls13(mut self, only: bool) -> Self {
        self.certificates.only_tls13 = only;
        self
    }
}

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// The certificates cannot be made.
    #[error("cannot set up TLS")]
    Tls(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A port that a server answers on. Dropping it stops listening, as [`Listener::shutdown`] does without waiting.
///
/// ```
/// use kubewright_apiserver::{ApiServer, ListenOptions, Options};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = ApiServer::new(Options::new());
/// let options = ListenOptions::default().drain(Duration::from_secs(1)).write_timeout(Duration::from_secs(10));
/// let listener = server.listen(options).await?; // a free port of this machine
/// assert_eq!(listener.url(), format!("https://{}", listener.local_addr()));
/// assert!(listener.ca_pem().starts_with("-----BEGIN CERTIFICATE-----"));
/// assert!(listener.client_certificate_pem() != listener.ca_pem() && listener.client_key_pem().contains("PRIVATE KEY"));
///
/// // Written to a file, this is what kubectl wants.
/// let kubeconfig = kube::config::Kubeconfig::from_yaml(&listener.kubeconfig())?;
/// let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
/// assert_eq!(config.cluster_url.port_u16(), Some(listener.local_addr().port()));
/// listener.shutdown().await;
/// # Ok(())
/// # }
/// ```
pub struct Listener {
    address: SocketAddr,
    authority: String,
    signing: Box<PemPair>,
    certificate: String,
    key: String,
    stopper: Stopper,
    accepting: JoinHandle<bool>,
}

/// The administrator's key is a secret and not shown.
impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Answers TLS clients, HTTP/1.1 and HTTP/2, from when this returns.
    ///
    /// The certificate authority is the listener's own, and [`Listener::kubeconfig`] holds the administrator's
    /// certificate. Others show a bearer token, or are anonymous and learn little more than health and version. Clients outside this process live in real time: do not
    /// listen on a runtime whose clock is paused.
    pub async fn listen(&self, options: impl Into<ListenOptions>) -> Result<Listener, ListenError> {
        let ListenOptions {
            address,
            advertised,
            external_host,
            publishes_endpoints,
            drain,
            write_timeout,
            certificates,
        } = options.into();
        let bind = |source| ListenError::Bind { address, source };
        let socket = TcpListener::bind(address).await.map_err(bind)?;
        let address = socket.local_addr().map_err(bind)?;
        let advertised = match advertised {
            Advertised::Given(advertised) => advertised,
            Advertised::Bound => publish::reached_at(address.ip()),
            Advertised::DefaultRoute => publish::begin_of_default_route(address.ip()).unwrap_or(address.ip()),
        };
        let reached = [address.ip(), advertised];
        let certificates =
            Certificates::new(&certificates, &reached).map_err(|error| ListenError::Tls(error.into()))?;
        let verifier = certificates
            .verifier()
            .map_err(|error| ListenError::Tls(error.into()))?;
        let config = certificates
            .server_config()
            .map_err(|error| ListenError::Tls(error.into()))?;
        let proxies = certificates.proxies().map_err(|error| ListenError::Tls(error.into()))?;
        let clients = Clients::Verified(verifier, proxies);
        let transport = TlsTransport::new(self.clone(), config, clients, write_timeout);
        let advertised = SocketAddr::new(advertised, address.port());
        // Others find a server where it listened first.
        let told = match external_host {
            Some(host) => with_port(&host, address.port()),
            None => advertised.to_string(),
        };
        if self.server.advertised.set(told).is_ok() {
            // Boxed, because the future of a request is large and would be a part of the listener's.
            if publishes_endpoints {
                Box::pin(self.publish(advertised)).await;
            } else {
                Box::pin(self.lead_service_to(advertised.port())).await;
            }
        }
        self.server.publish_authorities(
            &certificates.client_authorities_pem(),
            certificates.front_proxies().cloned(),
        );
        let (stopper, stop) = Stopper::new();
        let transport = Arc::new(transport);
        let limits = Limits {
            connections: None,
            drain,
        };
        Ok(Listener {
            address,
            authority: certificates.authority_pem(),
            signing: Box::new(certificates.signing_authority().clone()),
            certificate: certificates.admin.certificate_pem(),
            key: certificates.admin.kubeconfig_key_pem(),
            stopper,
            accepting: tokio::spawn(listen::accept(socket, limits, stop, move |socket, stop| {
                Arc::clone(&transport).serve(socket, stop)
            })),
        })
    }
}

/// A host with a port: its own, or else this one.
fn with_port(host: &str, port: u16) -> String {
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(name, _)| !name.contains(':') || (name.starts_with('[') && name.ends_with(']')));
    match host {
        _ if has_port => host.to_owned(),
        _ if host.contains(':') => format!("[{host}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}

impl Listener {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Where clients on this machine find it: `https://127.0.0.1:6443`.
    pub fn url(&self) -> String {
        let address = match self.address.ip() {
            IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            address => address,
        };
        format!("https://{}", SocketAddr::new(address, self.address.port()))
    }

    /// The certificate authority by which clients know the server.
    pub fn ca_pem(&self) -> &str {
        &self.authority
    }

    /// The authority that signs the certificates which this listener makes, and its private key: what
    /// [`ListenOptions::authority`] takes.
    pub fn authority_pem(&self) -> (&str, &str) {
        (&self.signing.certificate, &self.signing.key)
    }

    /// The administrator's certificate.
    pub fn client_certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// The key of the administrator's certificate, in the form that most clients read: SEC 1, `EC PRIVATE KEY`.
    pub fn client_key_pem(&self) -> &str {
        &self.key
    }

    /// A kubeconfig of the administrator, with everything inside.
    pub fn kubeconfig(&self) -> String {
        Kubeconfig {
            context: "kubewright",
            cluster: "kubewright",
            user: "admin",
            namespace: Some("default"),
            server: &self.url(),
            authority: Authority::Pem(&self.authority),
            credentials: Credentials::Certificate {
                certificate: &self.certificate,
                key: &self.key,
            },
        }
        .to_string()
    }

    /// Stops listening, ends watches, and returns when the last request is answered or the time for that is up.
    pub async fn shutdown(self) {
        self.stopper.stop();
        // The task has no way to fail but by a panic, after which nothing listens either.
        let _ = self.accepting.await;
    }
}

#[cfg(test)]
mod tests {
    use super::with_port;

    #[test]
    fn a_host_keeps_its_port_or_gets_one() {
        for (host, expected) in [
            ("api.example.com", "api.example.com:6443"),
            ("api.example.com:443", "api.example.com:443"),
            ("192.0.2.7", "192.0.2.7:6443"),
            ("2001:db8::1", "[2001:db8::1]:6443"),
            ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ] {
            assert_eq!(with_port(host, 6443), expected);
        }
    }
}
