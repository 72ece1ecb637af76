//! URLs as Go's parser reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::EvalError;
use crate::library::{Implementation, Opaque, net, wrong};
use crate::quote::quote;
use crate::value::{Key, Map, Outcome, Value};

/// The parts of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
    text: String,
}

pub(super) fn implementation(name: &str) -> Option<Implementation> {
    Some(match name {
        "url" => |args| match args {
            [Value::String(text)] => Url::parse(text.as_str())
                .map(|url| net::opaque(Opaque::Url(url)))
                .map_err(|why| EvalError::new(format!("URL parse error during conversion from string: {why}"))),
            _ => wrong(),
        },
        "isURL" => |args| match args {
            [Value::String(text)] => Ok(Value::Bool(Url::parse(text.as_str()).is_ok())),
            _ => wrong(),
        },
        "getScheme" => |args| text(args, |url| &url.scheme),
        "getHost" => |args| text(args, |url| &url.host),
        "getHostname" => |args| text(args, |url| split_port(&url.host).0),
        "getPort" => |args| text(args, |url| split_port(&url.host).1),
        "getEscapedPath" => |args| text(args, |url| &url.path),
        "getQuery" => query,
        _ => return None,
    })
}

fn url<'v>(args: &'v [Value<'_>]) -> Result<&'v Url, EvalError> {
    match args {
        [Value::Opaque(value)] => match &**value {
            Opaque::Url(url) => Ok(url),
            _ => Err(EvalError::no_such_overload()),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

fn text<'a>(args: &[Value<'a>], part: fn(&Url) -> &str) -> Outcome<'a> {
    Ok(Value::text(part(url(args)?)))
}

/// Host name and port, without the brackets of an IPv6 address.
fn split_port(host: &str) -> (&str, &str) {
    let (name, port) = match (host.rfind(':'), host.rfind(']')) {
        (Some(colon), bracket) if bracket.is_none_or(|bracket| colon > bracket) => {
            let port = &host[colon + 1..];
            if port.bytes().all(|byte| byte.is_ascii_digit()) {
                (&host[..colon], port)
            } else {
                (host, "")
            }
        }
        _ => (host, ""),
    };
    (
        name.strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .unwrap_or(name),
        port,
    )
}

impl Url {
    /// Parses an absolute URL or an absolute path, as a request line has it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("parse {text}: {why}", text = quote(text)));
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return refuse("net/url: invalid control character in URL");
        }
        if text.is_empty() {
            return refuse("empty url");
        }
        let (before_fragment, _) = text.split_once('#').unwrap_or((text, ""));
        let (scheme, rest) = match scheme(before_fragment) {
            Ok(split) => split,
            Err(why) => return refuse(why),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let is_star = scheme.is_empty() && rest == "*";
        if !rest.starts_with('/') && !is_star {
            return refuse("invalid URI for request");
        }
        let (authority, path) = match rest.strip_prefix("//") {
            Some(after) if !scheme.is_empty() || !rest.starts_with("///") => {
                after.split_at(after.find('/').unwrap_or(after.len()))
            }
            _ => ("", rest),
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if let Err(why) = check_host(host) {
            return refuse(&why);
        }
        if let Err(why) = check_escapes(path) {
            return refuse(&why);
        }
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            path: escape_path(path),
            query: query.to_owned(),
            text: text.to_owned(),
        })
    }
}

fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme"),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn check_host(host: &str) -> Result<(), String> {
    let after_name = if host.starts_with('[') {
        let Some(end) = host.rfind(']') else {
            return Err("missing ']' in host".to_owned());
        };
        &host[end + 1..]
    } else {
        if let Some(bad) = host.find([' ', '"', '<', '>', '\\', '^', '`', '{', '}', '|']) {
            let shown = &host[bad..=bad];
            return Err(format!("invalid character {shown} in host name", shown = quote(shown)));
        }
        host.rfind(':').map_or("", |colon| &host[colon..])
    };
    if let Some(port) = after_name.strip_prefix(':') {
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(format!(
                "invalid port {after_name} after host",
                after_name = quote(after_name)
            ));
        }
    } else if !after_name.is_empty() {
        return Err(format!(
            "invalid port {after_name} after host",
            after_name = quote(after_name)
        ));
    }
    check_escapes(host)
}

fn check_escapes(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'%'
            && !bytes
                .get(at + 1..at + 3)
                .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
        {
            let end = (at + 3).min(bytes.len());
            let shown = String::from_utf8_lossy(&bytes[at..end]).into_owned();
            return Err(format!("invalid URL escape {shown}", shown = quote(&shown)));
        }
    }
    Ok(())
}

/// The path with everything escaped that must be; what was escaped stays so.
fn escape_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'$'
            | b'&'
            | b'+'
            | b','
            | b'/'
            | b':'
            | b';'
            | b'='
            | b'@'
            | b'%'
            | b'!'
            | b'\''
            | b'('
            | b')'
            | b'*'
            | b'['
            | b']' => out.push(char::from(byte)),
            other => {
                out.push('%');
                for nibble in [other >> 4, other & 15] {
                    out.extend(char::from_digit(u32::from(nibble), 16).map(|digit| digit.to_ascii_uppercase()));
                }
            }
        }
    }
    out
}

fn query_unescape(text: &str) -> Option<String> {
    check_escapes(text).ok()?;
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hex: String = bytes.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&hex, 16).ok()?
            }
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

fn query<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let url = url(args)?;
    let mut values: BTreeMap<String, Vec<Value<'a>>> = BTreeMap::new();
    for pair in url
        .query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(name), Some(value)) = (query_unescape(name), query_unescape(value)) {
            values.entry(name).or_default().push(Value::text(value));
        }
    }
    let entries = values
        .into_iter()
        .map(|(name, values)| {
            (
                Key::String(name.as_str().into()),
                (Value::text(name), Value::list(values)),
            )
        })
        .collect();
    Ok(Value::Map(Map::Shared(Arc::new(entries))))
}
