//! Where a call goes: the parts of a URL as Go's client uses and prints them.

use kubewright_admission::{ClientConfig, Endpoint};
use kubewright_apimachinery::url::{Url, escape_path};

/// Where a call goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) tls: bool,
    /// As the URL has it: a host and perhaps a port.
    pub(super) authority: String,
    /// The path, escaped.
    pub(super) path: String,
    /// The Service behind it, if there is one: its namespace, name and port.
    pub(super) service: Option<(String, String, u16)>,
}

impl Target {
    /// The target of a configuration, or upstream's message why there is none.
    pub(super) fn of(config: &ClientConfig) -> Result<Target, String> {
        match &config.endpoint {
            Endpoint::Service {
                namespace,
                name,
                path,
                port,
            } => Ok(Target {
                tls: true,
                authority: format!("{name}.{namespace}.svc:{port}"),
                path: escape_path(&clean(path)),
                service: Some((namespace.clone(), name.clone(), *port)),
            }),
            Endpoint::Url(text) => {
                let url = Url::parse(text).map_err(|why| format!("Unparsable URL: {why}"))?;
                Ok(Target {
                    tls: url.scheme == "https",
                    path: escape_path(&clean(&url.path)),
                    authority: url.host,
                    service: None,
                })
            }
        }
    }

    /// The target of a redirect from here; `None` if it is invalid.
    pub(super) fn redirected(&self, location: &str) -> Option<(Target, String)> {
        let (scheme, rest) = match location.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
            None if location.starts_with('/') => {
                let (path, query) = location.split_once('?').unwrap_or((location, ""));
                let target = Target {
                    path: path.to_owned(),
                    ..self.clone()
                };
                return Some((target, query.to_owned()));
            }
            _ => return None,
        };
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let end = rest.find('/').unwrap_or(rest.len());
        let target = Target {
            tls: scheme == "https",
            authority: rest[..end].to_owned(),
            path: if rest[end..].is_empty() { "/" } else { &rest[end..] }.to_owned(),
            service: None,
        };
        Some((target, query.to_owned()))
    }

    /// The URL as Go prints it.
    pub(super) fn url(&self, query: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{scheme}://{}{}{mark}{query}", self.authority, self.path)
    }

    /// The host without its port.
    pub(super) fn host(&self) -> &str {
        let (host, _) = self.split();
        host.strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host)
    }

    pub(super) fn port(&self) -> u16 {
        let default = if self.tls { 443 } else { 80 };
        self.split().1.and_then(|port| port.parse().ok()).unwrap_or(default)
    }

    fn split(&self) -> (&str, Option<&str>) {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (&self.authority, None),
        }
    }
}

/// The path without `.`, `..` and empty segments: upstream joins it with the root.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> String {
        let config = ClientConfig {
            endpoint: Endpoint::Url(text.into()),
            ca_bundle: Vec::new(),
        };
        Target::of(&config).unwrap().url("timeout=2s")
    }

    #[test]
    fn paths_are_cleaned_as_upstream_joins_them() {
        assert_eq!(url("https://a:1"), "https://a:1/?timeout=2s");
        assert_eq!(url("https://a:1/b//c/"), "https://a:1/b/c?timeout=2s");
        assert_eq!(url("https://a:1/b%20c"), "https://a:1/b%20c?timeout=2s");
        assert_eq!(url("https://[::1]:9/x/../y"), "https://[::1]:9/y?timeout=2s");
    }

    #[test]
    fn a_redirect_may_be_relative() {
        let config = ClientConfig {
            endpoint: Endpoint::Url("https://a:1/b".into()),
            ca_bundle: Vec::new(),
        };
        let target = Target::of(&config).unwrap();
        let (next, query) = target.redirected("/c?d=e").unwrap();
        assert_eq!(next.url(&query), "https://a:1/c?d=e");
        let (next, query) = target.redirected("http://b").unwrap();
        assert_eq!((next.url(&query).as_str(), next.port()), ("http://b/", 80));
        assert!(target.redirected("ftp://b/").is_none());
    }
}
