//! URLs as Go's `net/url` reads and writes them, and its words when it does not.
//!
//! A Go string may hold any bytes; where an escape stands for bytes that are no UTF-8, each of them becomes U+FFFD here.
//!
//! ```
//! use kubewright_apimachinery::url::{self, Url};
//!
//! let url = Url::parse("https://hooks.example:8443/a%20b?timeout=2s").unwrap();
//! assert_eq!((url.hostname(), url.port(), url.path.as_str()), ("hooks.example", "8443", "/a b"));
//! assert_eq!(url::query_pairs(&url.query).collect::<Vec<_>>(), [("timeout".into(), "2s".into())]);
//! assert_eq!(Url::parse("https://h:x").unwrap_err(), r#"parse "https://h:x": invalid port ":x" after host"#);
//!
//! assert_eq!(url::query_escape("app in (a,b)"), "app+in+%28a%2Cb%29");
//! assert_eq!(url::path_unescape("50%").unwrap_err().to_string(), r#"invalid URL escape "%""#);
//! ```

mod escape;

use std::net::{Ipv4Addr, Ipv6Addr};

pub use escape::{
    EscapeError, escape_path, path_escape, path_unescape, query_escape, query_pairs, query_unescape, unescape_valid,
};
use escape::{Part, escape, is_valid_path, unescape};

use crate::go::quote;

/// The parts of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// In lower case; empty if there is none.
    pub scheme: String,
    /// What follows a scheme without a slash (`mailto:…`), as it was written; then there is no host and no path.
    pub opaque: String,
    /// The user and, behind a colon, the password, escaped.
    pub user: Option<String>,
    /// With its port.
    pub host: String,
    /// Without escapes.
    pub path: String,
    /// With escapes: as it was written if that is a valid path, with every necessary escape otherwise.
    pub escaped_path: String,
    /// Behind the question mark, as it was written.
    pub query: String,
    /// Whether the question mark is there with nothing behind it.
    pub has_empty_query: bool,
    /// Behind the hash, without escapes.
    pub fragment: String,
}

impl Url {
    /// Reads any URL, as `url.Parse` does; an error says which and why.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = read(before, false).map_err(|problem| refused(before, &problem))?;
        url.fragment = unescape(fragment, Part::Fragment)
            .map_err(|problem| refused(text, &problem))?
            .into_owned();
        Ok(url)
    }

    /// Reads a URL as the line of a request has it, as `url.ParseRequestURI` does: absolute, or an absolute path. Nothing
    /// is a fragment.
    pub fn parse_request(text: &str) -> Result<Self, String> {
        read(text, true).map_err(|problem| refused(text, &problem))
    }

    /// The host without its port and without the brackets of an IPv6 address.
    pub fn hostname(&self) -> &str {
        let host = self.split_port().0;
        host.strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host)
    }

    /// The port; empty if there is none.
    pub fn port(&self) -> &str {
        self.split_port().1
    }

    fn split_port(&self) -> (&str, &str) {
        match self.host.rfind(':') {
            Some(colon) if is_port(&self.host[colon..]) => (&self.host[..colon], &self.host[colon + 1..]),
            _ => (&self.host, ""),
        }
    }
}

fn refused(text: &str, problem: &str) -> String {
    format!("parse {}: {problem}", quote(text))
}

fn read(text: &str, of_request: bool) -> Result<Url, String> {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && of_request {
        return Err("empty url".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        text.clone_into(&mut url.path);
        text.clone_into(&mut url.escaped_path);
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => {
            url.has_empty_query = query.is_empty();
            (rest, query)
        }
        None => (rest, ""),
    };
    query.clone_into(&mut url.query);
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        if of_request {
            return Err("invalid URI for request".to_owned());
        }
        // Without a scheme, a colon in the first segment could be taken for the end of one.
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let may_have_host = !url.scheme.is_empty() || !of_request && !rest.starts_with("///");
    let path = match rest.strip_prefix("//").filter(|_| may_have_host) {
        None => rest,
        Some(rest) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (user, host) = match authority.rsplit_once('@') {
                Some((user, host)) => (Some(user), host),
                None => (None, authority),
            };
            url.host = read_host(&url.scheme, host)?;
            url.user = user.map(read_user).transpose()?;
            path
        }
    };
    url.path = unescape(path, Part::Path)?.into_owned();
    url.escaped_path = if is_valid_path(path) || url.path == "*" {
        path.to_owned()
    } else {
        escape::escape_unescaped_path(path)
    };
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    match end {
        Some(0) if text.starts_with(':') => Err("missing protocol scheme".to_owned()),
        Some(end) if text[end..].starts_with(':') && text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Ok((&text[..end], &text[end + 1..]))
        }
        _ => Ok(("", text)),
    }
}

fn read_user(user: &str) -> Result<String, String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(is_allowed) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let parts: Result<Vec<String>, String> = user
        .splitn(2, ':')
        .map(|part| Ok(escape(&escape::unescaped_bytes(part, Part::User)?, Part::User)))
        .collect();
    Ok(parts?.join(":"))
}

fn read_host(scheme: &str, host: &str) -> Result<String, String> {
    match host.rfind('[') {
        Some(0) => return read_address(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    let colon = if matches!(scheme, "http" | "https") {
        host.find(':')
    } else {
        host.rfind(':')
    };
    if let Some(colon) = colon {
        check_port(&host[colon..])?;
    }
    Ok(unescape(host, Part::Host)?.into_owned())
}

/// `[address]:port`
fn read_address(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let (name, port) = (&host[1..end], &host[end + 1..]);
    check_port(port)?;
    let name = match name.find("%25") {
        Some(zone) => unescape(&name[..zone], Part::Host)?.into_owned() + &unescape(&name[zone..], Part::Zone)?,
        None => unescape(name, Part::Host)?.into_owned(),
    };
    let (address, zone) = match name.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (name.as_str(), None),
    };
    if address.parse::<Ipv4Addr>().is_ok() && zone.is_none() {
        return Err("invalid IP-literal".to_owned());
    }
    let problem = match (address.parse::<Ipv6Addr>(), zone) {
        (Ok(_), Some("")) => "zone must be a non-empty string",
        (Ok(_), _) => return Ok(format!("[{name}]{port}")),
        (Err(_), _) => "unable to parse IP",
    };
    Err(format!("invalid host: ParseAddr({}): {problem}", quote(&name)))
}

fn is_port(port: &str) -> bool {
    let digits = port.strip_prefix(':');
    port.is_empty() || digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn check_port(port: &str) -> Result<(), String> {
    if is_port(port) {
        Ok(())
    } else {
        Err(format!("invalid port {} after host", quote(port)))
    }
}
