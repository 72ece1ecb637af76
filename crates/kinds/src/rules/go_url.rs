//! URLs as Go's `net/url` reads them, and its words when it does not.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use kubewright_schema::field::go_quote;

/// The parts of a URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GoUrl {
    /// In lower case; empty if there is none.
    pub scheme: String,
    /// The user and, behind a colon, the password, escaped.
    pub user: Option<String>,
    /// With its port.
    pub host: String,
    /// Behind the question mark, as it was written.
    pub query: String,
    /// Behind the hash, without escapes.
    pub fragment: String,
}

/// Reads any URL; an error says which and why.
pub fn parse(text: &str) -> Result<GoUrl, String> {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url = read(before, false).map_err(|problem| refused(before, &problem))?;
    url.fragment = unescape(fragment, Part::Other).map_err(|problem| refused(text, &problem))?;
    Ok(url)
}

/// Reads a URL as a request has it: absolute, or an absolute path. Nothing is a fragment.
pub fn parse_request(text: &str) -> Result<GoUrl, String> {
    read(text, true).map_err(|problem| refused(text, &problem))
}

fn refused(text: &str, problem: &str) -> String {
    format!("parse {}: {problem}", go_quote(text))
}

fn read(text: &str, of_request: bool) -> Result<GoUrl, String> {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && of_request {
        return Err("empty url".to_owned());
    }
    let mut url = GoUrl::default();
    if text == "*" {
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    query.clone_into(&mut url.query);
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
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
    unescape(path, Part::Other)?;
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
        .map(|part| Ok(escape(&unescape(part, Part::Other)?)))
        .collect();
    Ok(parts?.join(":"))
}

/// A user's name or password with everything escaped that could be taken for something else.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~$&+,;=".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
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
    unescape(host, Part::Host)
}

/// `[address]:port`
fn read_address(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let (name, port) = (&host[1..end], &host[end + 1..]);
    check_port(port)?;
    let name = match name.find("%25") {
        Some(zone) => unescape(&name[..zone], Part::Host)? + &unescape(&name[zone..], Part::Zone)?,
        None => unescape(name, Part::Host)?,
    };
    let (address, zone) = match name.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (name.as_str(), None),
    };
    if address.parse::<Ipv4Addr>().is_ok() && zone.is_none() {
        return Err("invalid IP-literal".to_owned());
    }
    if address.parse::<Ipv6Addr>().is_err() || zone == Some("") {
        return Err(format!(
            "invalid host: ParseAddr({}): unable to parse IP",
            go_quote(&name)
        ));
    }
    Ok(format!("[{name}]{port}"))
}

fn check_port(port: &str) -> Result<(), String> {
    let is_good = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if is_good {
        Ok(())
    } else {
        Err(format!("invalid port {} after host", go_quote(port)))
    }
}

/// Where an escape stands: hosts have rules of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Other,
}

fn unescape(text: &str, part: Part) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'%' {
            if part != Part::Other && byte.is_ascii() && !may_stand_in_host(byte) {
                let shown = go_quote(&char::from(byte).to_string());
                return Err(format!("invalid character {shown} in host name"));
            }
            out.push(byte);
            at += 1;
            continue;
        }
        let escape = &bytes[at..bytes.len().min(at + 3)];
        let value = std::str::from_utf8(&escape[1..])
            .ok()
            .filter(|digits| digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let value = value.filter(|value| match part {
            Part::Host => !value.is_ascii() || *value == b'%',
            Part::Zone => matches!(value, b'%' | b' ') || may_stand_in_host(*value),
            Part::Other => true,
        });
        let Some(value) = value else {
            let shown = go_quote(&String::from_utf8_lossy(escape));
            return Err(format!("invalid URL escape {shown}"));
        };
        out.push(value);
        at += 3;
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn may_stand_in_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_refused_in_gos_words() {
        for (text, words) in [
            ("#f%zz", r##"parse "#f%zz": invalid URL escape "%zz""##),
            (
                "https://@%20h/?/",
                r#"parse "https://@%20h/?/": invalid URL escape "%20""#,
            ),
            (":443#x", r#"parse ":443": missing protocol scheme"#),
            ("https:// ", r#"parse "https:// ": invalid character " " in host name"#),
            (
                "https://h\\",
                r#"parse "https://h\\": invalid character "\\" in host name"#,
            ),
            ("https://h:x", r#"parse "https://h:x": invalid port ":x" after host"#),
            ("https://[::1", r#"parse "https://[::1": missing ']' in host"#),
            ("a:b:c", ""),
            ("1:b", r#"parse "1:b": first path segment in URL cannot contain colon"#),
        ] {
            assert_eq!(parse(text).err().unwrap_or_default(), words, "{text}");
        }
    }

    #[test]
    fn the_parts_of_a_url_are_found() {
        let url = parse("HTTPS://u%20x:p@h.example:443/a%20b?q#f%20g").expect("it is one");
        let expected = GoUrl {
            scheme: "https".to_owned(),
            user: Some("u%20x:p".to_owned()),
            host: "h.example:443".to_owned(),
            query: "q".to_owned(),
            fragment: "f g".to_owned(),
        };
        assert_eq!(url, expected);
        assert_eq!(
            parse_request("x"),
            Err(r#"parse "x": invalid URI for request"#.to_owned())
        );
    }
}
