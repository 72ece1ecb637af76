//! Where to listen, as Go writes it.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use tokio::net::TcpListener;

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address to listen on: write `:8080`, `127.0.0.1:8080` or `[::1]:8080`, or `0` for none")]
pub struct AddressError(String);

/// Where to listen: `:8080` on all addresses, `127.0.0.1:8080` on one, `0` or nothing at all nowhere.
///
/// ```
/// use kubewright_runtime::serve::BindAddress;
///
/// assert_eq!("0".parse(), Ok(BindAddress::Off));
/// let probes: BindAddress = ":8081".parse().unwrap();
/// assert_eq!(probes.to_string(), ":8081");
/// assert!("8081".parse::<BindAddress>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAddress {
    /// Nowhere.
    Off,
    /// At a port of a host; no host means all addresses.
    At {
        /// A name or an address.
        host: Option<String>,
        /// The port; 0 for a free one.
        port: u16,
    },
}

impl BindAddress {
    /// A free port on loopback.
    pub fn loopback() -> Self {
        BindAddress::At {
            host: Some(Ipv4Addr::LOCALHOST.to_string()),
            port: 0,
        }
    }

    /// Whether only this machine can reach it.
    pub(crate) fn is_loopback(&self) -> bool {
        match self {
            BindAddress::Off => true,
            BindAddress::At { host: None, .. } => false,
            BindAddress::At { host: Some(host), .. } => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }

    /// Listens. `None` where it is off.
    pub(crate) async fn bind(&self) -> io::Result<Option<TcpListener>> {
        match self {
            BindAddress::Off => Ok(None),
            BindAddress::At { host: Some(host), port } => TcpListener::bind((host.as_str(), *port)).await.map(Some),
            // The unspecified address of IPv6 takes IPv4 too; a machine may have no IPv6.
            BindAddress::At { host: None, port } => match TcpListener::bind((Ipv6Addr::UNSPECIFIED, *port)).await {
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).await.map(Some)
                }
                bound => bound.map(Some),
            },
        }
    }
}

impl FromStr for BindAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if text.is_empty() || text == "0" {
            return Ok(BindAddress::Off);
        }
        let wrong = || AddressError(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = match host.strip_prefix('[').map(|host| host.strip_suffix(']')) {
            Some(Some(address)) if address.parse::<Ipv6Addr>().is_ok() => Some(address.to_owned()),
            Some(_) => return Err(wrong()),
            None if host.is_empty() => None,
            None if host.contains(':') || host.contains(char::is_whitespace) => return Err(wrong()),
            None => Some(host.to_owned()),
        };
        Ok(BindAddress::At { host, port })
    }
}

impl fmt::Display for BindAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindAddress::Off => f.write_str("0"),
            BindAddress::At { host: None, port } => write!(f, ":{port}"),
            BindAddress::At { host: Some(host), port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            BindAddress::At { host: Some(host), port } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_go_reads_them() {
        for text in ["0", ":8080", "127.0.0.1:0", "localhost:9", "[::1]:8443"] {
            assert_eq!(text.parse::<BindAddress>().unwrap().to_string(), text);
        }
        assert_eq!("".parse(), Ok(BindAddress::Off));
        for text in ["8080", ":", ":99999", "::1:80", "[::1]", "[::1", "[x]:1", "a b:1"] {
            assert!(text.parse::<BindAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_loopback_is_loopback() {
        for (text, loopback) in [
            ("127.0.0.1:1", true),
            ("[::1]:1", true),
            ("localhost:1", true),
            (":1", false),
            ("10.0.0.1:1", false),
        ] {
            assert_eq!(text.parse::<BindAddress>().unwrap().is_loopback(), loopback, "{text}");
        }
    }

    #[tokio::test]
    async fn without_a_host_both_address_families_are_served() {
        let listener = BindAddress::At { host: None, port: 0 }.bind().await.unwrap().unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        assert!(BindAddress::Off.bind().await.unwrap().is_none());
    }
}
